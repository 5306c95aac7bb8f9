"""Exact dense search next to NumPy and Haystack: `python tests/benchmarks/dense_search.py`.

Vectors of 768 numbers. The index, which puts its answer in one exact order, next to a product with
`argpartition`, which leaves ties and last bits to chance; then the component, which reads the found
documents from SQLite, next to Haystack's in-memory store. All in turns.
"""

from __future__ import annotations

import tempfile
from dataclasses import replace
from pathlib import Path

import bench
import numpy as np
from bench import unit_vectors
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from components.models.dense_index import DenseIndex
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.sqlite import StatuteDocumentStore

QUERIES = 200
ROUNDS = 3
TOP_K = 100


def bare(matrix: bench.Vectors, queries: bench.Vectors, k: int) -> np.ndarray:
    """Rows of the k nearest to each query."""
    scores = queries @ matrix.T if len(queries) > 1 else (matrix @ queries[0])[None]
    rows = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, rows, 1), axis=1)
    return np.take_along_axis(rows, order, 1)


def compare_index(matrix: bench.Vectors, queries: bench.Vectors) -> None:
    index = DenseIndex(matrix, "cpu")
    print(f"{'milliseconds a query':26}{'NumPy':>16}{'DenseIndex':>16}{'ratio':>9}")
    print(f"{'':26}{'median   best':>16}{'median   best':>16}{'best':>9}")
    for k in (TOP_K, 500):
        ways = {
            "NumPy": lambda some, k=k: bare(matrix, some, k),
            "ours": lambda some, k=k: index.search(some, k),
        }
        assert (index.search(queries, k)[1] == bare(matrix, queries, k)).mean() > 0.999
        for name, at_once, inputs in (
            (f"top-{k}, one query", 1, [query[None] for query in queries]),
            (f"top-{k}, {QUERIES} at once", QUERIES, [queries] * ROUNDS),
        ):
            times = bench.in_turns(ways, inputs)
            (peer, peer_best), (ours, ours_best) = (
                (np.median(each) * 1e3 / at_once, each.min() * 1e3 / at_once)
                for each in times.values()
            )
            ratio = ours_best / peer_best
            print(
                f"{name:26}{peer:9.2f}{peer_best:7.2f}{ours:9.2f}{ours_best:7.2f}{ratio:9.2f}"
                + (f"   {bench.at_most(ratio, 1.5)}" if (k, at_once) == (TOP_K, 1) else "")
            )


def compare_component(matrix: bench.Vectors, queries: bench.Vectors) -> None:
    documents = [
        replace(document, embedding=vector.tolist())
        for document, vector in zip(bench.documents(len(matrix)), matrix, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = StatuteDocumentStore(str(Path(folder) / "law.db"))
        store.write_documents(documents)
        ours = StatuteEmbeddingRetriever(store, top_k=TOP_K)
        loaded = bench.seconds(ours.warm_up)
        in_memory = InMemoryDocumentStore(embedding_similarity_function="cosine")
        in_memory.write_documents(documents)
        theirs = InMemoryEmbeddingRetriever(in_memory, top_k=TOP_K)
        vectors = [query.tolist() for query in queries]
        for vector in vectors[:3]:
            found, expected = (each.run(vector)["documents"] for each in (ours, theirs))
            assert [each.id for each in found] == [each.id for each in expected]
        peer = bench.milliseconds(theirs.run, vectors[:5])
        took = bench.of_parts({"ours": (ours.run, vectors)})["ours"]
        store.close()
    print(f"\ntop {TOP_K} with their documents; loaded in {loaded:.2f} s")
    print(f"  Haystack in memory           {peer:8.2f} ms")
    print(
        f"  StatuteEmbeddingRetriever    {took:8.2f} ms   {peer / took:.0f} times faster, "
        f"{bench.at_least(peer / took, 150)}"
    )


def main() -> None:
    options = bench.parser(__doc__, articles=bench.N_ARTICLES).parse_args()
    matrix, queries = unit_vectors(options.articles), unit_vectors(QUERIES, seed=1)
    print(f"{options.articles:,} vectors of 768 numbers")
    compare_index(matrix, queries)
    compare_component(matrix, queries)


if __name__ == "__main__":
    main()
