"""The table of citations in docs/citations.md is what the parser reads."""

import re
from pathlib import Path

import pytest

from components.statutes.citations.finding import find_citations

PAGE = Path(__file__).resolve().parents[3] / "docs" / "citations.md"
ROWS = re.findall(
    r"^\|[^|]*\| `([^`]+)` \| ([^|]+) \| ([^|]*)\|$", PAGE.read_text(encoding="utf-8"), re.MULTILINE
)


def shown(citation):
    through = f" to {citation.through}" if citation.through else ""
    return f"{citation.number}{citation.paragraph or ''}{through}"


def test_every_language_has_its_rows():
    assert len(ROWS) > 30


@pytest.mark.parametrize(("written", "read_as", "law"), ROWS, ids=[row[0] for row in ROWS])
def test_a_citation_of_the_page_is_read_as_it_says(written, read_as, law):
    found = find_citations(written)
    assert ", ".join(map(shown, found)) == read_as
    assert {each.law_hint or "" for each in found} == {law.strip()}
