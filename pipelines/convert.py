"""python -m pipelines.convert: law in the form in which it is published, to the native format.

The corpus is a file of law in a published format, or a folder of such files, which are recognised
by their content: Akoma Ntoso, legalize Markdown, CLML, gesetze-im-internet XML, USLM, eCFR,
Formex, pages of EUR-Lex, LEGI, and the XML of Canada, Spain (BOE), Japan (e-Gov), Brazil (LexML)
and the Netherlands (BWB); or law as plain text, Markdown, HTML, Word or PDF, "-" for standard
input. docs/data.md says more. The output has one article a line. What was left out, kept as text
or repaired is counted and reported, and what was read is checked: gaps and repeats of numbers,
articles within others. --strict writes nothing where something looks wrong. A file that is there
already is left as it is.

  python -m pipelines.convert --corpus legalize-fr/fr --output articles.jsonl
  python -m pipelines.convert --corpus law.xml --format akoma-ntoso --output law.jsonl.gz
"""

from __future__ import annotations

import argparse
import gzip
import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, cast

from components.statutes.article import articles_of_laws
from pipelines import command_line
from pipelines.command_line import DONE, say, show

if TYPE_CHECKING:
    from components.statutes.sources.reading import Problem


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser(
        "convert", "Write published law as a corpus in the native format.", __doc__
    )
    parser.add_argument("--corpus", required=True, metavar="PATH", help="a file or folder of law")
    command_line.add_output(parser)
    command_line.add_format(parser)
    command_line.add_stated(parser)
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out files and lines that cannot be read; names each",
    )
    command_line.add_strict(parser)
    options = parser.parse_args(arguments)
    return command_line.run(lambda: _convert(options))


def _convert(options: argparse.Namespace) -> int:
    from components.models.folder import whole_file
    from components.statutes.corpus import iter_articles, with_languages
    from components.statutes.sources.check import ReadingCheck

    command_line.check_corpus(options.corpus)
    output = command_line.new_file(options.output)
    problems: list[Problem] = []
    articles, laws = 0, set[str]()
    check = ReadingCheck()
    read = iter_articles(
        options.corpus,
        skip_bad=options.skip_bad,
        problems=problems,
        format=options.format,
        check=check,
        strict=options.strict,
        stated=command_line.stated(options),
    )
    with whole_file(output) as partial, corpus_file(partial, output) as file:
        for _, article in with_languages(read, options.corpus, problems):
            file.write(json.dumps(article.to_json(), ensure_ascii=False).encode() + b"\n")
            articles += 1
            laws.add(article.law)
    for problem in problems:
        say(str(problem))
    say(str(check))
    show(f"{output}: {articles_of_laws(articles, len(laws))}")
    if left_out := sum(problem.left_out for problem in problems):
        show(f"left out, since they cannot be read: {left_out:,} (named above)")
    return DONE


@contextmanager
def corpus_file(path: Path, output: Path) -> Iterator[IO[bytes]]:
    """A file to write lines into, gzipped if the output's name ends in .gz."""
    with path.open("wb") as file:
        if output.suffix != ".gz":
            yield file
            return
        # Without the time, the same law gives the same bytes.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as packed:
            yield cast(IO[bytes], packed)


if __name__ == "__main__":
    sys.exit(main())
