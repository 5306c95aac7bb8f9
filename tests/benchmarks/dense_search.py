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
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore

from components.models.dense_index import DenseIndex
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.sqlite import StatuteDocumentStore

QUERIES = 200
TOP_K = 100


def bare(matrix: bench.Vectors, query: bench.Vectors) -> np.ndarray:
    """Rows of the nearest to a query."""
    scores = matrix @ query
    rows = np.argpartition(-scores, TOP_K)[:TOP_K]
    return rows[np.argsort(-scores[rows])]


def main() -> None:
    options = bench.parser(__doc__, articles=bench.N_ARTICLES).parse_args()
    matrix, queries = bench.unit_vectors(options.articles), bench.unit_vectors(QUERIES, seed=1)
    index = DenseIndex(matrix, "cpu")
    expected_rows = np.stack([bare(matrix, query) for query in queries])
    assert (index.search(queries, TOP_K)[1] == expected_rows).mean() > 0.999
    times = bench.in_turns(
        {
            "NumPy": lambda query: bare(matrix, query),
            "DenseIndex": lambda query: index.search(query[None], TOP_K),
        },
        queries,
    )
    print(f"{options.articles:,} vectors of 768 numbers, top {TOP_K}, milliseconds")
    for name, values in times.items():
        print(f"  {name:29}{np.median(values) * 1e3:8.2f}   best {values.min() * 1e3:8.2f}")
    ratio = times["DenseIndex"].min() / times["NumPy"].min()
    print(f"  ratio of the best            {ratio:8.2f}   {bench.at_most(ratio, 1.5)}")

    documents = [
        replace(document, embedding=vector.tolist())
        for document, vector in zip(bench.documents(len(matrix)), matrix, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = StatuteDocumentStore(str(Path(folder) / "law.db"))
        store.write_documents(documents)
        ours = StatuteEmbeddingRetriever(store, top_k=TOP_K)
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
    times_faster = f"{peer / took:.0f} times faster, {bench.at_least(peer / took, 150)}"
    print(f"  Haystack in memory           {peer:8.2f}")
    print(f"  StatuteEmbeddingRetriever    {took:8.2f}   {times_faster}")


if __name__ == "__main__":
    main()
