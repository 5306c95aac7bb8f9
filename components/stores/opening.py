"""Opening a store's file: making it, checking whose it is, and its format."""

import os
import sqlite3
import time
from contextlib import closing
from functools import cache
from pathlib import Path

from components.stores.failures import PATIENCE, StoreError, unreadable
from components.stores.filters import register_filter_function
from components.stores.open_file import OpenFile, is_inherited, limit_steps, log_of, state_of

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
    """A connection to the store at the path, which is made where there is none.

    Nothing that the file brings is run: no view, trigger or expression of an index. One that has
    any is refused before its content is read.

    Raises:
        StoreError: the file is missing its folder, no SQLite file, another program's file, of
            another format version, has tables or anything else that its format does not, or was in
            use when this process was forked; it is left as it is.
    """
    if path.is_dir():
        raise StoreError(f"{path} is a folder, not a store. Name a file in it.")
    if not path.parent.is_dir():
        raise StoreError(f"{path} cannot be made: there is no folder {path.parent}. Make it.")
    if is_inherited(path):
        raise StoreError(
            f"{path} was being read or written when this process was forked, and cannot be opened "
            "safely here. Fork while nobody uses the store, or start processes with 'spawn'."
        )
    connection: sqlite3.Connection | None = None
    # Before anything is read: what changes from here on is seen to have changed.
    before = state_of(path)
    try:
        connection, is_frozen = _connect(path)
        _check_or_create(connection, path)
        connection.execute("PRAGMA synchronous = NORMAL")
        connection.execute("PRAGMA cache_size = -16384")
        register_filter_function(connection)
        limit_steps(connection, None)
    except (sqlite3.OperationalError, MemoryError, UnicodeDecodeError) as error:
        raise StoreError(unreadable(path, error)) from error
    except sqlite3.Error as error:
        raise StoreError(
            f"{path} is not a Lexarbor store ({error!s:.300}). Name the file that "
            "python -m pipelines.index wrote, or another name to make a new one."
        ) from error
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
    connection = _sqlite(path, "?mode=ro")
    try:
        _header(connection)
    except sqlite3.OperationalError as error:
        connection.close()
        raise StoreError(
            f"{path} was not closed when it was written ({log.name} is beside it), and "
            f"{path.parent} cannot be written. Open it once where it can, or copy both."
        ) from error
    return connection, False


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
    connection.execute("BEGIN")  # one snapshot: another process may bring it to format 2 just now
    try:
        application, version, _ = _header(connection)
        _check_header(application, version, path)
        _check_objects(connection, version, path)
    finally:
        roll_back(connection)


def _check_header(application: int, version: int, path: Path) -> None:
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


def _check_objects(connection: sqlite3.Connection, version: int, path: Path) -> None:
    found, own = _objects(connection), _objects_of(version)
    for name in [*found, *own]:
        if name in found and found[name] == own.get(name, _STATISTICS.get(name)):
            continue
        if name not in found:
            fault = f"it lacks the {own[name][0]} {name!r}"
        elif name in own:
            fault = f"its {own[name][0]} {name!r} is not made as Lexarbor makes it"
        else:
            kind = f"{found[name][0]!s:.20} {name!r:.80}"
            fault = f"it holds the {kind}, which a store of format {version} does not"
        raise StoreError(
            f"{path} was changed by another program: {fault}. Nothing of it was read. Name a file "
            "as python -m pipelines.index writes it."
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
    """Set the journal's mode, which fails at once while another process makes the same file."""
    deadline = time.monotonic() + PATIENCE
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if "locked" not in str(error) or time.monotonic() > deadline:
                raise
            time.sleep(0.01)
        else:
            return


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
