"""Indexing without the model: `python tests/benchmarks/indexing.py`.

22,633 articles whose vectors (768 numbers) are given: reading the file, journalling, publishing
rows and vectors law by law, then the BM25 index; the memory above that of the imports; and the
same command again on the finished store.
"""

from __future__ import annotations

import resource
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import given_vectors
import psutil
import synthetic

from components.stores.journal import StoreModel

DIM = 768
MODEL = StoreModel("given", "0" * 64, DIM, "headings_text")
ROWS_TARGET, BM25_TARGET, MEMORY_TARGET = 5.0, 10.0, 4.0


def measured(corpus: Path, store: Path) -> tuple[float, float]:
    """Seconds until the BM25 index, and seconds for it."""
    started = time.perf_counter()
    turned = started

    def say(line: str) -> None:
        nonlocal turned
        if "BM25" in line:
            turned = time.perf_counter()

    given_vectors.index(corpus, store, MODEL, say)
    return turned - started, time.perf_counter() - turned


def row(name: str, value: float, target: float, unit: str) -> str:
    verdict = "holds" if value <= target else "FAILS"
    return f"{name:34}{value:8.2f} {unit:12} at most {target:.0f}: {verdict}"


def main() -> None:
    matrix = synthetic.N_ARTICLES * DIM * 4
    with tempfile.TemporaryDirectory() as folder:
        corpus, store = Path(folder) / "articles.jsonl", Path(folder) / "law.db"
        given_vectors.write_corpus(corpus)
        imports = psutil.Process().memory_info().rss
        rows, bm25 = measured(corpus, store)
        memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 - imports
        again, bm25_again = measured(corpus, store)
        size = store.stat().st_size
    print(f"{synthetic.N_ARTICLES:,} articles, {DIM} numbers each ({matrix / 1e6:.0f} MB)\n")
    print(row("rows and vectors", rows, ROWS_TARGET, "s"))
    print(row("BM25 index", bm25, BM25_TARGET, "s"))
    print(row("peak memory above the imports", memory / matrix, MEMORY_TARGET, "x matrix"))
    print(f"{'unchanged, the same again':34}{again + bm25_again:8.2f} s")
    print(f"{'size of the store':34}{size / matrix:8.2f} x matrix")


if __name__ == "__main__":
    main()
