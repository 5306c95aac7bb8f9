"""Which terms a law defines, where, for what scope, and which of them an article uses."""

import pytest

from components.statutes.article import Article
from components.statutes.definitions import (
    Glossary,
    Scope,
    definitions_for,
    definitions_in,
)
from components.statutes.provisions import Span

HEADINGS = ("Part 1. Letting", "Chapter 2. Deposits")
GERMAN, FRENCH = ("Kapitel 1. Besitz", "1. Begriffe"), ("Titre II : Usagers",)
CHINESE = ("第一章 总则",)


def article(text: str, language: str = "en", number: str = "2", **fields) -> Article:
    own = {"id": f"a{number}", "law": "Housing Code", "headings": HEADINGS}
    return Article(**{**own, "number": number, "text": text, "language": language, **fields})


def found(text: str, language: str = "en", **fields) -> list[str]:
    return [each.term for each in definitions_in(article(text, language, **fields))]


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("en", 'In this Code:\n(a) "rent" means a price;\n(b) "the Registry" is here.', ["rent"]),
        ("en", "“send”, in relation to a message, includes to post it.", ["send"]),
        ("en", "“a fund” and “fee” have the meanings given by section 3.", ["fund", "fee"]),
        ("en", "(2) Harm means:\n(a) blows; or\n(b) threats.", ["Harm"]),
        ("en", 'As used in this chapter:\n(1) "Tenant":\n(a) Means a person.', ["Tenant"]),
        ("en", "Glossary:\nBody (GB)\tThe board.\nUnit\tMeans a share.", ["Body", "Unit"]),
        ("fr", "« bail » : contrat de louage ;", ["bail"]),
        ("fr", "On entend par :\n1° Bail : un contrat ;\n2° Air pur, l'air.", ["Bail", "Air pur"]),
        ("fr", "On entend par lieu de travail, tout lieu où l'on travaille.", ["lieu de travail"]),
        ("de", "(1) Verbraucher im Sinne dieses Gesetzes ist jede Person.", ["Verbraucher"]),
        ("de", "Hier bezeichnet der Ausdruck:\n1. „Daten“ alle Angaben;", ["Daten"]),
        ("es", "Se entiende por expediente el conjunto de documentos.", ["expediente"]),
        ("es", "Aquí se entenderá por:\na) «casa»: todo lugar;", ["casa"]),
        ("it", 'Ai fini della presente legge per "ente" si intende ogni persona.', ["ente"]),
        ("it", "Si intende per:\na) satellite: ogni mezzo;", ["satellite"]),
        ("pt", "Nesta Lei considera-se:\nXI - ponto: local certo;", ["ponto"]),
        ("zh", "本法所称商标的使用，是指将商标用于商品。", ["商标的使用"]),
        ("zh", "用语的含义：\n“旅客”，是指人；\n（二）水污染，是指水变。", ["旅客", "水污染"]),
    ],
)  # fmt: skip
def test_each_way_of_defining_is_found(language, text, terms):
    assert found(text, language) == terms


@pytest.mark.parametrize(
    ("language", "text"),
    [
        ("en", "The court decides according to means. This means that any means do."),
        ("en", "A reference to the tenant means the one of today. “Sold” was on it."),
        ("en", "Rent:\n(a) Does not mean a deposit.\nDoes not mean a fee."),
        ("zh", "应当使用的规范用语是：请出示行驶证。"),
        ("en", "Here terms are defined:\nThe list ends.\nthe price: in crowns."),
        ("en", "The landlord states:\n(a) the price: in crowns;\n(b) the day: in figures."),
        ("fr", "Il désigne un secrétaire. « Bail » est un mot. Au sens de la loi, le bail dure."),
        ("de", "Die „Wohnung“ wird gekündigt. Im Sinne dieses Gesetzes wird gehandelt."),
        ("sw", "“nyumba” means a house."),
        (None, "“rent” means a price."),
    ],
)  # fmt: skip
def test_what_only_looks_like_a_definition_is_none(language, text):
    assert found(text, language) == []


