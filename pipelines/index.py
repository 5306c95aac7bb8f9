"""python -m pipelines.index: read a file of law, encode it, and write it to a store or engine.

The corpus is a file of JSON lines (articles.jsonl or .jsonl.gz), a folder that holds one, law in a
published format or as plain text, or a folder of it (docs/data.md), "-" for standard input, a
folder of BSARD or SoICT tables, or "aldermere", the invented demo law. A law that the store has is
replaced by the corpus's, and a law that the corpus does not have stays, so that each law can have
a file of its own. You can interrupt it at any time: the same command resumes where it stopped, and
unchanged articles are not encoded again.

  python -m pipelines.index --corpus articles.jsonl --store law.db
  python -m pipelines.index --corpus articles.jsonl --store law.db --model ./my-model
  python -m pipelines.index --corpus all-laws.jsonl --store law.db --prune
  python -m pipelines.index --lay-words words.tsv --store law.db
  python -m pipelines.index --guides guides.jsonl --store law.db
  python -m pipelines.index --corpus articles.jsonl --engine postgresql://me@localhost/law
  python -m pipelines.index --corpus articles.jsonl --engine qdrant --url http://localhost:6333
"""

from __future__ import annotations

import argparse
import os
import sys
from collections.abc import Mapping
from dataclasses import asdict
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING

from pipelines import command_line
from pipelines.command_line import DONE, say, show

if TYPE_CHECKING:
    from pipelines.engines import EngineReport
    from pipelines.indexing import IndexReport


