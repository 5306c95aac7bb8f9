"""Filters rewritten for engines mean what Haystack means, and metadata survive their rows."""

from datetime import date

import pytest
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

from components.retrievers.validity import in_force_on
from components.stores.qdrant import (
    article_meta,
    as_row,
    engine_filters,
)

LAWS = ["Housing Code", 'The "Quoted" \\ Act', "民法典"]
DAYS = ["1999-12-31", "2020-01-01", "2020-06-30"]


def document(position, start, end):
    optional = {"language": [None, "en", "fr"][position % 3], "valid_from": start, "valid_to": end}
    meta = {"law": LAWS[position % 3], "number": str(position), "headings": []}
    meta |= {name: value for name, value in optional.items() if value is not None}
    return Document(id=f"a{position}", content="A roof.", meta=meta | {"position": position})


DOCUMENTS = [
    document(position, start, end)
    for position, (start, end) in enumerate(
        (start, end) for start in [None, *DAYS] for end in [None, *DAYS]
    )
]
ROWS = [Document(id=each.id, meta=as_row(each, "digest")) for each in DOCUMENTS]
MOMENTS = [*DAYS, None, "2020-01-01T00:00:00", "2020-01-01T12:00:00+00:00", "2020-03-01"]
EQUAL = {
    "meta.law": [*LAWS, "law", None, 3],
    "number": ["0", "12", 12, None],
    "meta.language": ["en", "fr", None],
    "meta.valid_from": [*DAYS, None],
    "meta.position": [0, 3, 3.0, 3.5, 10**400, -(10**400), 1e300, None],
    "id": ["a0", "a5", None],
    "source_url": ["https://law", None],
}
ORDERED = {"meta.valid_from": MOMENTS, "valid_to": MOMENTS, "meta.position": [0, 7, 7.5, None]}


def comparison(field, operators, values):
    parts = {"field": st.just(field), "operator": st.sampled_from(operators), "value": values}
    return st.fixed_dictionaries(parts)


FILTERS = st.recursive(
    st.one_of(
        *(comparison(each, ["==", "!="], st.sampled_from(EQUAL[each])) for each in EQUAL),
        *(
            comparison(each, ["in", "not in"], st.lists(st.sampled_from(EQUAL[each]), max_size=3))
            for each in EQUAL
        ),
        *(
            comparison(each, [">", ">=", "<", "<="], st.sampled_from(ORDERED[each]))
            for each in ORDERED
        ),
    ),
    lambda inner: st.fixed_dictionaries(
        {
            "operator": st.sampled_from(["AND", "OR", "NOT"]),
            "conditions": st.lists(inner, min_size=1, max_size=3),
        }
    ),
    max_leaves=6,
)


def check_simple(condition):
    """Engines get text equalities and comparisons of numbers only."""
    if "field" not in condition:
        # Qdrant's "must not" of several conditions does not negate their AND.
        assert condition["operator"] != "NOT" or len(condition["conditions"]) == 1
        assert condition["conditions"]
        for part in condition["conditions"]:
            check_simple(part)
        return
    assert condition["value"] is not None
    assert condition["operator"] == "==" or isinstance(condition["value"], int | float)


@settings(max_examples=250)
@given(filters=FILTERS)
def test_rewritten_filters_match_the_same_articles(filters):
    rewritten = engine_filters(filters)
    if not isinstance(rewritten, bool):
        check_simple(rewritten)
    for original, row in zip(DOCUMENTS, ROWS, strict=True):
        same = isinstance(rewritten, bool)
        matches = rewritten if same else document_matches_filter(rewritten, row)
        assert matches == document_matches_filter(filters, original), original.meta


def test_a_stub_is_written_as_ended_before_any_law():
    stub = document(99, "2000-01-01", None)
    stub.meta["stub"] = True
    row = Document(id="stub", meta=as_row(stub, "digest"))
    assert row.meta["valid_to"] == ""
    for day in (None, date(1990, 1, 1), date(2020, 1, 1)):
        assert not document_matches_filter(engine_filters(in_force_on(day)), row)
    for state, matches in (("repealed", True), ("in force", False), ("unknown", False)):
        filters = engine_filters({"field": "state", "operator": "==", "value": state})
        assert document_matches_filter(filters, row) is matches


@pytest.mark.parametrize(
    ("field", "operator", "value"),
    [
        ("meta.colour", "==", "red"),
        ("meta.headings", "==", []),
        ("meta.law", "<", "a"),
        ("meta.valid_to", "<", "soon"),
        ("meta.valid_to", "<", "0001-01-01T00:00:00+14:00"),
    ],
)
def test_what_engines_cannot_compare_is_refused(field, operator, value):
    with pytest.raises(FilterError):
        engine_filters({"field": field, "operator": operator, "value": value})


def test_an_articles_metadata_survive_the_row():
    for original, row in zip(DOCUMENTS, ROWS, strict=True):
        assert article_meta(row.meta) == original.meta
