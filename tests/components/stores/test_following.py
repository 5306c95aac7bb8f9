"""A file put in the place of the open one is read by the next question."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from haystack import Document

from components.stores.failures import StoreError
from components.stores.model_record import StoreModel
from components.stores.sqlite import StatuteDocumentStore

MODEL = StoreModel("m", "d", 2, "text")
NEW_LAW = {"field": "meta.law", "operator": "==", "value": "New"}


@pytest.fixture
def replaced(tmp_path: Path) -> StatuteDocumentStore:
    """A store that has the old file open, in whose place the new one stands."""
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(path)
    store.write_documents([Document(id="1", content="x", meta={"law": "Old"})])
    other = StatuteDocumentStore(tmp_path / "new.db")
    other.publisher.record_model(MODEL)
    other.publisher.record_corpus("c0ffee")
    other.write_documents(
        [
            Document(id=str(n), content="x", meta={"law": "New"}, embedding=[1.0, 0.0])
            for n in range(5)
        ]
    )
    other.close()
    for end in ("-wal", "-shm"):
        path.with_name(f"law.db{end}").unlink()
    (tmp_path / "new.db").replace(path)
    return store


@pytest.mark.parametrize(
    ("read", "found"),
    [
        (lambda store: store.count_documents(), 5),
        (lambda store: store.count_documents_by_filter(NEW_LAW), 5),
        (lambda store: len(store.keys_matching(NEW_LAW)), 5),
        (lambda store: len(store.filter_documents()), 5),
        (lambda store: store.model, MODEL),
        (lambda store: store.has_vectors(), True),
        (lambda store: store.publisher.recorded_corpus(), "c0ffee"),
        (lambda store: store.publisher.recorded_days()[1] is not None, True),
    ],
)
def test_every_first_read_follows(
    replaced: StatuteDocumentStore, read: Callable[[StatuteDocumentStore], Any], found: Any
) -> None:
    assert read(replaced) == found


def test_a_file_that_is_gone_is_not_made_anew_by_a_thread_that_comes_late(tmp_path: Path) -> None:
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(path)
    store.write_documents([Document(id="1", content="x", meta={"law": "Old"})])
    for file in tmp_path.iterdir():
        file.unlink()
    with ThreadPoolExecutor(1) as late:
        for work in (store.count_documents, store.filter_documents):
            with pytest.raises(StoreError, match=r"law\.db is not there any more"):
                late.submit(work).result()
    assert list(tmp_path.iterdir()) == []
    # The thread that has it open goes on reading; what it wrote would be lost.
    assert store.count_documents() == 1
    with pytest.raises(StoreError, match=r"law\.db is not there any more"):
        store.write_documents([Document(id="2", content="y", meta={"law": "New"})])
    assert list(tmp_path.iterdir()) == []
    store.close()
    assert store.count_documents() == 0
