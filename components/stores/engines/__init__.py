"""Distributed engines behind Haystack's own integrations: Qdrant and Milvus."""

from collections.abc import Sequence
from typing import Any

from haystack.document_stores.types import DocumentStore

from components.stores.engines.base import ASKING, ArticleEngine


def engine_of(document_store: DocumentStore, pauses: Sequence[float] = ASKING) -> ArticleEngine:
    """The engine under one of Haystack's document stores; nothing is connected yet.

    Args:
        document_store: a QdrantDocumentStore or a MilvusDocumentStore.
        pauses: seconds between tries.

    Raises:
        TypeError: it is another store.
    """
    package = type(document_store).__module__
    store: Any = document_store
    if package.startswith("haystack_integrations.document_stores.qdrant"):
        # Imported here: each needs its own client library.
        from components.stores.engines.qdrant import QdrantEngine

        return QdrantEngine(store, pauses)
    if package.startswith("milvus_haystack"):
        from components.stores.engines.milvus import MilvusEngine

        return MilvusEngine(store, pauses)
    raise TypeError(
        "document_store must be a QdrantDocumentStore or a MilvusDocumentStore, got "
        f"{type(document_store).__name__}. Other stores have StatuteEmbeddingRetriever and "
        "StatuteBM25Retriever."
    )
