"""What of an article is one of its paragraphs, and what is a figure or a letter in its words."""

import json
from pathlib import Path

import pytest
from effort import bounded_effort

from components.statutes.replies.citations import has_paragraph


@pytest.mark.parametrize(
    ("text", "named", "printed"),
    [
        ("(1) Rent is due.\n(2) It is paid: (a) at home; (b) by post.", "(2)(b)", True),
        ("The landlord shall (a) mend the roof, (b) pay, and (c) say so.", "(c)", True),
        ("The landlord shall (1) mend the roof, (2) pay, and (3) say so.", "(1)", True),
        ("The landlord shall (1) mend the roof, (2) pay, and (3) say so.", "(3)", True),
        ("1. Bên thuê trả tiền.\n2. Bên cho thuê:\na) Giao nhà;\nđ) Sửa nhà.", "(2)(đ)", True),
        ("§ 1er. Le juge décide. § 2. Il entend: 1° le bailleur; 2° le preneur.", "(2)(2)", True),
        ("§ 1er. Le juge décide.", "(1)", True),
        ("(1) Der Mieter zahlt. (2) Er haftet nicht.", "(2)", True),
        ("1) Der Mieter zahlt.\n2) Er haftet nicht.", "(2)", True),
        ("1 Der Mieter zahlt.\n2 Er haftet nicht.", "(2)", True),
        ("Wer vorsätzlich\n1. das Leben,\n2. den Körper verletzt.", "(2)", True),
        ("\u00a0(5)\u00a0Rent is due.", "(5)", True),
        ("(2A) Rent is due.", "(2a)", True),
        ("有下列情形之一的：（一）欠租；（二）转租。", "(2)", True),
        ("The first. (2) The second.", "(1)", True),
        ("It is paid in parts. (2) They are equal.\n(3) No more.", "(2)(3)", True),
        ("The rate is 5 % a year.", "(5)", False),
        ("The fine is 500 crowns.", "(500)", False),
        ("He pays within 30 days.", "(30)", False),
        ("He pays within thirty (30) days.", "(30)", False),
        ("A tenant pays a deposit.", "(a)", False),
        ("The tenant(s) pay.", "(s)", False),
        ("Subsection (7) of section 14 applies.", "(7)", False),
        ("As subsections (1), (3) and (7) say.", "(7)", False),
        ("As section 48K(1), (3) and (7) say.", "(3)", False),
        ("As paragraph (a) or (b) says.", "(b)", False),
        ("As article 14, § 7, says.", "(7)", False),
        ("It is as in Art. 5. The tenant pays.", "(5)", False),
        ("Am 15. 5. 2020 galt es.", "(5)", False),
        ("It opens at 12:30. It is warm: 5 °C.", "(30)", False),
        ("(1) Rent:\n(a) at home.\n(2) No more.", "(2)(a)", False),
        ("30 Days are a month.", "(30)", False),
        ("(1) Rent is due.", "(2020)", False),
    ],
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
