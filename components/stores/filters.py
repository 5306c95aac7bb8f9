"""Haystack's metadata filters as SQL, with Haystack's own semantics.

What SQL can say exactly becomes SQL. The rest (dates in other spellings, lists, comparisons that
Haystack refuses) is handed row by row to Haystack's own matcher, registered as an SQL function, so
that both give the same answer on every document and value. One thing is stricter: ">" and its kin
compare with ISO dates only, where Haystack also guesses what "01/02/2009" or "2009" means.

Three fields are of law, and stand for what no field of the metadata holds:

- `division`: the headings above an article, at any level (==, !=, in, not in, starts with).
- `state`: "in force", "repealed", "not yet in force" or "unknown", today (==, !=, in, not in).
- `in_force_on`: a day (==); like `as_of` it keeps the articles whose dates are unknown.
"""

import json
import math
import re
import sqlite3
import threading
from datetime import date, datetime
from typing import Any, get_args

from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from components.converters.articles import STUB, headings_of
from components.statutes.article import ArticleState, iso_day
from components.stores.database import from_json, is_deeper

MAX_DEPTH = 50
# Each level is a dictionary and its list of conditions; below is a comparison and its list.
_MOST_CONTAINERS = 2 * MAX_DEPTH + 2
ORDERINGS = (">", ">=", "<", "<=")

_OPERATORS = (*ORDERINGS, "==", "!=", "in", "not in")
_LOGICAL = ("AND", "OR", "NOT")
DIVISION, STATE, IN_FORCE_ON = "division", "state", "in_force_on"
STARTS_WITH = "starts with"
_EQUALITIES = ("==", "!=", "in", "not in")
_OF_LAW = {DIVISION: (*_EQUALITIES, STARTS_WITH), STATE: _EQUALITIES, IN_FORCE_ON: ("==",)}
_STATES = get_args(ArticleState)
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def check_filters(filters: Any) -> None:
    """Check the form of filters down to the last condition.

    Fields, and what they may be compared with, are left to the store.

    Raises:
        FilterError: a part is neither a comparison nor logic, an operator is unknown, "in" has no
            list, or they are nested deeper than `MAX_DEPTH`; the message shows the faulty part.
    """
    # Before anything else looks at them or shows them: a filter that contains itself would end in
    # a RecursionError.
    if is_deeper(filters, _MOST_CONTAINERS):
        raise FilterError(f"Filters are nested deeper than {MAX_DEPTH} levels.")
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


def _check(condition: Any) -> None:
    keys = condition.keys() if isinstance(condition, dict) else set()
    if {"field", "operator", "value"} <= keys:
        _check_comparison(condition["field"], condition["operator"], condition["value"])
        return
    if "field" in keys or not {"operator", "conditions"} <= keys:
        raise FilterError(
            "A filter has 'field', 'operator' and 'value', or 'operator' and 'conditions', got "
            f"{condition!r}."
        )
    if condition["operator"] not in _LOGICAL:
        raise FilterError(f"Unknown operator in {condition}; use one of {_LOGICAL}.")
    if not isinstance(condition["conditions"], list | tuple):
        raise FilterError(f"'conditions' is not a list in {condition}.")
    for part in condition["conditions"]:
        _check(part)


def _check_comparison(field: Any, operator: Any, value: Any) -> None:
    known = _OF_LAW.get(field, _OPERATORS) if isinstance(field, str) else _OPERATORS
    if operator not in known:
        raise FilterError(f"{field!r} cannot be compared with {operator!r}; use one of {known}.")
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"{operator!r} needs a list of values, got {value!r} for {field!r}.")
    for each in value if isinstance(value, list) else [value]:
        # A store's texts are UTF-8, which cannot even ask for it.
        if isinstance(each, str) and _HALF_A_PAIR.search(each):
            raise FilterError(f"{each!r} holds half of a surrogate pair; write the character.")
        if field in (DIVISION, STATE) and not isinstance(each, str):
            raise FilterError(f"The field '{field}' is compared with text, got {each!r}.")
        if field == STATE and each not in _STATES:
            raise FilterError(f"There is no state {each!r}. The states are {', '.join(_STATES)}.")
    if field == IN_FORCE_ON:
        _day(value)


def _day(value: Any) -> date:
    try:
        return value if type(value) is date else iso_day(value)
    except (TypeError, ValueError) as error:
        raise FilterError(
            f"'{IN_FORCE_ON}' is a day written as '2024-02-29', got {value!r}."
        ) from error


def plain_filters(condition: dict[str, Any]) -> dict[str, Any]:
    """Checked filters with `state` and `in_force_on` written as comparisons of an article's days.

    What remains but `division` is Haystack's, so any store can read it.
    """
    if "field" not in condition:
        parts = [plain_filters(part) for part in condition["conditions"]]
        return {**condition, "conditions": parts}
    field, operator, value = condition["field"], condition["operator"], condition["value"]
    if field == IN_FORCE_ON:
        return _all(_not(_later(_day(value))), _not(_ended(_day(value))))
    if field != STATE:
        return condition
    states = value if isinstance(value, list) else [value]
    among = {"operator": "OR", "conditions": [_is_state(each, date.today()) for each in states]}
    return _not(among) if operator in ("!=", "not in") else among


