"""Two pipelines on one question: what moved, what the stages found, how long they took."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.asking import ask
from pipelines.checking import LoadingError
from pipelines.evaluation import (
    SHOWN,
    PipelineResult,
    StageRank,
    StageRanking,
    StageRanks,
)
from pipelines.evaluation import compare as compared
from pipelines.evaluation import find as found_by
from pipelines.loading import load_pipeline
from pipelines.stages import ask_for_rankings, stages_of, time_components

QUESTION = "Who decides on custody?"


def find(pipeline: str, store: Path, **overrides: Any) -> PipelineResult:
    loaded = load_pipeline(pipeline, store=store, overrides=overrides)
    time_components(loaded)
    ask_for_rankings(loaded)
    return found_by(loaded, QUESTION)


def test_the_places_are_those_of_asking_and_every_component_is_timed(law_store):
    found = find("hybrid", law_store)
    asked = ask(load_pipeline("hybrid", store=law_store), QUESTION)["documents"]
    assert found.pipeline == "hybrid"
    assert len(asked) == SHOWN
    for article in asked:
        article.pop("passages")  # ranked behind the last list
    assert list(found.articles[:SHOWN]) == asked
    # The law has thirty articles, all within the depth: this is all that it found.
    assert (len(found.articles), found.cut) == (30, None)
    assert {time.name for time in found.times} == {"fused", "guide", "passages"}
    assert all(time.ms > 0 for time in found.times)
    assert sum(time.ms for time in found.times) + found.rest_ms == pytest.approx(found.took_ms)
    assert found.rest_ms > 0


def test_lists_that_nobody_asked_for_are_no_empty_lists(law_store):
    pipeline = load_pipeline("hybrid", store=law_store)
    stage = next(each for each in stages_of(pipeline) if each.name == "bm25")
    assert stage.ranks({}) == {}
    with pytest.raises(LoadingError, match="ask_for_rankings"):
        stage.ranks({stage.component: {"documents": []}})


def test_a_re_ranker_says_what_it_read_and_the_fusion_what_it_was_given(law_store, tiny_ranker):
    ranker = {"ranker.model": str(tiny_ranker), "ranker.candidates": 5}
    found = find("hybrid_rerank", law_store, **ranker)
    stages = {stage.name: stage for stage in found.stages}
    assert list(stages) == ["citation", "bm25", "division", "dense", "fused", "reranker"]
    first = [article["id"] for article in found.articles[:5]]
    assert stages["reranker"].ranks == {id_: rank for rank, id_ in enumerate(first, start=1)}
    assert set(first) == {id_ for id_, rank in stages["fused"].ranks.items() if rank <= 5}
    # Below the five stand those that it has not read, so that no other can have been.
    assert stages["reranker"].cut is None


def side(*ids: str, cut: int | None = None, **stages: Mapping[str, int]) -> PipelineResult:
    articles = [{"id": id_} for id_ in ids]
    told = [StageRanking(name, ranks, None) for name, ranks in stages.items()]
    return PipelineResult("some", articles, cut, told, [], 1.0)


def test_each_stage_says_what_it_did_on_each_side():
    left = side("a", bm25={"a": 3}, citation={})
    right = side("a", "b", bm25={"a": 3}, dense={"b": 2, "a": 9}, citation={"b": 1})
    facts = {id_: list(moved.facts) for id_, moved in compared(left, right).moved.items()}
    nowhere = StageRank(None, None)
    assert facts["a"] == [
        StageRanks("bm25", StageRank(3, None), StageRank(3, None)),
        StageRanks("dense", None, StageRank(9, None)),
    ]
    # A citation is told of where there is one: of others, that they are not cited is no news.
    assert facts["b"] == [
        StageRanks("bm25", nowhere, nowhere),
        StageRanks("citation", nowhere, StageRank(1, None)),
        StageRanks("dense", None, StageRank(2, None)),
    ]


@given(
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), unique=True),
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), unique=True),
)
def test_every_article_shown_moves_in_one_way(lefts, rights):
    comparison = compared(side(*lefts), side(*rights))
    shared = set(lefts[:SHOWN]) & set(rights[:SHOWN])
    assert comparison.count("same", "up", "down") == len(shared)
    assert comparison.count("gone") == len(lefts[:SHOWN]) - len(shared)
    assert comparison.count("new") == len(rights[:SHOWN]) - len(shared)
    back = compared(side(*rights), side(*lefts))
    turned = {"up": "down", "down": "up", "new": "gone", "gone": "new", "same": "same"}
    for id_, moved in comparison.moved.items():
        assert back.moved[id_].movement == turned[moved.movement]
        assert back.moved[id_].by == -moved.by
