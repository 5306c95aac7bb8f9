"""Citations of American law: the title or code is part of them and alone decides the law."""

import json
from pathlib import Path

import pytest
from effort import bounded_effort

from components.statutes import Article
from components.statutes.citations.finding import find_citations
from components.statutes.citations.patterns import canonical_core
from components.statutes.citations.resolver import CitationResolver
from components.statutes.citations.united_states import find_american
from components.statutes.replies.auditing import LawCollection, audit

_FORMS = Path(__file__).with_name("citations_of_the_united_states.jsonl")
FORMS = [json.loads(line) for line in _FORMS.read_text(encoding="utf-8").splitlines()]


@pytest.mark.parametrize("form", FORMS, ids=[form["text"] for form in FORMS])
def test_forms(form):
    for text in (form["text"], f"Does {form['text']} apply here?"):
        cited = find_citations(text)
        if "number" not in form:
            assert cited == []
            continue
        number = canonical_core(form["number"])
        read = [(c.number, c.paragraph, c.law_hint, c.through) for c in cited]
        assert read == [(number, form["paragraph"], form["law_hint"], None)]
        assert cited[0].text in form["text"]


@pytest.mark.parametrize(
    ("text", "cited"),
    [
        ("11 U.S.C. 362(a), 547(b)", ["362(a)", "547(b)"]),
        ("11 U.S.C. §§ 362, 547 and 548", ["362", "547", "548"]),
        ("Sections 3 and 5 of title 35, U.S.C., apply", ["3", "5"]),
        ("Sections 83.49 and 83.50, Florida Statutes", ["83.49", "83.50"]),
        ("18 U.S.C. § 924(c)(1)(A) and (B)", ["924(c)(1)(a)", "924(c)(1)(b)"]),
        ("15 U.S.C. § 1681b, 12 CFR 1022.40 and 29 U.S.C. § 26", ["1681b", "1022.40", "26"]),
        ("5 U.S.C. § 552, 81 Stat. 54, 410 U.S. 113", ["552"]),
        ("15 U.S.C. § 1681b and 30 days", ["1681b"]),
        ("42 U.S.C. § 1983 and section 5 of the MCA", ["1983", "5"]),
        ("5 U.S.C. §§ 551-559", ["551..559"]),
        ("15 U.S.C. §§ 1681-1681x", ["1681..1681x"]),
        ("42 U.S.C. §§ 2000e to 2000e-17", ["2000e..2000e-17"]),
        ("16 U.S.C. §§ 1531-44", ["1531..1544"]),
        ("29 C.F.R. §§ 825.100-.800", ["825.100..825.800"]),
        ("Fla. Stat. §§ 83.40-83.682", ["83.40..83.682"]),
        ("O.C.G.A. §§ 44-7-30 through 44-7-37", ["44-7-30..44-7-37"]),
        ("N.J.S.A. 46:8-19 to -26", ["46:8-19..46:8-26"]),
    ],
)
def test_lists_and_ranges(text, cited):
    expected = []
    for each in cited:
        number, bracket, paragraph = each.partition("(")
        first, _, last = number.partition("..")
        expected.append(
            (canonical_core(first), bracket + paragraph or None, last and canonical_core(last))
        )
    assert [(c.number, c.paragraph, c.through or "") for c in find_citations(text)] == expected


LAWS = {
    "Title 5, United States Code": ["101", "551", "552", "559"],
    "Title 11, United States Code": ["101", "362", "547", "548"],
    "Title 15, United States Code": ["1681b", "1681s-2"],
    "Title 29, Code of Federal Regulations": ["825.100", "825.102"],
    "Oregon Revised Statutes, Chapter 90: Residential Landlord and Tenant": ["90.100", "90.425"],
    "California Civil Code": ["101", "1950.5"],
    "California Code of Civil Procedure": ["101", "1161"],
    "Real Property Law (New York)": ["101", "235-b"],
    "Chapter 59.18 RCW, Residential Landlord-Tenant Act": ["59.18.060"],
    "Massachusetts General Laws, Chapter 186": ["14", "15"],
    "Security Deposit Return Act (765 ILCS 710)": ["1"],
    "Code of Virginia, Title 55.1": ["55.1-1226"],
    "Code of Maryland, Real Property": ["8-203"],
    "Invented Act (Public Law 118-1)": ["2", "101"],
    "Housing Code of Aldermere (invented)": ["5", "12", "101"],
}
ENTRIES = [
    (f"{law} § {number}", law, number) for law, numbers in LAWS.items() for number in numbers
]