def _is_state(state: str, today: date) -> dict[str, Any]:
    undated = _all(_compared("valid_from", "==", None), _compared("valid_to", "==", None))
    later, ended = _later(today), _ended(today)
    return {
        "unknown": _all(undated, _not(ended)),
        "not yet in force": later,
        "repealed": _all(ended, _not(later)),
        "in force": _all(_not(undated), _not(later), _not(ended)),
    }[state]


def _later(day: date) -> dict[str, Any]:
    return _compared("valid_from", ">", day.isoformat())


def _ended(day: date) -> dict[str, Any]:
    # `Article.state`: a stub without a last day was repealed on a day that is not known.
    stub = _all(_compared(STUB, "==", True), _compared("valid_to", "==", None))
    ended = _compared("valid_to", "<", day.isoformat())
    return {"operator": "OR", "conditions": [ended, stub]}


def _compared(field: str, operator: str, value: str | bool | None) -> dict[str, Any]:
    return {"field": f"meta.{field}", "operator": operator, "value": value}


def _all(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"operator": "AND", "conditions": list(conditions)}


def _not(condition: dict[str, Any]) -> dict[str, Any]:
    # A comparison with a missing day is false, so its negation keeps what has none.
    return {"operator": "NOT", "conditions": [condition]}


def matches(condition: dict[str, Any], document: Document) -> bool:
    """Whether a document meets `plain_filters`: Haystack's own matcher, and divisions."""
    if "field" in condition:
        if condition["field"] == DIVISION:
            return _in_division(condition, headings_of(document.meta))
        return document_matches_filter(condition, document)
    met = (matches(part, document) for part in condition["conditions"])
    if condition["operator"] == "OR":
        return any(met)
    return all(met) is (condition["operator"] == "AND")


def _in_division(condition: dict[str, Any], headings: tuple[str, ...]) -> bool:
    operator, value = condition["operator"], condition["value"]
    if operator == STARTS_WITH:
        return any(heading.startswith(value) for heading in headings)
    values = value if isinstance(value, list) else [value]
    return any(heading in values for heading in headings) is (operator in ("==", "in"))


_UNFILTERED_FIELDS = {"embedding", "sparse_embedding", "blob", "score", "meta"}
_COLUMNS = ("id", "content")

# SQLite's JSON ends a text at its NUL.
_WHOLE = r"instr(meta, '\u0000') = 0"

_failure = threading.local()

Clause = tuple[str, list[Any]]


def filter_clause(filters: dict[str, Any] | None) -> Clause:
    """The WHERE clause of `filters` over the table `documents`, with its bound values.

    Args:
        filters: Haystack filters (comparison or logic dictionaries), or None for everything.

    Returns:
        `(sql, values)`; the SQL is 0 or 1 for every row, never NULL.

    Raises:
        FilterError: when the filters are malformed; the message shows the faulty part.
    """
    if not filters:
        return "1", []
    check_filters(filters)
    return _clause(plain_filters(filters))


def raise_filter_failure() -> None:
    """Raise as FilterError what the matcher met inside this thread's last SQL, if anything."""
    reason: Exception | None = getattr(_failure, "reason", None)
    _failure.reason = None
    if reason is not None:
        raise FilterError(str(reason)) from reason


def register_filter_function(connection: sqlite3.Connection) -> None:
    """Make Haystack's matcher callable from this connection's SQL as `haystack_matches`."""
    connection.create_function("haystack_matches", 4, _matches, deterministic=True)


def _matches(condition: str, id_: str, content: str | None, meta: str) -> bool:
    fields = from_json(meta)  # a damaged row is not a fault of the filter
    if type(fields) is not dict or type(id_) is not str or not isinstance(content, str | None):
        raise TypeError("the row is damaged")
    try:
        document = Document(id=id_, content=content, meta=fields)
        return document_matches_filter(json.loads(condition), document)
    except Exception as error:
        # SQLite reports only that a function failed; the reason is picked up by the caller.
        _failure.reason = error
        raise


def _clause(condition: dict[str, Any]) -> Clause:
    if "field" in condition:
        return _comparison(condition)
    operator = condition["operator"]
    clauses = [_clause(part) for part in condition["conditions"]]
    values = [value for _, part in clauses for value in part]
    parts = [sql for sql, _ in clauses]
    if operator == "OR":
        return _joined(parts or ["0"], "OR"), values
    joined = _joined(parts or ["1"], "AND")
    return (f"(NOT {joined})" if operator == "NOT" else joined), values


def _joined(parts: list[str], operator: str) -> str:
    """Parts joined in a balanced tree: SQLite refuses expressions of a thousand levels."""
    if len(parts) == 1:
        return f"({parts[0]})"
    half = len(parts) // 2
    return f"({_joined(parts[:half], operator)} {operator} {_joined(parts[half:], operator)})"


