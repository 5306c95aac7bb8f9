"""A foreign store's snapshot keeps the promises that resident indexes rely on."""

from __future__ import annotations

import logging
from collections.abc import Callable
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError

from components.retrievers import snapshot as module
from components.retrievers.bm25 import StatuteBM25Retriever
from components.retrievers.citation import CitationRetriever
from components.retrievers.embedding import StatuteEmbeddingRetriever
from components.retrievers.snapshot import StoreSnapshot, readable, reload
from components.retrievers.structure import StructureExpander
from components.stores.sqlite import StatuteDocumentStore

InMemory = Callable[[list[Document]], InMemoryDocumentStore]


def test_keys_are_never_used_again(in_memory: InMemory) -> None:
    store = in_memory([Document(id="a", content="old"), Document(id="b", content="old")])
    snapshot = StoreSnapshot(store)
    version = snapshot.content_version()
    old = snapshot.keys_of(["a", "b"])
    store.write_documents([Document(id="a", content="new")], DuplicatePolicy.OVERWRITE)
    assert snapshot.content_version() == version
    assert [document.content for document in snapshot.fetch(old)] == ["old", "old"]
    snapshot.expire()
    assert snapshot.content_version() > version
    new = snapshot.keys_of(["a", "nowhere", "b"])
    assert not set(old) & set(new)
    assert snapshot.fetch(old) == []
    assert [document.content for document in snapshot.fetch(new)] == ["new", "old"]


