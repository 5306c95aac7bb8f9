"""Filters rewritten for engines mean what Haystack means."""

from __future__ import annotations

from datetime import UTC, date, datetime
from typing import Any

import pytest
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

from components.retrievers.validity import in_force_on
from components.stores.engines.filters import compared, day_number, engine_filters
from components.stores.engines.rows import article_meta, as_row

LAWS = ["Housing Code", 'The "Quoted" \\ Act', "民法典"]
DAYS = ["1999-12-31", "2020-01-01", "2020-06-30"]


def document(position: int, law: str, language: str | None, start: Any, end: Any) -> Document:
    meta: dict[str, Any] = {
        "law": law,
        "number": str(position),
        "headings": [],
        "position": position,
    }
    optional = {"language": language, "valid_from": start, "valid_to": end}
    meta |= {name: value for name, value in optional.items() if value is not None}
    return Document(id=f"a{position}", content="A roof.", meta=meta)


DOCUMENTS = [
    document(position, LAWS[position % 3], [None, "en", "fr"][position % 3 - 1], start, end)
    for position, (start, end) in enumerate(
        (start, end) for start in [None, *DAYS] for end in [None, *DAYS]
    )
]
MOMENTS = [*DAYS, None, "2020-01-01T00:00:00", "2020-01-01T12:00:00+00:00", "2020-03-01"]
EQUAL = [
    ("meta.law", [*LAWS, "law", None, 3]),
    ("number", ["0", "12", 12, None]),
    ("meta.language", ["en", "fr", None]),
    ("meta.valid_from", [*DAYS, None]),
    ("meta.position", [0, 3, 3.0, 3.5, 10**400, -(10**400), 1e300, None]),
    ("id", ["a0", "a5", None]),
    ("source_url", ["https://law", None]),
]
comparisons = st.one_of(
    *(
        st.fixed_dictionaries(
            {
                "field": st.just(field),
                "operator": st.sampled_from(["==", "!="]),
                "value": st.sampled_from(values),
            }
        )
        for field, values in EQUAL
    ),
    *(
        st.fixed_dictionaries(
            {
                "field": st.just(field),
                "operator": st.sampled_from(["in", "not in"]),
                "value": st.lists(st.sampled_from(values), max_size=3),
            }
        )
        for field, values in EQUAL
    ),
    st.fixed_dictionaries(
        {
            "field": st.sampled_from(["meta.valid_from", "valid_to"]),
            "operator": st.sampled_from([">", ">=", "<", "<="]),
            "value": st.sampled_from(MOMENTS),
        }
    ),
    st.fixed_dictionaries(
        {
            "field": st.just("meta.position"),
            "operator": st.sampled_from([">", ">=", "<", "<="]),
            "value": st.sampled_from([0, 7, 7.5, None]),
        }
    ),
)
any_filters = st.recursive(
    comparisons,
    lambda inner: st.fixed_dictionaries(
        {
            "operator": st.sampled_from(["AND", "OR", "NOT"]),
            "conditions": st.lists(inner, min_size=1, max_size=3),
        }
    ),
    max_leaves=6,
)


@settings(max_examples=400, deadline=None)
@given(filters=any_filters)
def test_rewritten_filters_match_the_same_articles(filters: dict[str, Any]) -> None:
    rewritten = engine_filters(filters)
    for original in DOCUMENTS:
        row = Document(id=original.id, meta=as_row(original, "digest"))
        matches = (
            rewritten if isinstance(rewritten, bool) else document_matches_filter(rewritten, row)
        )
        assert matches == document_matches_filter(filters, original), original.meta


@settings(max_examples=200, deadline=None)
@given(filters=any_filters)
def test_what_engines_get_are_text_equalities_and_whole_number_comparisons(
    filters: dict[str, Any],
) -> None:
    def check(condition: Any) -> None:
        if "field" not in condition:
            # Qdrant's "must not" of several conditions is no negation of their AND.
            assert condition["operator"] != "NOT" or len(condition["conditions"]) == 1
            assert condition["conditions"]
            for part in condition["conditions"]:
                check(part)
            return
        assert condition["value"] is not None
        if condition["operator"] != "==":
            assert isinstance(condition["value"], int | float)

    rewritten = engine_filters(filters)
    if not isinstance(rewritten, bool):
        check(rewritten)


def test_what_was_in_force_on_a_day_keeps_articles_without_dates() -> None:
    rewritten = engine_filters(in_force_on(date(2020, 1, 1)))
    assert isinstance(rewritten, dict)
    rows = [Document(id=each.id, meta=as_row(each, "")) for each in DOCUMENTS]
    kept = {row.id for row in rows if document_matches_filter(rewritten, row)}
    expected = {
        each.id
        for each in DOCUMENTS
        if not each.meta.get("valid_from", "") > "2020-01-01"
        and not each.meta.get("valid_to", "9999") < "2020-01-01"
    }
    assert kept == expected
    assert len(kept) < len(DOCUMENTS)


def test_a_date_and_a_moment_in_another_zone_are_understood() -> None:
    expected = compared("valid_from_day", ">", day_number("2020-01-01"))
    for value in (date(2020, 1, 1), datetime(2020, 1, 1, tzinfo=UTC), "2020-01-01T02:00:00+02:00"):
        asked = {"field": "meta.valid_from", "operator": ">", "value": value}
        assert engine_filters(asked) == expected


def test_positions_farther_than_an_engine_counts() -> None:
    asked = {"field": "meta.position", "operator": "==", "value": 10**400}
    assert engine_filters(asked) is False
    assert engine_filters({**asked, "operator": "<"}) == compared("position", "<", 2**62)
    assert engine_filters({**asked, "operator": ">=", "value": -(10**400)}) == compared(
        "position", ">=", -(2**62)
    )


@pytest.mark.parametrize(
    ("filters", "message"),
    [
        ({"field": "meta.colour", "operator": "==", "value": "red"}, "cannot filter by 'meta.colo"),
        ({"field": "meta.headings", "operator": "==", "value": []}, "fields are id, law"),
        ({"field": "meta.law", "operator": "<", "value": "a"}, "cannot compare law with 'a'"),
        ({"field": "meta.valid_to", "operator": "<", "value": "soon"}, "'soon' is no ISO date"),
        (
            {"field": "meta.valid_to", "operator": "<", "value": "0001-01-01T00:00:00+14:00"},
            "is no ISO date",
        ),
    ],
)
def test_what_cannot_be_filtered_is_refused(filters: dict[str, Any], message: str) -> None:
    with pytest.raises(FilterError, match=message):
        engine_filters(filters)


@pytest.mark.parametrize("original", DOCUMENTS, ids=lambda each: each.id)
def test_an_articles_metadata_come_back_as_they_were(original: Document) -> None:
    assert article_meta(as_row(original, "digest")) == original.meta
