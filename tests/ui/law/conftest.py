"""Stores that hold a law, and the views of it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from small_law import HOUSING, WORK, in_order, read_places
from starlette.applications import Starlette
from starlette.testclient import TestClient

from components.retrievers.readable import ReadableStore
from components.retrievers.snapshot import readable
from components.stores.sqlite import StatuteDocumentStore
from ui.collection import Collection
from ui.law.routes import law_routes


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


@pytest.fixture
def site(tmp_path: Path) -> Callable[..., TestClient]:
    """`site(documents)`: the views of the law over a store that is wholly read."""

    def make(documents: Sequence[Document]) -> TestClient:
        store = StatuteDocumentStore(str(tmp_path / "law.db"))
        store.write_documents(in_order(documents))
        routes = law_routes(read_places(store), lambda: Collection(len(documents), (HOUSING, WORK)))
        return TestClient(Starlette(routes=routes))

    return make
