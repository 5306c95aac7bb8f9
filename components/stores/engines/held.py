"""What a component over an engine does when its pipeline is closed."""

from haystack.document_stores.types import DocumentStore

from components.stores.engines import engine_of
from components.stores.engines.base import ArticleEngine
from components.stores.held import HoldsStore


class HoldsEngine(HoldsStore):
    """`close` and `close_async` for a component that asks the engine of its `document_store`.

    The connection closes with the last of the components that share it.
    """

    document_store: DocumentStore
    _engine: ArticleEngine | None = None

    def close(self) -> None:
        """Let go of the engine; the next question opens it again."""
        self._let_go()
        super().close()

    async def close_async(self) -> None:
        """`close`, and what the store has open in an event loop."""
        self._let_go()
        await super().close_async()

    def _let_go(self) -> None:
        if self._engine is not None:
            self._engine.close()
        self._engine = None

    def _opened(self) -> ArticleEngine:
        if self._engine is None:
            self._engine = engine_of(self.document_store)
        return self._engine
