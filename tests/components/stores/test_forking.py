"""A forked process and the one that forked it use the same store, each by its own connection."""

import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from haystack import Document

from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore

COUNT = (
    "import sys; from components.stores.sqlite import StatuteDocumentStore as Store; "
    "print(Store(sys.argv[1]).count_documents())"
)


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    store = StatuteDocumentStore(tmp_path / "law.db")
    store.write_documents([Document(id="parent", content="x", meta={"law": "L"})])
    return store


class Child:
    """A fork of this process that waits for a word, works, and ends with a status."""

    def __init__(self, work: Callable[[], bool]) -> None:
        reading, self._go = os.pipe()
        self._id = os.fork()
        if self._id == 0:
            status = 2
            try:
                os.read(reading, 1)
                status = 0 if work() else 1
            finally:
                os._exit(status)
        os.close(reading)

    def status(self) -> int:
        os.write(self._go, b"x")
        os.close(self._go)
        return os.waitstatus_to_exitcode(os.waitpid(self._id, 0)[1])


def counted_anew(store: StatuteDocumentStore) -> int:
    done = subprocess.run(
        [sys.executable, "-c", COUNT, str(store.path)], capture_output=True, text=True, check=True
    )
    return int(done.stdout)


def test_what_a_fork_writes_is_kept_though_its_parent_closes_the_store(
    store: StatuteDocumentStore,
) -> None:
    child = Child(lambda: store.write_documents([Document(id="child", content="y")]) == 1)
    store.close()
    assert child.status() == 0
    assert counted_anew(store) == 2


def test_a_fork_sees_what_others_wrote_since(store: StatuteDocumentStore) -> None:
    child = Child(lambda: store.count_documents() == 2)
    store.close()
    other = StatuteDocumentStore(store.path)
    other.write_documents([Document(id="other", content="y")])
    other.close()
    assert child.status() == 0


def test_a_fork_that_closes_takes_nothing_from_its_parent(store: StatuteDocumentStore) -> None:
    def closes() -> bool:
        store.close()
        return store.count_documents() == 2

    child = Child(closes)
    store.write_documents([Document(id="later", content="y")])
    assert child.status() == 0
    assert store.count_documents() == counted_anew(store) == 2


def test_a_store_in_use_is_refused_in_a_fork_and_goes_on_in_its_parent(
    store: StatuteDocumentStore,
) -> None:
    def is_refused() -> bool:
        entries.close()
        try:
            StatuteDocumentStore(store.path).count_documents()
        except StoreError as error:
            return "was being read or written when this process was forked" in str(error)
        return False

    entries = store.entries()
    next(entries)
    child = Child(is_refused)
    assert child.status() == 0
    assert list(entries) == []
    assert store.count_documents() == 1
