"""What one client may ask for, and how much is done at once."""

from __future__ import annotations

import os
from dataclasses import dataclass, field

BODY_LIMIT = 64 * 1024  # bytes
MAX_QUESTION_CHARS = 2_000
MAX_TOP_K = 100
MAX_FILTER_VALUES = 500  # in all conditions together


def _cores() -> int:
    try:
        return len(os.sched_getaffinity(0))  # those that a container leaves us
    except AttributeError:  # macOS, Windows
        return os.cpu_count() or 1


@dataclass(frozen=True)
class Limits:
    """Limits of the whole service.

    Attributes:
        at_once: questions answered at the same time. More than there are cores gain nothing where
            a model runs here; a pipeline that waits for another machine gains.
        waiting: questions that may wait for their turn; the next one is refused.
        seconds: time for one question, waiting included.
        body_seconds: time in which a request's body must have come.
        connections: open connections; one more is refused.
    """

    at_once: int = field(default_factory=_cores)
    waiting: int = 100
    seconds: float = 30.0
    body_seconds: float = 10.0
    connections: int = 512
