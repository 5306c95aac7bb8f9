"""Haystack's metadata filters as SQL, with Haystack's own semantics, and filters of law.

What SQL can say exactly becomes SQL. Rows of which it cannot tell (dates in other spellings, lists,
comparisons that Haystack refuses) are left to Haystack's own matcher. One thing is stricter: ">"
and its kin compare with ISO dates only, where Haystack also guesses what "01/02/2009" or "2009"
means.

Three fields are of law, and stand for what no field of the metadata holds:

- `division`: the headings above an article, at any level (==, !=, in, not in, starts with).
- `state`: "in force", "repealed", "not yet in force" or "unknown", today (==, !=, in, not in).
- `in_force_on`: a day (==); like `as_of` it keeps the articles whose dates are unknown.
"""

import json
import math
import re
from collections.abc import Callable, Iterator
from datetime import date, datetime
from reprlib import repr as short
from typing import Any, get_args

from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter

from components.converters.articles import DAY_FIELDS, LAW_ARTICLES, STUB, headings_of
from components.statutes.article import ArticleState, iso_day

MAX_DEPTH = 50
ORDERINGS = (">", ">=", "<", "<=")
COLUMNS = ("id", "content")  # fields that are not of the metadata

_OPERATORS = (*ORDERINGS, "==", "!=", "in", "not in")
_LOGICAL = ("AND", "OR", "NOT")
DIVISION, STATE, IN_FORCE_ON = "division", "state", "in_force_on"
STARTS_WITH = "starts with"
_EQUALITIES = ("==", "!=", "in", "not in")
FIELDS = (
    *("id", "content", "law", "number", "headings", "position", "language", "source_url"),
    *("law_id", "law_names", "jurisdiction", LAW_ARTICLES, STUB, *DAY_FIELDS),
)
"""What filters may compare, whether or not a document has it; besides the fields of law."""
OF_LAW = {DIVISION: (*_EQUALITIES, STARTS_WITH), STATE: _EQUALITIES, IN_FORCE_ON: ("==",)}
_STATES = get_args(ArticleState)
_UNFILTERED_FIELDS = {"embedding", "sparse_embedding", "blob", "score", "meta"}
_HALF_A_PAIR = re.compile("[\ud800-\udfff]")


def check_filters(filters: Any) -> None:
    """Check the form of filters down to the last condition.

    Fields, and what they may be compared with, are left to the store.

    Raises:
        FilterError: a part is neither a comparison nor logic, an operator is unknown, "in" has no
            list, or they are nested deeper than `MAX_DEPTH`; the message shows the faulty part.
    """
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


def _check(condition: Any, levels: int = MAX_DEPTH) -> None:
    if levels < 0:  # before anything shows them: a filter may contain itself
        raise FilterError(f"Filters are nested deeper than {MAX_DEPTH} levels.")
    keys = condition.keys() if isinstance(condition, dict) else set()
    if {"field", "operator", "value"} <= keys:
        _check_comparison(condition["field"], condition["operator"], condition["value"])
    elif "field" in keys or not {"operator", "conditions"} <= keys:
        raise FilterError(
            "A filter has 'field', 'operator' and 'value', or 'operator' and 'conditions', got "
            f"{short(condition)}."
        )
    elif condition["operator"] not in _LOGICAL or not isinstance(
        condition["conditions"], list | tuple
    ):
        raise FilterError(
            f"{short(condition)} is not a list of conditions with one of the operators {_LOGICAL}."
        )
    else:
        for part in condition["conditions"]:
            _check(part, levels - 1)


def _check_comparison(field: Any, operator: Any, value: Any) -> None:
    if not isinstance(field, str) or field in _UNFILTERED_FIELDS:
        raise FilterError(f"Documents cannot be filtered by {field!r}; use id, content or meta.*.")
    known = OF_LAW.get(field, _OPERATORS)
    if operator not in known:
        raise FilterError(f"{field!r} cannot be compared with {operator!r}; use one of {known}.")
    if operator in ("in", "not in") and not isinstance(value, list):
        raise FilterError(f"{operator!r} needs a list of values for {field!r}.")
    if _is_deeper(value, MAX_DEPTH):
        raise FilterError(f"The value of {field!r} is nested deeper than {MAX_DEPTH} levels.")
    if operator == STARTS_WITH and isinstance(value, list):
        raise FilterError(f"{operator!r} takes one text for {field!r}, got {short(value)}.")
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
    if operator in ORDERINGS:
        try:
            if isinstance(value, str):
                datetime.fromisoformat(value)
        except ValueError as error:
            raise FilterError(f"'{operator}' compares ISO dates, not {value!r}.") from error
        if isinstance(value, list):
            raise FilterError(f"'{operator}' compares numbers and ISO dates, not {value!r}.")


