"""Haystack's own test kit for document stores, sync and async, against ours."""

import asyncio
import dataclasses
import inspect
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.testing.document_store import (
    CountDocumentsByFilterTest,
    DocumentStoreBaseExtendedTests,
    create_filterable_docs,
)
from haystack.testing.document_store_async import (
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
)

from components.stores.sqlite import StatuteDocumentStore


@pytest.fixture
def document_store(tmp_path: Path) -> StatuteDocumentStore:
    return StatuteDocumentStore(str(tmp_path / "kit.db"))


def equal_but_for_float32(received: list[Document], expected: list[Document]) -> None:
    """Equal, but for float32 vectors (1e-6) and the order, which is the law's."""
    assert len(received) == len(expected)
    by_id = {document.id: document for document in received}
    for document in expected:
        twin = by_id[document.id]
        assert (twin.embedding is None) == (document.embedding is None)
        if document.embedding is not None:
            np.testing.assert_allclose(twin.embedding, document.embedding, atol=1e-6)
        assert dataclasses.replace(twin, embedding=None) == dataclasses.replace(
            document, embedding=None
        )


class TestSync(DocumentStoreBaseExtendedTests, CountDocumentsByFilterTest):
    # Our delete_all_documents has no index to make anew, so these two have nothing to test.
    test_delete_all_documents_without_recreate_index = None
    test_delete_all_documents_with_recreate_index = None

    @pytest.fixture
    def document_store(self, tmp_path: Path) -> StatuteDocumentStore:
        return StatuteDocumentStore(str(tmp_path / "kit.db"))

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        equal_but_for_float32(received, expected)

    def test_write_documents(self, document_store: StatuteDocumentStore) -> None:
        document = Document(content="test doc")
        assert document_store.write_documents([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            document_store.write_documents([document])
        assert document_store.filter_documents() == [document]


class AsyncKit(
    CountDocumentsAsyncTest,
    CountDocumentsByFilterAsyncTest,
    DeleteAllAsyncTest,
    DeleteByFilterAsyncTest,
    DeleteDocumentsAsyncTest,
    FilterDocumentsAsyncTest,
    UpdateByFilterAsyncTest,
    WriteDocumentsAsyncTest,
):
    """Not collected itself: `TestAsync` runs each of its coroutines in an event loop."""

    @staticmethod
    def assert_documents_are_equal(received: list[Document], expected: list[Document]) -> None:
        equal_but_for_float32(received, expected)

    async def test_write_documents_async(self, document_store: Any) -> None:
        document = Document(content="test doc")
        assert await document_store.write_documents_async([document]) == 1
        with pytest.raises(DuplicateDocumentError):
            await document_store.write_documents_async([document], DuplicatePolicy.FAIL)


KIT = AsyncKit()
ASYNC_TESTS = [
    name for name in dir(AsyncKit) if name.startswith("test_") and "recreate" not in name
]


def test_the_async_kit_is_there() -> None:
    assert len(ASYNC_TESTS) >= 12


@pytest.mark.parametrize("name", ASYNC_TESTS)
def test_async(name: str, document_store: StatuteDocumentStore) -> None:
    test = getattr(KIT, name)
    arguments: dict[str, Any] = {}
    for parameter in inspect.signature(test).parameters:
        if parameter == "document_store":
            arguments[parameter] = document_store
        elif parameter == "filterable_docs":
            arguments[parameter] = create_filterable_docs()
    asyncio.run(test(**arguments))
