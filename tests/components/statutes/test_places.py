"""A place beside a law's short name: the law of another place is another law."""

from __future__ import annotations

import pytest

from components.statutes.citation_resolver import CitationResolver
from components.statutes.law_names import LawNames
from components.statutes.places import is_of, place_behind

HOUSING = "Housing Code of Aldermere (invented)"
PDPA = "Personal Data Protection Act 2012 (Singapore)"
CIVIL = "Code civil"


@pytest.fixture(scope="module")
def resolver() -> CitationResolver:
    entries = [("h12", HOUSING, "12"), ("p12", PDPA, "12"), ("c144", CIVIL, "144")]
    return CitationResolver(entries)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("Article 12 of the Housing Code of Norway", "Housing Code of Norway"),
        ("article 12 housing code of norway", "housing code of norway"),
        ("article 12 of the Housing Code (Canada)", "Housing Code (Canada)"),
        ("Housing Code of Norway, Article 12", "Housing Code of Norway"),
        ("Norwegian Housing Code, Article 12", "Norwegian Housing Code"),
        ("Article 12 of the Norwegian Housing Code", "Norwegian Housing Code"),
        ("section 12 of the PDPA of Malaysia", "PDPA of Malaysia"),
        ("article 144 du Code civil français", "Code civil français"),
        ("article 144 du Code civil du Québec", "Code civil du Québec"),
        ("article 144 du Code civil néerlandais", "Code civil néerlandais"),
        ("article 144 du code civil suisse", "code civil suisse"),
        ("article 144 du Code civil indien", "Code civil indien"),
        ("article 144 du Code civil d'Italie", "Code civil d'Italie"),
        ("Code civil français, article 144", "Code civil français"),
        ("Le code civil suisse, en son article 144,", "code civil suisse"),
    ],
)
def test_a_law_of_another_place_is_not_here(
    resolver: CitationResolver, text: str, law: str
) -> None:
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.missing) == ((), True)
    assert resolved.citation.law_hint == law


@pytest.mark.parametrize(
    ("law", "other"),
    [
        ("Penal Code of Texas", "Penal Code of California"),
        ("Penal Code of Texas", "Penal Code of New York"),
        ("Companies Act (New Zealand)", "Companies Act of Australia"),
        ("Companies Act (Northern Ireland)", "Companies Act of Ireland"),
        ("Penal Code of New Mexico", "Penal Code of Mexico"),
        ("Criminal Code of West Virginia", "Criminal Code of Virginia"),
        ("Labour Act (Kenya)", "Labour Act of Nigeria"),
    ],
)
def test_places_are_told_apart(law: str, other: str) -> None:
    resolver = CitationResolver([("a", law, "12")])
    assert [each.ids for each in resolver.resolve(f"section 12 of the {other}")] == [()]
    assert [each.certain for each in resolver.resolve(f"section 12 of the {law}")] == [True]


@pytest.mark.parametrize(
    ("text", "id_"),
    [
        ("Article 12 of the Housing Code of Aldermere", "h12"),
        ("Housing Code of Aldermere Article 12", "h12"),
        ("ARTICLE 12 OF THE HOUSING CODE OF ALDERMERE", "h12"),
        ("Article 12 of the Housing Code of May 2001", "h12"),
        ("section 12 of the PDPA of Singapore", "p12"),
        ("section 12 of the Personal Data Protection Act 2012 (Singapore)", "p12"),
        ("Does article 12 of the Housing Code use the word?", "h12"),
        ("l'article 144 du Code civil de 1804", "c144"),
        ("l'article 144 alinéa 2 CC", "c144"),
        ("art. 144 C.C.", "c144"),
    ],
)
def test_its_own_place_may_be_named(resolver: CitationResolver, text: str, id_: str) -> None:
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.certain) == ((id_,), True)


def test_a_law_that_is_only_spoken_of_is_of_its_place() -> None:
    names = LawNames([HOUSING, CIVIL])
    assert names.anywhere("The Housing Code of Norway and the Code civil suisse") == set()
    assert names.anywhere("the French Code civil") == set()


def test_an_adjective_names_the_place_of_a_law() -> None:
    assert is_of("Code civil (Belgique)", "belge")
    assert not is_of("Code civil (Belgique)", "néerlandais")
    assert is_of("Housing Code of New York", "New York")
    assert not is_of("Housing Code of New York", "New Zealand")


def test_what_is_no_place() -> None:
    for text in (" of Part 2", " of the tenant", " du 5 mai", " us", ""):
        assert place_behind(text, 0) is None


def test_two_letters_are_no_law_where_several_could_be_meant() -> None:
    resolver = CitationResolver(
        [("a", "Code civil (ancien)", "1"), ("b", "Code civil (nouveau)", "1")]
    )
    assert resolver.resolve("art. 1 CC")[0].ids == ()
