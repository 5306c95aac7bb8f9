"""What a metadata filter of Haystack may look like; checked before anything is made of it."""

from typing import Any

from haystack.errors import FilterError

MAX_DEPTH = 50
ORDERINGS = (">", ">=", "<", "<=")

_OPERATORS = (*ORDERINGS, "==", "!=", "in", "not in")
_LOGICAL = ("AND", "OR", "NOT")


def check_filters(filters: Any) -> None:
    """Check the form of filters down to the last condition.

    What fields there are and what may be compared with them is left to the store.

    Raises:
        FilterError: something in them is no comparison and no logic, an operator is unknown, "in"
            has no list, or they are nested deeper than `MAX_DEPTH`; the message shows the faulty
            part.
    """
    _check(filters, 0)


def _check(condition: Any, depth: int) -> None:
    if not isinstance(condition, dict):
        raise FilterError(f"A filter must be a dictionary, got {condition!r}.")
    if depth > MAX_DEPTH:
        raise FilterError(f"Filters are nested deeper than {MAX_DEPTH} levels.")
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
        _check(part, depth + 1)


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


def _check_operator(kind: str, operator: Any, known: tuple[str, ...]) -> None:
    if not isinstance(operator, str) or operator not in known:
        raise FilterError(
            f"Unknown {kind} operator '{operator}'. Valid operators are: {sorted(known)}"
        )