def main(arguments: list[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    parser = command_line.parser("index", "Index a corpus of law into a store.", __doc__)
    add = parser.add_argument
    add("--corpus", metavar="PATH", help="the law; optional with --guides, --lay-words and --alias")
    add("--store", type=command_line.named, metavar="FILE", help="the store; created if missing")
    add(
        "--engine",
        type=_engine,
        metavar="ENGINE",
        help="index into an engine: qdrant, postgres, or postgresql://...; see docs/scale.md",
    )
    add("--url", metavar="URL", help="the engine's address, or a folder of Qdrant")
    add("--collection", metavar="NAME", help="the engine's collection (default: lexarbor)")
    add("--shard", type=shard, metavar="I/N", help="index this part of the laws into the engine")
    add("--rebuild", action="store_true", help="replace the engine's collection once all is there")
    add("--hnsw", action="store_true", help="search PostgreSQL by an approximate index from now on")
    add(
        "--model",
        type=command_line.named,
        metavar="DIR",
        help="folder or name of the model that encodes the articles, or 'none' to store text "
        "alone; default: the store's own model, else MiniLM for English or "
        "multilingual-e5-small, if installed",
    )
    add("--graph", action="store_true", help="put the vectors through the model's graph network")
    command_line.add_format(parser)
    command_line.add_stated(parser)
    add("--skip-bad", action="store_true", help="leave out what cannot be read; names each")
    command_line.add_strict(parser)
    add("--prune", action="store_true", help="also remove the laws that the corpus does not have")
    add("--replace", action="store_true", help="allow fewer than half of a law's articles")
    add("--snapshot", type=_day, metavar="DAY", help="day of the law's text, such as 2026-03-31")
    add(
        "--answered",
        metavar="PATH",
        help="questions whose answers are known; hybrid searches them too. Those of the split dev, "
        "or else they, choose the list's weight",
    )
    add(
        "--lay-words",
        metavar="PATH",
        help="what people say and how the law says it, which lexical and hybrid search too; "
        "docs/data.md. An empty file removes it",
    )
    add(
        "--guides",
        metavar="PATH",
        help="guides: what to do, step by step, as a legal-aid team writes it; docs/guides.md. An "
        "empty file removes them",
    )
    add(
        "--alias",
        type=_alias,
        action="append",
        default=[],
        metavar="NAME=LAW",
        help="another name of a law, under which citations find it; 'NAME=' removes it",
    )
    add("--json", action="store_true", help="print the report as JSON")
    options = parser.parse_args(arguments)
    given, to_engine = vars(options), options.engine is not None
    of_stores = ("graph", "snapshot", "answered", "lay_words", "guides", "alias")
    of_engines = ("url", "collection", "shard", "rebuild", "hnsw")
    if options.engine not in (None, "qdrant", "postgres"):
        options.engine, options.url = "postgres", options.engine
    elif options.engine == "postgres":
        options.url = options.url or os.environ.get("PG_CONN_STR")
    others = of_stores if to_engine else of_engines
    misplaced = [f"--{each.replace('_', '-')}" for each in others if given[each]]
    if (options.store is None) != to_engine or to_engine != bool(options.url):
        parser.error("give either --store FILE, or --engine with its address as --url URL")
    if to_engine and options.model == "none":
        misplaced.append("--model none")
    if options.engine == "qdrant" and options.hnsw:
        parser.error("--hnsw goes with PostgreSQL; Qdrant's index is approximate by itself")
    if misplaced:
        parser.error(f"{misplaced[0]} goes with {'--store' if to_engine else '--engine'}")
    if not options.corpus and (
        to_engine or not (options.alias or options.lay_words or options.guides)
    ):
        parser.error("give the law as --corpus PATH")
    alone = {"corpus", "store", "alias", "lay_words", "guides"}
    wanting = [n for n, v in given.items() if n not in alone and v != parser.get_default(n)]
    if not options.corpus and wanting:
        parser.error(f"--{wanting[0].replace('_', '-')} goes with --corpus")
    return command_line.run(lambda: _index(options))


def _day(text: str) -> date:
    day = command_line.day(text)
    if day > date.today():
        raise argparse.ArgumentTypeError(f"{text} is in the future")
    return day


def _engine(text: str) -> str:
    if text in ("qdrant", "postgres") or text.startswith(("postgresql://", "postgres://")):
        return text
    raise argparse.ArgumentTypeError(f"{text}: it is qdrant, postgres or postgresql://...")


def _alias(text: str) -> tuple[str, str]:
    name, equals, law = (part.strip() for part in text.partition("="))
    if not (name and equals):
        raise argparse.ArgumentTypeError(f"{text}: write it as NAME=LAW")
    return name, law


def shard(text: str) -> tuple[int, int]:
    """A shard as I/N, for argparse."""
    number, shards = map(int, text.split("/"))
    if not 1 <= number <= shards:
        raise ValueError("no such shard")
    return number, shards


def _index(options: argparse.Namespace) -> int:
    if options.corpus is None:
        if options.lay_words:
            from pipelines.indexing import add_lay_words

            say(add_lay_words(options.store, options.lay_words))
        if options.guides:
            from pipelines.indexing import add_guides

            add_guides(options.store, options.guides, say)
        return _name(options)
    command_line.check_corpus(options.corpus)
    given = {
        name: vars(options)[name]
        for name in ("model", "skip_bad", "strict", "format", "prune", "replace")
    }
    given["stated"] = command_line.stated(options)
    report: IndexReport | EngineReport
    if options.engine:
        package = {"qdrant": "qdrant", "postgres": "pgvector"}[options.engine]
        client = f"haystack_integrations.document_stores.{package}"
        command_line.require(f"--engine {options.engine}", options.engine, client)
        from pipelines.engines import Shard, index_into_engine

        given |= {name: vars(options)[name] for name in ("collection", "rebuild", "hnsw")}
        given["shard"] = Shard(*options.shard or (1, 1))
        report = index_into_engine(options.corpus, options.url, say=say, **given)
    else:
        from pipelines.indexing import index_corpus

        own = ("graph", "snapshot", "answered", "lay_words", "guides")
        given |= {name: vars(options)[name] for name in own}
        report = index_corpus(options.corpus, options.store, say=say, **given)
    show(asdict(report) if options.json else str(report))
    return _name(options)


def _name(options: argparse.Namespace) -> int:
    """Give the store's laws the names of the corpus's law.yaml, then those of --alias."""
    from pipelines.indexing import name_laws

    aliases = {**_noted_aliases(options.corpus), **dict(options.alias)}
    if aliases and options.store:
        say(name_laws(options.store, aliases))
    return DONE


def _noted_aliases(corpus: str | None) -> Mapping[str, str]:
    """The further names of laws that a law.yaml in the corpus's folder gives."""
    if corpus is None or not Path(corpus).exists():  # "aldermere"
        return {}
    from components.statutes.sources.stated import law_notes

    return law_notes(Path(corpus) if Path(corpus).is_dir() else Path(corpus).parent).aliases


if __name__ == "__main__":
    sys.exit(main())
