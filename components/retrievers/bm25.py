"""StatuteBM25Retriever: the articles that share words with the question."""

import asyncio
import math
import sqlite3
from typing import Any

import numpy as np
from haystack import Document, component, default_from_dict, default_to_dict, logging
from haystack.document_stores.types import DocumentStore
from numpy.typing import NDArray

from components.models.lexical_index import LexicalIndex
from components.parameters import AsyncWarmUp, checked_refresh, checked_top_k, is_number
from components.retrievers.resident import (
    HoldsStore,
    ReadableStore,
    ResidentIndex,
    readable,
    resident_index,
)
from components.retrievers.validity import (
    TODAY,
    asked_day,
    checked_as_of,
    search_resident,
    validity_of,
)
from components.statutes.lexical import analysis_version
from components.statutes.question import clean_question
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)

_FORMAT = 1


@component
class StatuteBM25Retriever(AsyncWarmUp, HoldsStore):
    """Finds articles by their words (BM25), with each language's stems and stop words.

    ```python
    from components.retrievers.bm25 import StatuteBM25Retriever
    from components.stores.sqlite import StatuteDocumentStore

    retriever = StatuteBM25Retriever(StatuteDocumentStore("adgm.db"), top_k=5)
    retriever.run("May a fund manager delegate its duties?")["documents"]
    ```

    The index is built once for a content of the store, kept in the store's own file, and shared
    by every retriever of the process; it follows the store when its content changes. Other
    Haystack stores work too; their index lives in memory only.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
        k1: float = 1.5,
        b: float = 0.75,
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles stand.
            top_k: how many to return at most.
            filters: Haystack filters that hold unless `run` gives others.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.
            k1: how soon repeats of a term stop counting; 0 or more.
            b: how much a long article is marked down; from 0 to 1.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again; the shortest among the retrievers over one store counts. Lexarbor's own
                store is always up to date.

        Raises:
            TypeError: `top_k` is no whole number.
            ValueError: a number is out of its range, or `as_of` neither of the two words nor a day.
        """
        if not (is_number(k1) and 0 <= k1 < math.inf):
            raise ValueError(f"StatuteBM25Retriever.k1 must be 0 or more, got {k1!r}.")
        if not (is_number(b) and 0 <= b <= 1):
            raise ValueError(f"StatuteBM25Retriever.b must be from 0 to 1, got {b!r}.")
        self.document_store = document_store
        self.top_k = checked_top_k("StatuteBM25Retriever", top_k, at_least=1)
        self.filters = filters
        self.as_of = checked_as_of("StatuteBM25Retriever", as_of)
        self.k1 = k1
        self.b = b
        self.refresh_seconds = checked_refresh("StatuteBM25Retriever", refresh_seconds)
        self._store: ReadableStore = readable(document_store, refresh_seconds)
        self._resident: ResidentIndex[LexicalIndex] | None = None

    def to_dict(self) -> dict[str, Any]:
        """Serialise every parameter."""
        return default_to_dict(
            self,
            document_store=self.document_store,
            top_k=self.top_k,
            filters=self.filters,
            as_of=self.as_of,
            k1=self.k1,
            b=self.b,
            refresh_seconds=self.refresh_seconds,
        )

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "StatuteBM25Retriever":
        """The component that `to_dict` described."""
        return default_from_dict(cls, data)

    def warm_up(self) -> None:
        """Load the index, or build it if the store's content has changed.

        Raises:
            StoreError: the store cannot be read.
        """
        self._index().current(self._store)
        validity_of(self._store)

    @component.output_types(documents=list[Document])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """Find the articles that share words with a question.

        Args:
            query: the question.
            filters: Haystack filters in place of the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by BM25 score, equal scores in the order of the law. Articles that share
            no term with the question are not among them.

        Raises:
            QuestionError: the question is empty or too long.
            FilterError: the filters are malformed.
            TypeError: `top_k` is no whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
            StoreError: the store cannot be read.
        """
        question = clean_question(query)
        k = self.top_k if top_k is None else top_k
        k = checked_top_k("StatuteBM25Retriever", k, at_least=0)

        def search(
            index: LexicalIndex, allowed: NDArray[np.int64] | None
        ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            return index.search(question, k, allowed)

        wanted = self.filters if filters is None else filters
        day = asked_day("StatuteBM25Retriever", self.as_of if as_of is None else as_of)
        return {"documents": search_resident(self._store, self._index(), search, wanted, day)}

    @component.output_types(documents=list[Document])
    async def run_async(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, list[Document]]:
        """`run` in a worker thread."""
        return await asyncio.to_thread(self.run, query, filters, top_k, as_of)

    def _index(self) -> ResidentIndex[LexicalIndex]:
        if self._resident is None:
            k1, b = self.k1, self.b
            self._resident = resident_index(
                self._store, ("bm25", k1, b), lambda store: _load_or_build(store, k1, b)
            )
        return self._resident


def _load_or_build(store: ReadableStore, k1: float, b: float) -> LexicalIndex:
    if not isinstance(store, StatuteDocumentStore):
        return LexicalIndex.build(store.texts(), k1=k1, b=b)
    # Read before the texts: texts newer than the version in the name are only indexed once more.
    version = f"{_FORMAT}/{analysis_version()}/{store.content_version()}"
    name = f"bm25/{k1}/{b}"
    kept = store.load_blob(name)
    if kept is not None and kept[0] == version:
        try:
            return LexicalIndex.from_bytes(kept[1])
        except ValueError as error:
            logger.warning("{store}: {error}. It is built again.", store=store.path, error=error)
    index = LexicalIndex.build(store.texts(), k1=k1, b=b)
    try:
        store.save_blob(name, version, index.to_bytes())
    except (StoreError, sqlite3.Error, OverflowError) as error:
        # A file that may not be written, a full disk, or more than SQLite's gigabyte a value.
        logger.warning("The BM25 index serves from memory only. {error}", error=error)
    return index
