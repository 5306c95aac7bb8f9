"""Resident indexes over foreign stores: a snapshot that is read again when something changed."""

import threading
from dataclasses import replace

import numpy as np
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
from components.retrievers.resident import ResidentIndex, StoreSnapshot, readable, reload
from components.retrievers.structure import StructureExpander
from components.stores.database import StoreError
from components.stores.sqlite import StatuteDocumentStore

READERS = [CitationRetriever, StatuteBM25Retriever, StatuteEmbeddingRetriever, StructureExpander]


class Foreign(InMemoryDocumentStore):
    """A store that counts how often it is read, and may hand its documents out backwards."""

    def __init__(self):
        super().__init__(shared=False)
        self.reads = 0
        self.backwards = False

    def filter_documents(self, filters=None):
        self.reads += 1
        return super().filter_documents(filters)[:: -1 if self.backwards else 1]


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


@pytest.mark.parametrize("reader", READERS)
def test_a_store_that_is_not_there_is_refused_and_not_made(reader, tmp_path):
    path = tmp_path / "law.db"
    store = StatuteDocumentStore(path)
    with pytest.raises(StoreError, match=r"There is no store .*law\.db\. Make it with python -m"):
        reader(store).warm_up()
    assert list(tmp_path.iterdir()) == []
    store.write_documents(LAW)
    reader(store).warm_up()
    # While it is open it answers, and a store that was closed is looked for again.
    path.unlink()
    reader(store).warm_up()
    store.close()
    with pytest.raises(StoreError, match="There is no store"):
        reader(store).warm_up()


@pytest.mark.parametrize("filters", [["a"], "abc", 5])
def test_filters_that_are_no_mapping_are_refused_by_our_error(filters):
    store = Foreign()
    store.write_documents(LAW)
    for retriever, given in (
        (StatuteBM25Retriever(store), filters),
        (StatuteBM25Retriever(store, filters=filters), None),
        (StatuteBM25Retriever(store, filters={"operator": "AND", "conditions": []}), filters),
    ):
        with pytest.raises(FilterError, match="A filter has 'field', 'operator' and 'value'"):
            retriever.run("rent", filters=given)


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


def compared(field, value):
    return {"field": f"meta.{field}", "operator": "==", "value": value}


def words(documents):
    return [each.content for each in documents]


def test_changes_are_seen_after_refresh_seconds_or_on_demand(foreign, clock):
    law = foreign
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
    resident = [each._shared_index() for each in (bm25, dense, citation)]
    before = [each.current(snapshot) for each in resident]
    version = snapshot.content_version()
    foreign.backwards = True  # the order of articles without a position is not content
    foreign.storage["b1"].meta["share"] = float("nan")
    clock.now += 60
    citation.run("article 77 of the Housing Code")
    assert foreign.reads == 2
    after = [each.current(snapshot) for each in resident]
    assert all(one is other for one, other in zip(before, after, strict=True))
    assert snapshot.content_version() == version


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


def test_questions_go_on_over_the_old_index_until_the_new_one_is_ready(store, monkeypatch):
    monkeypatch.setattr("components.retrievers.resident._in_background", True)
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


def test_filters_and_days_are_never_late(store, monkeypatch):
    """A late filter would show one tenant the articles that now are another's."""
    monkeypatch.setattr("components.retrievers.resident._in_background", True)
    store.write_documents([replace(each, meta={**each.meta, "tenant": "a"}) for each in LAW])
    retriever, of_a = StatuteBM25Retriever(store), compared("tenant", "a")
    assert words(retriever.run("rent", filters=of_a)["documents"]) == ["The rent."]
    held = threading.Event()
    renew = ResidentIndex._renew

    def renew_late(*given):
        assert held.wait(20)
        renew(*given)

    monkeypatch.setattr(ResidentIndex, "_renew", renew_late)
    store.update_by_filter(compared("number", "1"), {"tenant": "b"})
    assert retriever.run("rent", filters=of_a)["documents"] == []
    assert words(retriever.run("rent", filters=compared("tenant", "b"))["documents"])
    store.update_by_filter(compared("number", "1"), {"valid_to": "2001-01-01"})
    assert retriever.run("rent")["documents"] == []
    assert words(retriever.run("rent", as_of="2000-01-01")["documents"]) == ["The rent."]
    held.set()


def test_arrays_of_a_foreign_store_stop_no_filter_that_does_not_compare_them(foreign):
    foreign.storage["a1"].meta["shape"] = np.array([1, 2])
    shape = compared("shape", "flat")
    filters = {"operator": "AND", "conditions": [compared("number", "2"), shape]}
    assert StatuteBM25Retriever(foreign).run("rent", filters=filters)["documents"] == []
    with pytest.raises(FilterError, match="shape"):
        StatuteBM25Retriever(foreign).run("rent", filters=shape)
