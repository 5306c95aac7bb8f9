"""Stores of both kinds that the views read."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from small_law import in_order

from components.retrievers.resident import ReadableStore, readable
from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture(params=["own", "foreign"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., ReadableStore]:
    """`make_store(documents)`: Lexarbor's own store, and one of Haystack's."""

    def make(documents: Sequence[Document]) -> ReadableStore:
        store: Any = (
            StatuteDocumentStore(str(tmp_path / "law.db"))
            if request.param == "own"
            else InMemoryDocumentStore()
        )
        store.write_documents(in_order(documents))
        read = readable(store)
        read.content_version()  # another store is read by this
        return read

    return make
