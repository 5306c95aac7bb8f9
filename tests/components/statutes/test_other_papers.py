"""A citation of another law, or of a paper that is none, gets no article of the corpus for it."""

from __future__ import annotations

import pytest

from components.statutes.citation_resolver import CitationResolver, ResolvedCitation

HOUSING, WORK = "Housing Code of Aldermere (invented)", "Work Code of Aldermere (invented)"
PDPA = "Personal Data Protection Act 2012"
BGB, STGB = "Bürgerliches Gesetzbuch (BGB)", "Strafgesetzbuch (StGB)"
COMPANIES = "Companies Act 2006"
INTERPRETATION = "最高人民法院关于适用《中华人民共和国民法典》婚姻家庭编的解释（一）"


def resolver(*laws: str) -> CitationResolver:
    """Each law has the articles 1 to 60."""
    return CitationResolver(
        (f"{law} {n}", law, str(n)) for law in laws for n in (*range(1, 61), 144, 823, 999)
    )


def certain(question: str, *laws: str) -> list[str]:
    return [each.ids[0] for each in resolver(*laws).resolve(question) if each.certain]


@pytest.mark.parametrize(
    ("law", "question"),
    [
        (COMPANIES, "Under the Companies Act 2006, section 5 of my lease is void?"),
        (PDPA, "Unlike the PDPA, article 13 of the GDPR requires a notice"),
        (HOUSING, "Besides the Housing Code, article 12 of the Rent Act applies"),
        ("Code civil", "Outre le Code civil, l'article 144 du Code judiciaire s'applique ?"),
        ("Code civil", "Selon le Code civil, l'article 5 de mon contrat est nul ?"),
        (BGB, "Neben dem BGB: § 5 des Mietvertrags"),
    ],
)
def test_what_stands_behind_of_counts_before_a_law_in_front(law: str, question: str) -> None:
    (citation,) = resolver(law).resolve(question)
    assert citation.ids == ()


@pytest.mark.parametrize(
    ("question", "id_"),
    [
        ("Housing Code, article 12 of the Code", f"{HOUSING} 12"),
        ("Housing Code, article 12 of Title 2", f"{HOUSING} 12"),
        ("Housing Code art. 12 of Aldermere", f"{HOUSING} 12"),
        ("The Housing Code, in its article 12, requires what?", f"{HOUSING} 12"),
        ("Under the Housing Code, does article 12 of the Code require notice?", f"{HOUSING} 12"),
    ],
)
def test_a_law_in_front_counts_where_nothing_else_is_named(question: str, id_: str) -> None:
    assert certain(question, HOUSING, WORK) == [id_]


@pytest.mark.parametrize(
    "question",
    [
        "Does section 13 of the Act require consent?",
        "What does section 13 of the Act mean?",
        "Is section 13 of the Act still in force?",
        "Does section 13 of the law prohibit that?",
    ],
)
def test_the_act_is_whichever_act_is_spoken_of(question: str) -> None:
    assert certain(question, PDPA) == [f"{PDPA} 13"]


def test_la_loi_before_an_inverted_verb_is_no_name() -> None:
    question = "L'article 144 du Code prévoit-il une dispense ?"
    assert certain(question, "Code civil") == ["Code civil 144"]


@pytest.mark.parametrize(
    "question",
    [
        "section 13 of the Code of Conduct",
        "s 13 of the Act 2010",
        "section 13 of the Law Society Rules",
    ],
)
def test_a_name_that_goes_on_is_another_law(question: str) -> None:
    (citation,) = resolver(PDPA).resolve(question)
    assert (citation.ids, citation.missing) == ((), True)


@pytest.mark.parametrize(
    ("law", "question"),
    [
        (BGB, "Gilt § 5 Arbeitszeitgesetz für mich?"),
        (BGB, "§ 5 Strafgesetzbuch"),
        (PDPA, "What does Article 13 Regulation (EU) 2016/679 require?"),
        (PDPA, "Art. 6 Directive 95/46/EC"),
        ("Bộ luật Dân sự", "Điều 12 Nghị quyết 42"),
        (COMPANIES, "regulation 5 of the Companies Act 2006 (Amendment) Regulations 2009"),
        (COMPANIES, "article 5 of the Companies Act 2006 (Commencement No. 5) Order 2007"),
    ],
)
def test_another_law_right_behind_the_number_is_missing(law: str, question: str) -> None:
    (citation,) = resolver(law).resolve(question)
    assert (citation.ids, citation.missing) == ((), True)


@pytest.mark.parametrize(
    ("law", "question"),
    [
        (BGB, "§ 5 Bürgerliches Gesetzbuch"),
        (PDPA, "section 13 regulation of consent"),
        ("Fair Work Act 2009 (Cth)", "Fair Work Act 2009 (Cth) s 13"),
        (COMPANIES, "Companies Act 2006 s 13"),
        (COMPANIES, "Companies Act 2006 (as amended), section 13"),
    ],
)
def test_what_only_looks_like_another_law_is_none(law: str, question: str) -> None:
    assert certain(question, law)


