"""What the retrievers share: stores as they read them, and indexes kept in memory.

There is one index for each store and kind, shared by every retriever of the process.
"""

from __future__ import annotations

import hashlib
import math
import threading
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from copy import deepcopy
from dataclasses import replace
from datetime import date
from time import monotonic
from typing import Any, Generic, TypeVar, cast
from weakref import WeakKeyDictionary, WeakValueDictionary

import numpy as np
from haystack import Document, logging
from haystack.document_stores.types import DocumentStore
from numpy.typing import NDArray

from components.converters.articles import headings_of, identity_of, language_of, number_of
from components.models.folder import VectorError
from components.parameters import AsyncWarmUp, StatuteComponent, check_number, checked_top_k
from components.retrievers.validity import TODAY, Validity, asked_day, checked_as_of
from components.statutes.article import indexed_text
from components.statutes.identity import LawIdentity
from components.stores.database import embedding_blob, position_of
from components.stores.filters import matches, plain_filters
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)


Index = TypeVar("Index")
Result = TypeVar("Result")

_in_background = False


def renew_in_background() -> None:
    """From now on, answer over the old indexes of a store until the new ones are ready.

    For a service: its questions do not wait while a changed law is read again. Until then they miss
    the articles that changed; old and new indexes are in memory at once. What filters and dates
    leave out is always of the present.
    """
    global _in_background
    _in_background = True


