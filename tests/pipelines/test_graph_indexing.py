"""Indexing with a graph: base vectors once a text, a law computed only where something changed."""

import json
import sqlite3
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from components.models.biencoder import BiEncoder
from components.models.digest import graph_model_digest, model_digest
from components.models.errors import ModelError
from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.models.graph_vectors import graph_for, node_texts
from components.statutes.corpus import StatuteCorpus
from components.stores.database import StoreError
from components.stores.journal import text_digest
from components.stores.sqlite import StatuteDocumentStore
from pipelines.indexing import IndexReport, index_corpus

Article = dict[str, Any]
Index = Callable[..., IndexReport]
MakeArticle = Callable[..., Article]
LAWS = 3


@pytest.fixture
def store(tmp_path: Path) -> Iterator[StatuteDocumentStore]:
    store = StatuteDocumentStore(str(tmp_path / "law.db"))
    yield store
    store.close()


@pytest.fixture
def write(
    tmp_path: Path, write_corpus: Callable[[Path, Sequence[Article]], Path]
) -> Callable[[list[Article]], Path]:
    return lambda articles: write_corpus(tmp_path / "articles.jsonl", articles)


@pytest.fixture
def index(
    tiny_graphs: dict[str, Path],
    store: StatuteDocumentStore,
    write: Callable[[list[Article]], Path],
) -> Index:
    """Indexes these articles into the test's store through the tree's graph, unless told."""

    def run(articles: list[Article], **options: Any) -> IndexReport:
        chosen = {"model": str(tiny_graphs["tree"]), "graph": True, **options}
        return index_corpus(write(articles), str(store.path), **chosen)

    return run


@pytest.fixture
def encoded(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Every text that is encoded from here on."""
    texts: list[str] = []
    encode = BiEncoder.encode_articles_report

    def watched(self: BiEncoder, batch: list[str], **options: Any) -> Any:
        texts.extend(batch)
        return encode(self, batch, **options)

    monkeypatch.setattr(BiEncoder, "encode_articles_report", watched)
    return texts


def computed(report: IndexReport) -> int:
    assert report.graph is not None
    return int(report.graph["laws_computed"])


def assert_complete(
    store: StatuteDocumentStore, source: Path, model: Path, atol: float = 2e-6
) -> None:
    """The store holds this corpus, its vectors those of one pass over the whole graph."""
    corpus = StatuteCorpus.read(source)
    network = LegislativeGraphEncoder.load(model / "graph")
    graph = graph_for(network, corpus)
    digests = [text_digest(text) for text in node_texts(graph, corpus, "headings_text")]
    base = store.journal.vectors(model_digest(model), set(digests))
    features = torch.from_numpy(np.stack([base[digest] for digest in digests]))
    with torch.no_grad():
        vectors = network(features, GraphTensors.of(graph))[graph.n_inner :]
    expected = torch.nn.functional.normalize(vectors, dim=1).numpy()
    documents = store.filter_documents()
    assert [each.id for each in documents] == corpus.ids
    found = np.array([each.embedding for each in documents], dtype=np.float32)
    np.testing.assert_allclose(found, expected, atol=atol)
    assert store.journal.known(model_digest(model)) == set(digests)  # and no more than is needed


def vectors_by_law(store: StatuteDocumentStore) -> dict[str, list[tuple[str, list[float] | None]]]:
    laws: dict[str, list[tuple[str, list[float] | None]]] = {}
    for document in store.filter_documents():
        laws.setdefault(document.meta["law"], []).append((document.id, document.embedding))
    return laws


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
    report = index(left)
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


# Stores that were there before


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
    assert index(changed).removed_laws == [law]
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


# Interruptions


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


def test_the_report_is_json(index: Index, articles: list[Article]) -> None:
    from dataclasses import asdict

    assert json.loads(json.dumps(asdict(index(articles))))["graph"]["laws_computed"] == 3
