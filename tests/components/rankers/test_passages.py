"""StatutePassageRanker: the provisions of the articles found, by words and by vectors."""

import json

import pytest
from haystack import Document

from components.rankers.passages import StatutePassageRanker
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import index_corpus

EXECUTION = (
    "(1) The bailiff may take movable things of the debtor.\n"
    "(2) A car that the debtor needs for work may not be taken.\n"
    "(3) Paragraph (2) does not apply to a car that is worth more than 9,000 crowns.\n"
    "(Inserted with effect from 1 January 2021: car, work.)"
)
RENT = "The tenant pays the rent on the first day of the month."


def ranked(ranker, question="Can he take the car that I need for work?"):
    articles = [Document(id="p48", content=EXECUTION, meta={"language": "en"})]
    articles.append(Document(id="h5", content=RENT, meta={"passages": "another writer's"}))
    return ranker.run(question, articles)["documents"]


def test_words_decide_where_there_are_no_vectors():
    execution, rent = ranked(StatutePassageRanker())
    first, *others = execution.meta["passages"]
    assert (first["anchor"], first["complete"]) == ("p2", True)
    # With its exception, word for word.
    assert first["text"] == "\n".join(EXECUTION.splitlines()[1:3])
    assert EXECUTION[first["start"] : first["end"]] == EXECUTION.splitlines()[1]
    assert len(others) == 2
    scores = [each["score"] for each in (first, *others)]
    assert scores == sorted(scores, reverse=True)
    (only,) = rent.meta["passages"]
    assert (only["anchor"], only["text"]) == ("", RENT)
    assert 0 < only["score"] < first["score"] < 1


def test_a_paragraph_that_the_question_names_is_first():
    named = {"passage": {"start": 0, "end": 20}, "ranks": {"citation": 1}}
    document = Document(id="p48", content=EXECUTION, meta=named)
    (found,) = StatutePassageRanker().run("Is (1) about my car for work?", [document])["documents"]
    first = found.meta["passages"][0]
    assert (first["anchor"], first["score"]) == ("p1", 1.0)


def test_items_have_the_words_that_lead_to_them_and_what_is_left_out_is_marked():
    lead, words = "The landlord may end the lease as follows:", " ".join(["word"] * 60)
    items = [f"({n}) {words} after {days} days;" for n, days in {"a": 5, "b": 8, "c": 13}.items()]
    text = "\n".join([lead, *items])
    document = Document(id="a", content=text, meta={"language": "en"})
    (found,) = StatutePassageRanker().run("After 13 days?", [document])["documents"]
    assert found.meta["passages"][0]["text"] == f"{lead}\n[...]\n{items[2]}"


@pytest.mark.parametrize("language", ["de", "zh", "fi"])
def test_in_a_language_whose_exceptions_are_unknown_a_passage_is_the_provision(language):
    document = Document(id="a", content=EXECUTION, meta={"language": language})
    (found,) = StatutePassageRanker().run("car work", [document])["documents"]
    assert found.meta["passages"][0]["text"] == EXECUTION.splitlines()[1]


def test_an_article_without_text_has_no_passages():
    (found,) = StatutePassageRanker().run("rent", [Document(id="a", content=None)])["documents"]
    assert found.meta["passages"] == []
    assert StatutePassageRanker().run("rent", []) == {"documents": []}


def test_the_vectors_of_the_store_are_read(minilm, tmp_path):
    path = tmp_path / "law.db"
    lines = [("p48", "48", EXECUTION), ("h5", "5", RENT)]
    law = {"law": "Code", "headings": ["Execution"], "language": "en"}
    articles = [{"id": id_, "number": number, "text": text, **law} for id_, number, text in lines]
    corpus = tmp_path / "articles.jsonl"
    corpus.write_text("\n".join(map(json.dumps, articles)), encoding="utf-8")
    report = index_corpus(corpus, path, model=minilm)
    # The only provision of an article has the article's vector.
    assert (report.encoded, report.provisions) == (2, 4)
    store = StatuteDocumentStore(str(path))
    found = store.filter_documents()
    ranker = StatutePassageRanker(store, minilm, top_k=1)
    question = "May an officer seize the vehicle of somebody who commutes?"
    (by_meaning,) = ranker.run(question, found)["documents"][0].meta["passages"]
    (by_words,) = (
        StatutePassageRanker(top_k=1).run(question, found)["documents"][0].meta["passages"]
    )
    assert by_meaning["score"] > by_words["score"]
    ranker.close()
    again = index_corpus(corpus, path)
    assert (again.encoded, again.provisions) == (0, 0)


@pytest.mark.parametrize("top_k", [0, True, "3"])
def test_top_k_is_a_whole_number_from_1(top_k):
    with pytest.raises(ValueError, match=r"StatutePassageRanker\.top_k"):
        StatutePassageRanker(top_k=top_k)
