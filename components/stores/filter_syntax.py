"""What a metadata filter of Haystack may look like; checked before anything is made of it."""

import re
from typing import Any

from haystack.errors import FilterError

MAX_DEPTH = 50
# Each level is a dictionary and its list of conditions; below is a comparison and its list.
_MOST_CONTAINERS = 2 * MAX_DEPTH + 2
ORDERINGS = (">", ">=", "<", "<=")

_OPERATORS = (*ORDERINGS, "==", "!=", "in", "not in")
_LOGICAL = ("AND", "OR", "NOT")
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def check_filters(filters: Any) -> None:
    """Check the form of filters down to the last condition.

    What fields there are and what may be compared with them is left to the store.

    Raises:
        FilterError: something in them is no comparison and no logic, an operator is unknown, "in"
            has no list, or they are nested deeper than `MAX_DEPTH`; the message shows the faulty
            part.
    """
    _check_depth(filters)
    _check(filters)


def check_given(filters: Any) -> None:
    """Check that there are filters, where to leave them out would change every document.

    Raises:
        FilterError: there are none.
    """
    if not filters:
        raise FilterError(
            f"The filters are {filters!r}, which every document would match. Give the filters of "
            "the documents that are meant; delete_all_documents deletes all."
        )


def _check_depth(filters: Any) -> None:
    # Level by level, and before anything else looks at them or shows them: what goes into itself
    # for each level would end in a RecursionError. Values are counted as conditions are.
    level = [filters]
    for _ in range(_MOST_CONTAINERS):
        level = [
            inner
            for each in level
            if isinstance(each, dict | list | tuple)
            for inner in (each.values() if isinstance(each, dict) else each)
        ]
    if any(isinstance(each, dict | list | tuple) for each in level):
        raise FilterError(f"Filters are nested deeper than {MAX_DEPTH} levels.")


def _check(condition: Any) -> None:
    if not isinstance(condition, dict):
        raise FilterError(f"A filter must be a dictionary, got {condition!r}.")
    if "operator" not in condition:
        raise FilterError(f"'operator' key missing in {condition}")
    if "field" in condition:
        _check_comparison(condition)
        return
    if "conditions" not in condition:
        raise FilterError(f"'conditions' key missing in {condition}")
    _check_operator("logical", condition["operator"], _LOGICAL)
    conditions = condition["conditions"]
    if not isinstance(conditions, list | tuple):
        raise FilterError(f"'conditions' must be a list of filters, got {conditions!r}.")
    for part in conditions:
        _check(part)


def _check_comparison(condition: dict[str, Any]) -> None:
    if "value" not in condition:
        raise FilterError(f"'value' key missing in {condition}")
    operator, value = condition["operator"], condition["value"]
    _check_operator("comparison", operator, _OPERATORS)
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(
            "Filter value must be a `list` when using operator 'in' or 'not in', "
            f"received type '{type(value)}'"
        )
    for text in value if isinstance(value, list) else [value]:
        # A store's texts are UTF-8, which cannot even ask for it.
        if isinstance(text, str) and _HALF_A_PAIR.search(text):
            raise FilterError(
                f"{text!r} holds half of a surrogate pair; write the character itself."
            )


def _check_operator(kind: str, operator: Any, known: tuple[str, ...]) -> None:
    if not isinstance(operator, str) or operator not in known:
        raise FilterError(
            f"Unknown {kind} operator '{operator}'. Valid operators are: {sorted(known)}"
        )
