"""A citation finds its article before any model runs, and only where there is no doubt pins it."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from haystack import Document
from haystack.components.retrievers import MultiRetriever
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy

from components.retrievers.citation import CitationRetriever
from components.statutes.question import QuestionError
from components.stores.sqlite import StatuteDocumentStore

LAWS = {"Housing Code": ["11", "12", "13"], "Work Code": ["12", "14"], "Family Code": ["12"]}


def documents() -> list[Document]:
    return [
        Document(
            id=f"{law.split()[0].lower()}-{number}",
            content="Words.",
            meta={"law": law, "number": number, "headings": [], "position": 10 * place + row},
        )
        for place, (law, numbers) in enumerate(LAWS.items())
        for row, number in enumerate(numbers)
    ]


@pytest.fixture(params=["ours", "haystack's"])
def filled(
    request: pytest.FixtureRequest,
    store: StatuteDocumentStore,
    in_memory: Callable[[list[Document]], InMemoryDocumentStore],
) -> Any:
    if request.param == "haystack's":
        return in_memory(documents()[::-1])
    store.write_documents(documents()[::-1])
    return store


def ids(documents: list[Document]) -> list[str]:
    return [document.id for document in documents]


def test_a_citation_with_its_law_is_pinned(filled: Any) -> None:
    found = CitationRetriever(filled).run("art. 12 Housing Code")
    assert ids(found["pinned"]) == ["housing-12"]
    assert found["documents"] == found["pinned"]
    assert found["pinned"][0].score == 1
    assert found["pinned"][0].embedding is None


def test_a_number_of_several_laws_gives_a_list(filled: Any) -> None:
    found = CitationRetriever(filled).run("Does article 12 cover deposits?")
    assert found["pinned"] == []
    assert ids(found["documents"]) == ["housing-12", "work-12", "family-12"]
    assert [document.score for document in found["documents"]] == [pytest.approx(1 / 3)] * 3
    two = CitationRetriever(filled, top_k=2).run("Does article 12 cover deposits?")["documents"]
    assert ids(two) == ["housing-12", "work-12"]


def test_a_question_that_asks_for_nothing_but_a_citation_pins_all_that_it_fits(filled: Any) -> None:
    retriever = CitationRetriever(filled)
    for question in ("art. 12", "Article 12?", " (§ 12) ", "What does article 12 say?"):
        found = retriever.run(question)
        assert ids(found["pinned"]) == ["housing-12", "work-12", "family-12"]
        assert found["documents"] == found["pinned"]


def test_a_range_of_a_named_law_is_all_that_is_asked_for(filled: Any) -> None:
    retriever = CitationRetriever(filled)
    for question in (
        "Articles 11 to 13 Housing Code",
        "articles 11–13 of the Housing Code",
        "Housing Code, arts. 11-13",
    ):
        found = retriever.run(question)
        assert ids(found["pinned"]) == ["housing-11", "housing-12", "housing-13"]
        assert found["documents"] == found["pinned"]
    found = retriever.run("Do articles 11 to 13 of the Housing Code bind me?")
    assert found["pinned"] == []
    assert len(found["documents"]) == 3


def test_what_is_named_and_not_there_is_told_in_the_words_of_the_question(filled: Any) -> None:
    retriever = CitationRetriever(filled)
    for question, missing in (
        ("Article 999 Housing Code", ["Article 999, Housing Code"]),
        ("Articles 12 and 99 of the housing code", ["99, Housing Code"]),
        ("May I rely on article 12 of the Tax Code?", ["article 12, Tax Code"]),
        ("Does art. 99 hold, or does art. 99 not?", ["art. 99"]),
        ("article 12 Housing Code", []),
        ("section 99 of my contract", []),
        ("Articles 12 to 999 of the Housing Code", ["999, Housing Code"]),
        ("articles 12-60 of the Housing Code", ["60, Housing Code"]),
        ("articles 13 to 11 of the Housing Code", []),
        ("article 12 of the Housing Code of Norway", ["article 12, Housing Code of Norway"]),
        ("art. 12.3 Housing Code", []),
    ):
        assert retriever.run(question)["missing"] == missing


def test_what_is_too_much_for_one_question_is_named(store: StatuteDocumentStore) -> None:
    store.write_documents(
        [
            Document(id=str(n), content="x", meta={"law": "Long Code", "number": str(n)})
            for n in range(1, 300)
        ]
    )
    retriever = CitationRetriever(store, top_k=300)
    found = retriever.run("articles 1 to 250 of the Long Code")
    assert (len(found["pinned"]), found["missing"]) == (200, [])
    assert found["not_followed"] == ["201–250, Long Code"]
    cited = ", ".join(f"{n} to {n + 1}" for n in range(1, 10))
    found = retriever.run(f"articles {cited} of the Long Code")
    assert found["not_followed"] == ["9 to 10, Long Code"]
    found = retriever.run("art. 1, " * 50)
    assert found["not_followed"] == ["art. 1, " * 10 + "…"]


def test_what_is_named_and_does_not_match_is_told_apart(filled: Any) -> None:
    only = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    question = "Do article 14 of the Work Code and article 12 of the Housing Code agree?"
    found = CitationRetriever(filled).run(question, filters=only)
    assert ids(found["pinned"]) == ["work-14"]
    assert ids(found["left_out"]) == ["housing-12"]
    assert CitationRetriever(filled).run(question)["left_out"] == []


def test_citations_keep_their_order_and_a_pinned_article_is_not_listed(filled: Any) -> None:
    question = "How do article 14 of the Work Code and article 12 of the Housing Code agree?"
    retriever = CitationRetriever(filled)
    assert ids(retriever.run(question)["pinned"]) == ["work-14", "housing-12"]
    assert ids(retriever.run(question, top_k=1)["pinned"]) == ["work-14"]
    assert retriever.run(question, top_k=0) == {
        "pinned": [],
        "documents": [],
        "left_out": [],
        "missing": [],
        "not_followed": [],
    }
    assert ids(retriever.run(question)["documents"]) == ["work-14", "housing-12"]


def test_what_is_pinned_leads_what_fits_in_doubt(filled: Any) -> None:
    question = "Does article 14 of the Work Code agree with article 12 of the report?"
    found = CitationRetriever(filled).run(question)
    assert ids(found["pinned"]) == ["work-14"]
    assert ids(found["documents"]) == ["work-14", "work-12"]
    assert ids(CitationRetriever(filled, top_k=1).run(question)["documents"]) == ["work-14"]


def test_haystacks_multi_retriever_gets_what_is_cited_without_doubt(filled: Any) -> None:
    several = MultiRetriever(retrievers={"citation": CitationRetriever(filled)})
    assert ids(several.run(query="art. 12 Housing Code")["documents"]) == ["housing-12"]


def test_of_very_many_articles_that_are_left_out_ten_are_told(store: StatuteDocumentStore) -> None:
    store.write_documents(
        [
            Document(id=str(n), content="x", meta={"law": "Tax Code", "number": str(n)})
            for n in range(1, 31)
        ]
    )
    none = {"field": "meta.law", "operator": "==", "value": "Other"}
    found = CitationRetriever(store, top_k=100).run("Tax Code articles 2 to 25", filters=none)
    assert ids(found["left_out"]) == [str(n) for n in range(2, 12)]


def test_a_name_that_may_be_another_laws_pins_nothing(filled: Any) -> None:
    found = CitationRetriever(filled).run("National Housing Code, article 12")
    assert (found["pinned"], ids(found["documents"])) == ([], ["housing-12"])


def test_nothing_cited_and_nothing_known_find_nothing(filled: Any) -> None:
    retriever = CitationRetriever(filled)
    for question in ("May I keep a dog?", "section 99 of my lease", "I worked 12 hours"):
        assert retriever.run(question) == {
            "pinned": [],
            "documents": [],
            "left_out": [],
            "missing": [],
            "not_followed": [],
        }


def test_filters_hold_for_citations_too(filled: Any) -> None:
    housing = {"field": "meta.law", "operator": "==", "value": "Housing Code"}
    other = {**housing, "operator": "!="}
    retriever = CitationRetriever(filled, filters=other)
    assert retriever.run("art. 12 Housing Code")["pinned"] == []
    assert ids(retriever.run("art. 12 Housing Code", housing)["pinned"]) == ["housing-12"]
    assert ids(retriever.run("article 12")["pinned"]) == ["work-12", "family-12"]
    doubtful = retriever.run("Does article 12 cover deposits?", {})["documents"]
    assert ids(doubtful) == ["housing-12", "work-12", "family-12"]


def test_a_number_of_the_law_that_is_asked_of_leaves_no_other_law_out(filled: Any) -> None:
    housing = {"field": "meta.law", "operator": "==", "value": "Housing Code"}
    found = CitationRetriever(filled).run("What does article 12 say?", housing)
    assert ids(found["pinned"]) == ["housing-12"]
    assert found["left_out"] == []
    none = {**housing, "value": "Tax Code"}
    found = CitationRetriever(filled).run("What does article 12 say?", none)
    assert ids(found["left_out"]) == ["housing-12", "work-12", "family-12"]


def test_follows_what_others_write(store: StatuteDocumentStore) -> None:
    retriever = CitationRetriever(store)
    assert retriever.run("art. 12 Housing Code")["pinned"] == []
    StatuteDocumentStore(store.path).write_documents(documents())
    assert ids(retriever.run("art. 12 Housing Code")["pinned"]) == ["housing-12"]
    store.delete_documents(["housing-12"])
    assert retriever.run("art. 12 Housing Code")["pinned"] == []


def test_a_law_published_in_between_is_still_found(
    store: StatuteDocumentStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    law = [document for document in documents() if document.meta["law"] == "Housing Code"]
    store.write_documents(law)
    retriever = CitationRetriever(store)
    fetch, published = store.fetch, []

    def published_then_fetch(keys: Any, scores: Any) -> list[Document]:
        if not published:
            published.append(True)
            store.write_documents(law, DuplicatePolicy.OVERWRITE)
        return fetch(keys, scores)

    monkeypatch.setattr(store, "fetch", published_then_fetch)
    assert ids(retriever.run("art. 12 Housing Code")["pinned"]) == ["housing-12"]


def test_a_question_full_of_citations_is_answered(filled: Any) -> None:
    question = ("article 12, " * 900)[:9_990]
    assert len(CitationRetriever(filled).run(question)["documents"]) == 3


def test_what_is_no_question_is_refused(filled: Any) -> None:
    with pytest.raises(QuestionError):
        CitationRetriever(filled).run("  ")


@pytest.mark.parametrize(
    ("question", "only"),
    [
        ("art. 12 Housing Code", True),
        ("Article 12 of the Housing Code?", True),
        ("Housing Code, art. 12", True),
        ("§ 12", True),
        ("articles 11 to 13 Housing Code", True),
        ("article 99 Housing Code", True),
        ("articles 11 and 13 of the Housing Code", True),
        ("What does art. 12 Housing Code say?", True),
        ("Please show me the full text of article 12!", True),
        ("Que prévoit l'article 12, s'il vous plaît ?", True),
        ("Qu’est-ce que l’article 12 veut dire ?", True),
        ("Was steht in § 12?", True),
        ("¿Qué dice el artículo 12?", True),
        ("Điều 12 quy định gì?", True),
        ("第十二条规定什么", True),
        ("Is article 12 still in force?", True),
        ("Has art. 12 Housing Code been repealed or amended?", True),
        ("L'article 12 est-il encore en vigueur, ou abrogé ?", True),
        ("Gilt § 12 noch?", True),
        ("¿Sigue vigente el artículo 12?", True),
        ("Is the deposit of article 12 still valid?", False),
        ("What does art. 12 Housing Code say about deposits?", False),
        ("Does article 12 not apply?", False),
        ("What does the Housing Code say?", False),
        ("What does article 12 say in my will?", False),
        ("What does article 11 GDPR say and what does article 12 say?", False),
        ("art. 12 Housing Code deposit", False),
        ("Housing Code", False),
        ("deposit", False),
        ("of the", False),
    ],
)
def test_a_question_that_only_cites_is_told_apart(filled: Any, question: str, only: bool) -> None:
    assert CitationRetriever(filled).is_citation(question) is only


@pytest.mark.parametrize(
    ("question", "given", "left_out"),
    [
        ("art. 12 Housing Code", ["new"], []),
        ("arts. 12 and 13 of the Housing Code", ["new"], ["repealed"]),
        ("art. 13 Housing Code", [], ["repealed"]),
    ],
)
def test_an_earlier_wording_is_not_missed_where_the_present_one_is_given(
    store: StatuteDocumentStore, question: str, given: list[str], left_out: list[str]
) -> None:
    numbers = {"old": "12", "new": "12", "repealed": "13"}
    store.write_documents(
        [
            Document(
                id=id_,
                content="x",
                meta={"law": "Housing Code", "number": number, "valid_to": id_ == "new"},
            )
            for id_, number in numbers.items()
        ]
    )
    only = {"field": "meta.valid_to", "operator": "==", "value": True}
    found = CitationRetriever(store).run(question, filters=only)
    assert ids(found["documents"]) == given
    assert ids(found["left_out"]) == left_out


def test_a_law_may_be_named_by_its_initials(store: StatuteDocumentStore) -> None:
    law = "Personal Data Protection Act 2012"
    store.write_documents([Document(content="x", meta={"law": law, "number": "24"})])
    for question in ("s 24 PDPA", "What does s 24 of the pdpa say?"):
        assert CitationRetriever(store).is_citation(question)


def test_no_question_cites_nothing(filled: Any) -> None:
    with pytest.raises(QuestionError):
        CitationRetriever(filled).is_citation(" ")


def test_a_number_that_is_no_text_is_found(filled: Any) -> None:
    meta = {"law": "Housing Code", "number": 15, "language": 3}
    filled.write_documents([Document(id="housing-15", content="Words.", meta=meta)])
    retriever = CitationRetriever(filled)
    assert ids(retriever.run("art. 15 Housing Code")["pinned"]) == ["housing-15"]
