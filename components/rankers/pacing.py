"""Pace: how many candidates can be ranked in the time that is left."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence

import numpy as np


class Pace:
    """Divides work into portions that end in time, by the speed seen so far.

    Each portion takes about half of the time that is left, so that a wrong guess is seen while
    there is time to mend it.
    """

    def __init__(self) -> None:
        self._seconds_a_unit: float | None = None

    def portions(self, costs: Sequence[int], seconds: float | None) -> Iterator[range]:
        """Portions of the work from its beginning; the caller does one before it asks for more.

        Args:
            costs: `[n]`, how much work each item is, in any unit, at least 1.
            seconds: when to end; None is one portion of everything.

        Yields:
            Indices in order, the first portion from 0. Work for which the time does not suffice is
            in none of them.
        """
        ends = np.cumsum(np.asarray(costs, np.int64))
        started = time.perf_counter()
        done = 0
        while done < len(costs):
            begun = time.perf_counter()
            before = int(ends[done - 1]) if done else 0
            stop = len(costs)
            if seconds is not None:
                stop = self._stop(ends - before, done, seconds - (begun - started))
            if stop == done:
                break
            yield range(done, stop)
            spent = time.perf_counter() - begun
            self._seconds_a_unit = spent / (int(ends[stop - 1]) - before)
            done = stop
        if not done and self._seconds_a_unit is not None:
            # A busy moment must not decide for ever: the next question is allowed more.
            self._seconds_a_unit /= 2

    def _stop(self, ends: np.ndarray, done: int, left: float) -> int:
        """Where the next portion ends; `done` where there is no time for it."""
        if left <= 0:
            return done
        if self._seconds_a_unit is None:
            return done + 1
        fits = left / self._seconds_a_unit
        if ends[done] > fits:
            return done
        return max(done + 1, int(np.searchsorted(ends, fits / 2, side="right")))
