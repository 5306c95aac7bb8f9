"""The SQLite file under the document store: its connections and transactions."""

import sqlite3
import threading
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.stores.failures import READ_ERRORS, StoreError, damaged, told, unreadable
from components.stores.open_file import FileIdentity, OpenFile, opening
from components.stores.opening import open_store, roll_back
from components.stores.rows import from_json

__all__ = ["StatuteDatabase", "StoreError"]


class StatuteDatabase:
    """One SQLite file in write-ahead mode, with one connection a thread.

    Readers never wait for the writer and see only what was committed. The file carries its own
    application id and format version; any other file is refused and left as it is.

    Raises:
        StoreError: at first use, when `path` is missing, no SQLite file, another program's file,
            or of another format version.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._resolved: Path | None = None
        self._local = threading.local()
        self._opened: weakref.WeakSet[OpenFile] = weakref.WeakSet()
        self._was_there = False

    @property
    def path(self) -> Path:
        """Absolute path of the file, as it is where it is first asked for."""
        if self._resolved is not None:
            return self._resolved
        if not self._path:
            raise StoreError(
                "StatuteDocumentStore.path is null. Give the file that python -m pipelines.index "
                "wrote, as StatuteDocumentStore(path=...) or load_pipeline(..., store=FILE)."
            )
        if self._path == ":memory:":
            raise StoreError(
                "StatuteDocumentStore.path is ':memory:', and a store is a file. Name one, or use "
                "Haystack's InMemoryDocumentStore."
            )
        self._resolved = Path(self._path).expanduser().resolve()
        return self._resolved

    @property
    def identity(self) -> FileIdentity | None:
        """Device and inode of the file that this thread has open."""
        with self._in_use() as opened:
            return opened.identity

    @property
    def size(self) -> int:
        """Bytes of the file that this thread has open, and its log."""
        with self._in_use() as opened:
            return opened.size

    def follow(self) -> "StatuteDatabase":
        """Let go of a file in whose place another was put; the next use opens that one.

        So it is with a file that was opened where nothing may be written, once it has changed.
        """
        opened: OpenFile | None = getattr(self._local, "opened", None)
        if opened is not None and not opened.is_in_transaction() and opened.has_changed(self.path):
            self._local.opened = None
        return self

    def close(self) -> None:
        """Close every thread's connection; the next use opens anew.

        What another thread is reading or writing goes on to its end, and is closed then.
        """
        with opening:
            self._was_there = False
            for opened in list(self._opened):
                opened.let_go()

    @contextmanager
    def connected(self) -> Iterator[sqlite3.Connection]:
        """This thread's connection, opened and checked on first use, and not closed within.

        Raises:
            StoreError: the file cannot be opened, or is no store of ours.
        """
        with self._in_use() as opened:
            yield opened.connection

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing, also when the process is killed within.

        Args:
            content: whether it is about documents. Where it changes any, it raises the content
                version that resident indexes watch.

        Raises:
            StoreError: when the disk is full, or the file cannot be written or is not there any
                more.
        """
        with self.connected() as connection:
            # SQLite would write into the file that has no name any more.
            self._check_is_there()
            try:
                connection.execute("BEGIN IMMEDIATE")
                before = connection.total_changes
                yield connection
                if content and connection.total_changes > before:
                    connection.execute(
                        "UPDATE facts SET value = CAST(value AS INTEGER) + 1 "
                        "WHERE key = 'content_version'"
                    )
                connection.execute("COMMIT")
            except sqlite3.DatabaseError as error:
                roll_back(connection)
                raise StoreError(told(self.path, error)) from error
            except BaseException:
                roll_back(connection)
                raise

    def _check_is_there(self) -> None:
        if not self.path.exists():
            raise StoreError(
                f"{self.path} is not there any more. Put it back, or name another store."
            )

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query, as they are read.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        with self._in_use() as opened:
            opened.begin_read(sql, values)
            try:
                yield from opened.connection.execute(sql, values)
            except READ_ERRORS as error:
                if opened.has_changed(self.path):
                    message = f"{self.path} was changed while it was read. Ask again."
                    raise StoreError(message) from error
                raise StoreError(unreadable(self.path, error)) from error
            finally:
                opened.end_read()

    def fact(self, key: str) -> Any:
        """The stored value of `key`, or None.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        row = next(self.rows("SELECT value FROM facts WHERE key = ?", (key,)), None)
        try:
            return None if row is None else from_json(row[0])
        except ValueError as error:
            raise StoreError(damaged(self.path, f"its record {key!r} {error}")) from error

    def text_fact(self, key: str) -> str | None:
        """The stored text of `key`, or None.

        Raises:
            StoreError: it is another value, or the file cannot be read.
        """
        text = self.fact(key)
        if not isinstance(text, str | None):
            raise StoreError(damaged(self.path, f"its record {key!r} is not a text"))
        return text

    @contextmanager
    def _in_use(self) -> Iterator[OpenFile]:
        opened: OpenFile | None = getattr(self._local, "opened", None)
        while opened is None or not opened.take():
            with opening:
                # A thread that came late would make an empty store, and answer from it.
                if self._was_there:
                    self._check_is_there()
                opened = self._local.opened = open_store(self.path)
                self._opened.add(opened)
                self._was_there = True
        try:
            yield opened
        finally:
            opened.give_back()
