"""Dense top-100 of a corpus of BSARD's size: `python tests/benchmarks/dense_retriever.py`.

22,633 vectors of 768 numbers. The component reads the found documents from SQLite; its peer is
Haystack's in-memory store. The index alone stands beside a bare NumPy product and argpartition.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from dataclasses import replace
from pathlib import Path

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from haystack.components.retrievers import InMemoryEmbeddingRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from synthetic import N_ARTICLES, articles, milliseconds, unit_vectors

from components.models.dense_index import DenseIndex
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.sqlite import StatuteDocumentStore

TOP_K = 100


def main() -> None:
    matrix = unit_vectors(N_ARTICLES)
    questions = unit_vectors(200, seed=1)
    documents = [
        replace(document, embedding=vector.tolist())
        for document, vector in zip(articles(), matrix, strict=True)
    ]
    with tempfile.TemporaryDirectory() as folder:
        store = StatuteDocumentStore(str(Path(folder) / "law.db"))
        store.write_documents(documents)
        ours = StatuteEmbeddingRetriever(store, top_k=TOP_K)
        started = time.perf_counter()
        ours.warm_up()
        loaded = time.perf_counter() - started

        in_memory = InMemoryDocumentStore(embedding_similarity_function="cosine")
        in_memory.write_documents(documents)
        theirs = InMemoryEmbeddingRetriever(in_memory, top_k=TOP_K)
        vectors = [question.tolist() for question in questions]
        for vector in vectors[:3]:
            found = [document.id for document in ours.run(vector)["documents"]]
            assert found == [document.id for document in theirs.run(vector)["documents"]]

        index = DenseIndex(matrix)

        def bare(question: np.ndarray) -> np.ndarray:
            scores = matrix @ question
            best = np.argpartition(-scores, TOP_K)[:TOP_K]
            return best[np.argsort(-scores[best])]

        haystack_ms = milliseconds(theirs.run, vectors[:5])
        # Taken in turns, so that a busy moment of the machine meets both.
        rounds = [
            (
                milliseconds(bare, questions[start : start + 40]),
                milliseconds(
                    lambda each: index.search(each[None], TOP_K), questions[start : start + 40]
                ),
                milliseconds(ours.run, vectors[start : start + 40]),
            )
            for start in range(0, 200, 40)
        ]
        numpy_ms, index_ms, component_ms = np.median(rounds, axis=0)
        store.close()
    slower, faster = index_ms / numpy_ms, haystack_ms / component_ms
    print(f"{N_ARTICLES:,} vectors of 768 numbers, top {TOP_K}; loaded {loaded:.2f} s")
    print(f"  NumPy product, argpartition  {numpy_ms:8.2f} ms")
    print(f"  DenseIndex                   {index_ms:8.2f} ms   {slower:.2f} times, at most 1.5")
    print(f"  Haystack in memory           {haystack_ms:8.2f} ms")
    print(
        f"  StatuteEmbeddingRetriever    {component_ms:8.2f} ms   {faster:.0f} times faster than "
        "Haystack, at least 150"
    )


if __name__ == "__main__":
    main()
