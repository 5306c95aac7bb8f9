"""A foreign store's snapshot keeps the promises that resident indexes rely on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.snapshot import StoreSnapshot, readable, reload
from components.retrievers.structure import StructureExpander
from components.stores.sqlite import StatuteDocumentStore

InMemory = Callable[[list[Document]], InMemoryDocumentStore]


def test_keys_are_never_used_again(in_memory: InMemory) -> None:
    store = in_memory([Document(id="a", content="old"), Document(id="b", content="old")])
    snapshot = StoreSnapshot(store)
    version = snapshot.content_version()
    old = snapshot.keys_of(["a", "b"])
    store.write_documents([Document(id="a", content="new")], DuplicatePolicy.OVERWRITE)
    assert snapshot.content_version() == version
    assert [document.content for document in snapshot.fetch(old)] == ["old", "old"]
    snapshot.expire()
    assert snapshot.content_version() > version
    new = snapshot.keys_of(["a", "nowhere", "b"])
    assert not set(old) & set(new)
    assert snapshot.fetch(old) == []
    assert [document.content for document in snapshot.fetch(new)] == ["new", "old"]


def test_a_document_in_the_place_of_another_is_seen_when_told(in_memory: InMemory) -> None:
    store = in_memory([Document(id="a", content="old")])
    snapshot = readable(store)
    version = snapshot.content_version()
    store.delete_documents(["a"])
    store.write_documents([Document(id="b", content="new")])
    assert snapshot.content_version() == version
    reload(store)
    assert snapshot.content_version() > version
    assert snapshot.keys_of(["a"]) == []
    assert [document.content for document in snapshot.fetch(snapshot.keys_of(["b"]))] == ["new"]


def test_readers_of_one_store_share_its_snapshot(
    in_memory: InMemory, store: StatuteDocumentStore
) -> None:
    one, other = in_memory([]), in_memory([])
    kept = readable(one)
    assert readable(one) is kept
    assert readable(other) is not kept
    assert readable(store) is store


def test_a_store_that_nobody_reads_needs_no_reload(in_memory: InMemory) -> None:
    reload(in_memory([]))


def test_a_vector_that_cannot_be_used_leaves_the_words_searchable(in_memory: InMemory) -> None:
    documents = [
        Document(id="a", content="roof", meta={"law": "L", "number": 3}, embedding=[0.0, 0.0]),
        Document(id="b", content=None, meta={"law": 7}),
    ]
    snapshot = StoreSnapshot(in_memory(documents))
    snapshot.content_version()
    assert [text for _, text, _ in snapshot.texts()] == ["roof"]
    assert list(snapshot.entries()) == [("a", "L", "3")]


@pytest.mark.parametrize("store", ["law.db", Path("law.db"), StatuteDocumentStore, None])
@pytest.mark.parametrize(
    "retriever",
    [CitationRetriever, StatuteBM25Retriever, StatuteEmbeddingRetriever, StructureExpander],
)
def test_what_is_no_store_is_refused_at_once(retriever: type, store: Any) -> None:
    with pytest.raises(TypeError, match=r"document_store must be .* StatuteDocumentStore\(path\)"):
        retriever(store)
