"""The keys that filters and a day allow, also where a date of another writer is not a day."""

from collections.abc import Mapping
from typing import Any

import numpy as np
from haystack.errors import FilterError
from numpy.typing import NDArray

from components.retrievers.readable import ReadableStore
from components.retrievers.validity import InForce, validity_of
from components.stores.filters import ORDERINGS, check_filters

# dateutil, which Haystack asks what a text means, does not refuse every number by ValueError.
_INCOMPARABLE = (FilterError, OverflowError)

_Unreadable = Mapping[str, list[Any]]
"""For each of the two fields its values that no day can be compared with, each once."""


def allowed_keys(
    store: ReadableStore, filters: dict[str, Any] | None, in_force: InForce
) -> NDArray[np.int64] | None:
    """Keys of the documents that match and may be in force; None for all.

    Raises:
        FilterError: the filters are malformed.
    """
    if not filters:
        return in_force.keys
    matching = matching_keys(store, filters)
    if in_force.keys is None:
        return matching
    return np.intersect1d(matching, in_force.keys, assume_unique=True)


def matching_keys(store: ReadableStore, filters: dict[str, Any]) -> NDArray[np.int64]:
    """Keys of the documents that match.

    Haystack refuses to compare a day with something else, for all documents because of one. Here
    such a `valid_from` or `valid_to` counts as missing (`components.retrievers.validity.Validity`).

    Raises:
        FilterError: the filters are malformed.
    """
    if filters:
        check_filters(filters)
    try:
        return store.keys_matching(filters)
    except _INCOMPARABLE:
        unreadable = validity_of(store).unreadable
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
