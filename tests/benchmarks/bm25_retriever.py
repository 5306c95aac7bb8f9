"""BM25 top-100 of a corpus of BSARD's size: `python tests/benchmarks/bm25_retriever.py`.

The component analyses the question, searches, and reads the found documents from SQLite; its peer
is Haystack's in-memory store. The index alone, analysis included, stands next to bm25s and
rank-bm25 over the same terms, analysed beforehand.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import bench
import bm25s
import numpy as np
from haystack.components.retrievers import InMemoryBM25Retriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from rank_bm25 import BM25Plus

from components.models.lexical_index import LexicalIndex
from components.retrievers.bm25 import StatuteBM25Retriever
from components.statutes.lexical import analyzer
from components.stores.sqlite import StatuteDocumentStore

TOP_K = 100
TERMS = 12


def main() -> None:
    options = bench.parser(__doc__, articles=bench.N_ARTICLES).parse_args()
    documents = bench.documents(options.articles)
    rng = np.random.default_rng(1)
    # A question's words are those of one article, so frequent and rare ones mix as they do there.
    chosen = rng.choice(len(documents), 200, replace=False)
    questions = [" ".join(rng.choice(documents[row].content.split(), TERMS)) for row in chosen]
    analyze = analyzer("en")
    terms = [list(dict.fromkeys(analyze(question))) for question in questions]
    indexed = [analyze(" ".join([*each.meta["headings"], each.content])) for each in documents]
    bare = bm25s.BM25(k1=1.5, b=0.75)
    bare.index(indexed, show_progress=False)
    slow = BM25Plus(indexed, k1=1.5, b=0.75)
    in_memory = InMemoryDocumentStore()
    in_memory.write_documents(documents)
    theirs = InMemoryBM25Retriever(in_memory, top_k=TOP_K)
    with tempfile.TemporaryDirectory() as folder:
        store = StatuteDocumentStore(str(Path(folder) / "law.db"))
        store.write_documents(documents)
        ours = StatuteBM25Retriever(store, top_k=TOP_K)
        built = bench.seconds(ours.warm_up)
        index = LexicalIndex.build(store.texts(), k1=1.5, b=0.75)
        ms = bench.of_parts(
            {
                "bm25s": (lambda each: bare.retrieve([each], k=TOP_K, show_progress=False), terms),
                "index": (lambda each: index.search(each, TOP_K), questions),
                "component": (ours.run, questions),
            }
        )
        store.close()
    ms["Haystack"] = bench.milliseconds(theirs.run, questions[:7])
    ms["rank-bm25"] = bench.milliseconds(
        lambda each: slow.get_top_n(each, documents, TOP_K), terms[:7]
    )
    slower, faster = ms["index"] / ms["bm25s"], ms["Haystack"] / ms["component"]
    print(
        f"{len(documents):,} articles, questions of {TERMS} words, top {TOP_K}; built {built:.1f} s"
    )
    print(f"  bm25s, terms only      {ms['bm25s']:9.3f} ms")
    print(f"  rank-bm25, terms only  {ms['rank-bm25']:9.3f} ms")
    print(
        f"  LexicalIndex           {ms['index']:9.3f} ms   {slower:.2f} times bm25s, "
        f"{bench.at_most(slower, 2)}"
    )
    print(f"  Haystack in memory     {ms['Haystack']:9.3f} ms")
    print(
        f"  StatuteBM25Retriever   {ms['component']:9.3f} ms   {faster:.0f} times faster, "
        f"{bench.at_least(faster, 100)}"
    )


if __name__ == "__main__":
    main()