class Foreign(InMemoryDocumentStore):
    """A store that is asked through its filters, and counts how often."""

    def __init__(self, by_id: str = "answers") -> None:
        super().__init__(shared=False)
        self.by_id = by_id
        self.reads = 0
        self.looked_up = 0
        self.backwards = False
        self.on_read: Callable[[], None] = lambda: None

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
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

    def __call__(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(module, "monotonic", clock)
    return clock


def article(id_: str, content: str, number: int, **meta: Any) -> Document:
    place = {"law": "Housing Code", "number": str(number), "position": number}
    return Document(id=id_, content=content, meta={**place, **meta}, embedding=[1.0, number])


LAW = [article("a1", "The rent.", 1), article("a2", "The roof.", 2), article("a3", "A dog.", 3)]


def overwrite(store: Any, *documents: Document) -> None:
    store.write_documents(list(documents), DuplicatePolicy.OVERWRITE)


def replace_article(store: Any, id_: str, by: Document) -> None:
    store.delete_documents([id_])
    store.write_documents([by])


@pytest.fixture(params=["in memory", "foreign"])
def law(request: pytest.FixtureRequest, in_memory: InMemory, clock: Clock) -> Any:
    store = in_memory([]) if request.param == "in memory" else Foreign()
    store.write_documents(deepcopy(LAW))
    return store


def words(documents: list[Document]) -> list[str | None]:
    return [each.content for each in documents]


def by_words(store: Any) -> Callable[[], list[str | None]]:
    retriever = StatuteBM25Retriever(store)
    return lambda: words(retriever.run("roof")["documents"])


def by_meaning(store: Any) -> Callable[[], list[str | None]]:
    retriever = StatuteEmbeddingRetriever(store, top_k=1)
    return lambda: words(retriever.run([1.0, 2.0])["documents"])


def by_citation(store: Any) -> Callable[[], list[str | None]]:
    retriever = CitationRetriever(store)
    return lambda: words(retriever.run("article 2 of the Housing Code")["pinned"])


def by_place(store: Any) -> Callable[[], list[str | None]]:
    expander = StructureExpander(store)
    return lambda: [
        each["content"] for each in expander.run(LAW[:1])["documents"][0].meta["neighbours"]
    ]


WAYS = [by_words, by_meaning, by_citation, by_place]


@pytest.mark.parametrize("way", WAYS)
def test_an_updated_article_comes_in_its_new_wording(law: Any, way: Any) -> None:
    found = way(law)
    assert found() == ["The roof."]
    for content in ("The new roof.", "The newest roof."):
        overwrite(law, article("a2", content, 2))
        assert found() == [content]


@pytest.mark.parametrize("way", WAYS)
def test_the_replacement_of_a_deleted_article_is_found_in_its_place(law: Any, way: Any) -> None:
    found = way(law)
    assert found() == ["The roof."]
    replace_article(law, "a2", article("b2", "The roof and the cellar.", 2))
    assert found() == ["The roof and the cellar."]
    replace_article(law, "b2", article("b9", "Nothing of it.", 2, law="Work Code"))
    assert not {"The roof.", "The roof and the cellar."} & set(found())


def test_metadata_that_change_in_place_are_seen(law: Any) -> None:
    bm25 = StatuteBM25Retriever(law)
    assert [each.meta["number"] for each in bm25.run("roof")["documents"]] == ["2"]
    law.storage["a2"].meta["number"] = "2a"
    assert [each.meta["number"] for each in bm25.run("roof")["documents"]] == ["2a"]


def test_a_deleted_article_is_not_pinned_and_its_replacement_not_missing(law: Any) -> None:
    citation = CitationRetriever(law)
    question = "articles 2 and 4 of the Housing Code"
    before = citation.run(question)
    assert (words(before["pinned"]), before["missing"]) == (["The roof."], ["4, Housing Code"])
    replace_article(law, "a2", article("a4", "The cellar.", 4))
    after = citation.run(question)
    assert words(after["pinned"]) == ["The cellar."]
    assert after["missing"] == ["articles 2, Housing Code"]


def test_a_replacement_is_not_reported_missing(law: Any) -> None:
    citation = CitationRetriever(law)
    for number in (4, 5):
        question = f"article {number} of the Housing Code"
        assert citation.run(question)["missing"] == [f"article {number}, Housing Code"]
        replace_article(law, f"a{number - 1}", article(f"a{number}", "Anything.", number))
        found = citation.run(question)
        assert (words(found["pinned"]), found["missing"]) == (["Anything."], [])


def test_what_is_left_out_is_checked_too(law: Any) -> None:
    law.write_documents([article("b2", "Wages.", 2, law="Work Code")])
    citation = CitationRetriever(law)
    only = {"field": "meta.law", "operator": "==", "value": "Work Code"}
    question = "article 2 of the Housing Code"
    assert [each.id for each in citation.run(question, only)["left_out"]] == ["a2"]
    replace_article(law, "a2", article("a9", "The attic.", 9))
    assert citation.run(question, only)["left_out"] == []


def test_what_no_result_shows_is_seen_after_refresh_seconds(law: Any, clock: Clock) -> None:
    bm25, dense = StatuteBM25Retriever(law), StatuteEmbeddingRetriever(law, top_k=1)
    assert bm25.run("cellar")["documents"] == []
    assert words(dense.run([1.0, 9.0])["documents"]) == ["A dog."]
    replace_article(law, "a2", article("a9", "The cellar.", 9))
    clock.now += 59
    assert bm25.run("cellar")["documents"] == []
    clock.now += 1
    assert words(bm25.run("cellar")["documents"]) == ["The cellar."]
    assert words(dense.run([1.0, 9.0])["documents"]) == ["The cellar."]


def test_vectors_that_changed_alone_are_seen_after_refresh_seconds(law: Any, clock: Clock) -> None:
    dense = StatuteEmbeddingRetriever(law, top_k=1)
    query = [1.0, -9.0]
    assert words(dense.run(query)["documents"]) == ["The rent."]
    overwrite(law, Document(id="a3", content="A dog.", meta=LAW[2].meta, embedding=query))
    clock.now += 60
    assert words(dense.run(query)["documents"]) == ["A dog."]


def test_the_shortest_time_of_a_stores_readers_counts(clock: Clock) -> None:
    store = Foreign()
    slow = StatuteBM25Retriever(store, refresh_seconds=3600)
    slow.warm_up()
    clock.now += 3599
    slow.warm_up()
    assert store.reads == 1
    quick = CitationRetriever(store, refresh_seconds=0)
    for retriever in (slow, quick):
        before = store.reads
        retriever.warm_up()
        assert store.reads > before


def test_indexes_are_kept_where_a_new_read_finds_nothing_new(clock: Clock) -> None:
    odd = {"share": float("nan"), "since": {"day": 1}}
    bare = [Document(id=id_, content="Bare words.", meta=dict(odd)) for id_ in ("b1", "b2")]
    store = Foreign()
    store.write_documents([*LAW, *bare])
    snapshot = readable(store)
    bm25, dense = StatuteBM25Retriever(store), StatuteEmbeddingRetriever(store)
    citation = CitationRetriever(store)
    resident = [bm25._index(), dense._vectors(), citation._resolver()]
    before = [each.current(snapshot) for each in resident]
    store.backwards = True  # of those without a place, too, the order is not new content
    store.storage["b1"].meta["share"] = float("nan")
    clock.now += 60
    citation.run("article 77 of the Housing Code")
    assert store.reads == 3
    after = [each.current(snapshot) for each in resident]
    assert all(one is other for (_, one), (_, other) in zip(before, after, strict=True))
    assert [version for version, _ in before] == [version for version, _ in after]


def test_questions_about_missing_articles_do_not_keep_a_slow_store_busy(clock: Clock) -> None:
    store = Foreign()
    store.write_documents(LAW)

    def slow() -> None:
        clock.now += 3

    store.on_read = slow
    citation = CitationRetriever(store, refresh_seconds=3600)
    for passed, reads in ((0, 1), (3, 2), (10, 2), (20, 3)):
        clock.now += passed
        for _ in range(3):
            citation.run("article 77 of the Housing Code")
        assert store.reads == reads


@pytest.mark.parametrize("by_id", ["refuses", "finds nothing"])
def test_a_store_that_cannot_be_asked_by_id_is_read_again_in_time(
    by_id: str, clock: Clock, caplog: pytest.LogCaptureFixture
) -> None:
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


def test_a_store_that_refuses_so_many_ids_is_not_asked_for_them_again(clock: Clock) -> None:
    store = Foreign()
    store.write_documents(LAW)
    bm25 = StatuteBM25Retriever(store)
    bm25.warm_up()
    store.by_id = "refuses"
    for _ in range(3):
        assert words(bm25.run("roof")["documents"]) == ["The roof."]
    assert store.looked_up == 2


def test_what_is_deleted_during_the_second_search_is_left_out(
    clock: Clock, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = Foreign()
    store.write_documents([*LAW, article("a4", "Another roof.", 4)])
    bm25 = StatuteBM25Retriever(store)
    bm25.warm_up()
    overwrite(store, article("a4", "Another new roof.", 4))
    fetch = StoreSnapshot.fetch

    def deleted_then_fetch(self: StoreSnapshot, *args: Any) -> list[Document]:
        if store.reads == 2:
            store.storage.pop("a2", None)
        return fetch(self, *args)

    monkeypatch.setattr(StoreSnapshot, "fetch", deleted_then_fetch)
    assert [each.id for each in bm25.run("roof")["documents"]] == ["a4"]


def test_a_writer_may_have_its_changes_seen_at_once(law: Any) -> None:
    bm25 = StatuteBM25Retriever(law)
    assert bm25.run("cellar")["documents"] == []
    replace_article(law, "a2", article("a9", "The cellar.", 9))
    reload(law)
    assert words(bm25.run("cellar")["documents"]) == ["The cellar."]


@pytest.mark.parametrize("seconds", [-1, float("nan"), "60", None, True])
@pytest.mark.parametrize(
    "retriever",
    [CitationRetriever, StatuteBM25Retriever, StatuteEmbeddingRetriever, StructureExpander],
)
def test_refresh_seconds_is_checked(retriever: Any, seconds: Any) -> None:
    with pytest.raises(ValueError, match=rf"{retriever.__name__}\.refresh_seconds"):
        retriever(Foreign(), refresh_seconds=seconds)


def test_readers_of_one_store_share_its_snapshot(
    in_memory: InMemory, store: StatuteDocumentStore
) -> None:
    one, other = in_memory([]), in_memory([])
    kept = readable(one)
    assert readable(one) is kept
    assert readable(other) is not kept
    assert readable(store) is store


def test_a_store_that_nobody_reads_needs_no_reload(in_memory: InMemory) -> None:
    reload(in_memory([]))


def test_a_vector_that_cannot_be_used_leaves_the_words_searchable(in_memory: InMemory) -> None:
    documents = [
        Document(id="a", content="roof", meta={"law": "L", "number": 3}, embedding=[0.0, 0.0]),
        Document(id="b", content=None, meta={"law": 7}),
    ]
    snapshot = StoreSnapshot(in_memory(documents))
    snapshot.content_version()
    assert [text for _, text, _ in snapshot.texts()] == ["roof"]
    assert list(snapshot.entries()) == [("a", "L", "3")]


@pytest.mark.parametrize("store", ["law.db", Path("law.db"), StatuteDocumentStore, None])
@pytest.mark.parametrize(
    "retriever",
    [CitationRetriever, StatuteBM25Retriever, StatuteEmbeddingRetriever, StructureExpander],
)
def test_what_is_no_store_is_refused_at_once(retriever: type, store: Any) -> None:
    with pytest.raises(TypeError, match=r"document_store must be .* StatuteDocumentStore\(path\)"):
        retriever(store)
