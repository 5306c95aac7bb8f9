"""hybrid_rerank: a ranker's model is filled in, its order is the answer, citations stay first."""

import shutil
from pathlib import Path
from typing import Any

import pytest
from haystack import Pipeline
from indexed import indexed

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import RankerSettings
from components.models.folder import QUERY_PART, RANKER_PART
from pipelines.asking import ask
from pipelines.checking import LoadingError
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

QUESTION = "Who decides on custody?"


@pytest.fixture(scope="module")
def trained(tmp_path_factory, tiny_model, tiny_ranker) -> Path:
    """A folder with "biencoder", and two that hold it and a tiny ranker over it.

    "ranker" orders by its scores alone; in "fused" the order before it decides.
    """
    folder = tmp_path_factory.mktemp("trained")
    model = BiEncoder.load(str(tiny_model), device="cpu")
    model.save(folder / "biencoder")
    tower = folder / "biencoder" / QUERY_PART
    for name, weight in (("ranker", None), ("fused", 100.0)):

        def write(part: Path, weight: float | None = weight) -> None:
            shutil.copytree(tiny_ranker, part, dirs_exist_ok=True)
            RankerSettings(fusion_weight=weight).save(part)

        model.save(folder / name, kept={QUERY_PART: tower, RANKER_PART: write})
    return folder


@pytest.fixture(scope="module")
def store(trained, make_article) -> Path:
    """Thirty articles of three laws, indexed with the bi-encoder."""
    articles = [make_article(n) for n in range(1, 31)]
    return indexed(trained, articles, str(trained / "biencoder"))


@pytest.fixture(scope="module")
def pipeline(store, trained) -> Pipeline:
    return load_pipeline("hybrid_rerank", store=store, model=trained / "ranker")


def test_the_rankers_model_is_the_stores(trained, corpus, tmp_path):
    index_corpus(corpus, tmp_path / "law.db", model=str(trained / "ranker"))
    ranker = load_pipeline("hybrid_rerank", store=tmp_path / "law.db").get_component("ranker")
    assert (ranker.model, ranker.biencoder) == (str(trained / "ranker"), None)


def test_another_cross_encoder_reads_what_the_stores_model_chooses(store, trained, tiny_ranker):
    with pytest.raises(LoadingError, match=r"ranker.model is null, .*has no ranker.*training.rank"):
        load_pipeline("hybrid_rerank", store=store)
    override = {"ranker.model": str(tiny_ranker)}
    pipeline = load_pipeline("hybrid_rerank", store=store, overrides=override)
    assert pipeline.get_component("ranker").model == str(tiny_ranker)
    assert pipeline.get_component("ranker").biencoder == str(trained / "biencoder")
    assert ask(pipeline, QUESTION)["documents"]


def test_the_rankers_order_is_the_answer(pipeline):
    documents = ask(pipeline, QUESTION, top_k=6)["documents"]
    assert [each["ranks"]["reranker"] for each in documents] == [1, 2, 3, 4, 5, 6]
    assert all({"bm25", "dense"} & set(each["ranks"]) for each in documents)
    scores = [each["score"] for each in documents]
    assert scores == sorted(scores, reverse=True)
    for each in documents:
        # Spelt letter by letter, some are two passages of what the tiny model reads; both are read.
        start, end = each["passage"]["start"], each["passage"]["end"]
        assert start == 0 < end or start < end == len(each["content"])
        assert "passages_read" not in each


def test_dense_rerank_is_the_cross_encoders_order_of_what_is_nearest_in_meaning(store, trained):
    """As published: no words, no citations, and the order before does not count."""
    nearest = load_pipeline("dense", store=store)
    question = "What does it say about gardens?"
    expected = {each["id"] for each in ask(nearest, question, top_k=5)["documents"]}
    found = [
        ask(
            load_pipeline(
                "dense_rerank",
                store=store,
                model=trained / folder,
                overrides={"ranker.candidates": 5},
            ),
            question,
            top_k=5,
        )["documents"]
        for folder in ("ranker", "fused")
    ]
    for documents in found:
        assert {each["id"] for each in documents} == expected
        assert [each["ranks"]["reranker"] for each in documents] == [1, 2, 3, 4, 5]
        assert all(set(each["ranks"]) == {"reranker"} for each in documents)
    assert [each["id"] for each in found[0]] == [each["id"] for each in found[1]]


def test_where_the_order_before_counts_the_best_score_still_decides(store, trained):
    fused = load_pipeline("hybrid_rerank", store=store, model=trained / "fused")
    hybrid = load_pipeline("hybrid", store=store)
    found = ask(fused, QUESTION, top_k=30)["documents"]
    assert [each["id"] for each in found] == [
        each["id"] for each in ask(hybrid, QUESTION, top_k=30)["documents"]
    ]
    best = max(found, key=lambda each: each["score"])
    assert best != found[0]
    answering = load_pipeline("answer", store=store, model=trained / "fused")
    answer = ask(answering, QUESTION, top_k=1)
    assert [each["id"] for each in answer["documents"]] == [found[0]["id"]]
    assert answer["answer"]["closest"]["id"] == best["id"]


def test_what_the_ranker_had_no_time_for_is_reported_and_not_taken_for_no_answer(store, trained):
    def answer(**overrides: float) -> dict[str, Any]:
        overrides = {"gate.threshold": 0.9999, **overrides}
        pipeline = load_pipeline("answer", store, model=trained / "ranker", overrides=overrides)
        return ask(pipeline, QUESTION, top_k=30)

    found = answer()
    assert found["ranking"] == {"n_candidates": 30, "n_ranked": 30}
    assert found["answer"]["state"] == "nothing found"
    hurried = answer(**{"ranker.time_budget_ms": 0.001})
    read = sum("reranker" in each["ranks"] for each in hurried["documents"])
    assert hurried["ranking"] == {"n_candidates": 30, "n_ranked": read}
    assert read < 30
    assert hurried["answer"]["state"] == "verbatim"
    closest = hurried["answer"]["closest"]
    assert closest is None or closest["unread"] > 0


def test_an_answer_quotes_the_passage_that_the_ranker_found(store, trained):
    pipeline = load_pipeline("answer", store=store, model=trained / "ranker")
    answer = ask(pipeline, QUESTION, top_k=4)
    assert answer["answer"]["state"] == "verbatim"
    assert answer["answer"]["closest"]["stage"] == "reranker"
    best = answer["documents"][0]
    (first, *_) = answer["answer"]["statements"]
    passage = best["content"][slice(*(best["passage"][side] for side in ("start", "end")))]
    assert [each["text"] for each in first["quotations"]] == [passage]
    assert [each["id"] for each in first["quotations"]] == [best["id"]]
