"""Citations in running text: the forms of five languages, and what is none."""

import re
from itertools import pairwise
from pathlib import Path

import pytest
from effort import bounded_effort
from hypothesis import example, given
from hypothesis import strategies as st

from components.statutes.citations.finding import find_citations


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        # English
        ("art. 12 Housing Code", [("12", None)]),
        ("Section 14(2)", [("14", "(2)")]),
        ("under s. 5 or s.48F(2)(b)", [("5", None), ("48f", "(2)(b)")]),
        ("Articles 27 and 28", [("27", None), ("28", None)]),
        ("Article 18 or 20 of the Family Code", [("18", None), ("20", None)]),
        ("Rule \u200e1.3.1(1)(b)(ii)", [("1.3.1", "(1)(b)(ii)")]),
        ("section 48K(1), (3) and (4) applies", [("48k", "(1)"), ("48k", "(3)"), ("48k", "(4)")]),
        ("article 12, paragraph 2, of the Code", [("12", "(2)")]),
        ("s 24 of the PDPA", [("24", None)]),
        ("Does the tenant s 26(1) give", [("26", "(1)")]),
        ("Reg 5", [("5", None)]),
        ("under reg 5(1)", [("5", "(1)")]),
        ("Art. IV", [("4", None)]),
        ("Article XIV(2) and article I of the Constitution", [("14", "(2)"), ("1", None)]),
        ("Article No. 99", [("99", None)]),
        ("Article (99)", [("99", None)]),
        ("Article: 99", [("99", None)]),
        ("Article 12 [1] and 13 of the Work Code", [("12", None), ("13", None)]),
        ("Articles 12 (deposits) and 13 (rent)", [("12", None), ("13", None)]),
        ("Article 12 of the Housing Code and 13 of the Work Code", [("12", None), ("13", None)]),
        # French
        ("article L. 1221-1 du Code du travail", [("l1221-1", None)]),
        ("l'article R. * 3231-1", [("r3231-1", None)]),
        ("L. 1221-1", [("l1221-1", None)]),
        ("art. 1382 C. civ.", [("1382", None)]),
        ("l'article 492/1, § 1er, alinéa 3, 3°, peut", [("492/1", "(1)(3)(3)")]),
        ("articles 1er et 2", [("1", None), ("2", None)]),
        ("l'article premier", [("1", None)]),
        ("les §§ 2 et 3 du même article 5", [("5", None)]),
        (
            "articles 312, § 2, 325/3, §§ 4 et 5, ou 330, §§ 3 et 4",
            [("312", "(2)"), ("325/3", "(4)"), ("330", "(3)")],
        ),
        (
            "articles 203, 203bis, 336 ou 353-14 du présent Code",
            [("203", None), ("203bis", None), ("336", None), ("353-14", None)],
        ),
        # German
        ("§ 823 Abs. 1 Satz 2 BGB", [("823", "(1)(2)")]),
        ("Art. 3 Abs. 1 GG", [("3", "(1)")]),
        # Spanish
        ("los artículos 24 y 25 del Código Civil", [("24", None), ("25", None)]),
        # Chinese
        ("第一百二十条", [("120", None)]),
        ("民法典第12条", [("12", None)]),
        ("刑法第十七条之一第二款", [("17-1", "(2)")]),
        ("本法第三条第一款第（二）项", [("3", "(1)(2)")]),
        ("本法第八十四条，第八十五条第二款", [("84", None), ("85", "(2)")]),
        ("商标法第十条第一款、第二款、第十一条", [("10", "(1)"), ("11", None)]),
        # Vietnamese
        ("Điều 12 khoản 2 Bộ luật Dân sự", [("12", "(2)")]),
        ("điểm a khoản 1 Điều 5 của Luật này", [("5", "(1)(a)")]),
    ],
)
def test_forms(text, cited):
    assert [(c.number, c.paragraph) for c in find_citations(text)] == cited


@pytest.mark.parametrize(
    ("text", "first", "last"),
    [
        ("Rules 6.2.7 to 6.2.10", "6.2.7", "6.2.10"),
        ("articles R. 6332-22-3 à R. 6332-22-5", "r6332-22-3", "r6332-22-5"),
        ("§§ 812 bis 822 BGB", "812", "822"),
        ("本规定第一条至第三条", "1", "3"),
        ("Điều 5 đến 9", "5", "9"),
    ],
)
def test_ranges(text, first, last):
    (citation,) = find_citations(text)
    assert (citation.number, citation.through) == (first, last)


