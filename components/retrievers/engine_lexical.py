"""EngineLexicalRetriever: the articles that share words with the question, found by an engine."""

import asyncio
from typing import Any

from haystack import Document, component, default_from_dict, default_to_dict
from haystack.dataclasses import SparseEmbedding
from haystack.document_stores.types import DocumentStore

from components.retrievers.top_k import checked_top_k
from components.retrievers.validity import TODAY, asked_day, checked_as_of, in_force_on
from components.stores.engines.base import by_score, engine_filters
from components.stores.engines.held import HoldsEngine


@component
class EngineLexicalRetriever(HoldsEngine):
    """Finds articles by their words (BM25), in Qdrant or Milvus.

    ```python
    from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

    from components.embedders.sparse_text import StatuteSparseTextEmbedder
    from components.retrievers.engine_lexical import EngineLexicalRetriever

    store = QdrantDocumentStore(url="http://localhost:6333", index="lexarbor")
    terms = StatuteSparseTextEmbedder(languages=["en"]).run("May duties be delegated?")
    EngineLexicalRetriever(store, top_k=5).run(terms["sparse_embedding"])["documents"]
    ```

    The collection is one that `python -m pipelines.index --engine` made. The formula is that of
    `StatuteBM25Retriever` (Milvus's scores are k1 + 1 times as high, which moves no rank); how
    often a term stands in the corpus is counted by the engine. Filters have Haystack's meaning in
    both engines, and an engine that does not answer is asked again before it is an error.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
    ) -> None:
        """Keep the parameters; nothing is connected.

        Args:
            document_store: a QdrantDocumentStore or a MilvusDocumentStore.
            top_k: how many to return at most.
            filters: Haystack filters that hold unless `run` gives others.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: `top_k` is less than 1, or `as_of` neither of the two words nor a day.
        """
        self.document_store = document_store
        self.top_k = checked_top_k("EngineLexicalRetriever", top_k, at_least=1)
        self.filters = filters
        self.as_of = checked_as_of("EngineLexicalRetriever", as_of)

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            top_k=self.top_k,
            filters=self.filters,
            as_of=self.as_of,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "EngineLexicalRetriever":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query_sparse_embedding: SparseEmbedding,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """Find the articles that share words with a question.

        Args:
            query_sparse_embedding: the question's terms, from `StatuteSparseTextEmbedder`.
            filters: Haystack filters in place of the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by BM25, equal scores in the order of the law, without embeddings.

        Raises:
            FilterError: the filters are malformed, or over a field that engines do not keep.
            StoreError: the engine does not answer, or refuses.
            TypeError: `document_store` is no engine's, or `top_k` no whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
        """
        k = self.top_k if top_k is None else top_k
        k = checked_top_k("EngineLexicalRetriever", k, at_least=0)
        day = asked_day("EngineLexicalRetriever", self.as_of if as_of is None else as_of)
        wanted = self.filters if filters is None else filters
        condition = engine_filters(wanted if day is None else in_force_on(day, wanted))
        if condition is False or k == 0 or not query_sparse_embedding.indices:
            return {"documents": []}
        allowed = None if condition is True else condition
        return {"documents": by_score(self._opened().by_words(query_sparse_embedding, k, allowed))}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query_sparse_embedding: SparseEmbedding,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(self.run, query_sparse_embedding, filters, top_k, as_of)
