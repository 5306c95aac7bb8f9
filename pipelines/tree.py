"""python -m pipelines.tree: draw an article in its place in the law."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import command_line
from pipelines.checking import LoadingError, did_you_mean
from pipelines.command_line import DONE, say

if TYPE_CHECKING:
    from components.statutes.corpus import StatuteCorpus

_EPILOG = """\
The picture shows one article in its law: the divisions above it, the articles around it, and the
citations from and to it. Where the model has a graph network, lines and percentages show what the
article attends to in the network's last layer.

  python -m pipelines.tree --corpus aldermere --article housing-12 --out tree.html
  python -m pipelines.tree --corpus law.jsonl --article ID --out tree.html --model ./my-model"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _draw(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("tree", "Draw an article in its place in the law.", _EPILOG)
    parser.add_argument(
        "--article", required=True, metavar="ID", help="draw the article with this id"
    )
    parser.add_argument(
        "--corpus",
        required=True,
        metavar="PATH",
        help="the law, as for pipelines.index, or 'aldermere'",
    )
    parser.add_argument("--out", required=True, metavar="FILE.html", help="the picture")
    parser.add_argument(
        "--model", type=command_line.named, metavar="DIR", help="folder or name of a model"
    )
    return parser.parse_args(arguments)


def _draw(options: argparse.Namespace) -> int:
    from pipelines.tree_view import draw_picture, find_article, neighbourhood, read_attention

    out = Path(options.out)
    if out.suffix != ".html":
        raise LoadingError(f"--out {out}: the picture is a page. End the name with .html.")
    if not out.absolute().parent.is_dir():
        raise LoadingError(f"--out {out}: there is no folder {out.absolute().parent}. Make it.")
    corpus = _read(options.corpus)
    position = find_article(corpus, options.article)
    attention, note = None, "The picture shows the article's place alone; no model was asked."
    if options.model:
        attention, note = read_attention(corpus, position, options.model, say)
        say(note)
    page = draw_picture(neighbourhood(corpus, position), attention, note)
    # A corpus may hold half a character.
    out.write_text(page, "utf-8", "replace")
    say(f"wrote {out}")
    return DONE


def _read(source: str) -> StatuteCorpus:
    """The corpus of a file, folder or name.

    Raises:
        LoadingError: There is none; suggests which may be meant.
        CorpusError: It cannot be read.
    """
    from components.statutes.corpus import StatuteCorpus
    from components.statutes.sources import corpora, opening

    names = [opening.DEMO_LAW, corpora.HUB_NAME]
    path = Path(source)
    if source not in names and not path.exists():
        beside = path.parent.iterdir() if path.parent.is_dir() else ()
        near = did_you_mean(source, [*names, *map(str, beside)])
        raise LoadingError(f"--corpus: there is no {source}{near}. Check the path.")
    return StatuteCorpus.read(source)


if __name__ == "__main__":
    sys.exit(main())
