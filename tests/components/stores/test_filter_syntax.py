"""Malformed filters are refused alike by the embedded store and by engines."""

from collections.abc import Callable
from typing import Any

import pytest
from haystack.errors import FilterError

from components.stores.engines.filters import engine_filters
from components.stores.filter_syntax import MAX_DEPTH
from components.stores.filters import filter_clause

LAW: dict[str, Any] = {"field": "meta.law", "operator": "==", "value": "a"}

both = pytest.mark.parametrize("translate", [filter_clause, engine_filters])


@both
@pytest.mark.parametrize(
    ("filters", "message"),
    [
        (["law"], r"must be a dictionary, got \['law'\]"),
        ({"field": "meta.law"}, "'operator' key missing in"),
        ({"field": "meta.law", "operator": "=="}, "'value' key missing in"),
        ({"operator": "==", "value": 1}, "'conditions' key missing in"),
        ({**LAW, "operator": "~"}, "Unknown comparison operator '~'. Valid operators are"),
        ({**LAW, "operator": ["=="]}, "Unknown comparison operator"),
        ({**LAW, "operator": "in"}, "must be a `list`"),
        ({**LAW, "operator": "not in", "value": None}, "must be a `list`"),
        ({**LAW, "value": "a\ud800"}, "half of a surrogate pair"),
        ({**LAW, "operator": "in", "value": ["a", "\udfff"]}, "half of a surrogate pair"),
        ({"operator": "XOR", "conditions": []}, "Unknown logical operator 'XOR'"),
        ({"operator": ["AND"], "conditions": []}, "Unknown logical operator"),
        ({"operator": {}, "conditions": []}, "Unknown logical operator"),
        ({"operator": "AND"}, "'conditions' key missing in"),
        ({"operator": "AND", "conditions": 5}, "'conditions' must be a list of filters, got 5"),
        ({"operator": "AND", "conditions": None}, "must be a list of filters, got None"),
        ({"operator": "OR", "conditions": LAW}, "must be a list of filters"),
        ({"operator": "NOT", "conditions": ["law"]}, "must be a dictionary, got 'law'"),
    ],
)
def test_what_is_no_filter_is_refused_and_shown(
    translate: Callable[[Any], object], filters: Any, message: str
) -> None:
    nested = {"operator": "AND", "conditions": [LAW, {"operator": "OR", "conditions": [filters]}]}
    for each in (filters, nested):
        with pytest.raises(FilterError, match=message):
            translate(each)


@both
def test_filters_may_be_nested_so_deep_and_no_deeper(translate: Callable[[Any], object]) -> None:
    filters = LAW
    for _ in range(MAX_DEPTH):
        filters = {"operator": "NOT", "conditions": [filters]}
    translate(filters)
    with pytest.raises(FilterError, match="deeper than 50 levels"):
        translate({"operator": "NOT", "conditions": [filters]})


@both
@pytest.mark.parametrize("wrap", [lambda inner: [inner], lambda inner: {"a": inner}])
@pytest.mark.parametrize("place", [LAW, {"operator": "AND"}])
def test_what_is_deeper_than_python_can_go_is_refused(
    translate: Callable[[Any], object], wrap: Callable[[Any], Any], place: dict[str, Any]
) -> None:
    value: Any = 1
    for _ in range(100_000):
        value = wrap(value)
    with pytest.raises(FilterError, match="deeper than 50 levels"):
        translate({**place, "value": value})
