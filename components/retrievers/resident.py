"""Indexes kept in memory: one a store file and kind, shared by every retriever of the process."""

import threading
from collections.abc import Callable, Hashable
from typing import Any, Generic, TypeVar, cast
from weakref import WeakValueDictionary

from components.retrievers.readable import ReadableStore
from components.stores.sqlite import StatuteDocumentStore

Index = TypeVar("Index")


class ResidentIndex(Generic[Index]):
    """An index over a store's content, built again whenever the content has changed.

    Args:
        build: makes the index from the store.
    """

    def __init__(self, build: Callable[[ReadableStore], Index]) -> None:
        self._build = build
        self._lock = threading.Lock()
        self._state: Hashable = None
        self._index: Index | None = None

    def __reduce__(self) -> tuple[type[None], tuple[()]]:
        """A retriever's copy holds none, and takes the process's own at its first question."""
        return type(None), ()

    def current(self, store: ReadableStore) -> tuple[int, Index]:
        """The content version that the index is of, and the index."""
        with self._lock:
            # Read before the content: content newer than its version is only built once more.
            version = store.content_version()
            # A copy that took the place of the store's file may have the same version.
            state = version, _file(store)
            if state != self._state:
                # The old one goes first, so that a store never has two indexes in memory.
                self._state = self._index = None
                self._index = self._build(store)
                self._state = state
            return version, cast("Index", self._index)


_residents: WeakValueDictionary[Hashable, ResidentIndex[Any]] = WeakValueDictionary()
_registering = threading.Lock()


def resident_index(
    store: ReadableStore, kind: Hashable, build: Callable[[ReadableStore], Index]
) -> ResidentIndex[Index]:
    """The process's one resident index of this kind over this store.

    It lives as long as any retriever holds it.

    Args:
        store: what it is built from; stores over one file are one store.
        kind: what distinguishes it from other indexes over the store: its name, its parameters
            and its device.
        build: makes the index; used when nobody holds one yet.

    Raises:
        StoreError: the store's file cannot be opened.
    """
    identity = (_identity(store), kind)
    with _registering:
        resident = _residents.get(identity)
        if resident is None:
            resident = _residents[identity] = ResidentIndex(build)
        return cast("ResidentIndex[Index]", resident)


def _identity(store: ReadableStore) -> Hashable:
    if isinstance(store, StatuteDocumentStore):
        store.content_version()  # the file is made, or refused, by its first use
        return str(store.database.path)
    return id(store)


def _file(store: ReadableStore) -> Hashable:
    """The file that a store's content was read from, where it is one."""
    return store.database.identity if isinstance(store, StatuteDocumentStore) else None
