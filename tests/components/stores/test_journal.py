"""The journal of vectors: what it knows by encoder, and what it keeps."""

import numpy as np
import pytest
from haystack import Document

from components.stores.journal import StoreModel, text_digest

MODEL = StoreModel("models/one", "digest-one", 4, "headings_text")


def vector(text):
    return np.float32([len(text), 1, 2, 3])


def keep(store, *texts, model=MODEL.digest):
    store.journal.keep(model, {text_digest(text): vector(text) for text in texts})


def publish(store, *texts):
    documents = [
        (Document(id=text, content=text, meta={"law": "L", "position": n}), text_digest(text))
        for n, text in enumerate(texts)
    ]
    store.publisher.publish({"L": documents})


def digests(*texts):
    return {text_digest(text) for text in texts}


@pytest.fixture
def encoded(store):
    """A store that has encoded and published "a" and "b" and cleared its journal."""
    store.publisher.record_model(MODEL)
    keep(store, "a", "b")
    publish(store, "a", "b")
    store.journal.clear()
    return store


def test_vectors_come_from_the_journal_or_the_documents(encoded):
    many = [f"text {number}" for number in range(1_200)]
    keep(encoded, *many)
    keep(encoded, "a", "other", model="another model")
    assert encoded.journal.known(MODEL.digest) == digests("a", "b", *many)
    assert encoded.journal.known("another model") == digests("a", "other")
    found = encoded.journal.vectors(MODEL.digest, digests("a", "other", *many))
    assert set(found) == digests("a", *many)
    for text in ("a", *many):
        np.testing.assert_array_equal(found[text_digest(text)], vector(text))


def test_vectors_can_be_held_before_their_documents_go(encoded):
    encoded.journal.hold(MODEL.digest, digests("a"))
    encoded.delete_all_documents()
    assert encoded.journal.known(MODEL.digest) == digests("a")
    encoded.journal.hold("another model", digests("a"))
    assert encoded.journal.known("another model") == set()


def test_only_needed_vectors_are_kept(store):
    keep(store, "a", "b", "c")
    keep(store, "b", model="another model")
    store.journal.keep_only(MODEL.digest, digests("b", "c", "never encoded"))
    assert store.journal.known(MODEL.digest) == digests("b", "c")
    assert store.journal.known("another model") == set()


@pytest.mark.parametrize("kept", [None, ["article 7"]])
def test_the_file_shrinks_with_the_journal(store, kept):
    wide = np.ones(512, dtype=np.float32)
    store.journal.keep(MODEL.digest, {text_digest(f"article {n}"): wide for n in range(1000)})
    store.close()
    full = store.database.path.stat().st_size
    if kept is None:
        store.journal.clear()
    else:
        store.journal.keep_only(MODEL.digest, digests(*kept))
    store.close()
    assert store.database.path.stat().st_size < full / 10
