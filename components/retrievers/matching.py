"""matching_keys: filters over days, where a document of another writer has a day that is none."""

from collections.abc import Iterator, Mapping
from typing import Any
from weakref import WeakKeyDictionary

import numpy as np
from haystack import Document, logging
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from numpy.typing import NDArray

from components.retrievers.readable import ReadableStore
from components.retrievers.resident import ResidentIndex, resident_index
from components.stores.filter_syntax import ORDERINGS, check_filters

logger = logging.getLogger(__name__)

_DAYS = ("valid_from", "valid_to")
_FETCHED = 500  # documents held at a time

# dateutil, which Haystack asks what a text means, does not refuse every number by ValueError.
_INCOMPARABLE = (FilterError, OverflowError)

_Unreadable = Mapping[str, list[Any]]
"""For each of the two fields its values that no day can be compared with, each once."""

_found: WeakKeyDictionary[ReadableStore, ResidentIndex[_Unreadable]] = WeakKeyDictionary()


def matching_keys(store: ReadableStore, filters: dict[str, Any]) -> NDArray[np.int64]:
    """Keys of the documents that match.

    Haystack refuses to compare a day with what is none, for all documents because of one. Here
    such a `valid_from` or `valid_to` counts as missing, and is warned of once: what may have been
    in force must not be left out unsaid.

    Raises:
        FilterError: the filters are malformed.
    """
    if filters:
        check_filters(filters)
    try:
        return store.keys_matching(filters)
    except _INCOMPARABLE:
        if store not in _found:
            _found[store] = resident_index(store, "unreadable days", _read)
        _, unreadable = _found[store].current(store)
        if not any(unreadable.values()):
            raise
    return store.keys_matching(_guarded(filters, unreadable))


def _guarded(condition: dict[str, Any], unreadable: _Unreadable) -> dict[str, Any]:
    """The same filters, each comparison of days false where the day cannot be read."""
    if "field" not in condition:
        parts = [_guarded(part, unreadable) for part in condition["conditions"]]
        return {**condition, "conditions": parts}
    values = unreadable.get(str(condition["field"]).removeprefix("meta."))
    if not values or condition["operator"] not in ORDERINGS:
        return condition
    readable = {"field": condition["field"], "operator": "not in", "value": values}
    return {"operator": "AND", "conditions": [readable, condition]}


def _read(store: ReadableStore) -> _Unreadable:
    unreadable: dict[str, list[Any]] = {field: [] for field in _DAYS}
    faulty: dict[str, str] = {}
    for document in _dated(store):
        for field in _DAYS:
            if not _comparable(document, field):
                value = document.meta[field]
                faulty.setdefault(document.id, f"{field} {value!r}")
                if value not in unreadable[field]:
                    unreadable[field].append(value)
    if faulty:
        id_, what = next(iter(faulty.items()))
        logger.warning(
            "{n} articles have a date that is none ({id}: {what}): whether they were in force on a "
            "day is unknown. Write their dates as YYYY-MM-DD.",
            n=len(faulty),
            id=id_,
            what=what,
        )
    return unreadable


def _dated(store: ReadableStore) -> Iterator[Document]:
    either = [{"field": f"meta.{field}", "operator": "!=", "value": None} for field in _DAYS]
    keys = store.keys_matching({"operator": "OR", "conditions": either})
    for start in range(0, len(keys), _FETCHED):
        yield from store.fetch(keys[start : start + _FETCHED])


def _comparable(document: Document, field: str) -> bool:
    compared = {"field": f"meta.{field}", "operator": ">", "value": "2000-01-01"}
    try:
        document_matches_filter(compared, document)
    except _INCOMPARABLE:
        return False
    return True
