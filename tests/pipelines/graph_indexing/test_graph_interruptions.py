"""An indexing through a graph that breaks off loses no vector and leaves whole laws."""

import sqlite3
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_stores import (
    LAWS,
    Article,
    Index,
    MakeArticle,
    assert_complete,
    computed,
    vectors_by_law,
)

from components.models.biencoder import BiEncoder
from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore


def test_a_break_at_any_law_leaves_whole_laws_and_loses_no_vector(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    publish = type(store.publisher).publish
    for survive in range(LAWS):
        left = [survive]

        def breaks(self: Any, *arguments: Any, left: list[int] = left, **options: Any) -> int:
            if not left[0]:
                raise KeyboardInterrupt
            left[0] -= 1
            return publish(self, *arguments, **options)

        store.delete_all_documents()
        with monkeypatch.context() as broken:
            broken.setattr(type(store.publisher), "publish", breaks)
            with pytest.raises(KeyboardInterrupt):
                index(articles)
        assert [len(each) for each in vectors_by_law(store).values()] == [10] * survive
        encoded.clear()
        report = index(articles)
        assert encoded == []
        assert computed(report) == LAWS - survive
        assert_complete(store, write(articles), tiny_graphs["tree"])


def test_a_break_while_encoding_costs_one_block(
    index: Index,
    encoded: list[str],
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipelines.encoding._BLOCK", {"cpu": 8})
    keep = type(store.journal).keep
    blocks = 2

    def breaks(self: Any, *arguments: Any) -> None:
        nonlocal blocks
        if not blocks:
            raise KeyboardInterrupt
        blocks -= 1
        keep(self, *arguments)

    with monkeypatch.context() as broken:
        broken.setattr(type(store.journal), "keep", breaks)
        with pytest.raises(KeyboardInterrupt):
            index(articles)
    assert len(encoded) == 3 * 8
    total = index(articles).encoded + 2 * 8
    assert len(encoded) == total + 8
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_an_interrupted_graph_does_not_hinder_a_plain_store(
    index: Index, store: StatuteDocumentStore, articles: list[Article], encoded: list[str]
) -> None:
    index(articles)
    store.delete_all_documents()
    encoded.clear()
    assert index(articles, graph=False).changed == 30
    assert encoded == []
    assert store.model is not None
    assert not store.model.through_graph


def test_a_journal_that_lost_a_vector_is_said(
    index: Index, store: StatuteDocumentStore, articles: list[Article], make_article: MakeArticle
) -> None:
    index(articles)
    # As another process would, that indexes another corpus into this store at the same time.
    encode = BiEncoder.encode_articles_report

    def emptied(self: BiEncoder, batch: list[str], **options: Any) -> Any:
        connection = sqlite3.connect(store.database.path)
        connection.execute("DELETE FROM journal")
        connection.commit()
        connection.close()
        return encode(self, batch, **options)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(BiEncoder, "encode_articles_report", emptied)
        with pytest.raises(StoreError, match=r"vector of .* is not in the journal.*one at a time"):
            index([*articles, make_article(31)])
    report = index([*articles, make_article(31)])
    assert report.articles == 31
