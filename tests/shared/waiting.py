"""Waiting for what must become true."""

from __future__ import annotations

import time
from collections.abc import Callable


def until(holds: Callable[[], object], seconds: float = 60) -> None:
    """Wait for a condition; the limit is long enough for a busy machine."""
    end = time.monotonic() + seconds
    while not holds():
        assert time.monotonic() < end, "the condition did not become true"
        time.sleep(0.01)
