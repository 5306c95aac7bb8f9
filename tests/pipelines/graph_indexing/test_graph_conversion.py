"""Stores that were there before are taken over by a graph, whole or not at all."""

from collections.abc import Callable
from pathlib import Path

import pytest
from graph_stores import Article, Index, MakeArticle, assert_complete, computed, vectors_by_law

from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore


def test_a_plain_store_is_converted_and_only_headings_are_encoded(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    index(articles, graph=False)
    assert store.model is not None
    assert not store.model.through_graph
    keys = store.keys_of(each["id"] for each in articles)
    encoded.clear()
    said: list[str] = []
    report = index(articles, say=said.append)
    assert any("laws get its vectors in one step" in line for line in said)
    assert not any("Rule" in text for text in encoded)
    assert (report.encoded, computed(report), report.changed) == (len(encoded), 3, 30)
    assert store.model.through_graph
    assert store.keys_of(each["id"] for each in articles) == keys
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_a_conversion_takes_a_changed_corpus_along(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles, graph=False)
    law = articles[0]["law"]
    changed = [each for each in articles if each["law"] != law]
    changed = [{**make_article(99), "law": "Tax Code"}, *changed[::-1]]
    changed[5] = {**changed[5], "law": "Tax Code"}
    assert index(changed, prune=True).removed_laws == [law]
    assert_complete(store, write(changed), tiny_graphs["tree"])


def test_a_conversion_that_breaks_off_leaves_the_plain_store(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    encoded: list[str],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    index(articles, graph=False)
    plain = vectors_by_law(store)
    recorded = store.model
    with monkeypatch.context() as broken:
        broken.setattr(
            type(store.publisher), "_check_vectors", lambda *_: (_ for _ in ()).throw(KeyError("x"))
        )
        with pytest.raises(KeyError):
            index(articles)
    assert (vectors_by_law(store), store.model) == (plain, recorded)
    encoded.clear()
    assert index(articles, graph=False).changed == 0  # and goes on as a plain store
    index(articles)
    assert not any("Rule" in text for text in encoded)
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_a_plain_store_of_another_bi_encoder_is_refused(
    index: Index, store: StatuteDocumentStore, minilm: str, articles: list[Article]
) -> None:
    index(articles[:3], graph=False, model=minilm)
    with pytest.raises(StoreError, match=r"is another \(through its graph.*name a new store"):
        index(articles[:3])
    assert store.model is not None
    assert store.model.path == minilm


def test_text_alone_can_have_a_graphs_vectors_later(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    index(articles, graph=False, model="none")
    index(articles)
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_documents_of_a_graph_that_were_written_over_are_put_right(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    from haystack import Document
    from haystack.document_stores.types import DuplicatePolicy

    index(articles)
    foreign = Document(
        id="a7", content="x", meta={"law": articles[6]["law"]}, embedding=[1.0] + [0.0] * 15
    )
    store.write_documents([foreign], DuplicatePolicy.OVERWRITE)
    store.delete_documents(["a8"])
    report = index(articles)
    assert (report.encoded, computed(report)) == (0, 2)
    assert_complete(store, write(articles), tiny_graphs["tree"])