@pytest.mark.parametrize(
    "text",
    [
        "I worked 12 hours",
        "my flat, 3 rooms, 2015",
        "à la section 2 du chapitre 3",
        "une sous-section 4",
        "§ 1er. Le juge",
        "the Markets Regulations 2015",
        "subsection (2) and sub-paragraph (3)",
        "Part 9 and Chapter 4",
        "只有一条机动车道",
        "<L 2014-05-12/02>",
        "clause 5",
        "S. 24 der Broschüre",
        "it's 24 hours",
        "the tenant s 24 keys",
        "the SEC 10-K filing",
        "my car reg 24 is",
        "the article I read",
        "an article (2020) on dogs",
        "the clauses of this article.\nII. The landlord",
        "Section IV",
        "sections (2) and (3)",
    ],
)
def test_what_cites_nothing(text):
    assert find_citations(text) == []


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
    ("text", "ranges"),
    [
        ("from article 12 to article 15 of the Housing Code", [("12", "15")]),
        ("de l'article 12 à l'article 15 du Code civil", [("12", "15")]),
        ("từ Điều 12 đến Điều 15 Bộ luật Lao động", [("12", "15")]),
        ("§ 812 bis § 822 BGB", [("812", "822")]),
        ("Artikel 12 bis Artikel 15", [("12", "15")]),
        ("Artikel 5 bis GG", [("5bis", None)]),
        ("How does article 12 relate to article 15?", [("12", None), ("15", None)]),
        ("section 12 to rule 15", [("12", None), ("15", None)]),
    ],
)
def test_a_range_may_repeat_its_unit(text, ranges):
    assert [(each.number, each.through) for each in find_citations(text)] == ranges


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


def test_the_number_as_it_stands_is_the_likelier():
    *_, last = find_citations("L1221-1 et 99")
    assert last.readings == [("99", None), ("l1221-99", None)]


# Parts of an article between its number and its law's name: none is another article


@pytest.mark.parametrize(
    ("text", "cited", "law"),
    [
        ("l'article 4, 7), du Règlement (UE)", [("4", "(7)")], "Règlement (UE)"),
        (
            "articles 8, § 1er, 2°, b), 9, 2°, b), et 11bis du Code judiciaire",
            [("8", "(1)(2)(b)"), ("9", "(2)(b)"), ("11bis", None)],
            "Code judiciaire",
        ),
        ("article 2, b) du décret du 5 mai 2001", [("2", "(b)")], "décret du 5 mai 2001"),
        ("l'article 3, a) de la loi du 5 mai 2001", [("3", "(a)")], "loi du 5 mai 2001"),
        ("article 4, premier tiret, du Code judiciaire", [("4", None)], "Code judiciaire"),
        ("article 4, 1er alinéa, du Code judiciaire", [("4", "(1)")], "Code judiciaire"),
        ("article 4, quatrième alinéa, du Code pénal", [("4", "(4)")], "Code pénal"),
        ("article 4, dernier alinéa, du Code pénal", [("4", None)], "Code pénal"),
        ("article 4, § 2, deuxième phrase, du Code pénal", [("4", "(2)")], "Code pénal"),
        ("article 4 in fine du Code judiciaire", [("4", None)], "Code judiciaire"),
        ("article 4, I, du Code judiciaire", [("4", "(i)")], "Code judiciaire"),
        ("section 12, first sentence, of the Companies Act", [("12", None)], "Companies Act"),
        ("Article 12, second paragraph, of the Tax Code", [("12", "(2)")], "Tax Code"),
        ("Article 12(2), third indent, of the Tax Code", [("12", "(2)")], "Tax Code"),
        ("Article 12, 2nd sub-paragraph, of the Tax Code", [("12", "(2)")], "Tax Code"),
        ("Article 4, no. 7 GDPR", [("4", "(7)")], "GDPR"),
        ("Section 12, item 3, of the Tax Code", [("12", "(3)")], "Tax Code"),
        ("Artikel 5, erster Absatz, BGB", [("5", "(1)")], "BGB"),
    ],
)
def test_the_law_is_named_behind_parts_of_the_article(text, cited, law):
    found = find_citations(text)
    assert [(c.number, c.paragraph) for c in found] == cited
    assert {c.law_hint for c in found} == {law}


@pytest.mark.parametrize(
    ("text", "numbers"),
    [
        ("(see Articles 12, 13) and so on", ["12", "13"]),  # the bracket is the sentence's
        ("1) article 12, 2) article 13 of the Tax Code", ["12", "13"]),
        ("Under article 12\na) the tenant pays", ["12"]),
        ("article 4, § 1er, et 7)", ["4"]),
        ("article L. 335-5, premier alinéa de l'article L. 613-3", ["l335-5", "l613-3"]),
        ("Articles IV, V of the Constitution", ["4", "5"]),
        ("article 12, I think", ["12"]),
    ],
)
def test_what_closes_a_bracket_and_what_is_a_level(text, numbers):
    found = find_citations(text)
    assert [c.number for c in found] == numbers
    assert {c.paragraph for c in found} <= {None, "(1)"}


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
