"""Pace: which candidates can be ranked in the time that is left."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from typing import NamedTuple

from components.rankers.work import Work

# A portion that ends counts twice as much as all before it of the same size.
_KEPT = 0.5
# Of the time that is left.
_A_PORTION = 0.5


class Portion(NamedTuple):
    """Candidates that are ranked together.

    Attributes:
        places: Theirs, ascending.
        work: Of all of them.
    """

    places: list[int]
    work: Work


class Pace:
    """Divides work into portions that end in time, by the speeds seen so far.

    Each portion takes about half of the time that is left, so that a wrong guess is seen while
    there is time to mend it. A candidate that would take more than that alone waits until the
    others are done: one long article does not cost the ranks of fifty. Where several questions in a
    row have no candidate that fits, one is tried alone, whatever it takes. Safe to share by
    threads: at worst a speed is a portion old.
    """

    def __init__(self) -> None:
        self._speeds = _Speed(), _Speed()
        # Doubled at each question for which every candidate was taken to be too slow.
        self._leeway = 1.0

    def portions(
        self, n: int, work_of: Callable[[int], Work], seconds: float | None
    ) -> Iterator[Portion]:
        """Portions of `n` candidates; the caller does one, and says so, before it asks for more.

        Args:
            n: How many candidates there are.
            work_of: What one of them costs, asked when its turn comes, since finding that out may
                take time too, and again where it waits.
            seconds: When to end; None is one portion of everything.

        Yields:
            Portions; in each the places ascend. What there is no time for is in none of them.
        """
        if seconds is None:
            if n:
                yield _joined([(place, work_of(place)) for place in range(n)])
            return
        end = time.perf_counter() + seconds
        done = False
        waiting: Sequence[int] = range(n)
        for share in (_A_PORTION, 1.0):
            later: list[int] = []
            for portion in self._round(waiting, work_of, end, share, later):
                done = True
                yield portion
            waiting = later
        if waiting and not done:
            self._leeway *= 2

    def _round(
        self,
        places: Sequence[int],
        work_of: Callable[[int], Work],
        end: float,
        share: float,
        later: list[int],
    ) -> Iterator[Portion]:
        """Portions of candidates that take a share of the time left at most; others wait."""
        turn = 0
        while turn < len(places) and time.perf_counter() < end:
            taken: list[tuple[int, Work]] = []
            expected = 0.0
            while turn < len(places):
                work = work_of(places[turn])
                needed = self._seconds(work)
                left = end - time.perf_counter()
                if taken and (needed is None or expected + needed > left * _A_PORTION):
                    break
                if left <= 0:
                    break
                if needed is None or needed <= left * share:
                    taken.append((places[turn], work))
                    expected += needed or 0.0
                elif self._leeway > 1 and needed <= left * self._leeway:
                    # A busy moment must not decide for ever: one is tried, to see the speed anew.
                    self._forget(work)
                    taken.append((places[turn], work))
                    turn += 1
                    break
                else:
                    later.append(places[turn])
                turn += 1
            if taken:
                yield _joined(taken)

    def took(self, work: Work, encoding: float, reading: float) -> None:
        """Learn from a portion.

        Args:
            work: Of the portion.
            encoding: Seconds that the choice of passages took.
            reading: Seconds that the scores took.
        """
        self._leeway = 1.0
        for speed, units, seconds in zip(self._speeds, work, (encoding, reading), strict=True):
            if units:
                speed.units = _KEPT * speed.units + units
                speed.seconds = _KEPT * speed.seconds + seconds

    def _forget(self, work: Work) -> None:
        """The speeds that doing some work will show."""
        for speed, units in zip(self._speeds, work, strict=True):
            if units:
                speed.units = speed.seconds = 0.0

    def _seconds(self, work: Work) -> float | None:
        """How long it will take; None where nothing is known.

        A model that was not at work yet is taken to be as fast as the other.
        """
        encoding, reading = (speed.of_a_unit for speed in self._speeds)
        encoding, reading = encoding or reading, reading or encoding
        if encoding is None or reading is None:
            return None
        return work.encoded * encoding + work.read * reading


class _Speed:
    """Work done and seconds spent on it, what is long ago counting less."""

    def __init__(self) -> None:
        self.units = self.seconds = 0.0

    @property
    def of_a_unit(self) -> float | None:
        return self.seconds / self.units if self.units else None


def _joined(taken: list[tuple[int, Work]]) -> Portion:
    encoded, read = (sum(each) for each in zip(*(work for _, work in taken), strict=True))
    return Portion([place for place, _ in taken], Work(encoded, read))
