"""Haystack's metadata filters in the form that every engine understands alike.

Engines differ where Haystack is exact: a missing field, a date held as text, a NOT of several
conditions. So each article is written with all its fields (a missing one as "", a missing day
as 0) and its dates also as whole numbers, and filters are rewritten to match: what stays is ==, in
and their negations on text, and comparisons of whole numbers.
"""

from __future__ import annotations

from datetime import UTC, date, datetime
from datetime import time as time_of_day
from typing import Any

from haystack.errors import FilterError

from components.converters.articles import DAY_FIELDS
from components.stores.filter_syntax import check_filters

Condition = dict[str, Any]

TEXT_FIELDS = ("id", "law", "number", "language", "source_url")
NO_DAY = 0

_FAR = 2**62


def engine_filters(filters: dict[str, Any] | None) -> Condition | bool:
    """Filters with Haystack's meaning on articles as `engines.rows` writes them.

    Args:
        filters: Haystack filters over id, law, number, language, source_url, position, valid_from
            and valid_to.

    Returns:
        Filters of the same form; True where every article matches, False where none can.

    Raises:
        FilterError: they are malformed, or over another field; the message shows the faulty part.
    """
    if not filters:
        return True
    check_filters(filters)
    return _rewritten(filters)


def day_number(iso: str) -> int:
    """The day as a whole number (days since the year 1), or 0 for no day."""
    return date.fromisoformat(iso).toordinal() if iso else NO_DAY


def compared(field: str, operator: str, value: Any) -> Condition:
    """One comparison of a stored field."""
    return {"field": field if field == "id" else f"meta.{field}", "operator": operator,
            "value": value}  # fmt: skip


def both(*conditions: Condition | bool) -> Condition | bool:
    """What holds where all the conditions hold."""
    return _joined("AND", list(conditions))


def _rewritten(condition: Condition) -> Condition | bool:
    if "field" in condition:
        return _comparison(condition)
    operator = condition["operator"]
    parts = [_rewritten(part) for part in condition["conditions"]]
    if operator == "OR":
        return _joined("OR", parts)
    joined = _joined("AND", parts)
    return _negated(joined) if operator == "NOT" else joined


def _joined(operator: str, parts: list[Condition | bool]) -> Condition | bool:
    absorbing = operator == "OR"
    if any(part is absorbing for part in parts):
        return absorbing
    left = [part for part in parts if isinstance(part, dict)]
    if len(left) < 2:
        return left[0] if left else not absorbing
    return {"operator": operator, "conditions": left}


def _negated(condition: Condition | bool) -> Condition | bool:
    # Of one condition only: Qdrant's "must not" of several means none of them, not "not all".
    if isinstance(condition, bool):
        return not condition
    return {"operator": "NOT", "conditions": [condition]}


def _comparison(condition: Condition) -> Condition | bool:
    operator, value = condition["operator"], condition["value"]
    field = str(condition["field"]).removeprefix("meta.")
    if operator in ("in", "not in"):
        found = _joined("OR", [_equal(field, each, condition) for each in value])
        return _negated(found) if operator == "not in" else found
    if operator in ("==", "!="):
        found = _equal(field, value, condition)
        return _negated(found) if operator == "!=" else found
    return _ordering(field, operator, value, condition)


def _equal(field: str, value: Any, condition: Condition) -> Condition | bool:
    if field in TEXT_FIELDS:
        if value is None:
            return compared(field, "==", "") if field != "id" else False
        # An empty text is never stored: "" stands for a missing one.
        return compared(field, "==", value) if isinstance(value, str) and value else False
    if field in DAY_FIELDS:
        if value is None:
            return compared(f"{field}_day", "==", NO_DAY)
        day, clock = _moment(value, condition)
        return compared(f"{field}_day", "==", day) if clock == time_of_day() else False
    if field == "position":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return compared(field, "==", int(value)) if whole and abs(value) < _FAR else False
    raise _unknown(condition)


def _ordering(field: str, operator: str, value: Any, condition: Condition) -> Condition | bool:
    if field in DAY_FIELDS:
        if value is None:
            return False
        day, clock = _moment(value, condition)
        if clock != time_of_day():  # a moment within a day lies after that day's beginning
            operator = {">=": ">", "<": "<="}.get(operator, operator)
        found = compared(f"{field}_day", operator, day)
        if operator.startswith("<"):
            return both(compared(f"{field}_day", ">", NO_DAY), found)
        return found
    if field == "position":
        if value is None:
            return False
        if isinstance(value, int | float) and not isinstance(value, bool):
            # Farther than any article stands; an engine's numbers end there.
            return compared(field, operator, max(-_FAR, min(_FAR, value)))
    elif field not in TEXT_FIELDS:
        raise _unknown(condition)
    raise FilterError(
        f"'{operator}' compares dates and positions; it cannot compare {field} with {value!r}."
    )


def _moment(value: Any, condition: Condition) -> tuple[int, time_of_day]:
    """Day and time of the day, in UTC."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if isinstance(moment, datetime):
            if moment.tzinfo is not None:
                moment = moment.astimezone(UTC)
            return moment.toordinal(), moment.time()
        if isinstance(moment, date):
            return moment.toordinal(), time_of_day()
    except (ValueError, OverflowError) as error:
        raise FilterError(f"{value!r} is no ISO date, in {condition}.") from error
    raise FilterError(f"{value!r} is no ISO date, in {condition}.")


def _unknown(condition: Condition) -> FilterError:
    known = ", ".join((*TEXT_FIELDS, "position", *DAY_FIELDS))
    return FilterError(
        f"An engine cannot filter by {condition['field']!r}. The fields are {known}, each with or "
        "without 'meta.' in front."
    )
