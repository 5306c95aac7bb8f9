"""python -m pipelines.export: write the articles of a store as a corpus in the native format.

The file holds every article in the law's order, without its vectors. The training commands take
it as --corpus if a law is only available in a store, and another store can be made from it. A store
that was indexed whole gives exactly the articles that went in, with the same digest. An existing
file is not overwritten.

  python -m pipelines.export --store law.db --output articles.jsonl
"""

from __future__ import annotations

import argparse
import json
import sys
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from components.statutes.article import articles_of_laws
from components.statutes.sources.reading import CorpusError
from pipelines import command_line
from pipelines.command_line import DONE, say, show
from pipelines.convert import corpus_file

if TYPE_CHECKING:
    from components.statutes.article import Article
    from components.statutes.corpus import StatuteCorpus


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _export(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser(
        "export", "Write the articles of a store as a corpus in the native format.", __doc__
    )
    parser.add_argument(
        "--store", type=command_line.named, required=True, metavar="FILE", help="holds the articles"
    )
    command_line.add_output(parser)
    return parser.parse_args(arguments)


def _export(options: argparse.Namespace) -> int:
    from components.converters.articles import article_of
    from pipelines.loading import store_with_articles

    output = command_line.new_file(options.output)
    with store_with_articles(options.store) as store:
        documents = store.fetch(store.keys_matching(None))
        indexed = store.publisher.recorded_corpus()
    corpus = _written(
        [article_of(each) for each in documents if each.content], output, options.store
    )
    if textless := len(documents) - len(corpus):
        say(f"{textless:,} documents without text are left out")
    whole = ", the corpus that was indexed, unchanged" if corpus.sha256 == indexed else ""
    show(f"{output}: {articles_of_laws(len(corpus), len(corpus.laws))}{whole}")
    return DONE


def _written(articles: list[Article], output: Path, store: str) -> StatuteCorpus:
    """The corpus, read back from the written file; a file that cannot be read is removed.

    Raises:
        CorpusError: a document is not an article of the native format; names it.
    """
    from components.models.folder import whole_file
    from components.statutes.corpus import StatuteCorpus

    with whole_file(output) as partial:
        with corpus_file(partial, output) as file:
            for article in articles:
                file.write(json.dumps(article.to_json(), ensure_ascii=False).encode() + b"\n")
        try:
            return StatuteCorpus.read(partial)
        except CorpusError as error:
            raise CorpusError(
                replace(each, file=_place(store, articles, each.line), line=None)
                for each in error.problems
            ) from error


def _place(store: str, articles: list[Article], line: int | None) -> str:
    return store if line is None else f"{store}, document {articles[line - 1].id!r}"


if __name__ == "__main__":
    sys.exit(main())
