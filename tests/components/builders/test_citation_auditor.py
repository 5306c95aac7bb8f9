"""The citations of a text, checked against the demo law: 200 constructed cases, and more."""

import json
import re
from collections import Counter
from importlib.resources import files
from random import Random

import pytest
from haystack import Document, Pipeline
from haystack.components.generators.chat import MockChatGenerator
from haystack.dataclasses import ChatMessage
from haystack.document_stores.in_memory import InMemoryDocumentStore
from reply_cases import cases

from components.builders.citation_auditor import CitationAuditor
from components.converters.articles import as_document
from components.converters.statutes import StatuteConverter
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.replies.text import article_sentences
from components.stores.sqlite import StatuteDocumentStore

DAY = "2026-11-01"
LAWS = files("pipelines") / "demo" / "articles.jsonl"


@pytest.fixture(scope="module")
def auditor(tmp_path_factory):
    store = StatuteDocumentStore(tmp_path_factory.mktemp("audit") / "law.db")
    store.write_documents(StatuteConverter().run([str(LAWS)])["documents"])
    yield CitationAuditor(store, as_of=DAY)
    store.close()


# The table: ways of citing an article {n} of a {law} for the words {w}, and what is wrong.

WAYS = cases("ways_of_citing")


def sentences(article):
    """The sentences of an article for which it can be cited."""
    text = article["text"]
    spans = article_sentences(text, "en")
    whole = [text[each.start : each.end].strip("(0123456789) ").rstrip(".") for each in spans]
    return [each for each in whole if 60 < len(each) < 300 and "Article" not in each]


def constructed_cases():
    """Two hundred texts with one citation each, from the demo law by a fixed seed."""
    random = Random(11)
    articles = [json.loads(line) for line in LAWS.read_text(encoding="utf-8").splitlines()]
    articles = [each for each in articles if sentences(each)]
    binding = [each for each in articles if not each.get("valid_to")]
    repealed = [each for each in articles if each.get("valid_to")]
    numbered = [each for each in binding if each["text"].count("\n(") == 3]
    numbered = [each for each in numbered if "\n(4)" in each["text"]]

    def case(verdict, way, article, cited=None, number=None, law=None):
        cited = cited or article
        named = law or cited["law"].removesuffix(" of Aldermere (invented)")
        words = random.choice(sentences(article))
        text = way.format(w=words, n=number or cited["number"], law=named)
        return text, verdict, cited["id"]

    def ways(count):
        return [WAYS[place % len(WAYS)] for place in range(count)]

    def elsewhere(article):
        others = [each for each in binding if each["headings"][0] != article["headings"][0]]
        return random.choice(others)

    made = [case("verified", way, random.choice(binding)) for way in ways(60)]
    for way in ways(40):
        absent = str(random.randint(61, 990))
        made.append(case("does not exist", way, random.choice(binding), number=absent))
    for _ in range(10):
        article = random.choice(numbered)
        number = f"{article['number']}({random.randint(5, 20)})"
        made.append(case("does not exist", WAYS[0], article, number=number))
    made += [case("not in force", way, random.choice(repealed)) for way in ways(20)]
    for way in ways(25):
        article = random.choice(binding)
        made.append(case("subject differs", way, article, elsewhere(article)))
    for law in cases("foreign_laws") * 4:
        made.append(case("unknown law", WAYS[0], random.choice(binding), law=law))
    doubtful = cases("ways_in_doubt")
    for way in (*doubtful, *doubtful[:12]):
        made.append(case("not checked", way, random.choice(binding)))
    return made


def test_of_200_citations_no_false_one_is_verified_and_no_true_one_doubted(auditor):
    made = constructed_cases()
    assert len(made) == 200
    passed, alarms, others = [], [], []
    for text, verdict, id_ in made:
        found = auditor.run(text)["citations"]
        assert all(each.ids in ((), (id_,)) for each in found)
        if [each.verdict for each in found] != [verdict]:
            wrong = passed if any(each.verdict == "verified" for each in found) else others
            (alarms if verdict == "verified" else wrong).append((verdict, text, found))
    assert passed == [], "false, and verified"
    assert len(alarms) <= 60 / 50, alarms
    assert others == []


def test_a_repealed_article_without_dates_is_not_verified():
    texts = {"3": "(repealed)", "4": "Barge rent is due weekly."}
    store = InMemoryDocumentStore()
    for n, (number, text) in enumerate(texts.items()):
        article = Article(number, "Barge Code", number, (), text)
        store.write_documents([as_document(article, n)])
    found = CitationAuditor(store).run("See Barge Code, art. 3, and Barge Code, art. 4.")
    first, second = found["citations"]
    assert (first.verdict, first.ids) == ("not in force", ("3",))
    assert first.why == "Barge Code, 3 is repealed"
    assert second.verdict == "verified"


