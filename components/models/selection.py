"""What searches over rows share: which rows may be found, and how good the k-th best is."""

from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any, TypeVar

import numpy as np
from cachetools import LRUCache, cached
from numpy.typing import NDArray

Result = TypeVar("Result")

Keys = NDArray[np.int64] | None
"""Keys of the documents that may be found; None for all."""

FILTERS_KEPT = 32
# A table has a byte for each key from the lowest to the highest, if most of them are in use.
_BYTES_A_ROW = 8


def remembered(compute: Callable[[Keys], Result]) -> Callable[[Keys], Result]:
    """A function that keeps its results for the last 32 arrays, known by identity. Thread-safe."""

    @cached(LRUCache[Any, Any](FILTERS_KEPT), key=id, lock=threading.Lock())
    def kept(allowed: Keys) -> tuple[Keys, Result]:
        return allowed, compute(allowed)  # an array that lives keeps its id to itself

    return lambda allowed: kept(allowed)[1]


def row_mask(keys: NDArray[np.int64]) -> Callable[[Keys], NDArray[np.bool_] | None]:
    """Which rows of an index are allowed, bool `[n]`; None where all are.

    Questions with one filter come with the very same array, whose mask is kept.

    Args:
        keys: int64 `[n]`, the key of each row.
    """
    low, high = int(keys.min(initial=0)), int(keys.max(initial=0))

    def mask(allowed: Keys) -> NDArray[np.bool_] | None:
        if allowed is None or high - low > _BYTES_A_ROW * len(keys):
            return None if allowed is None else np.isin(keys, allowed)
        # A tenth of the time of `isin`, which looks at each key several times.
        table = np.zeros(high - low + 1, np.bool_)
        table[allowed[(allowed >= low) & (allowed <= high)] - low] = True
        return table[keys - low]

    return remembered(mask)


def kth_greatest(values: NDArray[np.float32], k: int) -> np.float32:
    """The k-th greatest of float32 `[n]`, where k is from 1 to n.

    A partition of a million numbers takes ten times as long as reading them, so it is asked of few:
    of k blocks at least, the greatest number reaches the k-th greatest of the blocks' greatest.
    """
    size = len(values) // (8 * k)
    if size > 1:
        greatest = values[: len(values) // size * size].reshape(-1, size).max(axis=1)
        values = values[values >= np.partition(greatest, -k)[-k]]
    kth: np.float32 = np.partition(values, -k)[-k]
    return kth
