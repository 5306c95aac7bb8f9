"""What the page searches at this moment."""

from __future__ import annotations

import threading
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace

from components.retrievers.resident import ReadableStore
from ui.collection import Collection, recorded_days


class Searched:
    """Tells what is searched now, for notices, fields and what is taken away.

    The laws are read once for each version of the content. It is safe to use from many threads.

    Args:
        store: gives what the page searches now; another one from one call to the next is another
            collection.

    Raises:
        StoreError: it cannot be read at first.
    """

    def __init__(self, store: Callable[[], ReadableStore]) -> None:
        self._current_store = store
        self._lock = threading.Lock()
        self._read = _read(store())

    def __call__(self) -> Collection:
        """What is searched now; where that cannot be read, or is being read, what was before."""
        # Nobody waits for a store that answers another one slowly.
        if self._lock.acquire(blocking=False):
            try:
                # Whoever answers from the store tells himself that it cannot be read.
                with suppress(Exception):
                    self._read = self._followed()
            finally:
                self._lock.release()
        return self._read[1]

    def _followed(self) -> tuple[int, Collection]:
        store = self._current_store()
        version, collection = self._read
        if version != store.content_version():
            return _read(store)
        # The day of the law can be put on record when nothing else is.
        snapshot, indexed = recorded_days(store)
        return version, replace(collection, snapshot=snapshot, indexed=indexed)


def _read(store: ReadableStore) -> tuple[int, Collection]:
    # Asked before the content is read: content newer than its version is read once more.
    version = store.content_version()
    return version, Collection.of(store)