class ResidentIndex(Generic[Index]):
    """An index over a store's content, built again whenever the content has changed.

    Args:
        build: makes the index from the store.
        is_never_late: questions wait for the new one, whatever `renew_in_background` says.
    """

    def __init__(
        self, build: Callable[[ReadableStore], Index], *, is_never_late: bool = False
    ) -> None:
        self._build = build
        self._is_never_late = is_never_late
        self._lock = threading.Lock()
        self._state: Any = None
        self._index: Index | None = None
        self._is_renewed = False

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A retriever's copy holds none, and takes the process's own at its first question."""
        return type(None), ()

    def current(self, store: ReadableStore, state: Hashable = None) -> Index:
        """The index of the store's present content; see `renew_in_background`.

        Args:
            store: what it is built from.
            state: the store's `state_of`, where it was just read.
        """
        with self._lock:
            # Read before the content: content newer than its state is only built once more.
            state = state or state_of(store)
            if state != self._state and self._may_be_late(store, state):
                if not self._is_renewed:
                    self._is_renewed = True
                    threading.Thread(target=self._renew, args=(store,), daemon=True).start()
            elif state != self._state:
                # The old one goes first, so that a store never has two indexes in memory.
                self._state = self._index = None
                self._index = self._build(store)
                self._state = state
            return cast("Index", self._index)

    def _may_be_late(self, store: ReadableStore, state: Any) -> bool:
        """Whether the old index still serves: articles that did not change kept their keys.

        The keys of another file, or of a foreign store's next snapshot, are others.
        """
        if self._is_never_late or not (_in_background and self._state):
            return False
        if not isinstance(store, StatuteDocumentStore):
            return False
        return bool(self._state[1] == state[1])

    def _renew(self, store: ReadableStore) -> None:
        state: Hashable = None
        index: Index | None = None
        try:
            state = state_of(store)
            index = self._build(store)
        except Exception as error:  # noqa: BLE001 - the next question meets it, and reports it
            logger.warning("An index could not be renewed: {error}", error=error)
            state = None
        with self._lock:
            self._state, self._index, self._is_renewed = state, index, False


def state_of(store: ReadableStore) -> Hashable:
    """The version of a store's content, the file it stands in, and the users' names of laws.

    A copy that took the place of the store's file may have the same version.
    """
    if isinstance(store, StatuteDocumentStore):
        store.database.check_exists()
        version, identity = store.content_version(), store.database.identity
        return version, identity, store.database.fact("aliases", str)
    return store.content_version(), None


_residents: WeakValueDictionary[Hashable, ResidentIndex[Any]] = WeakValueDictionary()
_registering = threading.Lock()


def resident_index(
    store: ReadableStore,
    kind: Hashable,
    build: Callable[[ReadableStore], Index],
    *,
    is_never_late: bool = False,
) -> ResidentIndex[Index]:
    """The process's one resident index of this kind over this store.

    It lives as long as any retriever holds it.

    Args:
        store: what it is built from; stores over one file are one store.
        kind: what distinguishes it from other indexes over the store: its name, its parameters
            and its device.
        build: makes the index; used when nobody holds one yet.
        is_never_late: see `ResidentIndex`.

    Raises:
        StoreError: the store's file cannot be opened.
    """
    identity = (_identity(store), kind)
    with _registering:
        resident = _residents.get(identity)
        if resident is None:
            resident = _residents[identity] = ResidentIndex(build, is_never_late=is_never_late)
        return cast("ResidentIndex[Index]", resident)


def _identity(store: ReadableStore) -> Hashable:
    if isinstance(store, StatuteDocumentStore):
        store.database.check_exists()
        store.content_version()  # the file is refused by its first use
        return str(store.database.path)
    return id(store)


class StoreSnapshot:
    """The documents of a foreign store as they were when last read.

    Haystack's protocol does not report changes. The store is read again at the next use after
    `refresh_seconds`, when the number of documents differs, and after `reload(store)`. Versions and
    keys stay where nothing has changed.
    Documents stand in the order of `meta.position`, then as they were first read.

    Args:
        store: any store whose `filter_documents` hands out embeddings.
    """

    refresh_seconds = math.inf

    def __init__(self, store: DocumentStore) -> None:
        self._store = store
        self._lock = threading.RLock()
        self._documents: list[Document] = []
        self._rows: list[int] = []  # of the documents with a vector
        self._matrix: NDArray[np.float32] | ValueError = np.empty((0, 0), dtype=np.float32)
        self._row_of: dict[str, int] = {}
        self._digest = b""
        self._count = -1
        self._read_at = -math.inf
        self._version = 0
        self._first_key = 0

    def content_version(self) -> int:
        """A number that grows with every change that a read of the store finds."""
        with self._lock:
            count = self._store.count_documents()
            old = monotonic() - self._read_at >= self.refresh_seconds
            if old or count != self._count:
                self._read(count)
            return self._version

    def expire(self) -> None:
        """Read the store again at the next use."""
        with self._lock:
            self._read_at = -math.inf

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one.

        Raises:
            ValueError: a vector is NaN, zero or of another size; names the document.
        """
        with self._lock:
            if isinstance(self._matrix, ValueError):
                raise self._matrix
            keys = np.array(self._rows, dtype=np.int64) + self._first_key
            return keys, self._matrix.copy()

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

    def laws(self) -> Iterator[LawIdentity]:
        """The law of every document that has one."""
        for _, document in self._keyed():
            if isinstance(document.meta.get("law"), str):
                yield identity_of(document.meta)

    def fetch(
        self,
        keys: Sequence[int] | NDArray[np.int64],
        scores: Sequence[float] | NDArray[np.floating[Any]] | None = None,
    ) -> list[Document]:
        """Copies of the documents, in this order; keys of earlier snapshots are left out."""
        given = [None] * len(keys) if scores is None else [float(score) for score in scores]
        with self._lock:
            first, documents = self._first_key, self._documents
        return [
            replace(found, meta=deepcopy(found.meta), score=score)
            for key, score in zip(keys, given, strict=True)
            if 0 <= key - first < len(documents) and (found := documents[key - first])
        ]

    def keys_matching(self, filters: dict[str, Any] | None) -> NDArray[np.int64]:
        """Keys of the documents that match, by Haystack's own matcher.

        Raises:
            FilterError: when the filters are malformed.
        """
        plain = plain_filters(filters) if filters else None
        matching = [
            key for key, document in self._keyed() if plain is None or matches(plain, document)
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
        started = monotonic()
        found = sorted(
            self._store.filter_documents(),
            key=lambda each: (position_of(each.meta), self._row_of.get(each.id, math.inf)),
        )
        rows = [row for row, each in enumerate(found) if each.embedding is not None]
        matrix: NDArray[np.float32] | ValueError
        try:
            matrix = _matrix([found[row] for row in rows])
        except ValueError as error:
            # Raised when vectors are asked for: the words can be searched all the same.
            matrix = error
        # By their representations: NaN does not equal itself, and arrays in meta do not compare.
        digest = hashlib.sha256(
            str(matrix).encode() if isinstance(matrix, ValueError) else matrix.tobytes()
        )
        digest.update(repr(rows).encode())
        for each in found:
            digest.update(repr((each.id, each.content, each.blob, each.meta)).encode())
        if digest.digest() != self._digest:
            # Keys go on from the last snapshot's: a key is never reused.
            self._first_key += len(self._documents)
            # Stores in memory hand out the documents themselves, whose meta may change in place.
            self._documents = [
                replace(each, meta=deepcopy(each.meta), embedding=None, score=None)
                for each in found
            ]
            self._rows, self._matrix = rows, matrix
            self._row_of = {each.id: row for row, each in enumerate(found)}
            self._version += 1
            self._digest = digest.digest()
        self._count, self._read_at = count, started


ReadableStore = StatuteDocumentStore | StoreSnapshot
"""A store as the resident indexes read it: by key, in the order of the law.

A key names one version of one document and is never reused, so an index that is older than the
store can miss a document but never show the wrong one.
"""


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


def readable(
    store: DocumentStore, refresh_seconds: float = math.inf, component: str = ""
) -> ReadableStore:
    """The store itself when it is Lexarbor's, else its snapshot, one for all its readers.

    Args:
        store: any document store.
        refresh_seconds: how old the snapshot may get; the shortest that a reader gives counts.
        component: the reader's name, for the message.

    Raises:
        TypeError: it is not a store: a path, say, or a class.
    """
    if isinstance(store, StatuteDocumentStore):
        return store
    if isinstance(store, type) or not hasattr(store, "filter_documents"):
        raise TypeError(f"{component}.document_store must be a document store, got {store!r:.60}.")
    with _taking:
        # The snapshot keeps its store alive, so an id in this table belongs to that store.
        snapshot = _snapshots.get(id(store))
        if snapshot is None:
            snapshot = _snapshots[id(store)] = StoreSnapshot(store)
        snapshot.refresh_seconds = min(snapshot.refresh_seconds, refresh_seconds)
        return snapshot


def reload(store: DocumentStore) -> None:
    """Have the retrievers over a foreign store read it again at their next use.

    For an application that has just written to the store and does not want to wait for
    `refresh_seconds`. Lexarbor's own store needs no call.
    """
    if (snapshot := _snapshots.get(id(store))) is not None:
        snapshot.expire()


_validities: WeakKeyDictionary[ReadableStore, ResidentIndex[Validity]] = WeakKeyDictionary()


def validity_of(store: ReadableStore, state: Hashable = None) -> Validity:
    """The validity of a store's present content, read once for all retrievers of the process.

    Args:
        store: of the articles.
        state: its `state_of`, where it was just read.

    Raises:
        StoreError: the store cannot be read.
    """
    resident = _validities.get(store)
    if resident is None:
        # Metadata change under the same key: a late filter would show what no longer matches.
        resident = _validities[store] = resident_index(
            store, "validity", lambda store: Validity(store.metas()), is_never_late=True
        )
    return resident.current(store, state)


def allowed_keys(
    store: ReadableStore, validity: Validity, filters: dict[str, Any] | None, day: date | None
) -> NDArray[np.int64] | None:
    """Keys of the documents that match and may be in force; None for all.

    Raises:
        FilterError: the filters are malformed.
    """
    in_force = validity.on(day)
    return validity.matching(filters, store.keys_matching, in_force) if filters else in_force.keys


def matching_keys(
    store: ReadableStore, validity: Validity, filters: dict[str, Any] | None, keys: list[int]
) -> list[int]:
    """Those of some documents' keys that match, in their order.

    Raises:
        FilterError: the filters are malformed.
    """
    if not filters or not keys:
        return keys
    found = np.isin(keys, validity.matching(filters, store.keys_matching))
    return [key for key, is_match in zip(keys, found, strict=True) if is_match]


def checked_query(
    component: str, embedding: list[float] | NDArray[np.float32]
) -> NDArray[np.float32]:
    """A question's vector as float32 `[dim]`.

    Args:
        component: name of the retriever, for the message.
        embedding: as it was given.

    Raises:
        VectorError: it is not a list of numbers, or holds NaN, infinity or only zeros.
    """
    where = f"{component}.query_embedding"
    try:
        query = np.asarray(embedding, dtype=np.float32)
    except (TypeError, ValueError) as error:
        raise VectorError(f"{where} is not a list of numbers: {error}.") from error
    if query.ndim != 1 or not np.isfinite(query).all() or not query.any():
        raise VectorError(f"{where} must be one list of finite numbers, not all of them 0.")
    return query


class StoreComponent(StatuteComponent):
    """A component with a `document_store`, which it closes with its pipeline."""

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


def narrowed(
    own: Mapping[str, Any] | None, filters: Mapping[str, Any] | None
) -> dict[str, Any] | None:
    """Filters that all of a component's own filters and of a question's must hold for.

    Args:
        own: the component's.
        filters: the question's.
    """
    # What is not a mapping is refused with its place, where filters are checked.
    given: list[Any] = [
        dict(each) if isinstance(each, Mapping) else each for each in (own, filters) if each
    ]
    return {"operator": "AND", "conditions": given} if len(given) > 1 else next(iter(given), None)


class Retriever(StoreComponent):
    """A component whose `top_k` and `as_of` hold unless `run` is given others.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this. So a filter of the component's keeps one tenant
    from another's articles.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles are.
            top_k: how many to return at most, in each list.
            filters: Haystack filters that always hold.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.

        Raises:
            TypeError: `top_k` is not a whole number.
            ValueError: `top_k` is less than 1, or `as_of` neither "today", "any" nor a day.
        """
        self.document_store = document_store
        self.top_k = checked_top_k(type(self).__name__, top_k, at_least=1)
        self.filters = filters
        self.as_of = checked_as_of(type(self).__name__, as_of)

    def places(self) -> set[str]:
        """Whose law the store's articles are.

        Raises:
            StoreError: the store cannot be read.
        """
        return validity_of(readable(self.document_store)).places

    def _request(
        self, filters: dict[str, Any] | None, top_k: int | None, as_of: str | None
    ) -> tuple[dict[str, Any] | None, int, date | None]:
        """Filters, number and day of a run; a day of None leaves out nothing."""
        if top_k is not None:
            checked_top_k(type(self).__name__, top_k, at_least=0)
        day = asked_day(type(self).__name__, self.as_of if as_of is None else as_of)
        return narrowed(self.filters, filters), self.top_k if top_k is None else top_k, day


class IndexReader(AsyncWarmUp, StoreComponent, Generic[Index]):
    """A component that answers from a resident index over its store."""

    _resident: ResidentIndex[Index] | None = None
    _is_warm = False

    def _read_from(self, document_store: DocumentStore, refresh_seconds: float) -> None:
        name = type(self).__name__
        self.document_store = document_store
        check_number(f"{name}.refresh_seconds", refresh_seconds, lambda x: x >= 0, "0 or more")
        self.refresh_seconds = refresh_seconds
        self._store = readable(document_store, refresh_seconds, name)

    def _shared_index(self) -> ResidentIndex[Index]:
        """The process's index for this component."""
        raise NotImplementedError

    def current_index(self, state: Hashable = None) -> Index:
        """The index of the store's present content.

        Args:
            state: the store's `state_of`, where it was just read.

        Raises:
            StoreError: the store cannot be read, or lacks what is indexed.
        """
        if self._resident is None:
            self._resident = self._shared_index()
        return self._resident.current(self._store, state)

    def warm_up(self) -> None:
        """Read the index, once; `run` follows the store when its content changes.

        Raises:
            StoreError: the store cannot be read, or lacks what is indexed.
        """
        if not self._is_warm:
            state = state_of(self._store)
            self.current_index(state)
            validity_of(self._store, state)
            self._is_warm = True

    def _search(
        self,
        search: Callable[
            [Index, NDArray[np.int64] | None], tuple[NDArray[np.int64], NDArray[np.float32]]
        ],
        filters: dict[str, Any] | None,
        day: date | None,
    ) -> list[Document]:
        """Search the component's index and read what was found from the store.

        Args:
            search: from the index, and the keys that are allowed (None for all), to keys and
                scores, best first.
            filters: Haystack filters, or None.
            day: leaves out what was not in force on it; None leaves out nothing.

        Returns:
            New documents with scores and without embeddings, best first, each with its other
            wordings in `meta["wordings"]` where there are any.

        Raises:
            FilterError: the filters are malformed.
        """

        def find(state: Hashable) -> tuple[list[Document], bool]:
            validity = validity_of(self._store, state)
            allowed = allowed_keys(self._store, validity, filters, day)
            keys, scores = search(self.current_index(state), allowed)
            documents = self._store.fetch(keys, scores)
            return validity.with_wordings(documents), len(documents) == len(keys)

        return settled(self._store, find)


def settled(store: ReadableStore, find: Callable[[Hashable], tuple[Result, bool]]) -> Result:
    """Search the store's present content, and once more if it changed meanwhile.

    A law that is published again between a search and the reading of what it found has new keys.

    Args:
        store: what is searched.
        find: takes the store's `state_of`; returns what was found, and whether all was still there.
    """
    for _ in range(2):
        state = state_of(store)
        found, is_whole = find(state)
        if is_whole and state_of(store) == state:
            break
    # Whatever is still missing is being rewritten at this moment; the rest is returned.
    return found
