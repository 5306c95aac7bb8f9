"""A law's name within a longer one, and with words in front that tell whose it is."""

from __future__ import annotations

import pytest

from components.statutes.citation_resolver import CitationResolver
from components.statutes.law_names import LawNames

HOUSING = "Housing Code of Aldermere (invented)"
WORK = "Work Code of Aldermere (invented)"
PDPA = "Personal Data Protection Act 2012 (Singapore)"
COMPANIES = "Companies Act 1993 (New Zealand)"
FISHERY = "Fishery Act of Port Maren (invented)"
CIVIL = "Bürgerliches Gesetzbuch"


@pytest.fixture(scope="module")
def resolver() -> CitationResolver:
    laws = (HOUSING, WORK, PDPA, COMPANIES, FISHERY, CIVIL)
    return CitationResolver((law, law, "12") for law in laws)


@pytest.mark.parametrize(
    "text",
    [
        "What says the Social Housing Code, article 12?",
        "Under the Fair Housing Code article 12 allows it",
        "Under Fair Housing Code article 12 it is allowed",
        "article 12 of the Social Housing Code",
        "The Sheltered Housing Code's article 12",
        "article 12 of the Old Aldermere Social Housing Code",
        "article 12 of the Aldermere Social Housing Code",
        "section 12 of the Singapore Trust Companies Act",
        "section 12 of the Singaporean Sensitive Personal Data Protection Act",
        "article 12 of the social housing code",
        "section 12 of the New Zealand Evidence Act and Companies Act",
        "Section 12 Social Housing Code",
        "article 12 of Norway's Housing Code",
        "the Valdoria Work Code, article 12",
        "section 12 of the Companies Work Code",
        "s 12 of the Malaysian PDPA",
        "section 12 of the Singapore Personal Data Protection Act 2010",
        "section 12 of the New South Wales Companies Act",
    ],
)
def test_what_stands_in_front_makes_it_another_law(resolver: CitationResolver, text: str) -> None:
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.missing) == ((), True)


@pytest.mark.parametrize(
    ("text", "law"),
    [
        ("article 12 of the Aldermere Housing Code", HOUSING),
        ("article 12 of the aldermere housing code", HOUSING),
        ("article 12 of Aldermere's Housing Code", HOUSING),
        ("Aldermere Work Code, article 12", WORK),
        ("art 12 aldermere work code", WORK),
        ("article 12 of the current Aldermere Work Code", WORK),
        ("article 12 of the new Work Code", WORK),
        ("s 12 of the Singapore PDPA", PDPA),
        ("s 12 of the Singapore Personal Data Protection Act", PDPA),
        ("section 12 of the Singaporean Personal Data Protection Act 2012", PDPA),
        ("Singapore's Personal Data Protection Act, section 12", PDPA),
        ("section 12 of the New Zealand Companies Act", COMPANIES),
        ("New Zealand Companies Act 1993, section 12", COMPANIES),
        ("section 12 of Port Maren's Fishery Act", FISHERY),
        ("Port Maren’s Fishery Act, section 12", FISHERY),
    ],
)
def test_what_stands_in_front_is_the_law_s_own(
    resolver: CitationResolver, text: str, law: str
) -> None:
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.certain) == ((law,), True)


@pytest.mark.parametrize(
    "text",
    [
        "Explain Housing Code article 12",
        "Under Housing Code, article 12",
        "What Does The Housing Code, Article 12, Say?",
        "CAN THE LANDLORD RELY ON HOUSING CODE ARTICLE 12",
        "DEPOSIT HOUSING CODE ARTICLE 12",
        "Part IV Housing Code, article 12",
        "In 2020 Housing Code, article 12",
        "The New Housing Code, article 12",
        "Please compare Work and Housing Code article 12",
    ],
)
def test_what_begins_a_sentence_is_no_part_of_a_name(resolver: CitationResolver, text: str) -> None:
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.certain) == ((HOUSING,), True)


@pytest.mark.parametrize(
    "text",
    [
        "Social Housing Code, article 12",
        "Rent Increase Housing Code, article 12",
        "My Landlord Violated Housing Code Article 12",
        "section 12 tenants housing code",
    ],
)
def test_what_may_be_a_topic_or_a_part_of_a_name_leaves_a_doubt(
    resolver: CitationResolver, text: str
) -> None:
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.certain, resolved.missing) == ((HOUSING,), False, False)


@pytest.mark.parametrize(
    "text",
    [
        "Rent Increase Tenancy Act 1988, section 12",
        "Rent Increase Tenancy Act, 1988, section 12",
        "section 12 of the 1988 Tenancy Act",
        "1988 Tenancy Act, section 12",
        "In 2020 Tenancy Act 1988 section 12",
        "Section 12 Notice Tenancy Act 1988",
        "Section 12 Notice Tenancy Act of 1988",
        "Rent Increase Tenancy Act of 1988, section 12",
        "section 12 notice tenancy act 1988",
        "In the Tenancy Act 1988 is there a section 12?",
    ],
)
def test_the_year_of_a_law_leaves_no_doubt(text: str) -> None:
    resolver = CitationResolver((law, law, "12") for law in ("Tenancy Act 1988", "Work Code"))
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.certain) == (("Tenancy Act 1988",), True)


@pytest.mark.parametrize(
    "text",
    [
        "Section 12 GDPR and Tenancy Act 1988",
        "Section 12 GDPR Tenancy Act 1988",
        "Section 12 Rent Act 1977 Tenancy Act 1988",
        "section 12 of the social tenancy act 1988",
    ],
)
def test_a_law_behind_another_is_not_the_number_s(text: str) -> None:
    resolver = CitationResolver((law, law, "12") for law in ("Tenancy Act 1988", "Work Code"))
    (resolved,) = resolver.resolve(text)
    assert not resolved.certain


def test_a_topic_behind_a_number_is_no_law_s_name() -> None:
    resolver = CitationResolver((law, law, "12") for law in ("Tenancy Act", "Work Code"))
    for text in (
        "Does article 12 apply to the Work Code?",
        "Tenancy Act, art. 12 versus Work Code",
    ):
        (resolved,) = resolver.resolve(text)
        assert resolved.certain, text


def test_german_nouns_in_front_are_no_part_of_a_name(resolver: CitationResolver) -> None:
    for text in ("Kündigung BGB § 12", "Mieter Kündigung Bürgerliches Gesetzbuch § 12"):
        (resolved,) = resolver.resolve(text)
        assert (resolved.ids, resolved.certain) == ((CIVIL,), True)


def test_a_longer_name_is_not_named_anywhere() -> None:
    names = LawNames([HOUSING, WORK])
    assert names.anywhere("Does the Social Housing Code, as the Work Code, allow it?") == {WORK}
    assert names.anywhere("Does the Aldermere Housing Code allow it?") == {HOUSING}
