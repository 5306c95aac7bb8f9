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

from components.statutes.article import articles_of_laws
from components.statutes.sources.reading import CorpusError
from pipelines import command_line
from pipelines.command_line import DONE, say, show
from pipelines.convert import corpus_file


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser(
        "export", "Write the articles of a store as a corpus in the native format.", __doc__
    )
    parser.add_argument(
        "--store", type=command_line.named, required=True, metavar="FILE", help="holds the articles"
    )
    command_line.add_output(parser)
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _export(options))


def _export(options: argparse.Namespace) -> int:
    from components.converters.articles import article_of
    from components.models.folder import whole_file
    from components.statutes.corpus import StatuteCorpus
    from pipelines.loading import store_with_articles

    output = command_line.new_file(options.output)
    with store_with_articles(options.store) as store:
        documents = store.fetch(store.keys_matching(None))
        indexed = store.publisher.recorded_corpus()
    articles = [article_of(each) for each in documents if each.content]
    with whole_file(output) as partial:
        with corpus_file(partial, output) as file:
            for article in articles:
                file.write(json.dumps(article.to_json(), ensure_ascii=False).encode() + b"\n")
        try:  # a document of another writer's need be no article of the native format
            corpus = StatuteCorpus.read(partial)
        except CorpusError as error:
            raise CorpusError(
                replace(
                    each,
                    file=f"{options.store}, document '{articles[(each.line or 1) - 1].id}'",
                    line=None,
                )
                for each in error.problems
            ) from error
    if textless := len(documents) - len(articles):
        say(f"{textless:,} documents without text are left out")
    whole = ", the corpus that was indexed, unchanged" if corpus.sha256 == indexed else ""
    show(f"{output}: {articles_of_laws(len(corpus), len(corpus.laws))}{whole}")
    return DONE


if __name__ == "__main__":
    sys.exit(main())
