"""The store's methods for an event loop: each runs its twin in a worker thread."""

import asyncio
from typing import Any, Protocol

from haystack import Document
from haystack.document_stores.types import DuplicatePolicy


class SynchronousStore(Protocol):
    """What the twins call: Haystack's store protocol and its common extensions."""

    def close(self) -> None: ...  # noqa: D102
    def count_documents(self) -> int: ...  # noqa: D102
    def count_documents_by_filter(self, filters: dict[str, Any]) -> int: ...  # noqa: D102
    def filter_documents(  # noqa: D102
        self, filters: dict[str, Any] | None = None
    ) -> list[Document]: ...
    def write_documents(  # noqa: D102
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int: ...
    def delete_documents(self, document_ids: list[str]) -> None: ...  # noqa: D102
    def delete_all_documents(self) -> None: ...  # noqa: D102
    def delete_by_filter(self, filters: dict[str, Any]) -> int: ...  # noqa: D102
    def update_by_filter(  # noqa: D102
        self, filters: dict[str, Any], meta: dict[str, Any]
    ) -> int: ...


class AsyncTwins:
    """`X_async` for each method `X` of Haystack's store protocol and its common extensions.

    SQLite answers from a thread without holding the interpreter, so a worker thread is all that
    an event loop needs; the store keeps a connection for each thread.
    """

    async def close_async(self: SynchronousStore) -> None:
        """`close` without blocking the event loop."""
        await asyncio.to_thread(self.close)

    async def count_documents_async(self: SynchronousStore) -> int:
        """`count_documents` without blocking the event loop."""
        return await asyncio.to_thread(self.count_documents)

    async def count_documents_by_filter_async(
        self: SynchronousStore, filters: dict[str, Any]
    ) -> int:
        """`count_documents_by_filter` without blocking the event loop."""
        return await asyncio.to_thread(self.count_documents_by_filter, filters)

    async def filter_documents_async(
        self: SynchronousStore, filters: dict[str, Any] | None = None
    ) -> list[Document]:
        """`filter_documents` without blocking the event loop."""
        return await asyncio.to_thread(self.filter_documents, filters)

    async def write_documents_async(
        self: SynchronousStore,
        documents: list[Document],
        policy: DuplicatePolicy = DuplicatePolicy.NONE,
    ) -> int:
        """`write_documents` without blocking the event loop."""
        return await asyncio.to_thread(self.write_documents, documents, policy)

    async def delete_documents_async(self: SynchronousStore, document_ids: list[str]) -> None:
        """`delete_documents` without blocking the event loop."""
        await asyncio.to_thread(self.delete_documents, document_ids)

    async def delete_all_documents_async(self: SynchronousStore) -> None:
        """`delete_all_documents` without blocking the event loop."""
        await asyncio.to_thread(self.delete_all_documents)

    async def delete_by_filter_async(self: SynchronousStore, filters: dict[str, Any]) -> int:
        """`delete_by_filter` without blocking the event loop."""
        return await asyncio.to_thread(self.delete_by_filter, filters)

    async def update_by_filter_async(
        self: SynchronousStore, filters: dict[str, Any], meta: dict[str, Any]
    ) -> int:
        """`update_by_filter` without blocking the event loop."""
        return await asyncio.to_thread(self.update_by_filter, filters, meta)