def _is_deeper(value: Any, levels: int) -> bool:
    parts = value.values() if isinstance(value, dict) else value
    if not isinstance(value, dict | list | tuple):
        return False
    return levels == 0 or any(_is_deeper(each, levels - 1) for each in parts)


def _day(value: Any) -> date:
    try:
        return value if type(value) is date else iso_day(value)
    except (TypeError, ValueError) as error:
        raise FilterError(
            f"'{IN_FORCE_ON}' is a day written as '2024-02-29', got {value!r}."
        ) from error


def plain_filters(filters: dict[str, Any]) -> dict[str, Any]:
    """Filters with `state` and `in_force_on` written as comparisons of an article's days.

    What remains but `division` is Haystack's, so any store can read it.

    Raises:
        FilterError: they are malformed; see `check_filters`.
    """
    check_filters(filters)
    return _plain(filters)


def _plain(condition: dict[str, Any]) -> dict[str, Any]:
    if "field" not in condition:
        parts = [_plain(part) for part in condition["conditions"]]
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
    undated = _all(compared("valid_from", "==", None), compared("valid_to", "==", None))
    later, ended = _later(today), _ended(today)
    return {
        "unknown": _all(undated, _not(ended)),
        "not yet in force": later,
        "repealed": _all(ended, _not(later)),
        "in force": _all(_not(undated), _not(later), _not(ended)),
    }[state]


def _later(day: date) -> dict[str, Any]:
    return compared("valid_from", ">", day.isoformat())


def _ended(day: date) -> dict[str, Any]:
    # `Article.state`: a stub without a last day was repealed on a day that is not known.
    stub = _all(compared(STUB, "==", True), compared("valid_to", "==", None))
    ended = compared("valid_to", "<", day.isoformat())
    return {"operator": "OR", "conditions": [ended, stub]}


def compared(field: str, operator: str, value: Any) -> dict[str, Any]:
    """One comparison of a field."""
    name = field if field == "id" else f"meta.{field}"
    return {"field": name, "operator": operator, "value": value}


def _all(*conditions: dict[str, Any]) -> dict[str, Any]:
    return {"operator": "AND", "conditions": list(conditions)}


def _not(condition: dict[str, Any]) -> dict[str, Any]:
    # A comparison with a missing day is false, so its negation keeps what has none.
    return {"operator": "NOT", "conditions": [condition]}


def needed_fields(condition: dict[str, Any]) -> Iterator[tuple[str, list[Any]]]:
    """Each field of checked filters that a document must have to match, with its values."""
    operator = condition["operator"]
    if "field" in condition:
        values = condition["value"] if operator == "in" else [condition["value"]]
        is_equal = operator in ("==", "in") and None not in values
        if is_equal or operator in ORDERINGS:
            yield condition["field"], values
    elif operator != "NOT":
        for part in condition["conditions"]:
            yield from needed_fields(part)


def type_fault(field: str, values: list[Any]) -> str:
    """Why one of some values equals no indexed article's field; "" where each may equal one."""
    for value in values:
        if field == "number" and type(value) in (int, float):
            return f"'number' is text: write \"{value}\"."
        if field == "headings" and isinstance(value, str):
            return f"'headings' is a list: compare the field 'division' with {value!r:.80}."
    return ""


def matches(condition: dict[str, Any], document: Document) -> bool:
    """Whether a document meets `plain_filters`: Haystack's own matcher, and divisions.

    Raises:
        FilterError: a value cannot be compared with that of the document.
    """
    if "field" not in condition:
        met = (matches(part, document) for part in condition["conditions"])
        if condition["operator"] == "OR":
            return any(met)
        return all(met) is (condition["operator"] == "AND")
    operator, value = condition["operator"], condition["value"]
    if condition["field"] != DIVISION:
        try:
            return document_matches_filter(condition, document)
        except (OverflowError, TypeError, ValueError) as error:  # the last of NumPy's arrays
            raise FilterError(f"{condition} cannot be compared: {error}.") from error
    headings = headings_of(document.meta)
    if operator == STARTS_WITH:
        return any(heading.startswith(value) for heading in headings)
    values = value if isinstance(value, list) else [value]
    return any(heading in values for heading in headings) is (operator in ("==", "in"))


