"""A store in a folder that the reader may not write to, while another user may."""

import os
import shutil
import socket
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.types import DuplicatePolicy

from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture
def path() -> Iterator[Path]:
    """A store of 300 old articles in a folder that no unprivileged user may write to."""
    # Unlike pytest's own folder, another user may enter this one.
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "law.db"
        with writable(path):
            store = StatuteDocumentStore(path)
            store.write_documents(law("old"))
            store.close()
        yield path
        path.parent.chmod(0o755)


@contextmanager
def writable(path: Path) -> Iterator[None]:
    """The folder as its owner has it, who writes."""
    path.parent.chmod(0o755)
    yield
    path.parent.chmod(0o555)


def law(text: str) -> list[Document]:
    return [Document(id=str(n), content=f"{text} " * 200, meta={"law": "L"}) for n in range(300)]


def texts(store: StatuteDocumentStore) -> set[str]:
    return {(document.content or "").split()[0] for document in store.filter_documents()}


def unprivileged(work: Callable[[Callable[[], None]], None], owner: Callable[[], None]) -> str:
    """Do work in a child process that may not write everywhere; what it raised, or ''.

    Where the work calls the function that it is given, the owner comes in between, in this process.
    """
    ours, theirs = socket.socketpair()
    child = os.fork()
    if child == 0:

        def wait_for_owner() -> None:
            theirs.send(b"?")
            theirs.recv(1)

        try:
            if os.geteuid() == 0:
                os.setuid(65_534)
            work(wait_for_owner)
            theirs.send(b"-")
        except BaseException as error:  # noqa: BLE001 - told to the parent
            theirs.send(f"{type(error).__name__}: {error}".encode())
        os._exit(0)
    theirs.close()
    while (told := ours.recv(4000)) == b"?":
        owner()
        ours.send(b"!")
    ours.close()
    os.waitpid(child, 0)
    return "" if told == b"-" else told.decode()


def nothing() -> None:
    pass


def test_it_can_be_read(path: Path) -> None:
    path.chmod(0o444)

    def read(_: Callable[[], None]) -> None:
        assert StatuteDocumentStore(path).count_documents() == 300

    assert unprivileged(read, nothing) == ""


def test_it_cannot_be_written(path: Path) -> None:
    def write(_: Callable[[], None]) -> None:
        StatuteDocumentStore(path).write_documents([Document(id="new", content="x")])

    assert "cannot be opened for writing" in unprivileged(write, nothing)


def rewritten(path: Path) -> None:
    with writable(path):
        store = StatuteDocumentStore(path)
        store.delete_all_documents()
        store.write_documents([*law("new"), Document(id="more", content="new " * 9000)])
        store.close()


def copied_over(path: Path) -> None:
    with writable(path):
        other = path.with_name("other.db")
        store = StatuteDocumentStore(other)
        store.write_documents(law("new"))
        store.close()
        shutil.copyfile(other, path)
        other.unlink()


@pytest.mark.parametrize("change", [rewritten, copied_over])
def test_what_its_owner_changes_is_followed(path: Path, change: Callable[[Path], None]) -> None:
    def read(wait_for_owner: Callable[[], None]) -> None:
        store = StatuteDocumentStore(path)
        assert texts(store) == {"old"}
        before = store.content_version()
        wait_for_owner()
        assert store.content_version() != before
        assert texts(store) == {"new"}

    assert unprivileged(read, lambda: change(path)) == ""


def test_what_its_owner_has_in_the_log_is_read(path: Path) -> None:
    owned = StatuteDocumentStore(path)
    numbers = iter(("first", "second"))

    def write() -> None:
        with writable(path):
            owned.write_documents(law(next(numbers)), DuplicatePolicy.OVERWRITE)

    def read(wait_for_owner: Callable[[], None]) -> None:
        store = StatuteDocumentStore(path)
        assert texts(store) == {"old"}
        for text in ("first", "second"):
            wait_for_owner()
            assert texts(store) == {text}

    assert unprivileged(read, write) == ""
    assert path.with_name("law.db-wal").stat().st_size
    owned.close()


def test_what_was_copied_without_being_closed_is_refused(path: Path) -> None:
    elsewhere = path.with_name("copy.db")
    with writable(path):
        store = StatuteDocumentStore(path)
        store.write_documents([Document(id="new", content="x")])
        for end in ("", "-wal"):  # without the file that readers share with the writer
            shutil.copyfile(f"{path}{end}", f"{elsewhere}{end}")
        store.close()

    def read(_: Callable[[], None]) -> None:
        StatuteDocumentStore(elsewhere).count_documents()

    assert "copy.db was not closed" in unprivileged(read, nothing)


@pytest.mark.parametrize("read_all", ["filter_documents", "vectors"])
def test_what_changes_while_it_is_read_is_no_damage(
    path: Path, read_all: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(wait_for_owner: Callable[[], None]) -> None:
        store = StatuteDocumentStore(path)
        monkeypatch.setattr(type(store.database), "follow", lambda database: database)
        assert store.count_documents() == 300
        wait_for_owner()
        getattr(store, read_all)()

    def tear() -> None:
        with writable(path):
            path.write_bytes(path.read_bytes()[:4096] + b"\xff" * 200_000)

    assert "law.db was changed while it was read. Ask again." in unprivileged(read, tear)