@pytest.mark.slow
def test_of_60_citations_in_real_acts_no_false_one_is_verified(real_data):
    random = Random(5)
    counts: Counter[tuple[str, str]] = Counter()
    false = []
    for name, law, foreign in cases("real_acts"):
        articles = list(StatuteCorpus.read(real_data(name)))
        store = InMemoryDocumentStore()
        store.write_documents([as_document(each, n) for n, each in enumerate(articles)])
        auditor = CitationAuditor(store, as_of="any")
        numbered = re.compile(r"(?:PDPA s\.)?\w+(?:\(\d\))?")
        plain = [each for each in articles if numbered.fullmatch(each.number)]
        ways = cases("ways_of_citing_real_acts")[name[-2:]]
        kinds = [("present", law)] * 8 + [("absent", law)] * 6
        kinds += [("foreign", each) for each in foreign]
        for place, (kind, called) in enumerate(kinds):
            article = random.choice(plain)
            printed = article.number.removeprefix("PDPA s.").partition("(")[0]
            number = str(random.randint(700, 999)) if kind == "absent" else printed
            if kind == "absent" and name == "code_du_travail_fr":
                number = f"L{random.randint(9500, 9999)}-1"
            # No words of a sentence that cites.
            bare = re.sub(r"[\d().;:§]|(?i:sections?|articles?)", " ", article.text)
            words = " ".join(bare.split()[:15])
            text = ways[place % len(ways)].format(w=words, n=number, law=called)
            verdicts = [each.verdict for each in auditor.run(text)["citations"]]
            counts.update((kind, each) for each in verdicts or ["not read"])
            if kind != "present" and "verified" in verdicts:
                false.append(text)
    print(dict(counts))
    assert false == []
    assert sum(counts.values()) == 60
    assert counts["present", "verified"] >= 20
    assert counts["absent", "does not exist"] >= 16
    # At most one false alarm in fifty.
    alarms = ("does not exist", "subject differs", "not in force", "unknown law")
    assert sum(counts["present", each] for each in alarms) == 0


HOUSING, WORK = "Housing Code", "Work Code"


@pytest.mark.parametrize(("text", "verdicts"), cases("which_article_is_meant"))
def test_which_article_is_meant(auditor, text, verdicts):
    initials = {"verified": "v", "does not exist": "e", "not checked": "n", "unknown law": "u"}
    found = auditor.run(text)["citations"]
    assert " ".join(initials[each.verdict] for each in found) == verdicts
    for each in found:
        assert text[each.start : each.end].split() == each.text.split()
        assert bool(each.why) == (each.verdict != "verified")


def test_the_day_and_the_articles_given_decide(auditor):
    text = f"Article 13 of the {HOUSING}, and article 13-1 of the {HOUSING}."

    def verdicts(**options):
        return [each.verdict for each in auditor.run(text, **options)["citations"]]

    assert verdicts() == ["not in force", "verified"]
    assert verdicts(as_of="2018-06-01") == ["verified", "not in force"]
    assert verdicts(as_of="any") == ["verified", "verified"]
    given = [Document(id="housing-13", content="")]
    audited = auditor.run(text, given, as_of="any")
    assert [each.verdict for each in audited["citations"]] == ["verified", "not given"]
    assert audited["counts"] == {"verified": 1, "not given": 1, "not checked": 0}
    assert [each.id for each in audited["documents"]] == ["housing-13", "housing-13-1"]
    assert "separate document" in audited["documents"][1].content


def test_of_several_wordings_the_one_of_the_day_is_meant():
    store = InMemoryDocumentStore()
    for year, text in ((2000, "Notice is one month."), (2010, "Notice is three months.")):
        dates = {"valid_from": f"{year}-01-01"} | (
            {"valid_to": "2009-12-31"} if year < 2010 else {}
        )
        meta = {"law": "Tenancy Act", "number": "5", "language": "en", **dates}
        store.write_documents([Document(id=f"t{year}", content=text, meta=meta)])
    auditor = CitationAuditor(store, as_of="2005-05-05")
    text = "Notice is given under section 5 of the Tenancy Act."
    (citation,) = auditor.run(text)["citations"]
    assert (citation.verdict, citation.ids) == ("verified", ("t2000",))
    (citation,) = auditor.run(text, as_of="2015-05-05")["citations"]
    assert (citation.verdict, citation.ids) == ("verified", ("t2010",))


