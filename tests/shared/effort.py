"""Guards against work that explodes with the length of a text."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from types import FrameType
from typing import Any

# Some hundred times what such a text takes; one that is gone through again at each of its signs,
# or worse, takes far longer. The processor's time, so that other work beside it does not count.
_SECONDS = 20.0


@contextmanager
def bounded_effort() -> Iterator[None]:
    """Fail when what is done within takes out of all proportion."""
    start = time.process_time()
    try:
        yield
    finally:
        assert time.process_time() - start < _SECONDS


@contextmanager
def bounded_steps(most: int) -> Iterator[None]:
    """Fail as soon as Python runs more instructions than `most` within, on any machine alike."""
    taken = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal taken
        frame.f_trace_opcodes, frame.f_trace_lines = True, False
        taken += event == "opcode"
        assert taken <= most, f"more than {most:,} steps"
        return trace

    before = sys.gettrace()
    sys.settrace(trace)
    try:
        yield
    finally:
        sys.settrace(before)
