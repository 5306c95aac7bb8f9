"""python -m pipelines.index: read a file of law, encode it, and write it to a store or engine.

The corpus is a file of JSON lines (articles.jsonl or .jsonl.gz), a folder that holds one, law in a
published format or a folder of it (docs/data.md), a folder of BSARD or SoICT tables, or
"aldermere", the invented demo law. A law that the store has is
replaced by the corpus's, and a law that the corpus does not have stays, so that each law can have
a file of its own. You can interrupt it at any time: the same command resumes where it stopped, and
unchanged articles are not encoded again.

  python -m pipelines.index --corpus articles.jsonl --store law.db
  python -m pipelines.index --corpus articles.jsonl --store law.db --model ./my-model
  python -m pipelines.index --corpus all-laws.jsonl --store law.db --prune
  python -m pipelines.index --corpus articles.jsonl --engine qdrant --url http://localhost:6333
"""

from __future__ import annotations

import argparse
import sys
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import command_line
from pipelines.checking import LoadingError, read_pipeline_file
from pipelines.command_line import DONE, say, show

if TYPE_CHECKING:
    from pipelines.engines import EngineReport
    from pipelines.indexing import IndexReport


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    options = _parse(arguments)
    return command_line.run(lambda: _index(options))


def _parse(arguments: list[str] | None) -> argparse.Namespace:
    parser = command_line.parser("index", "Index a corpus of law into a store.", __doc__)
    parser.add_argument("--corpus", metavar="PATH", help="the law; optional with --alias")
    parser.add_argument(
        "--store",
        type=command_line.named,
        metavar="FILE",
        help="the store; created if missing",
    )
    parser.add_argument(
        "--engine",
        choices=("qdrant", "milvus"),
        help="index into a distributed engine, in place of a store; see docs/scale.md",
    )
    parser.add_argument(
        "--url",
        metavar="URL",
        help="the engine's address; a folder (milvus: NAME.db) for one within this process; a "
        "collection's name may follow after '#'",
    )
    parser.add_argument(
        "--collection", metavar="NAME", help="the engine's collection (default: lexarbor)"
    )
    parser.add_argument(
        "--shard",
        metavar="I/N",
        help="with --engine: index this part of the laws, one of N; run each in a "
        "process of its own",
    )
    parser.add_argument(
        "--rebuild",
        action="store_true",
        help="with --engine: write into a new collection, which takes the old one's name at the "
        "end; questions go to the old one until then",
    )
    parser.add_argument(
        "--model",
        type=command_line.named,
        metavar="DIR",
        help="folder or name of the model that encodes the articles, or 'none' to store text "
        "alone; default: the store's own model, else MiniLM for English or "
        "multilingual-e5-small, if installed",
    )
    parser.add_argument(
        "--graph",
        action="store_true",
        help="put the articles' vectors through the model's graph network, which python -m "
        "training.graph trains; a store that was indexed so stays so",
    )
    command_line.add_format(parser)
    parser.add_argument(
        "--skip-bad",
        action="store_true",
        help="leave out lines and files that cannot be read; names each",
    )
    parser.add_argument(
        "--prune",
        action="store_true",
        help="also remove the laws that the corpus does not have, after listing them",
    )
    parser.add_argument(
        "--replace",
        action="store_true",
        help="replace a law even if the corpus has fewer than half of its articles, or uses an "
        "id of another law's article",
    )
    parser.add_argument(
        "--snapshot",
        type=_day,
        metavar="DAY",
        help="day of the law's text, such as 2026-03-31; the demo page shows it",
    )
    parser.add_argument(
        "--answered",
        metavar="PATH",
        help="questions whose answers are known, also those that the law does not answer; hybrid "
        "searches them too. Those of the split dev, or else they, choose the list's weight",
    )
    parser.add_argument(
        "--alias",
        type=_alias,
        action="append",
        default=[],
        metavar="NAME=LAW",
        help="another name of a law, under which citations find it, such as 'ZGB=Schweizerisches "
        "Zivilgesetzbuch'; 'NAME=' removes it. Repeat it for more; it needs no --corpus",
    )
    parser.add_argument("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(arguments)
    to_engine = options.engine is not None
    for is_wrong, message in (
        ((options.store is None) != to_engine, "give either --store FILE, or --engine with --url"),
        (
            not to_engine
            and (options.url or options.collection or options.shard or options.rebuild),
            "--url, --collection, --shard and --rebuild go with --engine",
        ),
        (not options.corpus and (to_engine or not options.alias), "give the law as --corpus PATH"),
        (to_engine and not options.url, "--engine needs the engine's address, as --url URL"),
        (
            to_engine
            and (
                options.graph
                or options.snapshot
                or options.answered
                or options.alias
                or options.model == "none"
            ),
            "--graph, --snapshot, --answered, --alias and --model none go with --store",
        ),
    ):
        if is_wrong:
            parser.error(message)
    try:
        options.shard = _shard(options.shard or "1/1")
    except ValueError:
        parser.error(f"--shard {options.shard}: write it as I/N, such as 1/4, with I from 1 to N")
    return options


def _day(text: str) -> date:
    day = command_line.day(text)
    if day > date.today():
        raise argparse.ArgumentTypeError(f"{text} is in the future")
    return day


def _alias(text: str) -> tuple[str, str]:
    name, equals, law = (part.strip() for part in text.partition("="))
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text}: write it as NAME=LAW")
    return name, law


def _shard(text: str) -> tuple[int, int]:
    number, of = map(int, text.split("/"))
    if not 1 <= number <= of:
        raise ValueError(text)
    return number, of


_BOTH = ("model", "skip_bad", "format", "prune", "replace")  # flags of stores and engines


def _index(options: argparse.Namespace) -> int:
    if options.corpus is None:
        return _name(options)
    command_line.check_corpus(options.corpus)
    both = {name: getattr(options, name) for name in _BOTH}
    report: IndexReport | EngineReport
    if options.engine:
        from pipelines.engines import Shard, index_into_engine

        report = index_into_engine(
            options.corpus,
            options.engine,
            options.url,
            collection=options.collection,
            shard=Shard(*options.shard),
            rebuild=options.rebuild,
            say=say,
            **both,
        )
    else:
        from pipelines.indexing import index_corpus

        report = index_corpus(
            options.corpus,
            options.store,
            graph=options.graph,
            snapshot=options.snapshot,
            answered=options.answered,
            say=say,
            **both,
        )
    show(asdict(report) if options.json else str(report))
    return _name(options)


def _name(options: argparse.Namespace) -> int:
    """Give the store's laws the names of the corpus's law.yaml, then those of --alias."""
    from pipelines.indexing import name_laws

    aliases = {**_noted_aliases(options.corpus), **dict(options.alias)}
    if aliases and options.store:
        say(name_laws(options.store, aliases))
    return DONE


def _noted_aliases(corpus: str | None) -> dict[str, str]:
    """The further names of laws that a law.yaml in the corpus's folder gives."""
    if corpus is None or not Path(corpus).exists():  # "aldermere"
        return {}
    folder = Path(corpus) if Path(corpus).is_dir() else Path(corpus).parent
    path = folder / "law.yaml"
    aliases = read_pipeline_file(path).get("aliases") if path.is_file() else {}
    if not isinstance(aliases, dict) or not all(isinstance(each, str) for each in aliases.values()):
        raise LoadingError(f"{path}: aliases: write NAME: LAW lines below it.")
    return aliases


if __name__ == "__main__":
    sys.exit(main())
