"""The store's file: opened, refused, closed, replaced, read by forks and by other users."""

import os
import socket
import sqlite3
import subprocess
import sys
import tempfile
import threading
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from pathlib import Path

import psutil
import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from components.stores.database import APPLICATION_ID, FORMAT_VERSION, StoreError
from components.stores.publishing import StoreModel
from components.stores.sqlite import StatuteDocumentStore


def law(text="old", number=300):
    return [
        Document(id=str(n), content=f"{text} " * 40, meta={"law": "L"}, embedding=[1.0, 1.0])
        for n in range(number)
    ]


def filled(path, *documents):
    store = StatuteDocumentStore(path)
    store.write_documents([*documents] or law(number=1))
    store.close()
    return path


def open_files(store):
    return sum(each.path == str(store.path) for each in psutil.Process().open_files())


def in_a_thread(work):
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


# Opening


def test_a_store_needs_the_path_of_a_file(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in (None, ":memory:", str(tmp_path / "absent" / "law.db")):
        with pytest.raises(StoreError):
            StatuteDocumentStore(path).count_documents()
    StatuteDocumentStore("law.db")
    assert list(tmp_path.iterdir()) == []


def test_an_interrupted_creation_is_completed(tmp_path):
    # Killed after switching to write-ahead mode and before the tables: the file has no content.
    with closing(sqlite3.connect(tmp_path / "law.db")) as connection:
        connection.execute("PRAGMA journal_mode = WAL")
    assert StatuteDocumentStore(tmp_path / "law.db").count_documents() == 0
    with closing(sqlite3.connect(tmp_path / "law.db")) as connection:
        assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID


def text_file(path):
    path.write_text("Article 1. The tenant pays the rent.\n" * 100)


def foreign_database(path):
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE documents (id TEXT)")
        connection.commit()


def later_format(path):
    with closing(sqlite3.connect(filled(path))) as connection:
        connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
        connection.commit()


def torn_file(path):
    whole = filled(path).read_bytes()
    path.write_bytes(whole[:100] + b"\0" * 4000 + whole[4100:])


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (text_file, "not a Lexarbor store"),
        (foreign_database, "another program"),
        (later_format, f"format {FORMAT_VERSION + 1}"),
        (torn_file, "not a Lexarbor store"),
        (Path.mkdir, "folder"),
    ],
)
def test_other_files_are_refused_and_not_touched(tmp_path, make, reason):
    path = tmp_path / "law.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=reason) as refusal:
        StatuteDocumentStore(path).count_documents()
    assert str(path) in str(refusal.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_threads_may_create_one_file_at_once_and_leave_no_connections(store):
    start = threading.Barrier(8)

    def write(number):
        start.wait()
        store.write_documents([Document(id=str(number), content="x")])

    with ThreadPoolExecutor(8) as threads:
        list(threads.map(write, range(8)))
    assert store.count_documents() == 8
    before = open_files(store)
    for _ in range(10):
        in_a_thread(store.count_documents)
    assert open_files(store) <= before + 1  # SQLite keeps one file for its next connection


# Closing

# In a process of its own: a connection that is closed under its reader ends the process.
READ_WHILE_CLOSED = """
import sys
from concurrent.futures import ThreadPoolExecutor
from components.stores.sqlite import StatuteDocumentStore

store = StatuteDocumentStore(sys.argv[1])
COUNTS = [
    lambda: len(store.filter_documents()),
    lambda: sum(1 for _ in store.entries()),
    lambda: len(store.fetch(store.vectors()[0])),
    lambda: store.vectors()[1].sum() / 2,
]

def read(count):
    return [count() for _ in range(4)] == [300] * 4

with ThreadPoolExecutor(4) as threads:
    reading = [threads.submit(read, count) for count in COUNTS]
    while not all(each.done() for each in reading):
        store.close()
    print(all(each.result() for each in reading))
"""


def test_closing_closes_no_connection_in_use(tmp_path):
    path = filled(tmp_path / "law.db", *law())
    command = [sys.executable, "-X", "faulthandler", "-c", READ_WHILE_CLOSED, str(path)]
    child = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert (child.returncode, child.stdout.strip()) == (0, "True"), child.stderr[-2000:]


def test_reads_and_writes_in_progress_end_before_the_file_is_closed(store):
    store.write_documents(law())
    entries = store.entries()
    next(entries)
    in_a_thread(store.close)
    assert open_files(store) == 1
    assert sum(1 for _ in entries) == 299
    assert open_files(store) == 0
    with store.database.writing() as connection:
        in_a_thread(store.close)
        connection.execute("DELETE FROM documents WHERE id = '0'")
        assert store.count_documents() == 299  # the same connection: it sees its own change
    assert open_files(store) == 0
    assert store.count_documents() == 299


# A file that is replaced or deleted

MODEL = StoreModel("m", "d", 2, "text")
NEW_LAW = {"field": "meta.law", "operator": "==", "value": "New"}
FIRST_READS = {
    "count": (lambda store: store.count_documents(), 5),
    "filtered count": (lambda store: store.count_documents_by_filter(NEW_LAW), 5),
    "documents": (lambda store: len(store.filter_documents()), 5),
    "model": (lambda store: store.model, MODEL),
}


@pytest.mark.parametrize(("read", "found"), FIRST_READS.values(), ids=FIRST_READS)
def test_every_first_read_follows_a_replaced_file(store, tmp_path, read, found):
    store.write_documents([Document(id="1", content="x", meta={"law": "Old"})])
    other = StatuteDocumentStore(tmp_path / "new.db")
    other.publisher.record_model(MODEL)
    other.publisher.record_corpus("c0ffee")
    new = {"content": "x", "meta": {"law": "New"}, "embedding": [1.0, 0.0]}
    other.write_documents([Document(id=str(number), **new) for number in range(5)])
    other.close()
    for end in ("-wal", "-shm"):
        (tmp_path / f"law.db{end}").unlink()
    (tmp_path / "new.db").replace(tmp_path / "law.db")
    assert read(store) == found


def test_a_deleted_file_is_not_recreated_by_a_late_thread(store, tmp_path):
    store.write_documents(law(number=1))
    for file in tmp_path.iterdir():
        file.unlink()
    with ThreadPoolExecutor(1) as late:
        for work in (store.count_documents, store.filter_documents):
            with pytest.raises(StoreError, match=r"law\.db"):
                late.submit(work).result()
    # The thread that has it open can still read; what it wrote would be lost.
    assert store.count_documents() == 1
    with pytest.raises(StoreError, match=r"law\.db"):
        store.write_documents([Document(id="2", content="y")])
    assert list(tmp_path.iterdir()) == []
    store.close()
    assert store.count_documents() == 0


# Forks


def forked(work, owner=lambda: None, unprivileged=False):
    """Run `work` in a fork; return what it raised, or ''.

    Where `work` calls the function it is given, `owner` runs in between, in this process. An
    unprivileged fork may not write to folders of others.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:

        def wait_for_owner():
            theirs.send(b"?")
            theirs.recv(1)

        try:
            if unprivileged and os.geteuid() == 0:
                os.setuid(65_534)
            work(wait_for_owner)
            theirs.send(b"-")
        except BaseException as error:  # noqa: BLE001 - reported to the parent
            theirs.send(f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    theirs.close()
    while (reported := ours.recv(4000)) == b"?":
        owner()
        ours.send(b"!")
    ours.close()
    os.waitpid(child, 0)
    return "" if reported == b"-" else reported.decode()


def test_a_fork_and_its_parent_keep_each_their_own_connection(store):
    store.write_documents([Document(id="parent", content="x", meta={"law": "L"})])

    def writes(wait_for_owner):
        wait_for_owner()
        assert store.write_documents([Document(id="child", content="y")]) == 1

    def closes(wait_for_owner):
        wait_for_owner()
        store.close()
        assert store.count_documents() == 3

    assert forked(writes, store.close) == ""
    assert StatuteDocumentStore(store.path).count_documents() == 2
    assert store.count_documents() == 2
    assert forked(closes, lambda: store.write_documents([Document(id="later", content="y")])) == ""
    assert store.count_documents() == 3


def test_a_store_in_use_is_refused_in_a_fork(store):
    store.write_documents(law(number=1))
    entries = store.entries()
    next(entries)

    def opens(_):
        entries.close()
        StatuteDocumentStore(store.path).count_documents()

    refused = forked(opens)
    assert refused.startswith("StoreError") and "forked" in refused
    assert list(entries) == []
    assert store.count_documents() == 1


# A folder that the reader may not write to, while its owner may


@contextmanager
def writable(path):
    path.parent.chmod(0o755)
    yield
    path.parent.chmod(0o555)


@pytest.fixture
def guarded():
    """A store of 300 articles in a folder that only its owner may write to."""
    # Unlike pytest's own folder, another user may enter this one.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "law.db"
        with writable(path):
            filled(path, *law())
        yield path
        path.parent.chmod(0o755)


def texts(store):
    return {(document.content or "").split()[0] for document in store.filter_documents()}


def test_changes_by_the_owner_are_followed(guarded):
    def read(wait_for_owner):
        store = StatuteDocumentStore(guarded)
        assert texts(store) == {"old"}
        before = store.content_version()
        wait_for_owner()
        assert store.content_version() != before
        assert texts(store) == {"new"}

    def rewrite():
        with writable(guarded):
            store = StatuteDocumentStore(guarded)
            store.delete_all_documents()
            store.write_documents([*law("new"), Document(id="more", content="new " * 9000)])
            store.close()

    assert forked(read, rewrite, unprivileged=True) == ""


def test_the_owners_write_ahead_log_is_read(guarded):
    owned = StatuteDocumentStore(guarded)
    numbers = iter(("first", "second"))

    def write():
        with writable(guarded):
            owned.write_documents(law(next(numbers)), DuplicatePolicy.OVERWRITE)

    def read(wait_for_owner):
        store = StatuteDocumentStore(guarded)
        for text in ("first", "second"):
            wait_for_owner()
            assert texts(store) == {text}

    assert forked(read, write, unprivileged=True) == ""
    assert guarded.with_name("law.db-wal").stat().st_size
    owned.close()