@pytest.fixture(scope="module")
def resolver():
    return CitationResolver(ENTRIES)


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("11 U.S.C. § 362(a)", "Title 11, United States Code § 362"),
        ("11 USC 547(b)(2)", "Title 11, United States Code § 547"),
        ("15 U.S.C. § 1681s-2(b)", "Title 15, United States Code § 1681s-2"),
        ("Section 362 of Title 11, United States Code", "Title 11, United States Code § 362"),
        ("title 5, section 552(b)", "Title 5, United States Code § 552"),
        ("section 101 of title 5", "Title 5, United States Code § 101"),
        ("29 CFR 825.100", "Title 29, Code of Federal Regulations § 825.100"),
        ("ORS 90.425(6)(b)", f"{list(LAWS)[4]} § 90.425"),
        ("Cal. Civ. Code § 101", "California Civil Code § 101"),
        ("Cal. Code Civ. Proc. § 101", "California Code of Civil Procedure § 101"),
        ("N.Y. Real Prop. Law § 235-b", "Real Property Law (New York) § 235-b"),
        ("RCW 59.18.060", f"{list(LAWS)[8]} § 59.18.060"),
        ("M.G.L. c. 186, § 14", "Massachusetts General Laws, Chapter 186 § 14"),
        ("765 ILCS 710/1", "Security Deposit Return Act (765 ILCS 710) § 1"),
        ("Va. Code Ann. § 55.1-1226", "Code of Virginia, Title 55.1 § 55.1-1226"),
        ("Md. Code Ann., Real Prop. § 8-203", "Code of Maryland, Real Property § 8-203"),
        ("Pub. L. 118-1, § 101", "Invented Act (Public Law 118-1) § 101"),
    ],
)
def test_the_code_decides(resolver, text, found):
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.certain) == ((found,), True)


@pytest.mark.parametrize(
    ("text", "is_held"),
    [
        ("15 U.S.C. § 362", True),
        ("Cal. Civ. Code § 1161", True),
        ("ORS 90.999", True),
        ("29 CFR 825.999", True),
        ("ORS 12.080", False),  # of another chapter than the one held
        ("7 U.S.C. § 101", False),
        ("section 101 of title 7", False),
        ("11 CFR 100.101", False),
        ("Tex. Prop. Code § 101", False),
        ("N.Y. Gen. Bus. Law § 101", False),
        ("M.G.L. c. 93A, § 14", False),
        ("765 ILCS 705/1", False),
        ("Pub. L. 111-148, § 101", False),
        ("H.R. 12, § 101", False),
        ("Fed. R. Civ. P. 12", False),
        ("Prop. Treas. Reg. § 1.61-1", False),
        ("U.S. Const. art. V, § 1", False),
    ],
)
def test_another_law_never_has_the_section(resolver, text, is_held):
    (resolved,) = resolver.resolve(text)
    assert (resolved.ids, resolved.missing, bool(resolved.laws)) == ((), True, is_held)
    assert resolved.citation.reference == "named"


def test_a_range_and_neighbours(resolver):
    (span,) = resolver.resolve("5 U.S.C. §§ 551-559")
    assert [id_.rpartition(" ")[2] for id_ in span.ids] == ["551", "552", "559"]
    code, title = resolver.resolve("Housing Code art. 12 and 11 U.S.C. § 362")
    assert (code.ids, code.certain) == ((ENTRIES[-2][0],), True)
    assert title.laws == ("Title 11, United States Code",)


def test_a_title_by_itself_is_of_the_code_in_whose_text_it_stands(resolver):
    text = "as defined in section 101 of title 5"
    (resolved,) = resolver.resolve(text, within="Title 11, United States Code § 362")
    assert resolved.ids == ("Title 5, United States Code § 101",)
    (resolved,) = resolver.resolve(text, within=ENTRIES[-2][0])
    assert resolved.ids == (ENTRIES[-1][0],)
    (resolved,) = CitationResolver(ENTRIES[-3:]).resolve(text)  # no law is a title
    assert (resolved.ids, resolved.certain) == ((ENTRIES[-1][0],), False)


@pytest.mark.parametrize(
    ("text", "verdict"),
    [
        ("A California court applied 11 U.S.C. § 362, not 29 CFR part 825.", "verified"),
        ("Rent is due under RCW 59.18.060.", "verified"),
        ("See section 101 of title 11.", "verified"),
        ("See 5 U.S.C. §§ 551 et seq.", "not checked"),
        ("See 11 U.S.C. § 363.", "does not exist"),
        ("Under title 11, 15 U.S.C. § 362 is void.", "does not exist"),
        ("See 7 U.S.C. § 362.", "unknown law"),
        ("See Pub. L. 111-148, § 101, 124 Stat. 119.", "unknown law"),
        ("See section 101 of title 7.", "unknown law"),
        ("The Housing Code of Aldermere (invented) differs from 7 U.S.C. § 12.", "unknown law"),
    ],
)
def test_verdicts(resolver, text, verdict):
    articles = {id_: Article(id_, law, number, (), "Words.") for id_, law, number in ENTRIES}
    laws = LawCollection(resolver, articles, lambda each: each, lambda *_: None)
    found = [each for each in audit(text, laws) if each.why != "it names no section"]
    assert [each.verdict for each in found] == [verdict]


@pytest.mark.parametrize(
    "part", ["15 U.S.C. § 1681b, ", "1-", "(a)", "Cal. Civ. Bus. Prof. ", "§ 1 z 1 of Fla. Stat. "]
)
def test_long_texts_take_no_more_than_their_share(part):
    with bounded_effort():
        list(find_american(f"15 U.S.C. § 1{part * (300_000 // len(part))}"))
