"""Whether stores hold articles: of an empty one every answer would be that nothing was found."""

from __future__ import annotations

from haystack import Pipeline

from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore


def check_has_articles(store: StatuteDocumentStore) -> None:
    """Refuse a store that nothing was indexed into yet, or not to its end.

    Raises:
        StoreError: it holds no article, or its file cannot be read.
    """
    store.database.follow()
    if next(store.database.rows("SELECT 1 FROM documents LIMIT 1"), None) is None:
        raise StoreError(
            f"{store.path} holds no article yet: run python -m pipelines.index --corpus ... "
            f"--store {store.path} (again, where it was interrupted)."
        )


def check_stores(pipeline: Pipeline) -> None:
    """The same of every store that the pipeline's components read.

    Raises:
        StoreError: one holds no article, or its file cannot be read.
    """
    for _, instance in pipeline.walk():
        store = getattr(instance, "document_store", None)
        if isinstance(store, StatuteDocumentStore):
            check_has_articles(store)
