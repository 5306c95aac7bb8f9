"""The journal knows each text's vector by encoder, and keeps no more than is needed."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from haystack import Document

from components.stores.journal import text_digest
from components.stores.model_record import StoreModel
from components.stores.sqlite import StatuteDocumentStore

MODEL = StoreModel("models/one", "digest-one", 4, "headings_text")
GRAPH = StoreModel("models/one", "digest-graph", 4, "headings_text", biencoder="digest-one")


def vector(text: str) -> np.ndarray:
    return np.float32([len(text), 1, 2, 3])


def keep(store: StatuteDocumentStore, *texts: str, model: str = MODEL.digest) -> None:
    store.journal.keep(model, {text_digest(text): vector(text) for text in texts})


def publish(store: StatuteDocumentStore, *texts: str) -> None:
    documents = [
        (Document(id=text, content=text, meta={"law": "L", "position": n}), text_digest(text))
        for n, text in enumerate(texts)
    ]
    store.publisher.publish({"L": documents})


def digests(*texts: str) -> set[str]:
    return {text_digest(text) for text in texts}


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.publisher.record_model(MODEL)
    yield store
    store.close()


def test_known_texts_are_those_journalled_or_published(store: StatuteDocumentStore) -> None:
    keep(store, "a", "b")
    publish(store, "a")
    store.journal.clear()
    keep(store, "c")
    assert store.journal.known(MODEL.digest) == digests("a", "c")
    assert store.journal.known("another model") == set()


def test_a_graphs_vectors_are_no_encoders(tmp_path: Path) -> None:
    store = StatuteDocumentStore(str(tmp_path / "graph.db"))
    store.publisher.record_model(GRAPH)
    store.write_documents([Document(id="a", content="a", embedding=[1.0, 0.0, 0.0, 0.0])])
    keep(store, "b")
    assert store.journal.known(MODEL.digest) == digests("b")
    assert set(store.journal.vectors(MODEL.digest, digests("a", "b"))) == digests("b")


def test_vectors_come_from_the_journal_or_the_documents(store: StatuteDocumentStore) -> None:
    keep(store, "a")
    publish(store, "a")
    store.journal.clear()
    many = [f"text {number}" for number in range(1_200)]
    keep(store, *many)
    keep(store, "a", "other", model="another model")
    found = store.journal.vectors(MODEL.digest, digests("a", "other", *many))
    assert set(found) == digests("a", *many)
    for text in ("a", *many):
        np.testing.assert_array_equal(found[text_digest(text)], vector(text))


def test_vectors_are_held_before_their_documents_go(store: StatuteDocumentStore) -> None:
    keep(store, "a", "b")
    publish(store, "a", "b")
    store.journal.clear()
    store.journal.hold(MODEL.digest, digests("a"))
    store.delete_all_documents()
    assert store.journal.known(MODEL.digest) == digests("a")
    store.journal.hold("another model", digests("a"))
    assert store.journal.known("another model") == set()


def test_what_no_text_needs_is_let_go(store: StatuteDocumentStore) -> None:
    keep(store, "a", "b", "c")
    keep(store, "b", model="another model")
    store.journal.keep_only(MODEL.digest, digests("b", "c", "never encoded"))
    assert store.journal.known(MODEL.digest) == digests("b", "c")
    assert store.journal.known("another model") == set()


@pytest.mark.parametrize("kept", [None, ["article 7"]])
def test_the_journals_room_is_given_back(
    store: StatuteDocumentStore, kept: list[str] | None
) -> None:
    texts = [f"article {number}" for number in range(3000)]
    wide = np.ones(512, dtype=np.float32)
    store.journal.keep(MODEL.digest, {text_digest(text): wide for text in texts})
    store.close()
    full = store.database.path.stat().st_size
    if kept is None:
        store.journal.clear()
    else:
        store.journal.keep_only(MODEL.digest, digests(*kept))
    store.close()
    assert store.database.path.stat().st_size < full / 10
