"""What of an article is one of its paragraphs, and what is a figure or a letter in its words."""

import json
from pathlib import Path

import pytest
from effort import bounded_effort
from reply_cases import cases

from components.statutes.replies.citations import has_paragraph


@pytest.mark.parametrize(
    ("text", "named", "printed"), cases("a_paragraph_as_laws_print_it_and_what_is_none")
)
def test_a_paragraph_as_laws_print_it_and_what_is_none(text, named, printed):
    assert has_paragraph("12", text, named) is printed


def test_a_paragraph_that_is_printed_with_the_number():
    assert has_paragraph("s.2(1)", "A tenant: (a) pays.", "(1)(a)")
    assert not has_paragraph("s.2(1)", "A tenant: (a) pays.", "(2)")


def test_every_paragraph_of_the_demo_law_is_found():
    lines = Path("pipelines/demo/articles.jsonl").read_text(encoding="utf-8").splitlines()
    for article in map(json.loads, lines):
        text = article["text"]
        for number in range(1, 12):
            printed = text.startswith(f"({number}) ") or f"\n({number}) " in text
            assert has_paragraph(article["number"], text, f"({number})") == printed


@pytest.mark.parametrize("piece", ["(1) ", "subsection (1), ", "(a)", "1. ", " ", "\n", "§ 1 "])
def test_a_hostile_article_is_read_in_no_time(piece):
    with bounded_effort():
        has_paragraph("1", (piece * 100_000)[:100_000], "(99)")
