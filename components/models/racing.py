"""Which of two ways to compute the same is faster on this machine."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable

_ROUNDS = 8
# One for all races: two at a time would disturb each other's times. A race may ask for another's
# result, in the same thread.
_racing = threading.RLock()


class MeasuredOnce:
    """A measurement that is taken once a process, and by one thread: the others wait for it.

    Args:
        measure: What takes it.
    """

    def __init__(self, measure: Callable[[], float]) -> None:
        functools.update_wrapper(self, measure)
        self._measure = measure
        self._value: float | None = None

    def __call__(self) -> float:
        """What was measured."""
        value = self._value
        if value is None:
            with _racing:
                value = self._value
                if value is None:
                    value = self._value = self._measure()
        return value

    def cache_clear(self) -> None:
        """Measure anew at the next call."""
        self._value = None


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