def test_a_definition_has_its_list_and_the_place_of_its_provision():
    text = (
        "(1) No word here.\n(2) In this Code:\n(a) “harm” means —\n(i) blows; or\n(ii) threats;\n"
        "(b) “rent” means a price.\nThe price is paid."
    )
    harm, rent = definitions_in(article(text))
    assert (harm.text, harm.anchor) == ("“harm” means —\n(i) blows; or\n(ii) threats", "p2a")
    assert (rent.text, rent.anchor, rent.number) == ("“rent” means a price", "p2b", "2")
    long = definitions_in(article("“rent” means a price" + " and a price" * 100))[0]
    assert len(long.text) < 720 and long.text.endswith("[...]")


@pytest.mark.parametrize(
    ("text", "language", "scope"),
    [
        ("In this Code, “rent” means a price.", "en", Scope()),
        ("In this Chapter —\n“rent” means a price.", "en", Scope(HEADINGS)),
        ("In this Part — “fee” means a sum; “rent” means it.", "en", Scope(HEADINGS[:1])),
        ("In this section, “rent” means a price.", "en", Scope(number="2")),
        ("For the purposes of subsection (1), “rent” means a price.", "en", Scope(number="2")),
        ("In this Chapter —\n“fee” means a sum;\n“rent” means it.", "en", Scope(HEADINGS)),
        ("For the purposes of section 12, “rent” means a price.", "en", Scope(number="12")),
        ("(2) Harm means a blow.", "en", Scope(HEADINGS)),
        ("Fee means a sum.\nHarm means a blow.\nUnit means a share.", "en", Scope()),
        ("“rent” means what this Part calls so.", "en", Scope()),
        ("Besitzer im Sinne dieses Kapitels ist die Person.", "de", Scope(GERMAN[:1])),
        ("本章所称船舶，是指各类船。", "zh", Scope(CHINESE)),
        ("Au présent titre, on entend par :\n1° Usager : un tiers ;", "fr", Scope(FRENCH)),
    ],
)  # fmt: skip
def test_the_scope_is_that_of_the_words_before_the_meaning(text, language, scope):
    headings = {"de": GERMAN, "fr": FRENCH, "zh": CHINESE}.get(language, HEADINGS)
    *_, definition = definitions_in(article(text, language, headings=headings))
    assert definition.scope == scope
    assert definition.scope.name == (scope.number or [*scope.headings, ""][len(scope.headings) - 1])


DEFINING = [
    article(
        "In this Code:\n“rent” means a price;\n“week's rent” means a part;\n“party” means all.",
        number="1",
    ),
    article("In this Chapter, “rent” means the net price.", number="3"),
    article("For the purposes of section 9, “deposit” means money.", number="4"),
]
LAW = Glossary(DEFINING)


def uses(text: str, **fields) -> list[tuple[str, str]]:
    """Each term as it stands in the text, and the article that defines it."""
    read = article(text, **{"number": "9", **fields})
    return [(text[slice(*use.span)], use.definition.id) for use in LAW.uses(read)]


def test_the_longest_term_and_the_shortest_scope_win():
    text = "Two Rents, one week's rent, and parties; a rental or a deposit."
    assert uses(text) == [
        ("Rents", "a3"), ("week's rent", "a1"), ("parties", "a1"), ("deposit", "a4")
    ]  # fmt: skip
    assert uses("The rent of the deposit.", headings=HEADINGS[:1], number="8") == [("rent", "a1")]


def test_a_section_is_found_by_its_own_number_or_that_of_its_heading():
    law = Glossary([article("For the purposes of section 9, “fee” means a sum.")])
    for place in ({"number": "s.9(1)"}, {"number": "x", "headings": ("Section 9 Fees",)}):
        assert len(law.uses(article("A fee.", **place))) == 1
    assert law.uses(article("A fee.", number="s.8(1)", headings=("Section 8 Fees",))) == []


def test_a_meaning_in_another_article_is_told_from_there():
    there = article("“fee” means a sum.", number="3")
    here = article("In this Chapter, “fee” has the meaning given by section 3.", number="4")
    (use,) = Glossary([here, there]).uses(article("A fee.", number="9"))
    assert use.definition.text == "“fee” means a sum"
    # Unless that is repealed.
    (use,) = Glossary([here, there]).uses(article("A fee.", number="9"), excluded={"a3"})
    assert use.definition.id == "a4" and use.definition.scope.name == HEADINGS[1]


