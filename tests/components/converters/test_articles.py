"""What is read of an article's metadata, whoever wrote them."""

from __future__ import annotations

from datetime import date, datetime
from typing import Any

import pytest
from haystack import Document

from components.converters.articles import headings_of, language_of, law_of, number_of
from components.retrievers.validity import state_on


@pytest.mark.parametrize(
    ("headings", "read"),
    [
        (["Book I", "Repairs"], ("Book I", "Repairs")),
        (("Book I",), ("Book I",)),
        ("Repairs", ("Repairs",)),
        ([1, None, " ", "x"], ("1", "x")),
        ([], ()),
        (" ", ()),
        (None, ()),
        (7, ()),
        ({"Repairs": 1}, ()),
    ],
)
def test_headings_are_texts_from_the_top(headings: Any, read: tuple[str, ...]) -> None:
    assert headings_of({"headings": headings}) == read


def test_law_number_and_language_are_texts() -> None:
    printed = {"law": "Housing Code", "number": "12", "language": "en"}
    assert (law_of(printed), number_of(printed), language_of(printed)) == tuple(printed.values())
    numbers = {"law": 5, "number": 0, "language": 3}
    assert (law_of(numbers), number_of(numbers), language_of(numbers)) == ("5", "0", "3")
    for nothing in ({}, dict.fromkeys(printed), dict.fromkeys(printed, "")):
        assert (law_of(nothing), number_of(nothing), language_of(nothing)) == ("", "", None)


def dated(end: Any) -> Document:
    return Document(content="x", meta={"law": "Code", "number": "1", "valid_to": end})


@pytest.mark.parametrize(
    "end",
    [
        "2020-01-01",
        "2020-01-01T00:00:00",
        "2020-01-01T23:59:59+01:00",
        date(2020, 1, 1),
        datetime(2020, 1, 1, 8),
    ],
)
def test_a_day_may_come_with_a_time_or_as_a_date(end: Any) -> None:
    assert state_on(date(2020, 1, 1), dated(end)) == "in force"
    assert state_on(date(2020, 1, 2), dated(end)) == "repealed"


@pytest.mark.parametrize("end", ["in spring", 2020, None])
def test_what_is_no_day_is_not_known(end: Any) -> None:
    assert state_on(date(2021, 1, 1), dated(end)) == "unknown"
