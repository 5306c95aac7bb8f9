"""Scores and an order that do not depend on where a row stands."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

# Rows scored at a time: their float64 products stay in the processor's nearest cache.
_ROWS_AT_A_TIME = 32


def rescored(
    matrix: NDArray[np.float32], rows: NDArray[np.int64], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Dot products of some rows with a query in float64, rounded to float32.

    A product of two float32 is exact in float64, and NumPy sums each row pairwise in an order that
    depends on the row's length only: equal rows have equal scores, bit for bit.

    Args:
        matrix: `[n, dim]`.
        rows: int64 `[n_rows]`, which rows.
        query: `[dim]`.

    Returns:
        float32 `[n_rows]`.
    """
    scores = np.empty(len(rows), np.float32)
    wide = query.astype(np.float64)
    products = np.empty((min(_ROWS_AT_A_TIME, len(rows)), len(query)), np.float64)
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        some = rows[start : start + _ROWS_AT_A_TIME]
        part = products[: len(some)]
        np.multiply(matrix[some], wide, out=part)
        scores[start : start + len(some)] = part.sum(axis=1)
    return scores


def ranked(scores: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Places of the k best `[k]`: highest score first, and of equal scores the lowest row."""
    order: NDArray[np.int64] = np.lexsort((rows, -scores))[:k]
    return order


def rounding_error(dim: int) -> float:
    """Bound on |float32 product - exact product| for unit vectors, in any order of summation.

    gamma_n = n u / (1 - n u) with u = 2^-24 (Higham, Accuracy and Stability, section 3.1), times
    |x| |y| <= 1.0001, plus one rounding to float32.
    """
    unit = 2.0**-24
    return 1.0001 * dim * unit / (1 - dim * unit) + unit
