"""Citations are found before any model runs, and pinned only where there is no doubt."""

import pytest
from haystack import Document
from haystack.components.retrievers import MultiRetriever
from haystack.document_stores.types import DuplicatePolicy

from components.retrievers.citation import CitationRetriever, with_replacement
from components.statutes.question import QuestionError
from components.stores.sqlite import StatuteDocumentStore

LAWS = {"Housing Code": ["11", "12", "13"], "Work Code": ["12", "14"], "Family Code": ["12"]}
LISTS = ("pinned", "documents", "left_out", "missing", "not_followed")
BOTH = "How do article 14 of the Work Code and article 12 of the Housing Code agree?"
NOTHING = {**{name: [] for name in LISTS}, "unanswerable": False}
HOUSING = {"field": "meta.law", "operator": "==", "value": "Housing Code"}


def documents():
    made = []
    for place, (law, numbers) in enumerate(LAWS.items()):
        for row, number in enumerate(numbers):
            meta = {"law": law, "number": number, "headings": [], "position": 10 * place + row}
            id_ = f"{law.split()[0].lower()}-{number}"
            made.append(Document(id=id_, content="Words.", meta=meta))
    return made[::-1]


def articles(law, numbers):
    return [Document(id=str(n), content="x", meta={"law": law, "number": str(n)}) for n in numbers]


@pytest.fixture
def retriever(make_store):
    return CitationRetriever(make_store(documents()))


@pytest.fixture
def ours(store):
    """A retriever over our store alone."""
    store.write_documents(documents())
    return CitationRetriever(store)


def ids(documents):
    return " ".join(document.id for document in documents)


@pytest.mark.parametrize(
    ("question", "pinned", "others"),
    [
        ("art. 12 Housing Code", "housing-12", ""),
        ("Does article 12 cover deposits?", "", "housing-12 work-12 family-12"),
        # A question that is nothing but a citation pins all that it fits.
        ("art. 12", "housing-12 work-12 family-12", ""),
        ("What does article 12 say?", "housing-12 work-12 family-12", ""),
        ("Articles 11 to 13 Housing Code", "housing-11 housing-12 housing-13", ""),
        ("Do arts. 11 to 13 Housing Code bind me?", "", "housing-11 housing-12 housing-13"),
        (BOTH, "work-14 housing-12", ""),
        ("Does art. 14 Work Code agree with article 12 of the report?", "work-14", "work-12"),
        ("National Housing Code, article 12", "", "housing-12"),
        ("May I keep a dog?", "", ""),
        ("section 99 of my lease", "", ""),
    ],
)
def test_pinned_articles_lead_those_in_doubt(ours, question, pinned, others):
    found = ours.run(question)
    assert ids(found["pinned"]) == pinned
    assert ids(found["documents"]) == f"{pinned} {others}".strip()
    assert found["left_out"] == []


def test_scores_top_k_and_other_stores(retriever):
    pinned = retriever.run("art. 12 Housing Code")["pinned"]
    assert [(each.id, each.score, each.embedding) for each in pinned] == [("housing-12", 1, None)]
    question = "Does article 12 cover deposits?"
    found = retriever.run(question)["documents"]
    assert [each.score for each in found] == [pytest.approx(1 / 3)] * 3
    assert ids(retriever.run(question, top_k=2)["documents"]) == "housing-12 work-12"
    nothing = retriever.run("art. 12  Housing Code\n", top_k=0)
    assert nothing == {**NOTHING, "query": "art. 12  Housing Code"}
    assert ids(retriever.run(BOTH, top_k=1)["documents"]) == "work-14"
    several = MultiRetriever(retrievers={"citation": retriever})
    assert ids(several.run(query="art. 12 Housing Code")["documents"]) == "housing-12"
    with pytest.raises(QuestionError):
        retriever.run("  ")


@pytest.mark.parametrize(
    ("question", "missing"),
    [
        ("Article 999 Housing Code", ["Article 999, Housing Code"]),
        ("Articles 12 and 99 of the housing code", ["99, Housing Code"]),
        ("May I rely on article 12 of the Tax Code?", ["article 12, Tax Code"]),
        ("article 12 Housing Code", []),
        ("Articles 12 to 999 of the Housing Code", ["999, Housing Code"]),
        ("articles 12-60 of the Housing Code", ["60, Housing Code"]),
        ("art. 12.3 Housing Code", []),
    ],
)
def test_missing_articles_are_named_in_the_words_of_the_question(ours, question, missing):
    assert ours.run(question)["missing"] == missing


