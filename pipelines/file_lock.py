"""A lock between processes, which goes with the processes that hold it."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[int | None]:
    """Hold the lock that a file stands for; the file is made, and stays.

    A process that is killed lets go of it. A child that is given the descriptor holds it too, until
    both have ended.

    Args:
        path: the file; its folder exists.
        wait: until whoever holds the lock lets go.

    Yields:
        The file's descriptor, or None when another process holds the lock.

    Raises:
        OSError: the file cannot be made.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield descriptor if _lock(descriptor, wait) else None
    finally:
        # Not unlocked but closed: a child that is still alive keeps the lock.
        os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> bool:
    if sys.platform == "win32":
        return True
    import fcntl

    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks: as if nobody else were there
    return True
