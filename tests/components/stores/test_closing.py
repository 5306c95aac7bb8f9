"""A store is closed by one thread while others read it, and copied."""

import copy
import pickle
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path

import psutil
import pytest
from haystack import Document

from components.stores.sqlite import StatuteDocumentStore

# In a process of its own: a connection that is closed under its reader ends the process.
READ_WHILE_CLOSED = """
import sys, threading
from components.stores.sqlite import StatuteDocumentStore

store = StatuteDocumentStore(sys.argv[1])
failures = []
ready = threading.Barrier(4)

def read(work):
    try:
        ready.wait()
        for _ in range(50):
            work()
    except BaseException as error:
        failures.append(repr(error))

def rows():
    assert len(store.filter_documents()) == 300

def entries():
    assert sum(1 for _ in store.entries()) == 300

def get():
    keys, matrix = store.vectors()
    assert len(store.fetch(keys)) == 300 and matrix.sum() == 600

threads = [threading.Thread(target=read, args=(work,)) for work in (rows, entries, get)]
for thread in threads:
    thread.start()
ready.wait()
while any(thread.is_alive() for thread in threads):
    store.close()
print(failures or "all was read")
"""


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    store = StatuteDocumentStore(tmp_path / "law.db")
    store.write_documents(
        [
            Document(id=str(number), content="x" * 200, meta={"law": "L"}, embedding=[1.0, 1.0])
            for number in range(300)
        ]
    )
    return store


def open_files(store: StatuteDocumentStore) -> int:
    return sum(each.path == store.path for each in psutil.Process().open_files())


def in_a_thread(work: Callable[[], object]) -> None:
    thread = threading.Thread(target=work)
    thread.start()
    thread.join()


def test_closing_takes_no_connection_from_under_a_reader(store: StatuteDocumentStore) -> None:
    store.close()
    child = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", READ_WHILE_CLOSED, str(store.path)],
        capture_output=True,
        text=True,
        timeout=120,
    )
    assert (child.returncode, child.stdout.strip()) == (0, "all was read"), child.stderr[-2000:]


def test_what_is_being_read_is_read_to_its_end_and_the_file_let_go_then(
    store: StatuteDocumentStore,
) -> None:
    entries = store.entries()
    next(entries)
    in_a_thread(store.close)
    assert open_files(store) == 1
    assert sum(1 for _ in entries) == 299
    assert open_files(store) == 0


def test_what_is_being_written_is_written_to_its_end(store: StatuteDocumentStore) -> None:
    with store.database.writing() as connection:
        in_a_thread(store.close)
        connection.execute("DELETE FROM documents WHERE id = '0'")
        assert store.count_documents() == 299  # the same connection: it sees its own change
    assert open_files(store) == 0
    assert store.count_documents() == 299


def test_a_file_that_another_thread_closed_and_replaced_is_followed(
    store: StatuteDocumentStore, tmp_path: Path
) -> None:
    other = StatuteDocumentStore(tmp_path / "new.db")
    other.write_documents([Document(id="new", content="x")])
    other.close()

    def replace() -> None:
        store.close()
        other.database.path.replace(store.database.path)

    in_a_thread(replace)
    assert store.count_documents() == 1


def test_closing_lets_go_of_what_idle_threads_have_open(store: StatuteDocumentStore) -> None:
    go_on = threading.Event()
    read = threading.Event()
    counted: list[int] = []

    def reader() -> None:
        counted.append(store.count_documents())
        read.set()
        go_on.wait()
        counted.append(store.count_documents())

    thread = threading.Thread(target=reader, daemon=True)
    thread.start()
    read.wait()
    store.close()
    assert open_files(store) == 0
    go_on.set()
    thread.join()
    assert counted == [300, 300]


@pytest.mark.parametrize(
    "copied", [copy.copy, copy.deepcopy, lambda store: pickle.loads(pickle.dumps(store))]
)
def test_a_copy_is_a_store_of_its_own_over_the_same_file(
    store: StatuteDocumentStore, copied: Callable[[StatuteDocumentStore], StatuteDocumentStore]
) -> None:
    twin = copied(store)
    assert twin.to_dict() == store.to_dict()
    assert twin.database is not store.database
    twin.delete_documents(["0"])
    twin.close()
    assert store.count_documents() == 299
