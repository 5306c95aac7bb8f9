"""Articles: their state on a day, their JSON, and the one rule for indexed text."""

from __future__ import annotations

from datetime import date

import pytest

from components.statutes import Article, indexed_text

EVE, FIRST, MIDDLE, LAST, MORROW = (
    date(2019, 12, 31),
    date(2020, 1, 1),
    date(2022, 6, 1),
    date(2024, 12, 31),
    date(2025, 1, 1),
)


def article(**dates: date | None) -> Article:
    return Article("1", "Code", "1", (), "Words.", **dates)


@pytest.mark.parametrize(
    ("on", "state"),
    [
        (EVE, "not yet in force"),
        (FIRST, "in force"),
        (MIDDLE, "in force"),
        (LAST, "in force"),
        (MORROW, "repealed"),
    ],
)
def test_state_counts_the_first_and_the_last_day_as_in_force(on, state):
    assert article(valid_from=FIRST, valid_to=LAST).state(on) == state


def test_state_with_one_date_only_is_derived_from_that_date():
    assert article(valid_from=FIRST).state(EVE) == "not yet in force"
    assert article(valid_from=FIRST).state(MORROW) == "in force"
    assert article(valid_to=LAST).state(MORROW) == "repealed"
    assert article(valid_to=LAST).state(MIDDLE) == "in force"


def test_state_without_dates_is_unknown():
    assert article().state(MIDDLE) == "unknown"


def test_json_leaves_out_what_is_absent():
    assert Article("1", "Code", "L1-1", ("Book I",), "Words.").to_json() == {
        "id": "1",
        "law": "Code",
        "number": "L1-1",
        "headings": ["Book I"],
        "text": "Words.",
    }


def test_json_writes_dates_as_iso():
    record = Article(
        "1", "Code", "1", (), "Words.", "fr", FIRST, LAST, "https://example.org/1"
    ).to_json()
    assert record["language"] == "fr"
    assert (record["valid_from"], record["valid_to"]) == ("2020-01-01", "2024-12-31")
    assert record["source_url"] == "https://example.org/1"


def test_indexed_text_joins_headings_and_text_with_spaces():
    headings = ("Book I Persons", "Title II Names")
    assert indexed_text(headings, "Words.") == "Book I Persons Title II Names Words."
    assert indexed_text((), "Words.") == "Words."
    assert indexed_text(headings, "Words.", "text") == "Words."


def test_indexed_text_refuses_an_unknown_rule():
    with pytest.raises(ValueError, match="text_rule must be 'headings_text' or 'text', not 'x'"):
        indexed_text((), "Words.", "x")  # type: ignore[arg-type]
