"""Indexing with a graph: base vectors once a text, a law computed only where something changed."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import torch
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
from components.models.digest import graph_model_digest, model_digest
from components.models.errors import ModelError
from components.models.graph import LegislativeGraphEncoder
from components.stores.failures import StoreError
from components.stores.sqlite import StatuteDocumentStore


def test_a_corpus_is_indexed_through_the_graph(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
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


def test_the_report_says_what_the_graph_is_made_of(index: Index, articles: list[Article]) -> None:
    report = index(articles)
    assert report.graph is not None
    assert report.graph["nodes"]["article"] == 30
    assert report.graph["nodes"]["law"] == 3
    assert "vectors of 3 laws computed through the graph; its nodes: 3 law" in str(report)
    assert "citations that lead to no article: 0" in str(report)


def test_an_unchanged_corpus_encodes_computes_and_writes_nothing(
    index: Index,
    store: StatuteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    articles: list[Article],
) -> None:
    index(articles)
    before = store.content_version()
    monkeypatch.setattr(BiEncoder, "load", None)  # not even the bi-encoder is opened
    monkeypatch.setattr(LegislativeGraphEncoder, "forward", None)
    report = index(articles)
    assert (report.encoded, report.changed, computed(report)) == (0, 0, 0)
    assert store.content_version() == before


def test_one_changed_article_encodes_one_and_computes_its_law(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles)
    encoded.clear()
    before = vectors_by_law(store)
    articles = [*articles[:9], make_article(10, text="The rent is due on Mondays."), *articles[10:]]
    report = index(articles)
    assert len(encoded) == 1
    assert encoded[0].endswith("The rent is due on Mondays.")
    assert (report.encoded, computed(report)) == (1, 1)
    assert_complete(store, write(articles), tiny_graphs["tree"])
    after = vectors_by_law(store)
    law = articles[9]["law"]
    assert {each: after[each] == before[each] for each in before} == {
        each: each != law for each in before
    }


def test_a_renamed_heading_is_encoded_with_the_articles_below_it(
    index: Index,
    store: StatuteDocumentStore,
    encoded: list[str],
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    index(articles)
    encoded.clear()
    old = articles[0]["headings"][1]
    law = articles[0]["law"]
    articles = [
        {**each, "headings": [each["headings"][0], "Chapter One"]}
        if (each["law"], each["headings"][1]) == (law, old)
        else each
        for each in articles
    ]
    below = sum(each["headings"][1] == "Chapter One" for each in articles)
    report = index(articles)
    assert len(encoded) == below + 1
    assert "Chapter One" in encoded
    assert computed(report) == 1
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_articles_in_other_places_of_the_file_are_only_moved(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles)
    articles = [{**make_article(99), "law": "Tax Code"}, *articles]
    report = index(articles)
    # The new law's article and title; its headings stand in the others too.
    assert (report.encoded, computed(report), report.changed) == (2, 1, 31)
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_texts_that_change_places_and_laws_keep_their_base_vectors(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    index(articles)
    swapped = [dict(each) for each in articles]
    for fields in ("text", "headings"):
        swapped[0][fields], swapped[1][fields] = articles[1][fields], articles[0][fields]
    swapped[4]["law"] = next(each["law"] for each in articles if each["law"] != swapped[4]["law"])
    report = index(swapped)
    assert report.encoded == 0
    assert_complete(store, write(swapped), tiny_graphs["tree"])


def test_a_law_that_the_corpus_lost_goes_with_its_base_vectors(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    index(articles)
    law = articles[0]["law"]
    left = [each for each in articles if each["law"] != law]
    report = index(left, prune=True)
    assert (report.removed_laws, report.encoded, computed(report)) == ([law], 0, 0)
    assert law not in store.publisher.law_states()
    assert_complete(store, write(left), tiny_graphs["tree"])


@pytest.fixture
def citing(articles: list[Article]) -> list[Article]:
    """Law 0's first article cites law 1's second; nothing cites law 2 or is cited by it."""
    laws = sorted({each["law"] for each in articles})
    first = next(each for each in articles if each["law"] == laws[0])
    second = [each for each in articles if each["law"] == laws[1]][1]
    text = f"As article {second['number']} of the {laws[1]} says."
    return [{**each, "text": text} if each is first else each for each in articles]


def test_with_citations_the_laws_that_see_a_change_are_computed_and_no_other(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    citing: list[Article],
) -> None:
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


def test_ids_that_change_places_take_the_vectors_of_their_places(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    # Two repealed articles of one law have one text, and different articles beside them.
    law = [place for place, each in enumerate(articles) if each["law"] == articles[0]["law"]]
    first, second = law[2], law[6]
    for place in (first, second):
        articles[place] = {**articles[place], "headings": [], "text": "(repealed)"}
    model = tiny_graphs["citing"]
    index(articles, model=str(model))
    for field in ("id", "number"):
        articles[first][field], articles[second][field] = (
            articles[second][field],
            articles[first][field],
        )
    report = index(articles, model=str(model))
    assert (report.encoded, computed(report)) == (0, 1)
    assert_complete(store, write(articles), model)


def test_a_citation_that_goes_is_seen_on_both_sides(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    citing: list[Article],
    articles: list[Article],
) -> None:
    model = tiny_graphs["citing"]
    index(citing, model=str(model))
    assert computed(index(articles, model=str(model))) == 2
    assert_complete(store, write(articles), model)


def test_a_law_in_a_file_of_its_own_is_seen_by_the_laws_that_cite_it(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    citing: list[Article],
) -> None:
    model = tiny_graphs["citing"]
    laws = sorted({each["law"] for each in citing})
    by_law = {law: [each for each in citing if each["law"] == law] for law in laws}
    # The citing law comes before the law that it cites.
    for law, seeing in zip(laws, (1, 2, 1), strict=True):
        report = index(by_law[law], model=str(model))
        assert computed(report) == seeing
    together = [each for law in laws for each in by_law[law]]
    assert_complete(store, write(together), model)
    amended = [dict(each) for each in by_law[laws[1]]]
    amended[1]["text"] = "Repealed."
    amended.insert(0, {**amended[0], "id": "new", "number": "999", "text": "A new rule."})
    report = index(amended, model=str(model))
    assert (report.encoded, computed(report), report.articles, report.laws) == (2, 2, 31, 3)
    together = [*by_law[laws[0]], *amended, *by_law[laws[2]]]
    assert_complete(store, write(together), model)


def test_a_plain_store_is_converted_with_the_laws_that_the_file_does_not_have(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    articles: list[Article],
) -> None:
    index(articles, graph=False)
    law = articles[0]["law"]
    assert computed(index([each for each in articles if each["law"] == law])) == 3
    assert_complete(store, write(articles), tiny_graphs["tree"])


def test_many_batches_give_the_vectors_of_one(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    write: Callable[[list[Article]], Path],
    citing: list[Article],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("pipelines.enriching._ARTICLES_AT_ONCE", 1)
    index(citing, model=str(tiny_graphs["citing"]))
    assert_complete(store, write(citing), tiny_graphs["citing"])


def test_a_store_goes_on_with_its_graph_unasked(
    index: Index,
    store: StatuteDocumentStore,
    tiny_graphs: dict[str, Path],
    tiny_model: Path,
    write: Callable[[list[Article]], Path],
    make_article: MakeArticle,
    articles: list[Article],
) -> None:
    index(articles)
    for number, model in ((31, None), (32, str(tiny_graphs["tree"]))):
        said: list[str] = []
        articles = [*articles, make_article(number)]
        report = index(articles, graph=False, model=model, say=said.append)
        assert (report.model, computed(report)) == (str(tiny_graphs["tree"]), 1)
        assert any("Going on with the graph network" in line for line in said)
        assert_complete(store, write(articles), tiny_graphs["tree"])
    with pytest.raises(ModelError, match=r"has no graph network. Train one.*training.graph"):
        index(articles, graph=False, model=str(tiny_model))


@pytest.mark.parametrize("model", ["other", "citing"])
def test_another_graph_over_the_same_bi_encoder_is_refused_before_encoding(
    index: Index,
    tiny_graphs: dict[str, Path],
    encoded: list[str],
    articles: list[Article],
    model: str,
) -> None:
    index(articles)
    encoded.clear()
    with pytest.raises(StoreError, match=rf"tree \(through its graph.*{model} is another"):
        index([*articles, articles[0] | {"id": "new"}], model=str(tiny_graphs[model]))
    assert encoded == []


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"model": "tiny"}, r"model: has no graph network. Train one over it \(python -m training"),
        ({"model": "none"}, r"--graph enriches.*as --model DIR"),
        ({"model": "minilm"}, "has no graph network"),
    ],
)
def test_a_model_without_a_graph_is_refused_before_anything_is_written(
    index: Index,
    store: StatuteDocumentStore,
    tiny_model: Path,
    minilm: str,
    articles: list[Article],
    options: dict[str, str],
    message: str,
) -> None:
    places = {"tiny": str(tiny_model), "minilm": minilm}
    with pytest.raises(ModelError, match=message):
        index(articles, model=places.get(options["model"], options["model"]))
    assert store.count_documents() == 0
    assert store.model is None


def test_a_network_that_gives_nan_is_refused_by_the_articles_name(
    index: Index,
    store: StatuteDocumentStore,
    monkeypatch: pytest.MonkeyPatch,
    articles: list[Article],
) -> None:
    forward = LegislativeGraphEncoder.forward

    def broken(self: LegislativeGraphEncoder, *arguments: Any) -> torch.Tensor:
        vectors = forward(self, *arguments)
        vectors[4, 2] = torch.nan
        return vectors

    monkeypatch.setattr(LegislativeGraphEncoder, "forward", broken)
    with pytest.raises(ModelError, match=r"graph network of .*tree gives NaN .* article 'a\d+' of"):
        index(articles)
    assert store.count_documents() == 0


def test_the_report_is_json(index: Index, articles: list[Article]) -> None:
    from dataclasses import asdict

    assert json.loads(json.dumps(asdict(index(articles))))["graph"]["laws_computed"] == 3
