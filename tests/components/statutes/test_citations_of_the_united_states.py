"""Citations of American law: the title or code is part of them and alone decides the law."""

import pytest
from effort import bounded_effort
from statute_tables import rows_of

from components.statutes import Article
from components.statutes.citations.finding import find_citations
from components.statutes.citations.patterns import canonical_core
from components.statutes.citations.resolver import CitationResolver
from components.statutes.citations.united_states import find_american
from components.statutes.replies.auditing import LawCollection, audit

_ROWS = rows_of("citations_of_the_united_states.jsonl")
FORMS = [row for row in _ROWS if "cited" not in row]
LISTS = [row for row in _ROWS if "cited" in row]
# Their citations resolved are rows of `resolutions.jsonl`.
ENTRIES = next(
    row["articles"] for row in rows_of("resolutions.jsonl") if row["corpus"] == "american"
)


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


@pytest.mark.parametrize("row", LISTS, ids=[row["text"] for row in LISTS])
def test_lists_and_ranges(row):
    expected = []
    for cited in row["cited"]:
        number, bracket, paragraph = cited.partition("(")
        first, _, last = number.partition("..")
        expected.append(
            (canonical_core(first), bracket + paragraph or None, last and canonical_core(last))
        )
    found = find_citations(row["text"])
    assert [(c.number, c.paragraph, c.through or "") for c in found] == expected


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
def test_verdicts(text, verdict):
    articles = {id_: Article(id_, law, number, (), "Words.") for id_, law, number in ENTRIES}
    laws = LawCollection(CitationResolver(ENTRIES), articles, lambda each: each, lambda *_: None)
    found = [each for each in audit(text, laws) if each.why != "it names no section"]
    assert [each.verdict for each in found] == [verdict]


@pytest.mark.parametrize(
    "part", ["15 U.S.C. § 1681b, ", "1-", "(a)", "Cal. Civ. Bus. Prof. ", "§ 1 z 1 of Fla. Stat. "]
)
def test_long_texts_take_no_more_than_their_share(part):
    with bounded_effort():
        list(find_american(f"15 U.S.C. § 1{part * (300_000 // len(part))}"))