def filter_clause(plain: dict[str, Any]) -> tuple[str, str, list[Any]]:
    """`plain_filters` as SQL over the table `documents`.

    Returns:
        A condition that an index serves, true of every row that may match; the filters, which are 1
        or 0, or NULL where only `matches` can tell; and what the two bind.
    """
    values: list[Any] = []

    def bound(value: Any) -> str:
        values.append(value)
        return f"?{len(values)}"

    # SQLite's JSON ends a text at its NUL.
    clause = rf"CASE WHEN instr(meta, '\u0000') = 0 THEN {_clause(plain, bound)} END"
    return _indexed(plain, bound), clause, values


_Bound = Callable[[Any], str]


def _indexed(condition: dict[str, Any], bound: _Bound) -> str:
    """What an index finds: true of every row that may match."""
    if condition["operator"] == "AND":
        return _joined([_indexed(part, bound) for part in condition["conditions"]] or ["1"], "AND")
    value = condition.get("value")
    laws = value if isinstance(value, list) else [value]
    is_law = condition.get("field") == "meta.law" and condition["operator"] in ("==", "in")
    if is_law and all(isinstance(each, str) and _is_plain(each) for each in laws):
        return _among("law", laws, bound)
    return "1"


def _clause(condition: dict[str, Any], bound: _Bound) -> str:
    # Through AND, OR and NOT a part that is NULL makes the whole NULL, unless the others decide.
    if "field" in condition:
        return _comparison(condition, bound)
    parts = [_clause(part, bound) for part in condition["conditions"]]
    if condition["operator"] == "OR":
        return _joined(parts or ["0"], "OR")
    joined = _joined(parts or ["1"], "AND")
    return joined if condition["operator"] == "AND" else f"(NOT {joined})"


def _joined(parts: list[str], operator: str) -> str:
    """Parts joined in a balanced tree: SQLite refuses expressions of a thousand levels."""
    if len(parts) == 1:
        return f"({parts[0]})"
    half = len(parts) // 2
    return f"({_joined(parts[:half], operator)} {operator} {_joined(parts[half:], operator)})"


def _comparison(condition: dict[str, Any], bound: _Bound) -> str:
    field, operator, value = condition["field"], condition["operator"], condition["value"]
    values = value if operator in ("in", "not in") else [value]
    # Plain days compare as text; other spellings of a moment do not.
    of_days = operator in ORDERINGS and isinstance(value, str)
    can_tell = len(value) == 10 and value[7] == "-" if of_days else all(map(_is_plain, values))
    column = _column(field, bound) if can_tell and field != DIVISION else None
    if column is None:
        return "NULL"
    found, kind = column
    if operator in ORDERINGS:
        numbers = f"{kind} IN ('null', 'integer', 'real', 'true', 'false')"
        days = f"({kind} = 'null' OR ({kind} = 'text' AND date({found}) IS {found}))"
        answer = f"ifnull({found} {operator} {bound(value)}, 0)"
        return f"CASE WHEN {days if of_days else numbers} THEN {answer} END"
    # A text column would take the number 1 for the text "1".
    wanted = [each for each in values if isinstance(each, str) or field not in COLUMNS]
    answer = f"ifnull({_among(found, [each for each in wanted if each is not None], bound)}, 0)"
    if None in values:
        answer = f"({kind} = 'null' OR {answer})"
    if operator in ("!=", "not in"):
        answer = f"NOT {answer}"
    # Arrays and objects come out as text and could equal a string by accident.
    return f"CASE WHEN {kind} NOT IN ('array', 'object') THEN {answer} END"


def _among(found: str, values: list[Any], bound: _Bound) -> str:
    if len(values) == 1:
        return f"({found} IS {bound(values[0])})"
    # One bound list, since SQL of thousands of parts is refused.
    return f"({found} IN (SELECT value FROM json_each({bound(json.dumps(values))})))"


def _column(field: str, bound: _Bound) -> tuple[str, str] | None:
    """SQL of the field's value and of its JSON type; None where only Haystack can read it."""
    if field in COLUMNS:
        return field, f"typeof({field})"
    keys = field.removeprefix("meta.").split(".")
    if ("." in field and not field.startswith("meta.")) or any(
        not key or '"' in key or "\\" in key or not key.isprintable() for key in keys
    ):
        return None
    path = bound("$" + "".join(f'."{key}"' for key in keys))
    return f"json_extract(meta, {path})", f"ifnull(json_type(meta, {path}), 'null')"


def _is_plain(value: Any) -> bool:
    """Whether SQL's equality is Haystack's: dates have several spellings, lists have none."""
    if isinstance(value, str):
        return "\0" not in value and (len(value) < 10 or value[4] != "-")
    if isinstance(value, float):
        return math.isfinite(value)
    return value is None or (isinstance(value, int) and abs(value) < 2**53)