@pytest.mark.parametrize(
    ("law", "question"),
    [
        ("中华人民共和国民法典", "德国民法典第144条"),
        ("中华人民共和国民法典", "德国《民法典》第144条"),
        ("中华人民共和国民法典", "台湾地区民法典第144条"),
        (PDPA, "Under Thailand's PDPA, section 24, what is consent?"),
        ("Code civil (Belgique)", "art. 144 C. civ. suisse"),
        (STGB, "§ 5 StGB (Österreich)"),
    ],
)
def test_a_law_of_another_place_is_another_law(law: str, question: str) -> None:
    (citation,) = resolver(law).resolve(question)
    assert citation.ids == ()


@pytest.mark.parametrize(
    ("law", "question"),
    [
        ("中华人民共和国民法典", "中国民法典第144条"),
        ("香港特别行政区基本法", "香港特别行政区基本法第5条"),
        (f"{PDPA} (Singapore)", "Singapore's PDPA, section 24"),
        (HOUSING, "Aldermere's Housing Code, article 12"),
        ("Code civil (Belgique)", "art. 144 C. civ. belge"),
        ("Code civil (Belgique)", "art. 144 C. civ. de la famille"),
    ],
)
def test_its_own_place_may_stand_beside_a_law(law: str, question: str) -> None:
    assert certain(question, law)


@pytest.mark.parametrize(
    ("law", "question"),
    [
        (PDPA, "Section 13 of the privacy notice says that"),
        (PDPA, "section 13 of the consent form breaches the PDPA"),
        (PDPA, "Section 3 of the report"),
        ("Code civil", "l'article 5 de l'acte de base"),
        ("Code civil", "article 14 du jugement"),
        (BGB, "§ 5 des österreichischen BGB"),
        (STGB, "§ 5 schweizerisches StGB"),
    ],
)
def test_an_article_of_something_unknown_fits_in_doubt(law: str, question: str) -> None:
    (citation,) = resolver(law).resolve(question)
    assert len(citation.ids) == 1
    assert not citation.certain


@pytest.mark.parametrize(
    "question", ["section 13 of the Act", "section 13 of the PDPA", "section 13 in the main"]
)
def test_of_a_law_is_of_nothing_unknown(question: str) -> None:
    assert certain(question, PDPA) == [f"{PDPA} 13"]


def chinese(question: str) -> ResolvedCitation:
    laws = ("中华人民共和国民法典", INTERPRETATION, "中华人民共和国劳动合同法")
    (citation,) = resolver(*laws).resolve(question)
    return citation


def test_a_chinese_interpretation_of_a_law_is_another_source() -> None:
    assert chinese(f"{INTERPRETATION}第5条").ids == (f"{INTERPRETATION} 5",)
    assert chinese("民法典婚姻家庭编解释一第5条").ids == ()


def test_a_chinese_law_on_contracts_is_no_contract() -> None:
    assert chinese("合同法第52条").missing
    assert chinese("劳动合同法第39条").certain
    assert chinese("我签的合同第五条").ids == ()


def test_in_chinese_a_law_may_stand_for_the_mark_of_its_number() -> None:
    assert chinese("民法典823条").certain
    assert chinese("《劳动合同法》39条怎么规定").certain
    for nothing in ("劳动合同法共107条", "办法12条", "合同5条"):
        assert resolver("中华人民共和国劳动合同法").resolve(nothing) == []


@pytest.mark.parametrize(
    ("law", "question"),
    [
        ("Code civil", "Artikel 144 van het Strafwetboek"),
        ("Code civil", "artikel 144 van de huurovereenkomst"),
        ("Grondwet", "artikel 5 van het Wetboek van Strafrecht en de Grondwet"),
        ("Código Civil", "artículo 9 del contrato de alquiler"),
        ("Código Civil", "artículo 9 de mi contrato"),
    ],
)
def test_dutch_and_spanish_name_other_laws_and_papers_too(law: str, question: str) -> None:
    (citation,) = resolver(law).resolve(question)
    assert citation.ids == ()


@pytest.mark.parametrize(
    ("law", "question"),
    [
        ("Grondwet", "artikel 5 van de Grondwet"),
        ("Grondwet", "Wat zegt artikel 5 van de wet?"),
        ("Huisvestingswet 2014", "artikel 5 van de Huisvestingswet 2014"),
        ("Código Civil", "artículo 9 del Código Civil"),
        ("Código Civil", "¿Obliga el artículo 9 del Código Civil a indemnizar?"),
    ],
)
def test_dutch_and_spanish_name_our_law(law: str, question: str) -> None:
    assert certain(question, law) == [f"{law} {5 if 'artikel' in question else 9}"]
