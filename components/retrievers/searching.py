"""search_resident: from a resident index to documents."""

from collections.abc import Callable
from datetime import date
from typing import Any, TypeVar

import numpy as np
from haystack import Document
from numpy.typing import NDArray

from components.retrievers.matching import allowed_keys
from components.retrievers.readable import ReadableStore
from components.retrievers.resident import ResidentIndex
from components.retrievers.snapshot import still_stored
from components.retrievers.validity import validity_of

Index = TypeVar("Index")
Found = tuple[NDArray[np.int64], NDArray[np.float32]]


def search_resident(
    store: ReadableStore,
    resident: ResidentIndex[Index],
    search: Callable[[Index, NDArray[np.int64] | None], Found],
    filters: dict[str, Any] | None,
    day: date | None,
) -> list[Document]:
    """Search a resident index and read what was found from the store.

    A law that is published again between the two has new keys, and a foreign store may have
    changed since it was read: the search is then repeated once on the new content.

    Args:
        store: where the documents stand.
        resident: the index.
        search: from the index, and the keys that are allowed (None for all), to keys and scores,
            best first.
        filters: Haystack filters, or None.
        day: leaves out what was not in force on it; None leaves out nothing.

    Returns:
        New documents with scores and without embeddings, best first, each with its other wordings
        in `meta["wordings"]` where there are any.

    Raises:
        FilterError: when the filters are malformed.
    """
    for _ in range(2):
        version, index = resident.current(store)
        validity = validity_of(store)
        allowed = allowed_keys(store, filters, validity.on(day))
        keys, scores = search(index, allowed)
        documents = still_stored(store, store.fetch(keys, scores))
        whole = len(documents) == len(keys)
        if whole and (allowed is None or store.content_version() == version):
            break
    # What is still missing is being written just now: the rest is returned, each with its score.
    return validity.with_wordings(documents)
