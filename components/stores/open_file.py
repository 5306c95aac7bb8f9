"""A connection to a store's file, and whether the path leads to another file since."""

import ctypes
import os
import sqlite3
import threading
import weakref
from collections.abc import Sequence
from functools import partial
from itertools import repeat
from pathlib import Path
from typing import Any

from haystack import logging

logger = logging.getLogger(__name__)

FileIdentity = tuple[int, int]
FileState = tuple[tuple[int, ...] | None, ...]

# Steps of SQLite's virtual machine between two looks at the limit: about a millisecond.
_STEPS_A_LOOK = 50_000
# What a statement may take in a file of any size, and what it may add to a file's values.
_FREE_STEPS, _FREE_BYTES = 200_000, 2**20
_LONGEST = 10**9  # SQLite's own limit

# Held while a connection is opened, and while the process forks.
opening = threading.RLock()
_open: "weakref.WeakSet[OpenFile]" = weakref.WeakSet()
_inherited: set[FileIdentity | None] = set()


class OpenFile:
    """A thread's hold on its connection, which is closed when the thread ends.

    The connection itself is in a reference cycle with its statements, and would wait for the
    garbage collector. Any thread may have it closed, but never while it is used: SQLite frees
    what the other thread is reading.

    Args:
        connection: to the file, from which it has read.
        path: the file.
        frozen: its state before it was opened, where the connection takes it for one that never
            changes, since it could not be told of changes.
    """

    def __init__(
        self, connection: sqlite3.Connection, path: Path, frozen: FileState | None = None
    ) -> None:
        self.connection = connection
        self.identity = _identity(path)
        self._files = str(path), str(log_of(path))  # looked at in every read
        self._thread = threading.get_ident()
        self._size = 0
        self._log = _identity(log_of(path))
        self._frozen = frozen
        self._told = False
        # A generator that the garbage collector ends may give back inside any of these methods.
        self._lock = threading.RLock()
        self._uses = 0
        self._let_go = False
        self._is_inherited = False
        with opening:
            _open.add(self)

    def __del__(self) -> None:
        if not self._is_inherited:
            self.connection.close()

    def take(self) -> bool:
        """Begin a use, in the connection's own thread; false where it was let go of.

        What belongs to a transaction that is open still finds its connection.
        """
        with self._lock:
            if self._is_inherited or (self._let_go and not self.is_in_transaction()):
                return False
            self._uses += 1
            return True

    def is_in_transaction(self) -> bool:
        """Whether a transaction is open in one of its uses."""
        with self._lock:
            return self._uses > 0 and self.connection.in_transaction

    @property
    def size(self) -> int:
        """Bytes of the file and its log, or more."""
        # Another file may stand at the path by now, and a smaller one.
        self._size = max(self._size, sum(map(_bytes_of, self._files)))
        return self._size

    def begin_read(self, sql: str, values: Sequence[Any]) -> None:
        """Limit the next statement to what it can need in a file of this size.

        A crafted file can lead SQLite in circles: pages that many others point to, or a text that
        goes on in its own middle. An honest row takes 35 bytes or more with its indexes, and each
        step over it comes from some letters of the statement: the limit is several times what the
        smallest rows take, and some hundred times what articles do. No value is larger than the
        file and its log.
        """
        texts = len(sql) + sum(len(each) for each in values if isinstance(each, str))
        size = self.size
        limit_steps(self.connection, _FREE_STEPS + size * texts // 64)
        most = min(size + 4 * texts + _FREE_BYTES, _LONGEST)
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, most)

    def end_read(self) -> None:
        """Lift the limit: what is written is not in the file yet."""
        if threading.get_ident() != self._thread:
            # The garbage collector ends a read in another thread. To wait there for SQLite's lock,
            # while SQLite waits for the interpreter to look at the limit, would be a deadlock.
            return
        limit_steps(self.connection, None)
        self.connection.setlimit(sqlite3.SQLITE_LIMIT_LENGTH, _LONGEST)

    def give_back(self) -> None:
        """End a use."""
        with self._lock:
            self._uses -= 1
            self._close_when_idle()

    def let_go(self) -> None:
        """Close the connection: now, or at the end of its last use."""
        with self._lock:
            self._let_go = True
            self._close_when_idle()

    def abandon(self) -> None:
        """Leave the connection, where it is open, to the process that this one was forked from.

        It is never closed here, not even at the end of the process: SQLite would write to the file
        what stood in the log at the time of the fork.
        """
        if self._let_go and not self._uses:
            return
        self._is_inherited = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))
        _inherited.add(self.identity)

    def has_changed(self, path: Path) -> bool:
        """Whether another file stands at the path, and can be opened, or the frozen one changed.

        Where there is none at the moment, this one goes on answering. So it does while its log
        lies beside the other file: SQLite would take what stands in it for the other file's.
        """
        there = _identity(path)
        if there is None:
            return False
        if self._frozen is not None:
            return state_of(path) != self._frozen
        if there == self.identity:
            return False
        log = _identity(log_of(path))
        if log is None or log != self._log:
            return True
        if not self._told:
            logger.warning(
                "{path} is another file than the one that is open, whose log {log} still lies "
                "beside it and would damage it. The old file goes on answering. Delete {log} and "
                "{shared}, and the new one is taken over.",
                path=str(path),
                log=log_of(path).name,
                shared=f"{path.name}-shm",
            )
            self._told = True
        return False

    def _close_when_idle(self) -> None:
        if self._let_go and not self._uses and not self._is_inherited:
            self.connection.close()


def is_inherited(path: Path) -> bool:
    """Whether the file was in use in another process when that forked this one.

    SQLite believes then that this process has the other's locks, for any new connection too.
    """
    return _identity(path) in _inherited


def _before_fork() -> None:
    opening.acquire()
    for each in list(_open):
        each.let_go()


def _after_fork_in_child() -> None:
    for each in list(_open):
        each.abandon()
    opening.release()


# A forked process must find no connection of the one before it; each opens its own at next use.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork,
        after_in_parent=opening.release,
        after_in_child=_after_fork_in_child,
    )


def log_of(path: Path) -> Path:
    """The file beside a store in which SQLite keeps what is not in the store's own yet."""
    return path.with_name(f"{path.name}-wal")


def _bytes_of(file: str) -> int:
    try:
        return os.stat(file).st_size  # noqa: PTH116 - Path.stat takes twice as long
    except OSError:
        return 0


def limit_steps(connection: sqlite3.Connection, steps: int | None) -> None:
    """End the next statement with the error "interrupted" after so many steps; None: never."""
    if steps is None:
        connection.set_progress_handler(None, 0)
        return
    # Counts without a line of Python: SQLite drops what a handler raises, and Python raises
    # KeyboardInterrupt in the first line that it comes to.
    looks = partial(next, repeat(0, steps // _STEPS_A_LOOK), 1)
    connection.set_progress_handler(looks, _STEPS_A_LOOK)


def state_of(path: Path) -> FileState:
    """What of a store's file and its log differs once they were written."""
    return tuple(_written(each) for each in (path, log_of(path)))


def _written(path: Path) -> tuple[int, ...] | None:
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns


def _identity(path: Path) -> FileIdentity | None:
    """Device and inode; None where there is no such file."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino
