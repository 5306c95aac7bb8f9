"""The SQLite file under the document store: its rows, connections and transactions."""

import ctypes
import json
import math
import os
import sqlite3
import threading
import weakref
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager
from functools import cache, cached_property, partial
from itertools import repeat
from pathlib import Path
from types import MappingProxyType
from typing import Any, cast

import numpy as np
import pydantic_core
from haystack import Document, logging
from numpy.typing import NDArray
from tenacity import Retrying, retry_if_exception, stop_after_delay, wait_fixed

logger = logging.getLogger(__name__)

# Seconds to wait for another process that writes.
PATIENCE = 30.0
# What reading a file raises: sqlite3 decodes SQLite's own messages too, which quote the file.
READ_ERRORS = (sqlite3.Error, MemoryError, UnicodeDecodeError)


class StoreError(RuntimeError):
    """The store cannot do what was requested; the message says why and what to do."""


def damaged(path: Path, what: str) -> StoreError:
    """The error of a damaged file."""
    return StoreError(
        f"{path} is damaged: {what}. Copy it again, or index the corpus into a new file with "
        "python -m pipelines.index --corpus ... --store NEW."
    )


def missing(path: Path) -> str:
    """What to do where there is no store at a path."""
    return (
        f"There is no store {path}. Make it with python -m pipelines.index --corpus ... "
        f"--store {path}; python -m ui builds the demo store."
    )


# Parts of SQLite's messages about a damaged file; the others are about the disk and its users.
_DAMAGES = ("Could not decode", "too big", "interrupted", "malformed", "not a database")


def failure(path: Path, error: Exception) -> StoreError:
    """The error that stands for one of `READ_ERRORS`, met in reading or writing."""
    if isinstance(error, UnicodeDecodeError):
        return damaged(path, "a name in it is not UTF-8")
    if any(each in str(error) for each in _DAMAGES):
        steps = "a read took more steps than a file of its size can need"
        return damaged(path, f"{error!s:.300}".replace("interrupted", steps))
    reason = str(error) or "there is not enough memory"
    return StoreError(f"{path}: {reason}. Check disk, memory and permissions, and try again.")


COLUMNS = "id, content, meta, law, position"
# An id's old row is replaced by one with a new key.
INSERT = f"INSERT OR REPLACE INTO documents ({COLUMNS}, embedding) VALUES (?, ?, ?, ?, ?, ?)"
# Documents without a position come last.
NO_POSITION = 2**62
# Columns from which a document is rebuilt, without its vector: retrieved documents never carry one.
BARE = "id, content, meta"


def embedding_blob(document: Document, dim: int | None) -> bytes | None:
    """The document's vector as float32 bytes.

    Raises:
        ValueError: when it is not finite, is zero, or is not `dim` long; names the document.
    """
    if document.embedding is None:
        return None
    vector = np.asarray(document.embedding, dtype=np.float32)
    try:
        if vector.ndim != 1:
            raise ValueError("is not a list of numbers")
        vector_of(vector.tobytes(), dim)
    except ValueError as error:
        raise ValueError(
            f"document '{document.id}': its embedding {error}. Embed the document again."
        ) from error
    return vector.tobytes()


def position_of(meta: Mapping[str, Any]) -> int:
    """A document's place in the order of the law; `NO_POSITION` if it has none."""
    position = meta.get("position")
    return position if type(position) is int and abs(position) < NO_POSITION else NO_POSITION


def as_row(document: Document) -> tuple[Any, ...]:
    """The document's values of `COLUMNS`.

    Raises:
        ValueError: when meta is not JSON, or a text is not UTF-8; names the document.
    """
    if document.blob is not None or document.sparse_embedding is not None:
        raise ValueError(f"document '{document.id}': leave out its blob and sparse_embedding.")
    law = document.meta.get("law")
    row = (
        document.id,
        document.content,
        _json(document),
        law if isinstance(law, str) else None,
        position_of(document.meta),
    )
    try:
        f"{document.id}{document.content}".encode()
    except UnicodeEncodeError as error:
        what = "its id or content holds half of a surrogate pair. Write the character itself."
        raise ValueError(f"document {document.id!r}: {what}") from error
    return row


def from_json(text: object) -> Any:
    """The value of a JSON text, such as this module writes.

    Raises:
        ValueError: it is another value, or not such a text, or nested more than 200 levels deep;
            says what is wrong with it.
    """
    if type(text) is not str:
        raise ValueError("is not a text")
    try:
        # Stricter than Python's own: no NaN, no halves of surrogate pairs, and a limited depth,
        # since Haystack copies and prints metadata by recursion.
        return pydantic_core.from_json(text, allow_inf_nan=False)
    except ValueError as error:
        raise ValueError(f"is not JSON ({error})") from error


def parsed(path: Path, id_: str, text: object) -> dict[str, Any]:
    """The metadata of a document's row.

    Raises:
        StoreError: it is not one; names the file and the document.
    """
    try:
        fields = from_json(text)
    except ValueError as error:
        raise _damaged(path, id_, f"its meta {error}") from error
    if type(fields) is not dict:
        raise _damaged(path, id_, "its meta is not a JSON object")
    return fields


def vector_of(blob: object, dim: int | None) -> NDArray[np.float32]:
    """The vector of float32 bytes.

    Raises:
        ValueError: it is not `dim` long (None: any length), not finite, or zero; says which.
    """
    size = len(blob) if type(blob) is bytes else 0
    if not size or size % 4 or size != 4 * (dim or size // 4):
        raise ValueError(f"is not {dim or 'a row of'} float32 numbers")
    vector = np.frombuffer(cast("bytes", blob), dtype=np.float32)
    square = float(np.dot(vector, vector))  # may overflow, or vanish, where no number does
    if not (0 < square < math.inf or (np.isfinite(vector).all() and vector.any())):
        raise ValueError("holds NaN or infinity, or zeros alone")
    return vector


def check_vector(path: Path, id_: object, blob: object, dim: int | None) -> NDArray[np.float32]:
    """A document's vector.

    Raises:
        StoreError: it is not one; names the file and the document.
    """
    try:
        return vector_of(blob, dim)
    except ValueError as error:
        raise _damaged(path, id_, f"its vector {error}") from error


def from_row(
    path: Path, id_: str, content: str | None, meta: str, score: float | None = None
) -> Document:
    """The document of a row of the file, without its vector.

    `score`, where given, is that of a search.

    Raises:
        StoreError: the row is damaged; names the file and the document.
    """
    if not (id_ and type(id_) is str and (content is None or type(content) is str)):
        raise _damaged(path, id_, "its id or content is not a text")
    return Document(id=id_, content=content, meta=parsed(path, id_, meta), score=score)


def _damaged(path: Path, id_: object, what: str) -> StoreError:
    return damaged(path, f"document {id_!r:.200}: {what}")


def _json(document: Document) -> str:
    try:
        text = json.dumps(document.meta, ensure_ascii=False, allow_nan=False)
        from_json(text)
        return text
    except (TypeError, ValueError, RecursionError) as error:
        what = f"its meta is not JSON ({error}). Write dates as ISO strings."
        raise ValueError(f"document '{document.id}': {what}") from error


FileIdentity = tuple[int, int]
FileState = tuple[tuple[int, ...] | None, ...]

# Steps of SQLite's virtual machine between two looks at the limit: about a millisecond.
_STEPS_A_LOOK = 50_000
# What a statement may take in a file of any size, and what it may add to a file's values.
_FREE_STEPS, _FREE_BYTES = 200_000, 2**20
_LONGEST = 10**9  # SQLite's own limit
# Values bound at a time; SQLite's own limit is far higher, this keeps statements short.
_CHUNK = 500

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
        frozen: its state before it was opened, where the connection takes the file for one that
            never changes, because it cannot notice changes.
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
        self._warned = False
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
        """Begin a use, in the connection's own thread; False once the connection is to be closed.

        An open transaction keeps its connection until it ends.
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
        sizes = [each.st_size for each in map(_status, self._files) if each is not None]
        # Another, smaller file may be at the path by now.
        self._size = max(self._size, sum(sizes))
        return self._size

    def begin_read(self, sql: str, values: Sequence[Any]) -> None:
        """Limit the next statement to what it can need in a file of this size.

        A crafted file can lead SQLite in circles: pages that many others point to, or a text that
        continues in its own middle. An honest row takes 35 bytes or more with its indexes, and each
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
        """Leave an open connection to the process that this one was forked from.

        It is never closed here, not even at the end of the process: SQLite would write the log of
        the time of the fork into the file.
        """
        if self._let_go and not self._uses:
            return
        self._is_inherited = True
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(self.connection))
        _inherited.add(self.identity)

    def has_changed(self, path: Path) -> bool:
        """Whether the file was replaced by one that can be opened, or a frozen one changed.

        While there is no file, this one continues to answer. So it does while its log lies next to
        the new file: SQLite would apply that log to the new file.
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
        if not self._warned:
            logger.warning(
                "{path} was replaced next to the log of the old file, which still answers. Delete "
                "{path}-wal and {path}-shm to read the new one.",
                path=str(path),
            )
            self._warned = True
        return False

    def _close_when_idle(self) -> None:
        if self._let_go and not self._uses and not self._is_inherited:
            self.connection.close()


def _before_fork() -> None:
    opening.acquire()
    for each in list(_open):
        each.let_go()


def _after_fork_in_child() -> None:
    for each in list(_open):
        each.abandon()
    opening.release()


# A forked process must not use its parent's connections; it opens its own at the next use.
if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_before_fork, after_in_parent=opening.release, after_in_child=_after_fork_in_child
    )


def log_of(path: Path) -> Path:
    """The file next to a store in which SQLite keeps what is not in the store's own yet."""
    return path.with_name(f"{path.name}-wal")


