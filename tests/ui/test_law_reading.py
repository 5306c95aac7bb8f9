"""A store's law is read once, in the background, and again when it changes."""

import random
import threading
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from haystack import Document
from small_law import document, small_law

from components.converters.articles import article_of
from components.retrievers.resident import ReadableStore
from components.statutes.graph import cross_references
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore
from ui.law import Law, Places, atexit


def test_the_law_is_read_once_for_many_readers(make_store, monkeypatch):
    store = make_store(small_law())
    may, reads = threading.Event(), []
    keys = type(store).keys_matching

    def slowly(self: Any, filters: None) -> Any:
        reads.append(filters)
        may.wait(30)
        return keys(self, filters)

    monkeypatch.setattr(type(store), "keys_matching", slowly)
    places = Places(store)
    with ThreadPoolExecutor(16) as pool:
        laws = [pool.submit(places.law) for _ in range(16)]
        may.set()
        found = {id(each.result()) for each in laws}
    # The terms that a law defines are read later, by its name.
    assert len(found) == reads.count(None) == 1
    assert places.law() is places.law()


def test_a_change_of_the_content_is_read(make_store):
    store = make_store(small_law())
    places = Places(store)
    before = places.law()
    target = store if isinstance(store, StatuteDocumentStore) else store._store  # type: ignore[attr-defined]
    target.write_documents([document(8, ("Book III",), position=7)])
    after = places.law()
    assert (len(before.articles), len(after.articles)) == (7, 8)


def test_what_cannot_be_read_is_reported_and_tried_again(make_store, monkeypatch):
    store = make_store(small_law())
    places = Places(store)

    def broken(*_: object) -> None:
        raise StoreError("the file is broken")

    with monkeypatch.context() as patch:
        patch.setattr(type(store), "keys_matching", broken)
        with pytest.raises(StoreError, match="broken"):
            places.law()
    assert places.law().articles


def test_a_reading_in_progress_ends_before_the_process_does(make_store, monkeypatch):
    begun = threading.Event()

    def endless(_: object, stop: threading.Event) -> None:
        begun.set()
        stop.wait(60)

    ending: list[tuple[Any, ...]] = []
    monkeypatch.setattr("ui.law.Law.read_citations", endless)
    monkeypatch.setattr(atexit, "register", lambda *given: ending.append(given))
    store = make_store(small_law())
    Places(store).law()
    assert begun.wait(30)
    ((end, stop, thread),) = ending
    assert thread.is_alive()
    end(stop, thread)
    assert not thread.is_alive()


def with_citations(store: ReadableStore) -> Law:
    law = Law(store)
    law.read_citations(threading.Event())
    return law


def test_citations_read_block_by_block_are_those_of_a_whole_corpus(make_store, monkeypatch):
    monkeypatch.setattr("ui.law._BLOCK", 7)
    chance = random.Random(5)
    documents = [
        document(n, text=f"As article {chance.randint(1, 60)} and {chance.randint(1, 60)} say.")
        for n in range(1, 61)
    ]
    law = with_citations(make_store(documents))
    pairs = cross_references([article_of(each) for each in documents]).pairs
    assert law.citations is not None
    cited_in, citing = law.citations.cited_in, law.citations.citing
    assert [(here, cited) for here in range(60) for cited in cited_in(here)] == pairs
    assert sorted((by, here) for here in range(60) for by in citing(here)) == pairs


@pytest.mark.parametrize(
    "meta",
    [
        {"law": 5, "number": 7, "headings": "Book I", "language": 3, "valid_from": "soon"},
        {"law": "L", "number": None, "headings": None, "valid_to": 20200101, "source_url": 1},
        {"law": "L", "headings": ["", " ", 4, None], "valid_from": ["2020-01-01"]},
    ],
)
def test_what_other_stores_hold_breaks_nothing(make_store, meta):
    law = with_citations(make_store([Document(id="x", content="Article 1.", meta=meta)]))
    (article,) = law.articles
    assert (article.valid_from, article.valid_to) == (None, None)
    assert article.number
    law.neighbourhood(0, 5)
