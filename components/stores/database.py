"""The SQLite file under the document store: opening, checking, transactions."""

import json
import os
import sqlite3
import threading
import time
import weakref
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.stores.filters import register_filter_function
from components.stores.open_file import FileIdentity, OpenFile, log_of

# "LXRB": written into the file's header, so that a foreign SQLite file is known at once.
APPLICATION_ID = 0x4C585242
# Format 2 has the states of laws too. A store gets it with the first graph's vectors; all others
# stay as they are.
FIRST_FORMAT, FORMAT_VERSION = 1, 2

# The content version starts at random: an index of a deleted store must not fit its successor.
SCHEMA = """
CREATE TABLE facts (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE documents (
  key INTEGER PRIMARY KEY AUTOINCREMENT,
  id TEXT NOT NULL UNIQUE,
  content TEXT,
  meta TEXT NOT NULL,
  other TEXT,
  law TEXT,
  position INTEGER NOT NULL,
  text_digest TEXT,
  embedding BLOB
);
CREATE INDEX documents_in_order ON documents (position);
CREATE INDEX documents_of_law ON documents (law);
CREATE INDEX documents_of_text ON documents (text_digest) WHERE text_digest IS NOT NULL;
CREATE TABLE journal (
  model TEXT NOT NULL,
  text_digest TEXT NOT NULL,
  vector BLOB NOT NULL,
  PRIMARY KEY (model, text_digest)
);
CREATE TABLE blobs (name TEXT PRIMARY KEY, version TEXT NOT NULL, content BLOB NOT NULL);
INSERT INTO facts VALUES ('content_version', abs(random() % 1000000000000));
"""

LAW_STATES = "CREATE TABLE law_states (law TEXT PRIMARY KEY, state TEXT NOT NULL) WITHOUT ROWID"


# Seconds to wait for another process that writes.
_PATIENCE = 30.0