@pytest.mark.parametrize(
    ("text", "found"), cases("a_law_named_next_to_a_number_is_the_one_that_is_meant")
)
def test_a_law_named_next_to_a_number_is_the_one_that_is_meant(text, found):
    store = InMemoryDocumentStore()
    for law, names in (
        ("Schweizerisches Zivilgesetzbuch", []),
        ("REGIMEN DE BALSAS", ["Ley 20.999", "Ley de Balsas"]),
        ("Decreto legislativo 3 maggio 2031, n. 12. Codice delle zattere", []),
        ("Title 11, United States Code", []),
        ("Code des bacs", []),
    ):
        meta = {"law": law, "number": "5", "law_names": names}
        store.write_documents([Document(id=law, content="Vorrang.", meta=meta)])
    citations = CitationAuditor(store).run(text)["citations"]
    unknown = re.compile("this collection does not hold (?:the )?")
    assert [
        each.verdict + unknown.sub(": ", each.why or "") * (each.verdict == "unknown law")
        for each in citations
    ] == [each.replace("29 CFR", "Title 29, Code of Federal Regulations") for each in found]


def test_of_two_laws_of_one_name_the_one_with_the_article_is_meant():
    store = InMemoryDocumentStore()
    for law, number in (("Ferries Act", "1"), ("Ferries Act", "2"), ("Ferries Act (2031)", "1")):
        meta = {
            "law": law,
            "number": number,
            "law_id": f"act/{'1999' if law[-1] != ')' else '2031'}/3",
        }
        store.write_documents([Document(id=f"{law}, {number}", content="Fares.", meta=meta)])
    found = CitationAuditor(store).run("Sections 1 and 2 of the Ferries Act.")["citations"]
    assert [each.verdict for each in found] == ["not checked", "verified"]


def test_a_section_printed_in_parts_is_one_section():
    store = InMemoryDocumentStore()
    for part in (1, 2):
        meta = {"law": "Data Act", "number": f"s.24({part})"}
        store.write_documents([Document(id=f"d{part}", content=f"Rule {part}.", meta=meta)])
    auditor = CitationAuditor(store)
    found = auditor.run("Section 24, section 24(2) and section 25 of the Data Act.")["citations"]
    assert [(each.verdict, each.ids) for each in found] == [
        ("verified", ("d1", "d2")),
        ("verified", ("d2",)),
        ("does not exist", ()),
    ]


def test_nothing_that_looks_like_a_citation_is_left_out(auditor):
    text = (
        "Section 12 of the Housing Code, § 7 q of it. Ibara 5, art. XII-A and O. 15 r. 3 say so. "
        "See BGE 131 III 535, 512 U.S. 218, [2011] UKSC 13, Case C-212/04 and BGHZ 71, 9. "
        "The § is a sign; Pub. L. 98-7 is an act; 12 days are a term. "
        "Clause 7.3 of the lease, artículo quinto, Paragraf 9; 7:199a XWB, المادة 5."
    )
    found = auditor.run(text)["citations"]
    decisions = ("BGE 131 III 535", "512 U.S. 218", "[2011] UKSC 13", "C-212/04", "BGHZ 71, 9")
    assert [(each.text, each.verdict, each.why) for each in found] == [
        ("Section 12", "verified", ""),
        ("§ 7 q", "not checked", "§ 7 q is not read"),
        *((each, "not checked", "its form is not read") for each in ("Ibara 5", "art. XII-A")),
        ("O. 15 r. 3", "not checked", "its form is not read"),
        *((each, "not checked", "it is a decision of a court") for each in decisions),
        ("Pub. L. 98-7", "not checked", "it names no section"),
        ("Clause 7.3", "not checked", "it is of a private paper, not of a law"),
        *(
            (each, "not checked", "its form is not read")
            for each in ("artículo quinto", "Paragraf 9", "7:199a", "المادة 5")
        ),
    ]


def test_a_generators_reply_is_audited_in_a_pipeline(auditor):
    pipeline = Pipeline()
    pipeline.add_component("writer", MockChatGenerator(f"Article 99 of the {HOUSING} says so."))
    pipeline.add_component("auditor", CitationAuditor(auditor.document_store))
    pipeline.connect("writer.replies", "auditor.text")
    result = pipeline.run({"writer": {"messages": [ChatMessage.from_user("What says it?")]}})
    assert result["auditor"]["counts"] == {"does not exist": 1, "not checked": 0}


@pytest.mark.parametrize("pattern", ["Article 12 of the Housing Code. ", "art. 1, ", "§ 1\n", "“"])
def test_a_long_document_takes_seconds(auditor, pattern):
    """What is quadratic runs into the suite's limit."""
    auditor.run((pattern * 20_000)[:20_000])