def test_a_term_may_end_the_text_and_follow_an_elision():
    french = article("« bail » : un contrat de louage ;\n« bail commercial » : un autre ;", "fr")
    read = article("La fin de l'année ou d'un bail", "fr", number="9")
    assert [read.text[slice(*each.span)] for each in Glossary([french]).uses(read)] == ["bail"]
    elided = article("« usager » : un tiers ;", "fr")
    read = article("Le droit de l'usager.", "fr", number="9")
    assert [read.text[slice(*each.span)] for each in Glossary([elided]).uses(read)] == ["usager"]


def test_an_article_is_not_told_what_it_defines_itself():
    assert [each.definition.term for each in LAW.uses(DEFINING[1])] == []
    assert LAW.uses(article("rent", number="9"), [Span(0, 0)]) == []


def test_employer_and_employment_are_two_words():
    glossary = Glossary([article("“employment” means work.")])
    assert glossary.uses(article("The employer.", number="5")) == []


def test_a_term_in_the_plural_is_not_its_singular():
    glossary = Glossary([article("“charges” means the cost of services; “goods” means things.")])
    assert glossary.uses(article("It is free of charge, in good faith.", number="5")) == []
    assert len(glossary.uses(article("Charges for goods.", number="5"))) == 2


def test_a_law_that_writes_its_terms_with_capitals_means_those_alone():
    text = (
        "Glossary:\nFund\tA pool of the Manager.\nManager\tThe Person of a Fund.\nPerson\tA Fund."
    )
    read = article("A fund of a Manager.", number="5")
    glossary = Glossary([article(text), read])
    assert [each.definition.term for each in glossary.uses(read)] == ["Manager"]
    lower = article("“Tenant” means one who pays.\n“Fee” means a tenant's due.")
    lower = Glossary([lower, *[article("The tenant pays.", number=str(n)) for n in range(6, 12)]])
    assert [e.definition.term for e in lower.uses(read)] == []
    assert [e.definition.term for e in lower.uses(article("a tenant", number="5"))] == ["Tenant"]


def chosen(*read: Article, **options) -> list[tuple[str, str]]:
    """Each term that goes along, and the article that uses it."""
    return [(each.term, by.id) for each, by in definitions_for(read, LAW, **options)]


def test_the_shortest_scope_goes_along_first_and_then_the_rarest_term():
    read = article("A party pays the week's rent, the rent and the deposit.", number="9")
    terms = [term for term, _ in chosen(read)]
    assert terms[:2] == ["deposit", "rent"] and {*terms[2:]} == {"week's rent", "party"}
    # What is shown already is not told again, nor what is repealed.
    assert [term for term, _ in chosen(read, DEFINING[0])] == ["deposit", "rent"]
    defined = definitions_for([read], LAW, excluded={"a3"})
    assert [each.id for each, _ in defined if each.term == "rent"] == ["a1"]


def test_only_articles_of_the_best_ones_law_are_explained_in_their_order():
    first = article("A party.", number="9")
    second = article("A deposit.", number="9", id="b9")
    other = article("Rent.", number="9", id="o9", law="Work Code")
    assert chosen(first, other, second) == [("party", "a9"), ("deposit", "b9")]
    assert chosen(first, other, article("None.", id="c9"), second) == [("party", "a9")]


def test_a_common_word_goes_along_only_with_a_question_that_uses_it():
    defining = article("“landlord” means a lessor; “tenancy” means a letting.", number="1")
    using = [article("The landlord lets.", number=str(n)) for n in range(2, 30)]
    read = article("The landlord ends the tenancy.", number="31")
    glossary = Glossary([defining, *using, read])

    def terms(question: str) -> list[str]:
        return [each.term for each, _ in definitions_for([read], glossary, question)]

    assert terms("May he end it?") == ["tenancy"]
    assert terms("May my landlords end it?") == ["tenancy", "landlord"]
