"""Resident indexes over foreign stores: a snapshot that is read again when something changed."""

import logging
import threading
from copy import deepcopy
from pathlib import Path

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from waiting import until

from components.models.lexical_index import LexicalIndex
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.resident import StoreSnapshot, readable, reload
from components.retrievers.structure import StructureExpander
from components.stores.sqlite import StatuteDocumentStore

READERS = [CitationRetriever, StatuteBM25Retriever, StatuteEmbeddingRetriever, StructureExpander]


class Foreign(InMemoryDocumentStore):
    """A store that is asked through its filters, and counts how often."""

    def __init__(self, by_id="answers"):
        super().__init__(shared=False)
        self.by_id = by_id
        self.reads = 0
        self.looked_up = 0
        self.backwards = False
        self.on_read = lambda: None

    def filter_documents(self, filters=None):
        if filters is None:
            self.reads += 1
            self.on_read()
            return super().filter_documents()[:: -1 if self.backwards else 1]
        self.looked_up += 1
        if self.by_id == "refuses":
            raise FilterError("no such field: id")
        return [] if self.by_id == "finds nothing" else super().filter_documents(filters)


class Clock:
    """Seconds that pass only when a test says so."""

    now = 1000.0

    def __call__(self):
        return self.now


@pytest.fixture(autouse=True)
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("components.retrievers.resident.monotonic", clock)
    return clock


def article(id_, content, number, **meta):
    place = {"law": "Housing Code", "number": str(number), "position": number}
    return Document(id=id_, content=content, meta={**place, **meta}, embedding=[1.0, number])


LAW = [article("a1", "The rent.", 1), article("a2", "The roof.", 2), article("a3", "A dog.", 3)]


def overwrite(store, *documents):
    store.write_documents(list(documents), DuplicatePolicy.OVERWRITE)


def replace_article(store, id_, by):
    store.delete_documents([id_])
    store.write_documents([by])


@pytest.fixture
def foreign():
    store = Foreign()
    store.write_documents(LAW)
    return store


@pytest.fixture(params=["in memory", "foreign"])
def law(request, in_memory):
    store = in_memory([]) if request.param == "in memory" else Foreign()
    store.write_documents(deepcopy(LAW))
    return store


def words(documents):
    return [each.content for each in documents]


def neighbours(expanded):
    return [each["content"] for each in expanded["documents"][0].meta["neighbours"]]


CITED = "article 2 of the Housing Code"
WAYS = {
    "words": (StatuteBM25Retriever, lambda it: words(it.run("roof")["documents"])),
    "meaning": (StatuteEmbeddingRetriever, lambda it: words(it.run([1, 2], None, 1)["documents"])),
    "citation": (CitationRetriever, lambda it: words(it.run(CITED)["pinned"])),
    "place": (StructureExpander, lambda it: neighbours(it.run(LAW[:1]))),
}


@pytest.mark.parametrize(("reader", "found_by"), WAYS.values(), ids=WAYS)
def test_updates_and_replacements_of_a_found_article_are_seen_at_once(law, reader, found_by):
    it = reader(law)
    assert found_by(it) == ["The roof."]
    overwrite(law, article("a2", "The new roof.", 2))
    assert found_by(it) == ["The new roof."]
    replace_article(law, "a2", article("b2", "The roof and the cellar.", 2))
    assert found_by(it) == ["The roof and the cellar."]
    replace_article(law, "b2", article("b9", "Nothing of it.", 2, law="Work Code"))
    assert not {"The new roof.", "The roof and the cellar."} & set(found_by(it))


def test_citations_of_replaced_articles(law):
    citation = CitationRetriever(law)
    question = "articles 2 and 4 of the Housing Code"
    before = citation.run(question)
    assert (words(before["pinned"]), before["missing"]) == (["The roof."], ["4, Housing Code"])
    replace_article(law, "a2", article("a4", "The cellar.", 4))
    after = citation.run(question)
    assert words(after["pinned"]) == ["The cellar."]
    assert after["missing"] == ["articles 2, Housing Code"]
    law.write_documents([article("b2", "Wages.", 2, law="Work Code")])
    only = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    asked = "article 4 of the Housing Code"
    assert [each.id for each in citation.run(asked, only)["left_out"]] == ["a4"]
    replace_article(law, "a4", article("a9", "The attic.", 9))
    assert citation.run(asked, only)["left_out"] == []


def test_other_changes_are_seen_after_refresh_seconds_or_on_demand(law, clock):
    bm25, dense = StatuteBM25Retriever(law), StatuteEmbeddingRetriever(law, top_k=1)
    assert bm25.run("cellar")["documents"] == []
    assert words(dense.run([1.0, 9.0])["documents"]) == ["A dog."]
    replace_article(law, "a2", article("a9", "The cellar.", 9))
    clock.now += 59
    assert bm25.run("cellar")["documents"] == []
    clock.now += 1
    assert words(bm25.run("cellar")["documents"]) == ["The cellar."]
    assert words(dense.run([1.0, 9.0])["documents"]) == ["The cellar."]
    # A vector that changed alone.
    query = [1.0, -9.0]
    overwrite(law, Document(id="a3", content="A dog.", meta=LAW[2].meta, embedding=query))
    reload(law)
    assert words(dense.run(query)["documents"]) == ["A dog."]


