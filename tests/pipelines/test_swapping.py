"""Pipelines that take each other's place: one input, one output, and what they dump."""

import json
import shutil

import pytest
from haystack import SuperComponent
from indexed import indexed

from components.models.folder import BUNDLED_MODEL
from pipelines.asking import ask
from pipelines.indexing import index_corpus
from pipelines.loading import load_pipeline

QUESTION = "Who decides on custody?"
RERANKED = {"hybrid_rerank", "answer"}
NAMES = ["lexical", "dense", "hybrid", "hybrid_rewritten", "answer_hybrid", *sorted(RERANKED)]


@pytest.mark.parametrize("name", NAMES)
def test_every_pipeline_takes_a_question_and_gives_documents(name, law_store, tiny_ranker):
    overrides = {"ranker.model": str(tiny_ranker)} if name in RERANKED else {}
    pipeline = load_pipeline(name, law_store, overrides=overrides)
    ids = [each["id"] for each in ask(pipeline, QUESTION)["documents"]]
    found = pipeline.run({"query": QUESTION})["result"]["documents"]
    assert [each.id for each in found] == ids
    assert len(ids) == 10
    # Without a mapping
    found = SuperComponent(pipeline).run(query=QUESTION)["documents"]
    assert [each.id for each in found] == ids
    assert len(ask(pipeline, QUESTION, top_k=3)["documents"]) == 3


def test_what_is_dumped_names_no_folder_of_this_machine(
    law_store, tiny_model, make_article, write_corpus, tmp_path, monkeypatch
):
    bundled = load_pipeline("dense", law_store).dumps()
    assert f"model: {BUNDLED_MODEL}" in bundled

    monkeypatch.chdir(tmp_path)
    corpus = write_corpus(tmp_path / "articles.jsonl", [make_article(n) for n in range(1, 9)])
    shutil.copytree(tiny_model, tmp_path / "models" / "mine")
    (tmp_path / "law").mkdir()
    index_corpus(corpus, tmp_path / "law" / "law.db", model="models/mine")
    dumped = load_pipeline("hybrid", store="law/law.db").dumps()
    assert str(tmp_path) not in dumped
    assert "model: ../models/mine" in dumped
    (tmp_path / "mine.yaml").write_text(dumped)
    again = load_pipeline("mine.yaml")
    assert ask(again, QUESTION)["documents"]


def test_an_index_pipeline_fills_a_store_with_the_model_that_it_has(
    tmp_path, make_article, write_corpus, tiny_model
):
    first = write_corpus(tmp_path / "first.jsonl", [make_article(1)])
    second = write_corpus(tmp_path / "second.jsonl", [make_article(2)])
    index_corpus(first, tmp_path / "law.db", model=str(tiny_model))
    pipeline = load_pipeline("index", store=tmp_path / "law.db")
    assert pipeline.run({"sources": [str(second)]})["writer"]["documents_written"] == 1
    assert json.loads(second.read_text())["id"] == "a2"


def test_a_search_is_narrowed_to_a_division_and_a_state(tmp_path, make_article):
    days = {7: {"valid_to": "2001-01-01"}, 8: {"valid_from": "2001-01-01"}}
    articles = [make_article(n, **days.get(n, {})) for n in range(1, 31)]
    pipeline = load_pipeline("lexical", indexed(tmp_path, articles))

    def found(operator, value, field="division", **options):
        filters = {"field": field, "operator": operator, "value": value}
        answer = ask(pipeline, "officer", top_k=30, filters=filters, **options)
        return sorted(int(each["number"]) for each in answer["documents"])

    headings = {n: article["headings"] for n, article in enumerate(articles, start=1)}
    in_force = [n for n in headings if n != 7]
    chapter = headings[3][1]
    assert found("==", chapter) == [n for n in in_force if chapter in headings[n]]
    assert found("!=", chapter) == [n for n in in_force if chapter not in headings[n]]
    assert found("in", [chapter, "Title I. General provisions"]) == in_force
    second = [n for n in in_force if headings[n][1].startswith("Chapter 2.")]
    assert found("starts with", "Chapter 2.") == second
    assert found("starts with", "hapter 2.") == []
    assert found("==", "repealed", "state", as_of="any") == [7]
    assert found("==", "in force", "state") == [8]
    assert found("not in", ["unknown"], "state", as_of="any") == [7, 8]
    assert 8 not in found("==", "2000-06-01", "in_force_on", as_of="any")
    assert 7 in found("==", "2000-06-01", "in_force_on", as_of="any")
