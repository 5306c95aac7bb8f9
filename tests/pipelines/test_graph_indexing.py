"""Indexing through a graph: each text encoded once, a law computed only where something changed."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from graph_stores import LAWS, Article, Index, assert_complete, computed, vectors_by_law

from components.models.biencoder import BiEncoder
from components.models.folder import graph_model_digest, model_digest
from components.models.graph import LegislativeGraphEncoder
from components.stores.database import StoreError
from pipelines.indexing import IndexReport, index_corpus


@pytest.fixture
def write(tmp_path, write_corpus) -> Callable[[list[Article]], Path]:
    return lambda articles: write_corpus(tmp_path / "articles.jsonl", articles)


@pytest.fixture
def index(tiny_graphs, store, write) -> Index:
    """Indexes these articles into the test's store through the tree's graph, unless told."""

    def run(articles: list[Article], **options: Any) -> IndexReport:
        chosen = {"model": str(tiny_graphs["tree"]), "graph": True, **options}
        return index_corpus(write(articles), str(store.path), **chosen)

    return run


def test_a_corpus_is_indexed_through_the_graph_and_only_changes_are_computed_again(
    index, store, tiny_graphs, write, encoded, make_article, articles, monkeypatch
):
    model = tiny_graphs["tree"]
    report = index(articles)
    headings = {heading for each in articles for heading in each["headings"]}
    assert (report.articles, report.laws, report.changed) == (30, 3, 30)
    assert report.encoded == 30 + 3 + len(headings)  # titles, and each heading once
    assert computed(report) == 3
    assert_complete(store, write(articles), model)
    assert store.model is not None
    assert (store.model.path, store.model.dim) == (str(model), 16)
    assert store.model.digest == graph_model_digest(model)
    assert store.model.digest != store.model.biencoder_digest == model_digest(model)
    assert store.load_blob("bm25/1.5/0.75") is not None
    # An unchanged corpus encodes, computes and writes nothing.
    before = store.content_version()
    with monkeypatch.context() as closed:
        closed.setattr(BiEncoder, "load", None)  # not even the bi-encoder is opened
        closed.setattr(LegislativeGraphEncoder, "forward", None)
        report = index(articles)
    assert (report.encoded, report.changed, computed(report)) == (0, 0, 0)
    assert store.content_version() == before
    # One changed article encodes one text and computes its law.
    encoded.clear()
    vectors = vectors_by_law(store)
    articles[9] = make_article(10, text="The rent is due on Mondays.")
    report = index(articles)
    assert [text[-27:] for text in encoded] == ["The rent is due on Mondays."]
    assert (report.encoded, computed(report)) == (1, 1)
    assert_complete(store, write(articles), model)
    after = vectors_by_law(store)
    assert [law for law in vectors if after[law] != vectors[law]] == [articles[9]["law"]]


@pytest.fixture
def citing(articles) -> list[Article]:
    """Law 0's first article cites law 1's second; nothing cites law 2 or is cited by it."""
    laws = sorted({each["law"] for each in articles})
    first = next(each for each in articles if each["law"] == laws[0])
    second = [each for each in articles if each["law"] == laws[1]][1]
    text = f"As article {second['number']} of the {laws[1]} says."
    return [{**each, "text": text} if each is first else each for each in articles]


def test_with_citations_the_laws_that_see_a_change_are_computed_and_no_other(
    index, store, tiny_graphs, write, citing
):
    model = tiny_graphs["citing"]
    report = index(citing, model=str(model))
    assert report.graph is not None
    assert report.graph["edges"]["cites"] == 1
    assert_complete(store, write(citing), model)
    laws = sorted({each["law"] for each in citing})
    places = [[place for place, each in enumerate(citing) if each["law"] == law][1] for law in laws]
    # The cited article; one of a law that nobody cites; one that the citing law does not see,
    # since it is neither cited nor one step from the cited one.
    far = next(
        place
        for place, each in enumerate(citing)
        if each["law"] == laws[1] and place > places[1] + 3 * LAWS
    )
    for place, expected in ((places[1], 2), (places[2], 1), (far, 1)):
        citing = [*citing]
        citing[place] = {**citing[place], "text": f"Rule {place} was repealed."}
        report = index(citing, model=str(model))
        assert (report.encoded, computed(report)) == (1, expected)
        assert_complete(store, write(citing), model)


@pytest.mark.parametrize("model", ["other", "citing"])
def test_another_graph_over_the_same_bi_encoder_is_refused_before_encoding(
    index, tiny_graphs, encoded, articles, model
):
    index(articles)
    encoded.clear()
    with pytest.raises(StoreError, match=rf"tree; .*{model} is another"):
        index([*articles, articles[0] | {"id": "new"}], model=str(tiny_graphs[model]))
    assert encoded == []


def test_a_plain_store_is_converted_and_only_headings_are_encoded(
    index, store, encoded, tiny_graphs, write, articles
):
    index(articles, graph=False)
    assert store.model is not None
    assert not store.model.through_graph
    keys = store.keys_of(each["id"] for each in articles)
    encoded.clear()
    report = index(articles)
    assert not any("Rule" in text for text in encoded)
    assert (report.encoded, computed(report), report.changed) == (len(encoded), 3, 30)
    assert store.model.through_graph
    assert store.keys_of(each["id"] for each in articles) == keys
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_a_break_at_any_law_leaves_whole_laws_and_loses_no_vector(
    index, store, encoded, tiny_graphs, write, articles, monkeypatch
):
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
