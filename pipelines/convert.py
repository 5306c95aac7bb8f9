"""python -m pipelines.convert: law in the form in which it is published, to the native format."""

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
from pipelines.checking import LoadingError
from pipelines.command_line import DONE, WRONG_USE, say, show

if TYPE_CHECKING:
    from components.statutes.sources.records import Problem

_EPILOG = """\
The corpus is a file of law in a published format, or a folder of such files, which are recognised
by their content: Akoma Ntoso, legalize Markdown, CLML, gesetze-im-internet XML, USLM, eCFR,
Formex, LEGI (docs/data.md says where to get them). The output has one article a line. What was
left out, kept as text or repaired is counted and reported. A file that is there already is left
as it is.

  python -m pipelines.convert --corpus legalize-fr/fr --output articles.jsonl
  python -m pipelines.convert --corpus law.xml --format akoma-ntoso --output law.jsonl.gz"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _convert(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser(
        "convert", "Write published law as a corpus in the native format.", _EPILOG
    )
    parser.add_argument("--corpus", required=True, metavar="PATH", help="a file or folder of law")
    parser.add_argument(
        "--output",
        type=command_line.named,
        required=True,
        metavar="FILE",
        help="the corpus to write, such as articles.jsonl; gzipped if its name ends in .gz",
    )
    command_line.add_format(parser)
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out files and lines that cannot be read; names each",
    )
    return parser.parse_args(arguments)


def _convert(options: argparse.Namespace) -> int:
    from components.models.folder import whole_file
    from components.statutes.corpus import iter_articles, with_languages
    from components.statutes.sources import bsard, opening

    names = (opening.DEMO_LAW, bsard.HUB_NAME)
    if options.corpus not in names and not Path(options.corpus).exists():
        say(f"error: --corpus: there is no {options.corpus}. Check the path.")
        return WRONG_USE
    output = Path(options.output).expanduser()
    if output.exists():
        raise LoadingError(f"--output: {output} is there already. Name another file.")
    if not output.parent.is_dir():
        raise LoadingError(f"--output: there is no folder {output.parent}. Make it.")
    problems: list[Problem] = []
    articles, laws = 0, set[str]()
    read = iter_articles(
        options.corpus, skip_bad=options.skip_bad, problems=problems, format=options.format
    )
    with whole_file(output) as partial, _written(partial, packed=output.suffix == ".gz") as lines:
        for _, article in with_languages(read, options.corpus, problems):
            lines.write(json.dumps(article.to_json(), ensure_ascii=False).encode() + b"\n")
            articles += 1
            laws.add(article.law)
    for problem in problems:
        say(str(problem))
    show(f"{output}: {articles_of_laws(articles, len(laws))}")
    if left_out := sum(problem.left_out for problem in problems):
        show(f"left out, since they cannot be read: {left_out:,} (named above)")
    return DONE


@contextmanager
def _written(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as file:
        if not packed:
            yield file
            return
        # Without the time, the same law gives the same bytes.
        with gzip.GzipFile("", "wb", fileobj=file, mtime=0) as lines:
            yield cast(IO[bytes], lines)


if __name__ == "__main__":
    sys.exit(main())
