"""Locks between processes. A lock is released when its process ends, however that happens."""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from filelock import lock_descriptor


@contextmanager
def file_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock on a file, which is created if absent and stays.

    Args:
        path: the file; its folder exists.
        wait: until the current holder releases the lock.

    Yields:
        Whether the lock is held; False when another process holds it.

    Raises:
        OSError: the file cannot be created.
    """
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
    try:
        yield _lock(descriptor, wait)
    finally:
        os.close(descriptor)


@contextmanager
def folder_lock(path: Path, *, wait: bool) -> Iterator[bool]:
    """Hold the lock on a folder, which is created if absent and removed if it stays empty.

    Args:
        path: the folder. The holder of the lock may remove it.
        wait: until the current holder releases the lock.

    Yields:
        Whether the lock is held; False when another process holds it.

    Raises:
        OSError: the folder cannot be created.
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
            with suppress(OSError):  # not empty, or removed
                path.rmdir()
        os.close(descriptor)


def _locked_folder(path: Path, wait: bool) -> tuple[int, bool]:
    while True:
        path.mkdir(parents=True, exist_ok=True)
        with suppress(FileNotFoundError):  # a holder removed it meanwhile: try again
            descriptor = os.open(path, os.O_RDONLY)
            try:
                held = _lock(descriptor, wait)
                if not held or os.path.samestat(os.fstat(descriptor), path.stat()):
                    return descriptor, held
            except BaseException:
                os.close(descriptor)
                raise
            os.close(descriptor)


def _lock(descriptor: int, wait: bool) -> bool:
    try:
        return lock_descriptor(descriptor, blocking=wait)
    except OSError:
        return True  # a file system without locks: act as if nobody else were there
