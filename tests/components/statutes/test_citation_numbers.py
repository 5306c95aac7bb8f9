"""Printed numbers in one form: the rows of `printed_numbers.jsonl`."""

import pytest
from hypothesis import given
from hypothesis import strategies as st
from statute_tables import rows_of

from components.statutes.citations.patterns import (
    ArticleNumber,
    number_order,
    parse_number,
    printed_range,
)

ROWS = rows_of("printed_numbers.jsonl")
NUMBERS = [row for row in ROWS if "core" in row]
RANGES = [row for row in ROWS if "range" in row]


@pytest.mark.parametrize("row", NUMBERS, ids=[row["printed"] for row in NUMBERS])
def test_a_number_has_one_form(row):
    number = None
    if row["core"] is not None:
        levels = tuple(row.get("paragraphs", ()))
        number = ArticleNumber(row["core"], levels, row.get("division", ""))
    assert parse_number(row["printed"]) == number


@pytest.mark.parametrize("row", RANGES, ids=[row["printed"] for row in RANGES])
def test_a_printed_range_has_a_first_and_a_last_number(row):
    assert printed_range(row["printed"]) == (row["range"] and tuple(row["range"]))


def test_numbers_are_ordered_by_their_digits_then_by_their_letters():
    assert sorted(["10b", "11", "9", "10", "10a"], key=number_order) == [
        *("9", "10", "10a", "10b", "11")
    ]
    assert number_order("3-2") < number_order("3-11")


@given(st.text(max_size=30))
def test_any_text_can_be_printed_as_a_number(printed):
    number = parse_number(printed)
    assert number is None or number.core
