"""StatuteBM25Retriever: the articles that share words with the question."""

import hashlib
import json
import math
import sqlite3
import weakref
from collections.abc import Callable, Hashable, Iterable, Iterator, Sequence
from functools import partial
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from haystack import Document, component, logging
from haystack.document_stores.types import DocumentStore
from numpy.typing import NDArray

from components.models.lexical_index import LexicalIndex
from components.parameters import check_number
from components.retrievers.resident import (
    IndexReader,
    ReadableStore,
    ResidentIndex,
    Retriever,
    resident_index,
)
from components.retrievers.validity import TODAY
from components.statutes.corpus import read_questions
from components.statutes.lay_words import (
    Expansion,
    LayEntry,
    LayWords,
    lay_words_from_bytes,
    lay_words_to_bytes,
    phrases_by_said,
)
from components.statutes.lexical import K1, B, analysis_version
from components.statutes.question import clean_question
from components.statutes.sources.reading import CorpusError, Problem
from components.stores.database import StoreError, damaged
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)

_FORMAT = 1

_LAY_WORDS, _LAY_WORDS_RECORD = "lay-words", "lay-words-record"
_LAY_WORDS_FORMAT = "1"


@component
class StatuteBM25Retriever(IndexReader[LexicalIndex], Retriever):
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

    Where a list of lay words was given to `pipelines.index --lay-words`, what people say is
    searched in the law's words too (`components.statutes.lay_words`), and reported.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
        k1: float = 1.5,
        b: float = 0.75,
        expansions: str | None = None,
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles stand.
            top_k: how many to return at most.
            filters: Haystack filters that always hold.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.
            k1: how soon repeats of a term stop counting; 0 or more.
            b: how much a long article is marked down; from 0 to 1.
            expansions: a questions file that `python -m training.synthesize` wrote: each article is
                found by the words of its synthetic questions too (docT5query; Nogueira and Lin,
                2019). Other questions in the file are left out.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again; the shortest among the retrievers over one store counts. Lexarbor's own
                store is always up to date.

        Raises:
            TypeError: `top_k` is not a whole number.
            ValueError: a number is out of its range, or `as_of` neither of the two words nor a day.
        """
        name = type(self).__name__
        check_number(f"{name}.k1", k1, lambda k1: 0 <= k1 < math.inf, "0 or more")
        check_number(f"{name}.b", b, lambda b: 0 <= b <= 1, "from 0 to 1")
        Retriever.__init__(self, document_store, top_k, filters, as_of)
        self._read_from(document_store, refresh_seconds)
        self.k1 = k1
        self.b = b
        self.expansions = expansions
        self._lay_words: tuple[Any, LayWords | None] = (None, None)

    @component.output_types(documents=list[Document], expansions=dict[str, list[str]])
    def run(
        self,
        query: str,
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
        expand: bool = True,
    ) -> dict[str, Any]:
        """Find the articles that share words with a question.

        Args:
            query: the question.
            filters: Haystack filters that must hold besides the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.
            expand: whether the store's lay words are searched in the law's words too.

        Returns:
            `documents`: by BM25 score, equal scores in the order of the law. Articles that share
            no term with the question, or with its expansions, are not among them.
            `expansions`: what people say, as in the list of lay words, and the phrases of the law
            that were searched too. (The component's parameter of this name expands articles.)

        Raises:
            QuestionError: the question is empty or too long.
            FilterError: the filters are malformed.
            TypeError: `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
            StoreError: the store cannot be read.
            CorpusError: the file of expansions cannot be read, or holds no synthetic question.
        """
        question = clean_question(query)
        narrowed, k, day = self._request(filters, top_k, as_of)
        added: list[Expansion] = []

        def search(
            index: LexicalIndex, allowed: NDArray[np.int64] | None
        ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
            # Not before: a replaced file is opened again when its state is read.
            words = self.lay_words() if expand else None
            added[:] = [] if words is None else words.expansions(question)
            return index.search(question, k, allowed, added)

        found = self._search(search, narrowed, day)
        return {"documents": found, "expansions": phrases_by_said(added)}

    def lay_words(self, state: Hashable = None) -> LayWords | None:
        """The store's list of lay words, over its law; None without one.

        Args:
            state: the store's `state_of`, where it was just read.

        Raises:
            StoreError: the stored list is damaged.
        """
        store = self._store
        if not isinstance(store, StatuteDocumentStore) or not (record := _recorded(store)):
            return None
        # Bound to the index itself, which may be renewed later than the store changes.
        index = self.current_index(state)
        key = (record, weakref.ref(index))  # a retriever can be copied, an index cannot
        if key != self._lay_words[0]:
            self._lay_words = (key, _kept_lay_words(store, record, index))
        return self._lay_words[1]

    def warm_up(self) -> None:
        """Read the index and the lay words, once; `run` follows the store when these change.

        Raises:
            StoreError: the store cannot be read, or its list is damaged.
        """
        if not self._is_warm:
            IndexReader.warm_up(self)  # the decorator makes another class: no super()
            self.lay_words()

    def _shared_index(self) -> ResidentIndex[LexicalIndex]:
        return lexical_index(self._store, self.k1, self.b, self.expansions)


def keep_lay_words(store: StatuteDocumentStore, entries: Sequence[LayEntry]) -> LayWords:
    """Save a list of lay words with a store, in place of the one that it had.

    Args:
        store: of the law.
        entries: of the list; none to remove it.

    Returns:
        The list over the store's law.
    """
    content = lay_words_to_bytes(entries)
    # If this stops half-way, the store has none.
    store.save_blob(_LAY_WORDS_RECORD, _LAY_WORDS_FORMAT, b"")
    store.save_blob(_LAY_WORDS, _LAY_WORDS_FORMAT, content)
    record = hashlib.sha256(content).hexdigest() if entries else ""
    store.save_blob(_LAY_WORDS_RECORD, _LAY_WORDS_FORMAT, record.encode())
    index = lexical_index(store).current(store)
    return LayWords(entries, index.languages, index.has)


def _kept_lay_words(
    store: StatuteDocumentStore, record: str, index: LexicalIndex
) -> LayWords | None:
    """The list on record over an index; None while another one is being written."""
    kept = store.load_blob(_LAY_WORDS)
    try:
        if kept is None or hashlib.sha256(kept[1]).hexdigest() != record:
            if _recorded(store) != record:
                return None
            raise ValueError("they are not those on record")
        entries = lay_words_from_bytes(kept[1])
    except ValueError as error:
        raise damaged(store.database.path, "its lay words cannot be read") from error
    return LayWords(entries, index.languages, index.has)


def _recorded(store: StatuteDocumentStore) -> str | None:
    """What changes whenever a store's list of lay words does; None or "" where it has none.

    Small, so that each question can look.
    """
    kept = store.load_blob(_LAY_WORDS_RECORD)
    is_known = kept is not None and kept[0] == _LAY_WORDS_FORMAT
    return kept[1].decode(errors="replace") if kept is not None and is_known else None


def lexical_index(
    store: ReadableStore, k1: float = K1, b: float = B, expansions: str | None = None
) -> ResidentIndex[LexicalIndex]:
    """The process's BM25 index of a store's articles, expanded where questions are named."""

    def kept(store: ReadableStore) -> LexicalIndex:
        # Read before the texts: newer texts under this version are only indexed once more.
        version = f"{_FORMAT}/{analysis_version()}/{store.content_version()}"
        name = f"bm25/{k1}/{b}"
        if expansions is None:
            texts: Callable[[], Iterable[Text]] = store.texts
        else:
            questions = _synthetic(expansions)
            name += "/expanded"
            version += f"/{hashlib.sha256(json.dumps(questions).encode()).hexdigest()}"
            texts = partial(_expanded, store, questions)
        return kept_index(
            store, name, version, LexicalIndex, lambda: LexicalIndex.build(texts(), k1=k1, b=b)
        )

    return resident_index(store, ("bm25", k1, b, expansions), kept)


Text = tuple[int, str, str | None]
"""Key, indexed text and language of an article."""


def _synthetic(path: str) -> dict[str, list[str]]:
    """The synthetic questions of a file, by article."""
    asked: dict[str, list[str]] = {}
    for question in read_questions(path):
        if question.synthetic:
            for id_ in question.relevant:
                asked.setdefault(id_, []).append(question.text)
    if not asked:
        repair = "Let a model write some: python -m training.synthesize."
        message = "no synthetic question to expand articles with"
        raise CorpusError([Problem(path, None, None, message, repair)])
    return asked


def _expanded(store: ReadableStore, asked: dict[str, list[str]]) -> Iterator[Text]:
    """The texts of a store, each followed by the questions asked of its article."""
    of_key = {key: asked[id_] for key, id_, _ in store.metas() if id_ in asked}
    for key, text, language in store.texts():
        yield key, " ".join([text, *of_key.get(key, ())]), language


class Kept(Protocol):
    """An index that can be kept with a store."""

    def to_bytes(self) -> bytes:
        """Its form on disk."""

    @classmethod
    def from_bytes(cls, content: bytes) -> Self:
        """The index that `to_bytes` wrote; ValueError if the bytes are not one."""


K = TypeVar("K", bound=Kept)


def kept_index(
    store: ReadableStore, name: str, version: str, kind: type[K], build: Callable[[], K]
) -> K:
    """The index that is kept with the documents of Lexarbor's own store; else a new one.

    Args:
        store: what it is an index of.
        name: of the blob that keeps it.
        version: of its format and of the content that it is of.
        kind: its class.
        build: makes it, where none of this version is kept.
    """
    if not isinstance(store, StatuteDocumentStore):
        return build()
    kept = store.load_blob(name)
    if kept is not None and kept[0] == version:
        try:
            return kind.from_bytes(kept[1])
        except ValueError as error:
            logger.warning("{store}: {error}. It is built again.", store=store.path, error=error)
    index = build()
    try:
        store.save_blob(name, version, index.to_bytes())
    except (StoreError, sqlite3.Error, OverflowError) as error:
        # A file that may not be written, a full disk, or more than SQLite's gigabyte a value.
        logger.warning(
            "An index serves from memory only ({index}). {error}", index=name, error=error
        )
    return index
