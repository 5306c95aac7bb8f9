"""Small laws with vectors, in our store and in Haystack's own."""

from __future__ import annotations

import pytest
from haystack.document_stores.in_memory import InMemoryDocumentStore


@pytest.fixture
def in_memory():
    """Haystack's store with these documents."""

    def filled(documents):
        store = InMemoryDocumentStore(embedding_similarity_function="cosine", shared=False)
        store.write_documents(documents)
        return store

    return filled


@pytest.fixture(params=["ours", "haystack's"])
def make_store(request, store, in_memory):
    """A store with these documents, ours and Haystack's in turn."""

    def make(documents):
        if request.param == "haystack's":
            return in_memory(documents)
        store.write_documents(documents)
        return store

    return make