@pytest.mark.parametrize(
    ("question", "is_unanswerable"),
    [
        ("art. 99", True),
        ("What does article 99 of the Housing Code say?", True),
        ("Article 12 of the Tax Code", True),
        ("May I sublet under article 99 of the Housing Code?", False),
        ("May I keep a dog?", False),
    ],
)
def test_a_question_that_asks_only_for_what_is_not_there_has_no_answer(
    ours, question, is_unanswerable
):
    assert ours.run(question)["unanswerable"] is is_unanswerable


PARAGRAPHS = "(1) One.\n(2) Two:\n(a) first;\n(b) last.\n(3) Three.\n(12) Twelve."


@pytest.mark.parametrize(
    ("question", "passage"),
    [
        ("art. 7(3)", "(3) Three."),
        ("Does art. 7(2)(b) of the Road Act bind me?", "(2) Two:\n(a) first;\n(b) last."),
        ("art. 7(1), Road Act", "(1) One."),
        ("art. 7(12)", "(12) Twelve."),
        ("art. 7(4)", None),
        ("art. 7", None),
        ("section 8(1) Road Act", None),  # printed as an article of its own
    ],
)
def test_a_cited_paragraph_is_the_article_s_passage(store, question, passage):
    metas = [{"law": "Road Act", "number": number} for number in ("7", "8(1)")]
    store.write_documents(
        [Document(id=each["number"], content=PARAGRAPHS, meta=each) for each in metas]
    )
    (found,) = CitationRetriever(store).run(question)["documents"]
    span = found.meta.get("passage")
    assert (span and found.content[span["start"] : span["end"]].strip()) == passage


def test_a_repealed_article_names_the_one_in_its_place(store):
    road = {"law": "Road Act", "headings": ["Part 1"]}
    since = {"valid_from": "2020-07-01"}
    metas = {
        "25": {"valid_to": "2020-06-30"},
        "24": since,
        "24-1": since,
        "251": since,
        "25-1": {**since, "headings": ["Part 2"]},
        "25a": {"valid_from": "2021-01-01"},
        "25-2": since,
        "30": {"valid_to": "2020-06-30"},
        "31": since,
        "40": {"valid_to": "9999-12-31", "valid_from": "9000-01-01"},
    }
    store.write_documents(
        [
            Document(id=number, content="x", meta={**road, "number": number, **meta})
            for number, meta in metas.items()
        ]
    )
    retriever = CitationRetriever(store)
    left_out = retriever.run("articles 25, 30 and 40 of the Road Act")["left_out"]
    named = {each.id: each.meta.get("replaced_by") for each in left_out}
    place = {"id": "25-2", "law": "Road Act", "number": "25-2"}
    assert named == {"25": place, "30": None, "40": None}
    hidden = {"field": "meta.number", "operator": "!=", "value": "25-2"}
    (alone,) = retriever.run("art. 25 Road Act", filters=hidden)["left_out"]
    assert "replaced_by" not in alone.meta


def test_what_replaces_an_article_is_named_by_its_wording_in_force(store):
    part = {"law": "Road Act", "headings": ["Part 1"]}
    old, new = {"valid_to": "2010-12-31"}, {"valid_from": "2011-01-01"}
    ends, begins = {"valid_to": "2040-12-31"}, {"valid_from": "2041-01-01"}
    store.write_documents(
        [
            Document(id=id_, content=text, meta={**part, "number": number, **days})
            for id_, number, text, days in (
                ("7", "7", "(Repealed; replaced by section 12)", old),
                ("12-old", "12", "x", old),
                ("12-new", "12", "y", new),
                ("5", "5", "x", {**new, **ends}),
                ("5a", "5a", "y", begins),
            )
        ]
    )
    retriever = CitationRetriever(store)
    (repealed,) = retriever.run("section 7 Road Act")["left_out"]
    assert repealed.meta["replaced_by"]["id"] == "12-new"
    # An article that is in force today, asked for on a day when it is not any more.
    (ended,) = retriever.run("section 5 Road Act", as_of="2045-01-01")["left_out"]
    assert ended.meta["replaced_by"]["id"] == "5a"
    # The next wording of an article does not replace it.
    read = store.fetch(store.keys_of(["12-old"]))
    (earlier,) = with_replacement(store, read, retriever.current_index())
    assert "replaced_by" not in earlier.meta


