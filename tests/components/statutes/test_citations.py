"""Citations in running text; most forms are rows of `citations_of_countries.jsonl`."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from effort import bounded_effort
from hypothesis import example, given
from hypothesis import strategies as st

from components.statutes.citations.finding import find_citations


def test_in_a_french_text_section_and_paragraph_signs_cite_nothing():
    text = "Section 5. Voir § 2 et l'article 3."
    assert [c.number for c in find_citations(text, "fr-BE")] == ["3"]
    assert [c.number for c in find_citations(text, "en")] == ["5", "2", "3"]


def test_spans_point_into_the_text_and_a_group_spans_its_enumeration():
    text = "See articles 27, 28(2) and 30 to 32 of the Housing Code."
    found = find_citations(text)
    assert [text[c.start : c.end] for c in found] == ["articles 27", "28(2)", "30 to 32"]
    assert {text[slice(*c.group)] for c in found} == {"articles 27, 28(2) and 30 to 32"}


WRITTEN = (
    "article |art. |§ |§§ |s. |Rule |Điều |第|条|款|一百|12|5|L. 1221-1|(2)| and |, | to |bis|"
    " of the |Housing Code|du présent Code|\n|《|》|民法典|alinéa 3|Abs. 1|khoản 2 |my contract"
    "| days|\u200e"
)
PIECES = WRITTEN.split("|")


# Whose "khoản 2" it is can be argued; only one citation can have it.
@example("L. 1221-1khoản 2 L. 1221-1")
@given(st.lists(st.sampled_from(PIECES), max_size=25).map("".join))
def test_found_citations_lie_in_order_and_apart(text):
    found = find_citations(text)
    for citation in found:
        assert text[citation.start : citation.end] == citation.text
        assert citation.group[0] <= citation.start < citation.end <= citation.group[1]
    for one, other in pairwise(found):
        assert one.end <= other.start


@pytest.mark.parametrize(
    "piece",
    [
        *PIECES,
        *("article 1 ", "§ 1 ", "第一条", "s. 1 (a)", "of Part 1 ", "art. 1 of the ", "1-"),
        *("and 1 of the ", "s 1 ", "A ", "Code of A ", "code de l'a ", "art. 1 [1] and "),
    ],
)
def test_a_hostile_question_is_read_in_no_time(piece):
    text = "article 1 " + (piece * 10_000)[:10_000]
    with bounded_effort():
        find_citations(text)


def test_a_question_that_is_one_long_numeral_is_no_citation():
    assert find_citations("第" + "9" * 5000 + "条") == []


@pytest.mark.parametrize(
    ("text", "readings"),
    [
        ("L3162-1 et 2", [("l3162-1", None), ("l3162-2", None)]),
        ("L3164-2 à 4", [("l3164-2", "l3164-4")]),
        ("articles L. 1221-1, 2 et 3", [("l1221-1", None), ("l1221-2", None), ("l1221-3", None)]),
        ("L3132-3-1 et 2", [("l3132-3-1", None), ("l3132-3-2", None)]),
    ],
)
def test_french_code_numbers_may_leave_out_what_they_share(text, readings):
    assert [each.readings[-1] for each in find_citations(text)] == readings


def test_the_levels_of_the_article_behind_are_its_own():
    (citation,) = find_citations("article 12, second paragraph of section 13")[:1]
    assert citation.paragraph is None


# The table of citations in docs/citations.md

PAGE = Path(__file__).resolve().parents[3] / "docs" / "citations.md"
ROW = re.compile(r"^\|[^|]*\| `([^`]+)` \| ([^|]+) \| ([^|]*)\|$", re.MULTILINE)


def test_the_citations_of_the_page_are_read_as_it_says():
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len(rows) > 30
    for written, read_as, law in rows:
        found = find_citations(written)
        shown = [f"{c.number}{c.paragraph or ''}" for c in found]
        ends = [f" to {c.through}" if c.through else "" for c in found]
        assert ", ".join(map("".join, zip(shown, ends, strict=True))) == read_as
        assert {c.law_hint or "" for c in found} == {law.strip()}, written


def test_the_number_as_it_stands_is_the_likelier():
    *_, last = find_citations("L1221-1 et 99")
    assert last.readings == [("99", None), ("l1221-99", None)]
