"""BM25 top-100 of a corpus of BSARD's size: `python tests/benchmarks/bm25_retriever.py`.

The component analyses the question, searches, and reads the found documents from SQLite; its peer
is Haystack's in-memory store. The index alone, analysis included, stands beside bm25s and rank-bm25
over the same terms, analysed beforehand.
"""

from __future__ import annotations

import os
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("HAYSTACK_TELEMETRY_ENABLED", "False")
sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import bm25s
import numpy as np
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from rank_bm25 import BM25Plus
from synthetic import N_ARTICLES, articles, milliseconds

from components.models.lexical_index import LexicalIndex
from components.retrievers.bm25 import StatuteBM25Retriever
from components.statutes.lexical import analyzer
from components.stores.sqlite import StatuteDocumentStore

TOP_K = 100
TERMS = 12


def main() -> None:
    documents = articles()
    rng = np.random.default_rng(1)
    # A question's words are those of one article, so frequent and rare ones mix as they do there.
    chosen = [documents[row].content.split() for row in rng.choice(N_ARTICLES, 200, replace=False)]
    questions = [" ".join(rng.choice(words, TERMS)) for words in chosen]
    analyze = analyzer("en")
    terms = [list(dict.fromkeys(analyze(question))) for question in questions]
    with tempfile.TemporaryDirectory() as folder:
        store = StatuteDocumentStore(str(Path(folder) / "law.db"))
        store.write_documents(documents)
        ours = StatuteBM25Retriever(store, top_k=TOP_K)
        started = time.perf_counter()
        ours.warm_up()
        built = time.perf_counter() - started
        index = LexicalIndex.build(store.texts(), k1=1.5, b=0.75)

        indexed = [
            analyze(" ".join([*document.meta["headings"], document.content]))
            for document in documents
        ]
        bare = bm25s.BM25(k1=1.5, b=0.75)
        bare.index(indexed, show_progress=False)
        slow = BM25Plus(indexed, k1=1.5, b=0.75)
        in_memory = InMemoryDocumentStore()
        in_memory.write_documents(documents)
        theirs = InMemoryBM25Retriever(in_memory, top_k=TOP_K)

        haystack_ms = milliseconds(lambda each: theirs.run(each), questions[:7])
        rank_bm25_ms = milliseconds(lambda each: slow.get_top_n(each, documents, TOP_K), terms[:7])
        # Taken in turns, so that a busy moment of the machine meets both.
        rounds = [
            (
                milliseconds(
                    lambda each: bare.retrieve([each], k=TOP_K, show_progress=False),
                    terms[start : start + 40],
                ),
                milliseconds(lambda each: index.search(each, TOP_K), questions[start : start + 40]),
                milliseconds(lambda each: ours.run(each), questions[start : start + 40]),
            )
            for start in range(0, 200, 40)
        ]
        bm25s_ms, index_ms, component_ms = np.median(rounds, axis=0)
        store.close()
    print(f"{N_ARTICLES:,} articles, questions of {TERMS} words, top {TOP_K}; built {built:.1f} s")
    faster, slower = haystack_ms / component_ms, index_ms / bm25s_ms
    print(f"  bm25s, terms only      {bm25s_ms:9.3f} ms")
    print(f"  rank-bm25, terms only  {rank_bm25_ms:9.3f} ms")
    print(f"  LexicalIndex           {index_ms:9.3f} ms   {slower:.2f} times bm25s, at most 2")
    print(f"  Haystack in memory     {haystack_ms:9.3f} ms")
    print(
        f"  StatuteBM25Retriever   {component_ms:9.3f} ms   {faster:.0f} times faster than "
        "Haystack, at least 100"
    )


if __name__ == "__main__":
    main()
