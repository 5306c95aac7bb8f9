"""How far the search has learnt the law that it searches."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

# What the first steps take tells little of the others.
_TELLING_SHARE = 0.05


@dataclass(frozen=True, slots=True)
class Standing:
    """How far the learning is.

    Attributes:
        state: "learning" goes on; "learnt" and "failed" are for good.
        share: how much is done, 0 to 1.
        seconds_left: how long the rest may take; None where it is too early to say.
    """

    state: Literal["learning", "learnt", "failed"]
    share: float = 0.0
    seconds_left: float | None = None

    @property
    def minutes_left(self) -> int | None:
        """How long the rest may take, no more precise than is known."""
        return None if self.seconds_left is None else round(self.seconds_left / 60)


@dataclass(frozen=True, slots=True)
class Pace:
    """Where the learning was at one moment, to tell how long the rest takes.

    Attributes:
        share: how much was done then.
        at: the moment, in seconds of a monotonic clock.
    """

    share: float
    at: float

    def standing(self, share: float, now: float) -> Standing:
        """How far it is now, at a share that is no smaller."""
        done, took = share - self.share, now - self.at
        left = took * (1 - share) / done if done >= _TELLING_SHARE else None
        return Standing("learning", share, left)
