"""How the embedded store grows: `python tests/benchmarks/scale.py --vectors 100000`.

Synthetic unit vectors of 384 numbers in a store of their own, written in laws of a thousand
articles. Timed are questions for the 10 and the 250 nearest, by the index alone and by the
retriever, which reads what it found from SQLite; then bytes on disk, memory and the
time to load. A million vectors take 1.5 GB on disk and twice that in memory; five million 7.7 GB.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Iterator
from pathlib import Path

import bench
from bench import milliseconds, unit_vectors

from components.models.dense_index import DenseIndex
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.stores.sqlite import StatuteDocumentStore

DIM = 384
TEXT = "The landlord keeps the dwelling fit to live in, and mends what wears out. " * 8


def main() -> None:
    parser = bench.parser(__doc__)
    parser.add_argument("--vectors", type=int, default=100_000, metavar="N")
    parser.add_argument("--questions", type=int, default=20, metavar="N")
    parser.add_argument("--folder", default=None, help="where the store is written; default: /tmp")
    options = parser.parse_args()
    questions = unit_vectors(options.questions, DIM, seed=1)
    with tempfile.TemporaryDirectory(dir=options.folder) as folder:
        path = Path(folder) / "law.db"
        store = StatuteDocumentStore(str(path))
        written = bench.seconds(bench.fill, store, options.vectors, DIM, articles)
        store.close()  # what SQLite keeps next to the file until then goes into it
        on_disk = sum(each.stat().st_size for each in Path(folder).iterdir())
        loaded, retrieved = of_the_retriever(store, questions)
        _, matrix = store.vectors()
        index = DenseIndex(matrix, "cpu")
        searched = {
            k: milliseconds(lambda each, k=k: index.search(each[None], k), questions)
            for k in (10, 250)
        }
        store.close()
    print(f"{options.vectors:,} vectors of {DIM} numbers, articles of {len(TEXT)} characters")
    peak = bench.peak_gib()
    print(f"  written in {written:.1f} s, loaded in {loaded:.1f} s, {peak:.1f} GiB at most")
    print(f"  on disk {on_disk / 1e9:.2f} GB, {on_disk / options.vectors:,.0f} bytes per article")
    for k in (10, 250):
        print(f"  top {k:<4} index {searched[k]:8.1f} ms   retriever {retrieved[k]:8.1f} ms")


def of_the_retriever(
    store: StatuteDocumentStore, questions: bench.Vectors
) -> tuple[float, dict[int, float]]:
    """Seconds to load, and milliseconds per question by depth; closes the store."""
    retriever = StatuteEmbeddingRetriever(store)
    loaded = bench.seconds(retriever.warm_up)
    vectors = [question.tolist() for question in questions]
    times = {
        k: milliseconds(lambda each, k=k: retriever.run(each, top_k=k), vectors) for k in (10, 250)
    }
    store.close()
    return loaded, times


def articles(start: int, stop: int) -> Iterator[tuple[object, ...]]:
    """Some of the articles, as `as_row` writes them."""
    for position in range(start, stop):
        law, number = f"Code {position // 1_000}", position % 1_000
        meta = {
            "law": law,
            "number": str(number),
            "headings": ["Book I", f"Chapter {number // 40}"],
            "position": position,
            "language": "en",
        }
        yield f"a{position}", TEXT, json.dumps(meta), law, position


if __name__ == "__main__":
    main()
