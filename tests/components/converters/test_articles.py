"""What is read of an article's metadata, whoever wrote them."""

from __future__ import annotations

from typing import Any

import pytest

from components.converters.articles import headings_of, language_of, law_of, number_of


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
