"""Locks between processes, which go with the processes that hold them."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
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


@contextmanager
def folder_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock that a folder stands for; it is made, and goes if nothing was put into it.

    Args:
        path: the folder. Whoever holds the lock may remove it.
        wait: until whoever holds the lock lets go.

    Yields:
        Whether it is held; False when another process holds it.

    Raises:
        OSError: the folder cannot be made.
    """
    if sys.platform == "win32":  # a folder cannot be opened there
        path.mkdir(parents=True, exist_ok=True)
        yield True
        return
    descriptor, held = _locked_folder(path, wait)
    try:
        yield held
    finally:
        if held:
            with suppress(OSError):  # something is in it, or it is gone
                path.rmdir()
        os.close(descriptor)


def _locked_folder(path: Path, wait: bool) -> tuple[int, bool]:
    while True:
        descriptor = _open_folder(path)
        held = _lock(descriptor, wait)
        if not held or _stands_at(descriptor, path):
            return descriptor, held
        # Whoever held it has removed it meanwhile: the lock of a folder that is no more.
        os.close(descriptor)


def _open_folder(path: Path) -> int:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # removed between the two
            return os.open(path, os.O_RDONLY)


def _stands_at(descriptor: int, path: Path) -> bool:
    try:
        return os.path.samestat(os.fstat(descriptor), path.stat())
    except FileNotFoundError:
        return False


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
