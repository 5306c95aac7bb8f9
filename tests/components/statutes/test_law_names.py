"""Laws by their names in running text: the rows of `law_names.jsonl`.

A row has the laws with further names of some, and a text with those that it names; or what else
the law may be called, and the names of others.
"""

import pytest
from statute_tables import rows_of

from components.statutes.citations.laws import LawNames, abbreviations

ROWS = rows_of("law_names.jsonl")


@pytest.mark.parametrize("row", ROWS, ids=[row.get("text", row["laws"][0]) for row in ROWS])
def test_a_law_is_found_by_its_names_and_no_other_is(row):
    names = LawNames(row["laws"], row.get("names", {}))
    if "text" in row:
        assert list(names.after(row["text"], 0).laws) == row["named"]
    for name in row.get("cited", ()):
        assert names.after(f" {name}", 0).laws == tuple(row["laws"]), name
        assert names.before(f"{name}, ", len(name) + 2).laws == tuple(row["laws"]), name
    for name in row.get("others", ()):
        assert names.after(f" {name}, ", 0).laws == (), name


def test_every_abbreviation_of_the_table_is_read_and_stands_for_a_name():
    for short, full_names in abbreviations().items():
        for full in full_names:
            assert LawNames([full]).after(f" {short} ", 0).laws == (full,), (short, full)
