"""Parts of an article between its number and its law's name: none is another article."""

import pytest

from components.statutes.citations.finding import find_citations


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
