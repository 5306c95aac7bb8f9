"""Exact dense top-k beside bare NumPy: `python tests/benchmarks/dense_index.py`.

22,633 vectors of 768 numbers, in turns: the index, which puts its answer in one exact order, and a
product with `argpartition`, which leaves ties and last bits to chance.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

import numpy as np
from numpy.typing import NDArray

from components.models.dense_index import DenseIndex

ROWS, DIM = 22_633, 768
QUERIES = 200
ROUNDS = 3
TARGET = 1.5

Found = tuple[NDArray[np.float32], NDArray[np.int64]]


def unit_vectors(number: int, seed: int) -> NDArray[np.float32]:
    vectors = np.random.default_rng(seed).standard_normal((number, DIM), dtype=np.float32)
    return vectors / np.linalg.norm(vectors, axis=1, keepdims=True)


def bare(matrix: NDArray[np.float32], queries: NDArray[np.float32], k: int) -> Found:
    scores = queries @ matrix.T if len(queries) > 1 else (matrix @ queries[0])[None]
    rows = np.argpartition(-scores, k, axis=1)[:, :k]
    order = np.argsort(-np.take_along_axis(scores, rows, 1), axis=1)
    rows = np.take_along_axis(rows, order, 1)
    return np.take_along_axis(scores, rows, 1), rows


def in_turns(calls: list[Callable[[int], object]], times: int) -> NDArray[np.float64]:
    """Milliseconds `[n_calls, times]`."""
    measured = np.empty((len(calls), times))
    for turn in range(times):
        for place, call in enumerate(calls):
            started = time.perf_counter()
            call(turn)
            measured[place, turn] = (time.perf_counter() - started) * 1e3
    return measured


def main() -> None:
    matrix, queries = unit_vectors(ROWS, 0), unit_vectors(QUERIES, 1)
    started = time.perf_counter()
    index = DenseIndex(matrix, "cpu")
    built = (time.perf_counter() - started) * 1e3
    print(f"{ROWS:,} x {DIM} float32, index built in {built:.0f} ms, milliseconds a query\n")
    print(f"{'':26}{'NumPy':>16}{'DenseIndex':>16}{'ratio':>9}")
    print(f"{'':26}{'median   best':>16}{'median   best':>16}{'best':>9}")
    ratios = []
    for k in (100, 500):
        single = in_turns(
            [
                lambda turn, k=k: bare(matrix, queries[turn : turn + 1], k),
                lambda turn, k=k: index.search(queries[turn : turn + 1], k),
            ],
            QUERIES,
        )
        batched = in_turns(
            [
                lambda _, k=k: bare(matrix, queries, k),
                lambda _, k=k: index.search(queries, k),
            ],
            ROUNDS,
        )
        assert (index.search(queries, k)[1] == bare(matrix, queries, k)[1]).mean() > 0.999
        for name, measured in (
            (f"top-{k}, one query", single),
            (f"top-{k}, {QUERIES} at once", batched / QUERIES),
        ):
            (numpy_median, our_median), (numpy_best, our_best) = (
                np.median(measured, axis=1),
                measured.min(axis=1),
            )
            ratios.append(our_best / numpy_best)
            print(
                f"{name:26}{numpy_median:9.2f}{numpy_best:7.2f}{our_median:9.2f}{our_best:7.2f}"
                f"{ratios[-1]:9.2f}"
            )
    verdict = "holds" if ratios[0] <= TARGET else "FAILS"
    print(f"\ntop-100 is {ratios[0]:.2f} times the bare product (at most {TARGET}): {verdict}")


if __name__ == "__main__":
    main()
