"""What a component over a document store does when its pipeline is closed, as Haystack's own do."""

from haystack.document_stores.types import DocumentStore


class HoldsStore:
    """`close` and `close_async` for a component with a `document_store`."""

    document_store: DocumentStore

    def close(self) -> None:
        """Close the store; the next question opens it again."""
        close = getattr(self.document_store, "close", None)
        if close is not None:
            close()

    async def close_async(self) -> None:
        """`close` for what the store has open in an event loop."""
        close = getattr(self.document_store, "close_async", None)
        if close is not None:
            await close()
