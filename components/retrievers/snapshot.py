"""Any Haystack document store, read once and kept, as the resident indexes want it."""

import threading
from collections.abc import Iterable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from typing import Any
from weakref import WeakValueDictionary

import numpy as np
from haystack import Document, logging
from haystack.document_stores.types import DocumentStore
from haystack.utils.filters import document_matches_filter
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, number_of
from components.retrievers.readable import ReadableStore
from components.statutes.article import indexed_text
from components.stores.rows import embedding_blob, position_of
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)


class StoreSnapshot:
    """The documents of a foreign store as they were when last read.

    Haystack's protocol does not tell when a store changes: the snapshot is taken anew when the
    number of documents differs, and when `reload(store)` asks for it. Documents that are
    overwritten, or replaced by as many others, go unnoticed until then.
    Documents stand in the order of `meta.position`, then as the store lists them.

    Args:
        store: any store whose `filter_documents` hands out embeddings.
    """

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._documents: list[Document] = []
        self._keys: list[int] = []  # of the documents with a vector
        self._matrix: NDArray[np.float32] | ValueError = np.empty((0, 0), dtype=np.float32)
        self._row_of: dict[str, int] = {}
        self._count = -1
        self._version = 0
        self._first_key = 0

    def content_version(self) -> int:
        """Number of times that the store was read."""
        with self._lock:
            count = self._store.count_documents()
            if count != self._count:
                self._read(count)
            return self._version

    def expire(self) -> None:
        """Read the store again at the next use."""
        with self._lock:
            self._count = -1

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one.

        Raises:
            ValueError: a vector is NaN, zero or of another size; names the document.
        """
        with self._lock:
            if isinstance(self._matrix, ValueError):
                raise self._matrix
            if len(self._keys) < len(self._documents):
                logger.warning(
                    "{n} of {total} documents have no embedding and cannot be found by meaning.",
                    n=len(self._documents) - len(self._keys),
                    total=len(self._documents),
                )
            return np.array(self._keys, dtype=np.int64), self._matrix.copy()

    def texts(self) -> Iterator[tuple[int, str, str | None]]:
        """`(key, indexed text, language)` of every document with content."""
        for key, document in self._keyed():
            if document.content is not None:
                text = indexed_text(headings_of(document.meta), document.content)
                yield key, text, language_of(document.meta)

    def metas(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """`(key, id, meta)` of every document; not to be changed."""
        for key, document in self._keyed():
            yield key, document.id, document.meta

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """`(id, law, number)` of every document with a law."""
        for _, document in self._keyed():
            if isinstance(document.meta.get("law"), str):
                yield document.id, document.meta["law"], number_of(document.meta)

    def fetch(
        self,
        keys: Sequence[int] | NDArray[np.int64],
        scores: Sequence[float] | NDArray[np.float32] | None = None,
    ) -> list[Document]:
        """Copies of the documents, in this order; keys of earlier snapshots are left out."""
        given = [None] * len(keys) if scores is None else [float(score) for score in scores]
        with self._lock:
            rows = [int(key) - self._first_key for key in keys]
            kept = [
                (self._documents[row], score)
                for row, score in zip(rows, given, strict=True)
                if 0 <= row < len(self._documents)
            ]
        return [
            replace(document, meta=deepcopy(document.meta), score=score) for document, score in kept
        ]

    def keys_matching(self, filters: dict[str, Any] | None) -> NDArray[np.int64]:
        """Keys of the documents that match, by Haystack's own matcher.

        Raises:
            FilterError: when the filters are malformed.
        """
        matching = [
            key
            for key, document in self._keyed()
            if not filters or document_matches_filter(filters, document)
        ]
        return np.array(matching, dtype=np.int64)

    def keys_of(self, ids: Iterable[str]) -> list[int]:
        """Keys of the documents with these ids, in their order; unknown ids are left out."""
        with self._lock:
            rows = [self._row_of[each] for each in ids if each in self._row_of]
            return [row + self._first_key for row in rows]

    def _keyed(self) -> list[tuple[int, Document]]:
        with self._lock:
            return list(enumerate(self._documents, start=self._first_key))

    def _read(self, count: int) -> None:
        documents = sorted(self._store.filter_documents(), key=position_of)
        # Keys go on from the last snapshot's: a key is never reused.
        self._first_key += len(self._documents)
        self._documents = [replace(each, embedding=None, score=None) for each in documents]
        self._row_of = {each.id: row for row, each in enumerate(self._documents)}
        embedded = [each for each in documents if each.embedding is not None]
        self._keys = self.keys_of(each.id for each in embedded)
        try:
            self._matrix = _matrix(embedded)
        except ValueError as error:
            # Told to whoever asks for vectors: the words can be searched all the same.
            self._matrix = error
        self._count = count
        self._version += 1


def _matrix(documents: list[Document]) -> NDArray[np.float32]:
    """The documents' vectors `[n, dim]`, after the checks that Lexarbor's own store makes."""
    dim: int | None = None
    rows: list[NDArray[np.float32]] = []
    for document in documents:
        rows.append(np.frombuffer(embedding_blob(document, dim) or b"", np.float32))
        dim = len(rows[0])
    return np.stack(rows) if rows else np.empty((0, 0), dtype=np.float32)


_snapshots: WeakValueDictionary[int, StoreSnapshot] = WeakValueDictionary()
_taking = threading.Lock()


def readable(store: DocumentStore) -> ReadableStore:
    """The store itself when it is Lexarbor's, else its snapshot, one for all its readers.

    Raises:
        TypeError: it is no store: a path, say, or a class.
    """
    if isinstance(store, StatuteDocumentStore):
        return store
    if isinstance(store, type) or not hasattr(store, "filter_documents"):
        raise TypeError(
            f"document_store must be a Haystack document store, got {store!r:.60}. Of a file of "
            "Lexarbor's give StatuteDocumentStore(path)."
        )
    with _taking:
        # The snapshot keeps its store alive, so an id in this table belongs to that store.
        snapshot = _snapshots.get(id(store))
        if snapshot is None:
            snapshot = _snapshots[id(store)] = StoreSnapshot(store)
        return snapshot


def reload(store: DocumentStore) -> None:
    """Have the retrievers over a foreign store read it again at their next use.

    Needed where their number stayed the same: after documents were overwritten, or some deleted
    and as many others written between two questions. Lexarbor's own store tells by itself.
    """
    with _taking:
        snapshot = _snapshots.get(id(store))
    if snapshot is not None:
        snapshot.expire()