def test_what_exceeds_the_limits_of_one_question_is_named(store):
    store.write_documents(articles("Long Code", range(1, 300)))
    retriever = CitationRetriever(store, top_k=300)
    found = retriever.run("articles 1 to 250 of the Long Code")
    assert (len(found["pinned"]), found["missing"]) == (200, [])
    assert found["not_followed"] == ["201–250, Long Code"]
    cited = ", ".join(f"{n} to {n + 1}" for n in range(1, 10))
    found = retriever.run(f"articles {cited} of the Long Code")
    assert found["not_followed"] == ["9 to 10, Long Code"]
    assert retriever.run("art. 1, " * 50)["not_followed"] == ["art. 1, " * 10 + "…"]
    # A number that is not read whole is all that is asked for: no other article answers.
    found = retriever.run("What does § 7 q Long Code say?")
    assert (found["not_followed"], found["unanswerable"]) == (["§ 7 q, Long Code"], True)
    assert not retriever.run("How is § 7 q Long Code read in winter?")["unanswerable"]
    # Of the articles that filters leave out, ten are named.
    other = {**HOUSING, "value": "Other"}
    found = retriever.run("Long Code articles 2 to 25", filters=other)
    assert ids(found["left_out"]) == " ".join(map(str, range(2, 12)))


@pytest.mark.parametrize(
    ("law", "question", "pinned", "left_out"),
    [
        ("Work Code", BOTH, "work-14", "housing-12"),
        ("Housing Code", "What does article 12 say?", "housing-12", ""),
        ("Tax Code", "What does article 12 say?", "", "housing-12 work-12 family-12"),
    ],
)
def test_what_filters_leave_out_is_reported(retriever, law, question, pinned, left_out):
    found = retriever.run(question, filters={**HOUSING, "value": law})
    assert found["unanswerable"] is (pinned == "")
    assert ids(found["pinned"]) == pinned
    assert ids(found["left_out"]) == left_out


def test_writes_are_followed(store, monkeypatch):
    retriever = CitationRetriever(store)
    question = "art. 12 Housing Code"
    assert store.count_documents() == 0  # which makes the file
    assert retriever.run(question)["pinned"] == []
    StatuteDocumentStore(store.path).write_documents(documents())
    assert ids(retriever.run(question)["pinned"]) == "housing-12"
    # A law is published between the search and the fetch.
    fetch, published = store.fetch, []

    def published_then_fetch(keys, scores):
        if not published:
            published.append(True)
            store.write_documents(documents(), DuplicatePolicy.OVERWRITE)
        return fetch(keys, scores)

    monkeypatch.setattr(store, "fetch", published_then_fetch)
    assert ids(retriever.run(question)["pinned"]) == "housing-12"
    store.delete_documents(["housing-12"])
    assert retriever.run(question)["pinned"] == []


@pytest.mark.parametrize(
    ("question", "only"),
    [
        ("art. 12 Housing Code", True),
        ("article 99 Housing Code", True),
        ("Please show me the full text of article 12!", True),
        ("第十二条规定什么", True),
        ("Has art. 12 Housing Code been repealed or amended?", True),
        ("L'article 12 est-il encore en vigueur, ou abrogé ?", True),
        ("Does article 12 not apply?", False),
        ("What does the Housing Code say?", False),
        ("What does article 12 say in my will?", False),
        ("What does article 11 GDPR say and what does article 12 say?", False),
    ],
)
def test_a_question_that_only_cites_is_recognised(ours, question, only):
    assert ours.is_citation(question) is only


def test_initials_and_numbers_that_are_not_text(store):
    meta = {"law": "Housing Code", "number": 15, "language": 3}
    store.write_documents(articles("Personal Data Protection Act 2012", ["24"]))
    store.write_documents([Document(id="housing-15", content="Words.", meta=meta)])
    retriever = CitationRetriever(store)
    assert retriever.is_citation("What does s 24 of the pdpa say?")
    assert ids(retriever.run("art. 15 Housing Code")["pinned"]) == "housing-15"
    with pytest.raises(QuestionError):
        retriever.is_citation(" ")
