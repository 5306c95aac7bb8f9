"""Notes in place of repealed law, told from law that speaks of repeal."""

import pytest
from statute_tables import TABLES

from components.statutes.article import is_repeal_note


@pytest.mark.parametrize("text", TABLES["notes of repeal"])
def test_a_note_is_recognised(text: str) -> None:
    assert is_repeal_note(text)


@pytest.mark.parametrize("text", TABLES["law that speaks of repeal"])
def test_law_that_speaks_of_repeal_is_no_note(text: str) -> None:
    assert not is_repeal_note(text)


def test_a_note_is_found_fast_in_hostile_text() -> None:
    for text in ("1 a " * 140, "((" * 290, "repealed by 1 " * 40, "inserted 1. " * 45):
        assert not is_repeal_note(text) or text.startswith("repealed")
