"""What the store opens, what it refuses, and that a refused file is left as it was."""

import sqlite3
import threading
from collections.abc import Callable
from contextlib import closing
from pathlib import Path

import psutil
import pytest
from haystack import Document

from components.stores.failures import StoreError
from components.stores.opening import APPLICATION_ID, FORMAT_VERSION, write_ahead
from components.stores.sqlite import StatuteDocumentStore


def filled(path: Path) -> Path:
    store = StatuteDocumentStore(str(path))
    store.write_documents([Document(id="1", content="The tenant pays.", meta={"law": "Housing"})])
    store.close()
    return path


def test_a_store_opens_again_with_what_was_written(tmp_path: Path) -> None:
    path = filled(tmp_path / "law.db")
    assert [each.id for each in StatuteDocumentStore(str(path)).filter_documents()] == ["1"]


def test_a_store_without_a_path_says_how_to_give_one() -> None:
    with pytest.raises(StoreError, match=r"path is null.*store=FILE"):
        StatuteDocumentStore(None).count_documents()


def test_a_store_in_memory_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(StoreError, match="a store is a file"):
        StatuteDocumentStore(":memory:").count_documents()
    assert list(tmp_path.iterdir()) == []


def test_a_store_keeps_its_file_when_the_folder_is_changed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    filled(tmp_path / "law.db")
    monkeypatch.chdir(tmp_path)
    store = StatuteDocumentStore("law.db")
    assert store.count_documents() == 1
    (tmp_path / "other").mkdir()
    monkeypatch.chdir(tmp_path / "other")
    store.close()
    assert store.count_documents() == 1
    assert store.to_dict()["init_parameters"] == {"path": "law.db"}


def test_nothing_is_made_before_the_first_use(tmp_path: Path) -> None:
    StatuteDocumentStore(str(tmp_path / "law.db"))
    assert not (tmp_path / "law.db").exists()


def test_an_interrupted_creation_is_taken_up(tmp_path: Path) -> None:
    # Killed after switching to write-ahead mode and before the tables: the file has no content.
    path = tmp_path / "law.db"
    connection = sqlite3.connect(path)
    connection.execute("PRAGMA journal_mode = WAL")
    connection.close()
    assert StatuteDocumentStore(str(path)).count_documents() == 0


def test_a_creation_by_another_process_at_the_same_moment_is_waited_for(tmp_path: Path) -> None:
    path = tmp_path / "law.db"
    other = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
    other.execute("PRAGMA auto_vacuum = INCREMENTAL")
    other.execute("BEGIN IMMEDIATE")
    let_go = threading.Timer(0.3, other.execute, ["ROLLBACK"])
    with closing(sqlite3.connect(path, isolation_level=None)) as second:
        # SQLite refuses the change of mode at once, without its own waiting.
        with pytest.raises(sqlite3.OperationalError, match="locked"):
            second.execute("PRAGMA journal_mode = WAL")
        let_go.start()
        write_ahead(second)
        assert second.execute("PRAGMA journal_mode").fetchone() == ("wal",)
    let_go.join()
    other.close()


def text_file(path: Path) -> None:
    path.write_text("Article 1. The tenant pays the rent.\n" * 100)


def foreign_database(path: Path) -> None:
    connection = sqlite3.connect(path)
    connection.execute("CREATE TABLE documents (id TEXT)")
    connection.commit()
    connection.close()


def later_format(path: Path) -> None:
    filled(path)
    connection = sqlite3.connect(path)
    connection.execute(f"PRAGMA user_version = {FORMAT_VERSION + 1}")
    connection.commit()
    connection.close()


def torn_file(path: Path) -> None:
    filled(path)
    whole = path.read_bytes()
    path.write_bytes(whole[:100] + b"\0" * 4000 + whole[4100:])


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (text_file, "not a Lexarbor store"),
        (foreign_database, "another program"),
        (later_format, f"format {FORMAT_VERSION + 1}.*Index the corpus again"),
        (torn_file, "not a Lexarbor store"),
        (Path.mkdir, "folder"),
    ],
)
def test_what_is_no_store_of_ours_is_refused_and_left_alone(
    tmp_path: Path, make: Callable[[Path], None], message: str
) -> None:
    path = tmp_path / "law.db"
    make(path)
    before = path.read_bytes() if path.is_file() else None
    with pytest.raises(StoreError, match=message) as refusal:
        StatuteDocumentStore(str(path)).count_documents()
    assert str(path) in str(refusal.value)
    assert (path.read_bytes() if path.is_file() else None) == before


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no folder"):
        StatuteDocumentStore(str(tmp_path / "absent" / "law.db")).count_documents()


def test_the_file_says_whose_it_is(tmp_path: Path) -> None:
    connection = sqlite3.connect(filled(tmp_path / "law.db"))
    assert connection.execute("PRAGMA application_id").fetchone()[0] == APPLICATION_ID
    connection.close()


def test_many_threads_open_one_new_file_at_once(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    start = threading.Barrier(8)
    failures: list[BaseException] = []

    def write(number: int) -> None:
        try:
            start.wait()
            store.write_documents([Document(id=str(number), content="x")])
        except Exception as error:  # noqa: BLE001 - shown by the assertion
            failures.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not failures
    assert store.count_documents() == 8


def test_a_thread_that_ends_leaves_no_connection_behind(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(filled(tmp_path / "law.db")))

    def open_files() -> int:
        return sum(path.path.endswith("law.db") for path in psutil.Process().open_files())

    store.count_documents()
    before = open_files()
    for _ in range(20):
        thread = threading.Thread(target=store.count_documents)
        thread.start()
        thread.join()
    assert open_files() <= before + 1  # SQLite keeps one file for its next connection


def test_closing_is_not_the_end(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(filled(tmp_path / "law.db")))
    store.close()
    store.close()
    assert store.count_documents() == 1


def test_a_file_damaged_behind_its_first_pages_is_refused_with_the_reason(tmp_path: Path) -> None:
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(str(path))
    store.write_documents([Document(id=str(n), content="words " * 400) for n in range(200)])
    store.close()
    content = bytearray(path.read_bytes())
    content[8192:] = b"\xff" * (len(content) - 8192)
    path.write_bytes(content)
    with pytest.raises(StoreError, match="damaged"):
        StatuteDocumentStore(str(path)).filter_documents()