def _comparison(condition: dict[str, Any]) -> Clause:
    field, operator, value = condition["field"], condition["operator"], condition["value"]
    if field == DIVISION:
        return _division(operator, value)
    if not isinstance(field, str) or field in _UNFILTERED_FIELDS:
        raise FilterError(f"Documents cannot be filtered by {field!r}; use id, content or meta.*.")
    if operator in ORDERINGS:
        _check_ordering_value(operator, value)
    otherwise, bound = _fallback(condition)
    column, exact = _column(field), _exact(operator, value, of_meta=field not in _COLUMNS)
    if column is None or exact is None:
        return otherwise, bound
    value_of, type_of, path = column
    test, result, values = exact
    times = (test + result).count("{")
    sql = f"(CASE WHEN {_WHOLE} AND {test} THEN {result} ELSE {otherwise} END)"
    return sql.format(value=value_of, type=type_of), [*path * times, *values, *bound]


def _exact(operator: str, value: Any, *, of_meta: bool) -> tuple[str, str, list[Any]] | None:
    """Where SQL answers as Haystack does: a test of the row, the answer, and what it binds.

    `{value}` and `{type}` are the field's JSON value and type. None: in no row.
    """
    if operator in ORDERINGS:
        if value is None:
            return "1", "0", []
        answer = f"ifnull({{value}} {operator} ?, 0)"
        if isinstance(value, int | float) and _is_plain(value):
            return "{type} IN ('null', 'integer', 'real', 'true', 'false')", answer, [value]
        if isinstance(value, str) and len(value) == 10 and value[7] == "-":
            # Plain days compare as text; other spellings of a moment do not.
            is_day = "{type} = 'text' AND date({value}) IS {value}"
            return f"({{type}} = 'null' OR ({is_day}))", answer, [value]
        return None
    values = value if operator in ("in", "not in") else [value]
    if not all(map(_is_plain, values)):
        return None
    # A text column would take the number 1 for the text "1".
    wanted = [each for each in values if each is not None and (of_meta or isinstance(each, str))]
    # One bound list for many values, since SQL of thousands of parts is refused.
    among = "{value} IS ?" if len(wanted) == 1 else "{value} IN (SELECT value FROM json_each(?))"
    answer = f"ifnull({among}, 0)"
    if None in values:
        answer = f"({{type}} = 'null' OR {answer})"
    if operator in ("!=", "not in"):
        answer = f"NOT {answer}"
    # Arrays and objects come out as text and could equal a string by accident.
    bound = wanted if len(wanted) == 1 else [json.dumps(wanted)]
    return "{type} NOT IN ('array', 'object')", answer, bound


def _division(operator: str, value: Any) -> Clause:
    bound: list[Any]
    if operator == STARTS_WITH:
        test, bound = "substr(value, 1, ?) = ?", [len(value), value]
    else:
        values = value if isinstance(value, list) else [value]
        test, bound = "value IN (SELECT value FROM json_each(?))", [json.dumps(values)]
    among = "EXISTS (SELECT 1 FROM json_each(meta, '$.headings') WHERE type = 'text' AND "
    return (f"({'NOT ' if operator in ('!=', 'not in') else ''}{among}{test}))", bound)


def _check_ordering_value(operator: str, value: Any) -> None:
    try:
        if isinstance(value, str):
            datetime.fromisoformat(value)
    except ValueError:
        value = [value]
    if isinstance(value, list):
        raise FilterError(f"'{operator}' compares numbers and ISO dates, not {value!r}.")


def _column(field: str) -> tuple[str, str, list[str]] | None:
    """SQL of the field's value, SQL of its JSON type, and the values that each of the two binds."""
    if field in _COLUMNS:
        return field, f"typeof({field})", []
    if "." in field and not field.startswith("meta."):
        return None
    keys = field.removeprefix("meta.").split(".")
    if any(not key or '"' in key or "\\" in key or not key.isprintable() for key in keys):
        return None
    path = "$" + "".join(f'."{key}"' for key in keys)
    return "json_extract(meta, ?)", "ifnull(json_type(meta, ?), 'null')", [path]


def _is_plain(value: Any) -> bool:
    """Whether SQL's equality is Haystack's: dates have several spellings, lists have none."""
    if value is None or isinstance(value, bool):
        return True
    if isinstance(value, float):
        return math.isfinite(value)
    if isinstance(value, int):
        return abs(value) < 2**53
    if not isinstance(value, str) or "\0" in value:
        return False
    return not (len(value) >= 10 and value[4:5] == "-")


def _fallback(condition: dict[str, Any]) -> Clause:
    try:
        text = json.dumps(condition, default=lambda moment: moment.isoformat())
    except (AttributeError, TypeError) as error:
        raise FilterError(f"The filter value cannot be written as JSON: {condition}") from error
    return "haystack_matches(?, id, content, meta)", [text]