class StoreError(RuntimeError):
    """The store cannot do what was asked; the message says why and how to mend it."""


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
        self._local = threading.local()
        self._opening = threading.Lock()
        self._opened: weakref.WeakSet[OpenFile] = weakref.WeakSet()

    @property
    def path(self) -> Path:
        """Absolute path of the file."""
        if not self._path:
            raise StoreError(
                "StatuteDocumentStore.path is null. Give the file that python -m pipelines.index "
                "wrote, as StatuteDocumentStore(path=...) or load_pipeline(..., store=FILE)."
            )
        return Path(self._path).expanduser().resolve()

    @property
    def connection(self) -> sqlite3.Connection:
        """This thread's connection, opened and checked on first use."""
        return self._open_file().connection

    @property
    def identity(self) -> FileIdentity | None:
        """Device and inode of the file that this thread has open."""
        return self._open_file().identity

    def follow(self) -> "StatuteDatabase":
        """Let go of a file in whose place another was put; the next use opens that one."""
        opened: OpenFile | None = getattr(self._local, "opened", None)
        if opened is not None and opened.is_replaced(self.path):
            self._local.opened = None
        return self

    def close(self) -> None:
        """Close every thread's connection; the next use opens anew."""
        with self._opening:
            for opened in list(self._opened):
                opened.connection.close()
            self._opened.clear()
            self._local = threading.local()

    @contextmanager
    def writing(self, *, content: bool = True) -> Iterator[sqlite3.Connection]:
        """One transaction: all of it or nothing, also when the process is killed within.

        Args:
            content: whether documents change, which raises the content version that resident
                indexes watch.

        Raises:
            StoreError: when the disk is full or the file cannot be written.
        """
        connection = self.connection
        try:
            connection.execute("BEGIN IMMEDIATE")
            yield connection
            if content:
                connection.execute(
                    "UPDATE facts SET value = CAST(value AS INTEGER) + 1 "
                    "WHERE key = 'content_version'"
                )
            connection.execute("COMMIT")
        except sqlite3.DatabaseError as error:
            self._roll_back(connection)
            raise StoreError(_mending(self.path, error)) from error
        except BaseException:
            self._roll_back(connection)
            raise

    def upgrade(self, connection: sqlite3.Connection) -> None:
        """Bring the file to the newest format, within the caller's transaction."""
        if self._header(connection)[1] < FORMAT_VERSION:
            connection.execute(LAW_STATES)
            connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")

    def rows(self, sql: str, values: Sequence[Any] = ()) -> Iterator[Any]:
        """The rows of a query, as they are read.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        try:
            yield from self.connection.execute(sql, values)
        except sqlite3.DatabaseError as error:
            raise StoreError(_mending(self.path, error)) from error

    def fact(self, key: str) -> Any:
        """The stored value of `key`, or None."""
        row = next(self.rows("SELECT value FROM facts WHERE key = ?", (key,)), None)
        return None if row is None else json.loads(row[0])

    def _open_file(self) -> OpenFile:
        opened: OpenFile | None = getattr(self._local, "opened", None)
        if opened is None:
            with self._opening:
                opened = self._local.opened = OpenFile(self._open(), self.path)
                self._opened.add(opened)
        return opened

    def _roll_back(self, connection: sqlite3.Connection) -> None:
        if connection.in_transaction:
            connection.execute("ROLLBACK")

    def _open(self) -> sqlite3.Connection:
        path = self.path
        if path.is_dir():
            raise StoreError(f"{path} is a folder, not a store. Name a file in it.")
        if not path.parent.is_dir():
            raise StoreError(f"{path} cannot be made: there is no folder {path.parent}. Make it.")
        connection: sqlite3.Connection | None = None
        try:
            connection = self._connect(path)
            self._check_or_create(connection, path)
            connection.execute("PRAGMA synchronous = NORMAL")
            connection.execute("PRAGMA cache_size = -16384")
            register_filter_function(connection)
        except sqlite3.OperationalError as error:
            raise StoreError(_mending(path, error)) from error
        except sqlite3.DatabaseError as error:
            raise StoreError(
                f"{path} is not a Lexarbor store ({error}). Name the file that "
                "python -m pipelines.index wrote, or another name to make a new one."
            ) from error
        else:
            opened, connection = connection, None
            return opened
        finally:
            if connection is not None:
                connection.close()

    @staticmethod
    def _connect(path: Path) -> sqlite3.Connection:
        where = path.as_uri()
        if path.exists() and not os.access(path.parent, os.W_OK):
            # Readers too need a place for the file that they share with the writer. Where nothing
            # can be written nobody writes, and the file can be read alone.
            log = log_of(path)
            if log.exists() and log.stat().st_size:
                raise StoreError(
                    f"{path} was not closed when it was written ({log.name} is beside it), and "
                    f"{path.parent} cannot be written. Open it once where it can, or copy both."
                )
            where += "?mode=ro&immutable=1"
        # Connections are used by one thread at a time, but closed by whichever calls close().
        return sqlite3.connect(
            where,
            uri=True,
            timeout=_PATIENCE,
            isolation_level=None,
            check_same_thread=False,
        )

    def _check_or_create(self, connection: sqlite3.Connection, path: Path) -> None:
        if self._header(connection) == (0, 0, 0):
            # The journal is as large as all vectors; its room is given back when it is emptied.
            connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
            self._write_ahead(connection)
            connection.execute("BEGIN IMMEDIATE")
            try:
                # Another process may have created it since the first look.
                if self._header(connection) == (0, 0, 0):
                    for statement in SCHEMA.split(";\n"):
                        connection.execute(statement)
                    connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                    connection.execute(f"PRAGMA user_version = {FIRST_FORMAT}")
                connection.execute("COMMIT")
            except BaseException:
                self._roll_back(connection)
                raise
        application, version, _ = self._header(connection)
        if application != APPLICATION_ID:
            raise StoreError(
                f"{path} is a SQLite file of another program, not a Lexarbor store. "
                "Name another file; this one was left as it is."
            )
        if not FIRST_FORMAT <= version <= FORMAT_VERSION:
            raise StoreError(
                f"{path} is a store of format {version}; this Lexarbor reads formats "
                f"{FIRST_FORMAT} to {FORMAT_VERSION}. Index the corpus again into a new file with "
                "python -m pipelines.index --corpus ... --store NEW."
            )

    @staticmethod
    def _write_ahead(connection: sqlite3.Connection) -> None:
        """Set the journal's mode, which fails at once while another process makes the same file."""
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                connection.execute("PRAGMA journal_mode = WAL")
            except sqlite3.OperationalError as error:
                if "locked" not in str(error) or time.monotonic() > deadline:
                    raise
                time.sleep(0.01)
            else:
                return

    @staticmethod
    def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
        application = connection.execute("PRAGMA application_id").fetchone()[0]
        version = connection.execute("PRAGMA user_version").fetchone()[0]
        tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
        return application, version, tables


def _mending(path: Path, error: sqlite3.DatabaseError) -> str:
    text = str(error)
    if "full" in text or "disk I/O" in text:
        reason = (
            "the disk is full" if "full" in text else "the disk cannot be written (full, or broken)"
        )
        return (
            f"{path}: {reason}. Nothing of this step was kept and what stood before is "
            "whole. Make room and run the same command again: it goes on where it stopped."
        )
    if "malformed" in text or "not a database" in text:
        return (
            f"{path} is damaged ({text}). Copy it again, or index the corpus into a new file with "
            "python -m pipelines.index --corpus ... --store NEW."
        )
    if "locked" in text:
        return (
            f"{path}: another process has been writing for {_PATIENCE:.0f} s. "
            "Wait for it, then try again."
        )
    if "readonly" in text or "unable to open" in text:
        return f"{path} cannot be opened for writing ({text}). Check the file's permissions."
    return f"{path}: {text}."
