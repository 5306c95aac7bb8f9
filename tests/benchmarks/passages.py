"""Whether the paragraph that decides is quoted: `passages.py [--split dev] [--store FILE]`.

Asks `hybrid` every labelled question of the demo law and compares the passages of
`StatutePassageRanker`, at most two of an article, with the labels (pipelines/demo/labels.md).
P-hit@1: the first passage decides. P-all@3: every deciding paragraph is among the first three.
Next to them stands the nearest paragraph of each article in the articles' order, and the time that
the ranker takes. Without --store a store is built.
"""

from __future__ import annotations

import argparse
import statistics
import tempfile
import time
from pathlib import Path

from haystack import Document

from components.rankers.passages import StatutePassageRanker
from components.retrievers.hybrid import StatuteHybridRetriever
from components.statutes.corpus import read_questions
from components.statutes.metrics import evaluate_passages
from components.statutes.provisions import provisions_of
from components.statutes.significance import bootstrap_interval
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import index_corpus

Quoted = list[tuple[str, frozenset[str]]]


def labels_at(document: Document, start: int) -> frozenset[str]:
    """The labels of the provision that begins at a place."""
    provisions = provisions_of(document.content or "")
    return next(each.labels for each in provisions if each.span.start == start)


def quoted(documents: list[Document], of_each: int, *, by_score: bool) -> Quoted:
    """The passages of the documents: the best `of_each` of each, by score or in their order."""
    passages = [
        (-passage["score"] if by_score else 0.0, document, passage["start"])
        for document in documents
        for passage in document.meta["passages"][:of_each]
    ]
    passages.sort(key=lambda each: each[0])
    return [(document.id, labels_at(document, start)) for _, document, start in passages]


def measure(store: StatuteDocumentStore, split: str) -> None:
    """Ask and print."""
    assert store.model is not None
    retriever = StatuteHybridRetriever(store, store.model.path)
    ranker = StatutePassageRanker(store, store.model.path)
    questions = [each for each in read_questions("aldermere", split=split) if each.passages]
    deciding = {each.id: each.passages for each in questions}
    runs: dict[str, dict[str, Quoted]] = {"ranked": {}, "nearest of each article": {}}
    took = []
    for question in questions:
        found = retriever.run(question.text)["documents"]
        started = time.perf_counter()
        ranked = ranker.run(question.text, found)["documents"]
        took.append(1000 * (time.perf_counter() - started))
        runs["ranked"][question.id] = quoted(ranked, 2, by_score=True)
        runs["nearest of each article"][question.id] = quoted(ranked, 1, by_score=False)
    for name, run in runs.items():
        for metric, values in evaluate_passages(run, deciding).items():
            low, high = bootstrap_interval(list(values.values()))
            mean = statistics.fmean(values.values())
            print(f"{split}, {name}: {metric} {mean:.3f} ({low:.3f} to {high:.3f})")
    print(f"passages of ten articles: p50 {statistics.median(took):.2f} ms")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--split", default="test")
    parser.add_argument("--store", type=Path)
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        path = options.store or Path(folder) / "law.db"
        if options.store is None:
            index_corpus("aldermere", path, answered="aldermere", say=print)
        store = StatuteDocumentStore(str(path))
        measure(store, options.split)
        store.close()


if __name__ == "__main__":
    main()
