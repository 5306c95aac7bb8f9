"""Places: the law of the store of this moment, read in the background."""

from __future__ import annotations

import logging
import threading
from collections.abc import Callable

from components.retrievers.resident import ReadableStore
from ui.beside import begin
from ui.law.reading import Law

logger = logging.getLogger(__name__)

# How long a view waits for the law to be read, in seconds; later it says that it is being read.
PATIENCE = 0.25


class Places:
    """Where the articles of the page's store stand.

    Everything is read once for each version of the content, in the background: first the tree,
    then the citations. It is safe to use from many threads.

    Args:
        store: gives what the page shows now; another one from one call to the next is another law.
    """

    def __init__(self, store: Callable[[], ReadableStore]) -> None:
        self._current_store = store
        self._lock = threading.Lock()
        self._reading: _Reading | None = None

    @property
    def store(self) -> ReadableStore:
        """What the page shows now.

        Raises:
            StoreError: the store cannot be read.
        """
        store = self._current_store()
        # A store that is not Lexarbor's is read, or read again, by this.
        store.content_version()
        return store

    def prepare(self) -> None:
        """Begin to read, if that has not begun.

        Raises:
            StoreError: the store cannot be read.
        """
        self._started()

    def law(self, patience: float = PATIENCE) -> Law | None:
        """The law as it stands in the store now; None while it is still being read.

        Args:
            patience: how long to wait for it, in seconds.

        Raises:
            StoreError: the store cannot be read.
        """
        return self._started().law(patience)

    def _started(self) -> _Reading:
        store = self._current_store()
        with self._lock:
            # Asked before the content is read: content newer than its version is read once more.
            version = store.content_version()
            reading = self._reading
            if reading is None or not reading.is_of(store, version):
                if reading is not None:
                    reading.stop.set()
                reading = self._reading = _Reading(store, version)
            return reading


class _Reading:
    """The reading of one version of one store's content."""

    def __init__(self, store: ReadableStore, version: int) -> None:
        self._store = store
        self._version = version
        self._ready = threading.Event()
        self._law: Law | None = None
        self._error: Exception | None = None
        self.stop = begin(self._read, "law")

    def is_of(self, store: ReadableStore, version: int) -> bool:
        """Whether it is the reading of this; one that failed is of nothing."""
        return self._store is store and self._version == version and self._error is None

    def law(self, patience: float) -> Law | None:
        self._ready.wait(patience)
        if self._error is not None:
            raise self._error
        return self._law

    def _read(self, stop: threading.Event) -> None:
        try:
            self._law = Law(self._store)
        except Exception as error:  # noqa: BLE001 - told to whoever asks for the law
            self._error = error
            return
        finally:
            self._ready.set()
        try:
            self._law.read_citations(stop)
        except Exception:
            # The place is shown without them.
            logger.exception("The citations between articles could not be read.")
