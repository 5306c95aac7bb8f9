"""Filters rewritten for engines mean what Haystack means, and metadata survive their rows."""

from datetime import date

import pytest
from engine_articles import DOCUMENTS, FILTERS, ROWS, document
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings

from components.retrievers.validity import in_force_on
from components.stores.engines import article_meta, as_row, engine_filters


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