def test_the_shortest_refresh_of_a_stores_readers_counts(clock):
    store = Foreign()
    slow = StatuteBM25Retriever(store, refresh_seconds=3600)
    slow.run("Words.")
    clock.now += 3599
    slow.run("Words.")
    assert store.reads == 1
    quick = CitationRetriever(store, refresh_seconds=0)
    for retriever in (slow, quick):
        before = store.reads
        retriever.run("Words.")
        assert store.reads > before


def test_indexes_are_kept_where_a_new_read_finds_nothing_new(foreign, clock):
    odd = {"share": float("nan"), "since": {"day": 1}}
    bare = [Document(id=id_, content="Bare words.", meta=dict(odd)) for id_ in ("b1", "b2")]
    foreign.write_documents(bare)
    snapshot = readable(foreign)
    bm25, dense = StatuteBM25Retriever(foreign), StatuteEmbeddingRetriever(foreign)
    citation = CitationRetriever(foreign)
    resident = [bm25._index(), dense._index(), citation._index()]
    before = [each.current(snapshot) for each in resident]
    version = snapshot.content_version()
    foreign.backwards = True  # the order of articles without a position is not content
    foreign.storage["b1"].meta["share"] = float("nan")
    clock.now += 60
    citation.run("article 77 of the Housing Code")
    assert foreign.reads == 3
    after = [each.current(snapshot) for each in resident]
    assert all(one is other for one, other in zip(before, after, strict=True))
    assert snapshot.content_version() == version


@pytest.mark.parametrize("by_id", ["refuses", "finds nothing"])
def test_a_store_that_cannot_be_asked_by_id_is_read_again_in_time(by_id, clock, caplog):
    store = Foreign(by_id)
    store.write_documents(LAW)
    bm25 = StatuteBM25Retriever(store)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            assert words(bm25.run("roof")["documents"]) == ["The roof."]
        assert (store.reads, store.looked_up) == (1, 1)
        overwrite(store, article("a2", "The new roof.", 2))
        clock.now += 60
        assert words(bm25.run("roof")["documents"]) == ["The new roof."]
    assert len([each for each in caplog.records if "refresh_seconds" in each.getMessage()]) == 1


@pytest.mark.parametrize("reader", READERS)
def test_refresh_seconds_and_the_store_are_checked(reader):
    for seconds in (-1, float("nan"), "60", None, True):
        with pytest.raises(ValueError, match=rf"{reader.__name__}\.refresh_seconds"):
            reader(Foreign(), refresh_seconds=seconds)
    for store in ("law.db", Path("law.db"), StatuteDocumentStore, None):
        with pytest.raises(TypeError, match="document_store"):
            reader(store)


def test_readers_of_one_store_share_its_snapshot(in_memory, store):
    one, other = in_memory([]), in_memory([])
    kept = readable(one)
    assert readable(one) is kept is not readable(other)
    assert readable(store) is store


def test_keys_of_a_snapshot_are_never_reused(in_memory):
    documents = [
        Document(id="a", content="old", meta={"law": "L", "number": 3}, embedding=[0.0, 0.0]),
        Document(id="b", content="old"),
        Document(id="c", content=None, meta={"law": 7}),
    ]
    store = in_memory(documents)
    snapshot = StoreSnapshot(store)
    version = snapshot.content_version()
    assert [text for _, text, _ in snapshot.texts()] == ["old", "old"]
    assert list(snapshot.entries()) == [("a", "L", "3")]
    old = snapshot.keys_of(["a", "b"])
    overwrite(store, Document(id="a", content="new"))
    assert snapshot.content_version() == version
    assert words(snapshot.fetch(old)) == ["old", "old"]
    snapshot.expire()
    assert snapshot.content_version() > version
    new = snapshot.keys_of(["a", "nowhere", "b"])
    assert not set(old) & set(new)
    assert snapshot.fetch(old) == []
    assert words(snapshot.fetch(new)) == ["new", "old"]


def test_questions_go_on_over_the_old_index_until_the_new_one_is_ready(tmp_path, monkeypatch):
    monkeypatch.setattr("components.retrievers.resident._in_background", True)
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    store.write_documents(LAW)
    retriever = StatuteBM25Retriever(store)
    assert [each.id for each in retriever.run("rent")["documents"]] == ["a1"]
    held, build = threading.Event(), LexicalIndex.build

    def build_late(*given, **options):
        assert held.wait(20)
        return build(*given, **options)

    monkeypatch.setattr(LexicalIndex, "build", build_late)
    overwrite(store, article("a3", "A dog pays no rent.", 3))
    assert [each.id for each in retriever.run("rent")["documents"]] == ["a1"]
    # An article that changed is not shown in its old wording.
    assert retriever.run("dog")["documents"] == []
    held.set()
    until(lambda: len(retriever.run("rent")["documents"]) == 2)
    store.delete_all_documents()
    until(lambda: retriever.run("rent")["documents"] == [])
    store.close()