def _status(file: str | Path) -> os.stat_result | None:
    try:
        return os.stat(file)  # noqa: PTH116 - Path.stat takes twice as long
    except OSError:
        return None


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
    """What differs in a store's file and its log once they were written."""
    found = (_status(path), _status(log_of(path)))
    return tuple(each and (each.st_ino, each.st_size, each.st_mtime_ns) for each in found)


def _identity(path: Path) -> FileIdentity | None:
    """Device and inode; None where there is no such file."""
    status = _status(path)
    return status and (status.st_dev, status.st_ino)


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

# SQLite's own tables of statistics, which a user's ANALYZE leaves.
_STATISTICS = {
    "sqlite_stat1": ("table", "sqlite_stat1", "CREATE TABLE sqlite_stat1(tbl,idx,stat)"),
    "sqlite_stat4": (
        "table",
        "sqlite_stat4",
        "CREATE TABLE sqlite_stat4(tbl,idx,neq,nlt,ndlt,sample)",
    ),
}
# Opening an honest store takes some hundreds.
_STEPS_TO_OPEN = 1_000_000

_Objects = dict[str, tuple[str, str, str | None]]


def open_store(path: Path) -> OpenFile:
    """A connection to the store at the path, which is created if absent.

    No view, trigger or index expression of the file is run: a file that has any is refused before
    its content is read.

    Raises:
        StoreError: the folder is missing, or the file is not a SQLite file, another program's, of
            another format version, has tables or anything else that its format does not, or was in
            use when this process was forked; it is left as it is.
    """
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store. Name a file in it.")
    if not path.parent.is_dir():
        raise StoreError(f"{path} cannot be made: there is no folder {path.parent}. Make it.")
    if _identity(path) in _inherited:
        # SQLite believes that this process has its parent's locks, for any new connection too.
        raise StoreError(
            f"{path} was in use when this process was forked. Start processes with 'spawn'."
        )
    connection: sqlite3.Connection | None = None
    # Before anything is read: what changes from here on is seen to have changed.
    before = state_of(path)
    try:
        connection, is_frozen = _connect(path)
        _check_or_create(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -16384")
        limit_steps(connection, None)
    except (sqlite3.OperationalError, MemoryError, UnicodeDecodeError) as error:
        raise failure(path, error) from error
    except sqlite3.Error as error:
        raise StoreError(f"{path} is not a Lexarbor store ({error!s:.300}).") from error
    else:
        opened, connection = OpenFile(connection, path, before if is_frozen else None), None
        return opened
    finally:
        if connection is not None:
            connection.close()


def _connect(path: Path) -> tuple[sqlite3.Connection, bool]:
    """A connection, and whether it takes the file for one that never changes."""
    if not path.exists() or os.access(path.parent, os.W_OK):
        return _sqlite(path, ""), False
    # Readers too need a file that they share with the writer, and cannot make it here. Where a
    # writer is at work, it is there; where there is no log, nobody has written since.
    log = log_of(path)
    if not log.exists() or not log.stat().st_size:
        return _sqlite(path, "?mode=ro&immutable=1"), True
    return _sqlite(path, "?mode=ro"), False


def _sqlite(path: Path, parameters: str) -> sqlite3.Connection:
    # Connections are used by one thread each, but closed by whichever calls close().
    connection = sqlite3.connect(
        path.as_uri() + parameters,
        uri=True,
        timeout=PATIENCE,
        isolation_level=None,
        check_same_thread=False,
    )
    limit_steps(connection, _STEPS_TO_OPEN)
    connection.execute("PRAGMA trusted_schema = OFF")
    return connection


def _check_or_create(connection: sqlite3.Connection, path: Path) -> None:
    if _header(connection) == (0, 0, 0):
        # The journal is as large as all vectors; its room is given back when it is emptied.
        connection.execute("PRAGMA auto_vacuum = INCREMENTAL")
        write_ahead(connection)
        connection.execute("BEGIN IMMEDIATE")
        try:
            # Another process may have created it since the first look.
            if _header(connection) == (0, 0, 0):
                for statement in SCHEMA.split(";\n"):
                    connection.execute(statement)
                connection.execute(f"PRAGMA application_id = {APPLICATION_ID}")
                connection.execute(f"PRAGMA user_version = {FIRST_FORMAT}")
            connection.execute("COMMIT")
        except BaseException:
            roll_back(connection)
            raise
    connection.execute("BEGIN")  # one snapshot: another process may be upgrading it to format 2
    try:
        application, version, _ = _header(connection)
        if application != APPLICATION_ID:
            raise StoreError(f"{path} is a SQLite file of another program. Name another file.")
        if not FIRST_FORMAT <= version <= FORMAT_VERSION:
            raise StoreError(
                f"{path} is a store of format {version}; this Lexarbor reads formats "
                f"{FIRST_FORMAT} to {FORMAT_VERSION}. Index the corpus again into a new file."
            )
        _check_objects(connection, version, path)
    finally:
        roll_back(connection)


def _check_objects(connection: sqlite3.Connection, version: int, path: Path) -> None:
    found, own = _objects(connection), _objects_of(version)
    for name in [*found, *own]:
        if found.get(name) != own.get(name, _STATISTICS.get(name)):
            raise StoreError(
                f"{path} was changed by another program: its {name!r:.80} is not what a store of "
                f"format {version} has. Nothing of it was read."
            )


@cache
def _objects_of(version: int) -> _Objects:
    """What a store of this format is made of."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as connection:
        connection.executescript(SCHEMA)
        if version > FIRST_FORMAT:
            connection.execute(LAW_STATES)
        return _objects(connection)


def _objects(connection: sqlite3.Connection) -> _Objects:
    """Every table, index, view and trigger by name: its type, table and definition."""
    rows = connection.execute("SELECT name, type, tbl_name, sql FROM sqlite_master")
    return {name: (type_, table, sql) for name, type_, table, sql in rows}


def write_ahead(connection: sqlite3.Connection) -> None:
    """Set the journal's mode, which fails at once while another process creates the same file."""
    tries = Retrying(
        retry=retry_if_exception(lambda error: "locked" in str(error)),
        stop=stop_after_delay(PATIENCE),
        wait=wait_fixed(0.01),
        reraise=True,
    )
    tries(connection.execute, "PRAGMA journal_mode = WAL")


def _header(connection: sqlite3.Connection) -> tuple[int, int, int]:
    application = connection.execute("PRAGMA application_id").fetchone()[0]
    version = connection.execute("PRAGMA user_version").fetchone()[0]
    tables = connection.execute("SELECT count(*) FROM sqlite_master").fetchone()[0]
    return application, version, tables


def upgrade(connection: sqlite3.Connection) -> None:
    """Bring the file to the newest format, within the caller's transaction."""
    if _header(connection)[1] < FORMAT_VERSION:
        connection.execute(LAW_STATES)
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION}")


