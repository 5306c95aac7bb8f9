import random
import threading
from collections.abc import Callable
from datetime import date

import pytest
from haystack import Document
from small_law import HOUSING, RENT, REPAIRS, WORK, document, small_law

from components.converters.articles import article_of
from components.retrievers.readable import ReadableStore
from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.cross_references import cross_references
from components.statutes.tree import ROOT
from pipelines.tree_view.neighbourhood import neighbourhood
from ui.law import reading
from ui.law.reading import Law

MakeStore = Callable[..., ReadableStore]


def with_citations(store: ReadableStore) -> Law:
    law = Law(store)
    law.read_citations(threading.Event())
    return law


def test_articles_stand_in_the_stores_order_without_their_texts(make_store: MakeStore):
    law = Law(make_store(small_law()))
    assert [each.id for each in law.articles] == ["h1", "h2", "h3", "h4", "h5", "h6", "w7"]
    assert {each.text for each in law.articles} == {""}
    assert law.articles[2].headings == RENT
    # One name in memory for all articles of a division.
    assert law.articles[0].headings is law.articles[1].headings
    assert law.articles[0].law is law.articles[5].law


def test_texts_are_read_when_they_are_asked_for(make_store: MakeStore):
    store = make_store(small_law())
    law = Law(store)
    assert [law.with_texts([3, 1])[each].text for each in (1, 3)] == ["Rule 2.", "Rule 4."]


def test_an_article_that_is_gone_since_has_no_text(make_store: MakeStore):
    law = Law(make_store(small_law()))
    law._keys[1] = 10**9
    assert law.with_texts([0, 1])[1].text == ""
    assert law.with_texts([0, 1])[0].text == "Rule 1."


def test_its_neighbourhoods_are_those_of_a_whole_corpus(make_store: MakeStore):
    documents = small_law()
    law = with_citations(make_store(documents))
    corpus = StatuteCorpus(article_of(each) for each in documents)
    for position in range(len(corpus)):
        assert law.neighbourhood(position, 10) == neighbourhood(corpus, position)


def test_citations_read_block_by_block_are_those_of_a_whole_corpus(
    make_store: MakeStore, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setattr(reading, "_BLOCK", 7)
    chance = random.Random(5)
    documents = [
        document(n, text=f"As article {chance.randint(1, 60)} and {chance.randint(1, 60)} say.")
        for n in range(1, 61)
    ]
    law = with_citations(make_store(documents))
    pairs = cross_references([article_of(each) for each in documents]).pairs
    assert law.citations is not None
    assert [
        (citing, cited) for citing in range(60) for cited in law.citations.cited_in(citing)
    ] == pairs
    assert (
        sorted((citing, cited) for cited in range(60) for citing in law.citations.citing(cited))
        == pairs
    )


def test_only_what_is_shown_of_many_siblings_comes_with_its_text(make_store: MakeStore):
    documents = [document(n, text=f"See article 50. Rule {n}.") for n in range(1, 101)]
    law = with_citations(make_store(documents))
    place = law.neighbourhood(49, 3)
    shown = ["1", "2", "3", *(str(n) for n in range(46, 55))]  # citing it, and beside it
    assert [each.number for each in place.siblings if each.text] == shown
    assert [each.id for each in place.cited_by if each.text][:3] == ["h1", "h2", "h3"]
    assert len(place.cited_by) == 99


def test_documents_without_a_law_stand_nowhere(make_store: MakeStore):
    loose = Document(id="note", content="See article 1.", meta={})
    blank = document(9, law=" ")
    law = with_citations(make_store([loose, blank, *small_law()]))
    assert [each.id for each in law.articles][:2] == ["h1", "h2"]
    assert len(law.articles) == 7


@pytest.mark.parametrize(
    "meta",
    [
        {"law": 5, "number": 7, "headings": "Book I", "language": 3, "valid_from": "soon"},
        {"law": "L", "number": None, "headings": None, "valid_to": 20200101, "source_url": 1},
        {"law": "L", "headings": ["", " ", 4, None], "valid_from": ["2020-01-01"]},
    ],
)
def test_what_other_stores_hold_breaks_nothing(make_store: MakeStore, meta: dict[str, object]):
    law = with_citations(make_store([Document(id="x", content="Article 1.", meta=meta)]))
    (article,) = law.articles
    assert (article.valid_from, article.valid_to) == (None, None)
    assert article.number
    law.neighbourhood(0, 5)


def test_a_document_becomes_its_article():
    given = document(2, valid_from="2010-01-01", valid_to="2015-12-31", source_url="https://l/2")
    assert article_of(given) == Article(
        "h2",
        HOUSING,
        "2",
        RENT,
        "Rule 2.",
        "en",
        date(2010, 1, 1),
        date(2015, 12, 31),
        "https://l/2",
    )


def test_blank_headings_are_none():
    assert article_of(document(1, ("Book I", " ", ""))).headings == ("Book I",)


def test_a_division_is_found_by_its_whole_way(make_store: MakeStore):
    law = Law(make_store(small_law()))
    first, same_heading = law.find(HOUSING, RENT), law.find(HOUSING, ("Book II", RENT[1]))
    assert first[1] == same_heading[1] == 2
    assert first[0] != same_heading[0]
    for node in (first[0], same_heading[0]):
        assert node is not None
        assert law.find(*law.way_to(node)) == (node, 2)
    assert law.way_to(ROOT) == ("", [])


def test_a_way_is_gone_as_far_as_it_leads(make_store: MakeStore):
    law = Law(make_store(small_law()))
    book, _ = law.find(HOUSING, ["Book I"])
    assert law.find(HOUSING, ["Book I", "Chapter 9", "Section 1"]) == (book, 1)
    assert law.find(HOUSING, ["Chapter 1. General"])[1] == 0
    assert law.find("No Code", ["Book I"]) == (None, 0)
    # An article's number is no division.
    assert law.find(HOUSING, [*RENT, "1"])[1] == 2


def test_the_language_of_a_division_is_that_of_its_first_article(make_store: MakeStore):
    law = Law(make_store([document(1, language="fr"), document(2, REPAIRS, law=WORK)]))
    assert law.language_of(ROOT) is None
    assert [law.language_of(law.find(name, ())[0] or 0) for name in (HOUSING, WORK)] == ["fr", "en"]


def test_the_page_of_an_article_counts_divisions_too(make_store: MakeStore):
    inner = [document(f"b{n}", (f"Book {n}",)) for n in range(3)]
    law = Law(make_store([*inner, *(document(n, ()) for n in range(10))]))
    assert law.page_of(3, 4) == 1  # three books, then the first article
    assert law.page_of(4, 4) == 2
    assert law.page_of(12, 4) == 4


def test_reading_stops_when_it_is_told_to(make_store: MakeStore):
    law = Law(make_store(small_law()))
    stop = threading.Event()
    stop.set()
    law.read_citations(stop)
    assert law.citations is None
    assert not law.unread


def test_what_is_deleted_while_it_is_read_is_left_out(make_store: MakeStore):
    store = make_store(small_law())

    class Losing:
        def __getattr__(self, name: str) -> object:
            return getattr(store, name)

        def keys_matching(self, filters: None) -> list[int]:
            return [*store.keys_matching(filters), 10**9]

    assert len(Law(Losing()).articles) == 7  # type: ignore[arg-type]
