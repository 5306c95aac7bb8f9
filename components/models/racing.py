"""Which of two ways to compute the same is faster on this machine."""

from __future__ import annotations

import time
from collections.abc import Callable

_ROUNDS = 8


def gain(known: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times faster `other` is than `known`, best round against best round.

    In turns, so that a busy moment of the machine does not fall on one of them alone.
    """
    best = {known: float("inf"), other: float("inf")}
    for _ in range(_ROUNDS):
        for way in best:
            start = time.perf_counter()
            way()
            best[way] = min(best[way], time.perf_counter() - start)
    return best[known] / best[other]