def roll_back(connection: sqlite3.Connection) -> None:
    """Undo the transaction, where one is open."""
    if connection.in_transaction:
        connection.execute("ROLLBACK")


_ANY: Mapping[str, Any] = MappingProxyType({})


class StatuteDatabase:
    """One SQLite file in write-ahead mode, with one connection per thread.

    Readers never wait for the writer and see only what was committed. The file carries its own
    application id and format version; any other file is refused and left as it is.

    Raises:
        StoreError: at first use, as `open_store`.
    """

    def __init__(self, path: str | None) -> None:
        self._path = path
        self._local = threading.local()
        self._opened: weakref.WeakSet[OpenFile] = weakref.WeakSet()
        self._was_there = False

    @cached_property
    def path(self) -> Path:
        """Absolute path of the file, resolved when first used."""
        if self._path in (None, "", ":memory:"):
            raise StoreError(f"StatuteDocumentStore.path is {self._path!r}. Give a file.")
        return Path(str(self._path)).expanduser().resolve()

    @property
    def identity(self) -> FileIdentity | None:
        """Device and inode of the file that this thread has open."""
        with self.in_use() as opened:
            return opened.identity

    @property
    def size(self) -> int:
        """Bytes of the file that this thread has open, and its log."""
        with self.in_use() as opened:
            return opened.size

    def follow(self) -> "StatuteDatabase":
        """Reopen the file if it was replaced, or if it changed in a folder that is read-only."""
        opened: OpenFile | None = getattr(self._local, "opened", None)
        if opened is not None and not opened.is_in_transaction() and opened.has_changed(self.path):
            self._local.opened = None
        return self

    def check_exists(self) -> None:
        """Refuse to read a file that is not there, as its first use would make an empty one.

        Raises:
            StoreError: it is not there.
        """
        if not (self._was_there or self.path.exists()):
            raise StoreError(missing(self.path))

    def close(self) -> None:
        """Close every thread's connection; the next use opens it again.

        What another thread is reading or writing continues to its end, and is closed then.
        """
        with opening:
            self._was_there = False
            for opened in list(self._opened):
                opened.let_go()

    @contextmanager
    def in_use(self) -> Iterator[OpenFile]:
        """This thread's open file, opened and checked on first use, and not closed within.

        Raises:
            StoreError: the file cannot be opened, or is not a Lexarbor store.
        """
        opened = self._taken()
        try:
            yield opened
        finally:
            opened.give_back()

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
        with self.in_use() as opened:
            connection = opened.connection
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
                raise failure(self.path, error) from error
            except BaseException:
                roll_back(connection)
                raise

    def _check_is_there(self) -> None:
        if not self.path.exists():
            raise StoreError(f"{self.path} no longer exists. Put it back, or name another store.")

    def rows(
        self, sql: str, values: Sequence[Any] = (), types: Mapping[str, Any] = _ANY
    ) -> Iterator[Any]:
        """The rows of a query, as they are read.

        Args:
            sql: the query.
            values: what it binds.
            types: what its first columns hold in a sound file, by name.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        opened = self._taken()
        try:
            opened.begin_read(sql, values)
            rows = opened.connection.execute(sql, values)
            if not types:
                yield from rows
            for row in rows:
                for (name, kind), value in zip(types.items(), row, strict=False):
                    if not isinstance(value, kind):
                        what = f"the row of {row[0]!r:.200}: its {name} is of another type"
                        raise damaged(self.path, what)
                yield row
        except READ_ERRORS as error:
            if opened.has_changed(self.path):
                raise StoreError(f"{self.path} changed while it was read. Ask again.") from error
            raise failure(self.path, error) from error
        finally:
            opened.end_read()
            opened.give_back()

    def rows_in(self, sql: str, wanted: Iterable[Any], *values: Any) -> Iterator[Any]:
        """The rows of a query for each of many values, whose places are the `{}` in it.

        Args:
            sql: binds `values` first.
            wanted: may be more than one statement can bind.
            values: the same for all.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        listed = list(wanted)
        for start in range(0, len(listed), _CHUNK):
            chunk = listed[start : start + _CHUNK]
            yield from self.rows(sql.format(",".join("?" * len(chunk))), (*values, *chunk))

    def first(self, sql: str, values: Sequence[Any] = (), types: Mapping[str, Any] = _ANY) -> Any:
        """The first row of a query, or None.

        Raises:
            StoreError: the file is damaged or cannot be read.
        """
        return next(self.rows(sql, values, types), None)

    def fact(self, key: str, kind: type = object) -> Any:
        """The stored value of `key`, or None.

        Raises:
            StoreError: it is of another kind, or the file is damaged or cannot be read.
        """
        row = self.first("SELECT value FROM facts WHERE key = ?", (key,))
        try:
            value = None if row is None else from_json(row[0])
            if not isinstance(value, kind | None):
                raise ValueError("is of another type")
        except ValueError as error:
            raise damaged(self.path, f"its record {key!r} {error}") from error
        return value

    def _taken(self) -> OpenFile:
        """This thread's open file, which the caller has to give back."""
        opened: OpenFile | None = getattr(self._local, "opened", None)
        while opened is None or not opened.take():
            with opening:
                # A thread that came late would create an empty store, and answer from it.
                if self._was_there:
                    self._check_is_there()
                opened = self._local.opened = open_store(self.path)
                self._opened.add(opened)
                self._was_there = True
        return opened
