"""Work that goes on beside the page and ends before the process does."""

from __future__ import annotations

import atexit
import threading
from collections.abc import Callable

# Seconds that the end of the process leaves to what goes on.
_GRACE = 5.0


def begin(work: Callable[[threading.Event], object], name: str) -> threading.Event:
    """Begin work in a thread of its own, for which nobody at the end of the process waits long.

    Args:
        work: is given what tells it to stop.
        name: of the thread.

    Returns:
        What tells it to stop.
    """
    stop = threading.Event()
    thread = threading.Thread(target=work, args=(stop,), name=name, daemon=True)
    thread.start()
    # A thread that Python's end takes unawares in a library may abort the process.
    atexit.register(_end, stop, thread)
    return stop


def _end(stop: threading.Event, thread: threading.Thread) -> None:
    stop.set()
    thread.join(_GRACE)
