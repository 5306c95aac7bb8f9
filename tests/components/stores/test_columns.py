"""Filters answered from columns compared with Haystack's matcher; what gets no column."""

import numpy as np
import pytest
from filtering import FILTERS, METAS
from haystack import Document
from haystack.errors import FilterError
from haystack.utils.filters import document_matches_filter
from hypothesis import given, settings
from hypothesis import strategies as st

from components.stores import columns
from components.stores.columns import MetadataColumns
from components.stores.filters import matches, plain_filters

POSITIONS = st.one_of(st.integers(-3, 3), st.sampled_from([None, True, 1.0, "1", 2**62]))


def columns_of(metas):
    made = MetadataColumns()
    for meta in metas:
        made.add(meta)
    return made


def compared(field, operator, value):
    return {"field": field, "operator": operator, "value": value}


@settings(max_examples=300)
@given(metas=st.lists(METAS, max_size=6), filters=FILTERS)
def test_columns_equal_haystacks_matcher(metas, filters):
    documents = [Document(id=str(row), meta=meta) for row, meta in enumerate(metas)]
    try:
        found = columns_of(metas).matching(plain_filters(filters)).tolist()
    except FilterError:
        return  # left to the documents
    assert found == [document_matches_filter(filters, each) for each in documents]


@settings(max_examples=200)
@given(
    positions=st.lists(POSITIONS, min_size=1, max_size=5),
    operator=st.sampled_from(["==", "!=", ">", ">=", "<", "<="]),
    value=st.one_of(st.integers(-3, 3), st.sampled_from([None, True, 1.0, 1.5, 2**62, 2**70])),
)
def test_positions_equal_haystacks_matcher(positions, operator, value):
    metas = [{"position": each} for each in positions]
    filters = compared("meta.position", operator, value)
    try:
        expected = [document_matches_filter(filters, Document(id="1", meta=m)) for m in metas]
    except FilterError:
        return
    assert columns_of(metas).matching(plain_filters(filters)).tolist() == expected


@pytest.mark.parametrize(
    ("filters", "expected"),
    [
        (compared("division", "==", "Book I"), [True, False, False]),
        (compared("division", "starts with", "Book"), [True, True, False]),
        (compared("division", "!=", "Book I"), [False, True, True]),
        (compared("state", "==", "repealed"), [False, True, False]),
        (compared("in_force_on", "==", "2015-01-01"), [True, True, True]),
        (compared("in_force_on", "==", "2021-01-01"), [True, False, True]),
    ],
)
def test_fields_of_law(filters, expected):
    metas = [
        {"headings": ["Book I", "Chapter 1"], "valid_from": "2010-01-01"},
        {"headings": "Book II", "valid_from": "2010-01-01", "valid_to": "2020-12-31"},
        {},
    ]
    plain = plain_filters(filters)
    assert columns_of(metas).matching(plain).tolist() == expected
    assert [matches(plain, Document(id="1", meta=meta)) for meta in metas] == expected


@pytest.mark.parametrize("field", ["id", "content", "content.x", "meta.long", "meta.f64"])
def test_what_gets_no_column_is_left_to_the_documents(field):
    metas = [
        {f"f{n}": n for n in range(columns._MOST_FIELDS - 1)},
        {"long": "x" * 3_000},
        {"f64": 1},
    ]
    with pytest.raises(FilterError):
        columns_of(metas).matching(plain_filters(compared(field, "==", "a")))


def test_a_field_of_too_many_values_is_left_to_the_documents(monkeypatch):
    monkeypatch.setattr(columns, "_MOST_VALUES", 4)
    made = columns_of({"few": n % 3, "many": f"n{n}", "position": n} for n in range(9))
    assert np.flatnonzero(made.matching(compared("meta.few", "==", 1))).tolist() == [1, 4, 7]
    assert np.flatnonzero(made.matching(compared("meta.position", ">", 6))).tolist() == [7, 8]
    with pytest.raises(FilterError):
        made.matching(compared("meta.many", "==", "n1"))
