"""Comparing: what two pipelines found for one question, what moved, and what the stages said."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from pipelines.asking import ask
from pipelines.comparing import SHOWN, Comparison, Fact, Found, StageRanking, Told
from pipelines.comparing import compare as compared
from pipelines.comparing import find as found_by
from pipelines.files import FOLDER
from pipelines.loading import load_pipeline
from pipelines.timing import time_components

QUESTION = "Who decides on custody?"
CITING = "Does art. 12 Housing Code say who decides on custody?"


def find(pipeline: str, store: Path, question: str = QUESTION) -> Found:
    loaded = load_pipeline(pipeline, store=store)
    time_components(loaded)
    return found_by(loaded, question)


@pytest.fixture
def mine(tmp_path: Path) -> Callable[..., str]:
    """A user's file: one of ours, changed."""

    def written(name: str, change: Callable[[dict[str, Any]], object]) -> str:
        definition = yaml.safe_load((FOLDER / f"{name}.yaml").read_text(encoding="utf-8"))
        change(definition)
        (tmp_path / "mine.yaml").write_text(yaml.safe_dump(definition, sort_keys=False))
        return str(tmp_path / "mine.yaml")

    return written


# What one pipeline found


def test_the_places_are_those_of_asking_and_go_further_down(law_store: Path) -> None:
    found = find("hybrid", law_store)
    asked = ask(load_pipeline("hybrid", store=law_store), QUESTION)["documents"]
    assert found.pipeline == "hybrid"
    assert len(asked) == SHOWN
    assert list(found.articles[:SHOWN]) == asked
    # The law has thirty articles, all within the depth: this is all that it found.
    assert (len(found.articles), found.cut) == (30, None)


def test_the_stages_are_told_by_the_ranks_of_the_articles(law_store: Path) -> None:
    found = find("hybrid", law_store, CITING)
    stages = {stage.name: stage.ranks for stage in found.stages}
    assert list(stages) == ["citation", "bm25", "dense"]
    for article in found.articles:
        told = {
            name: ranks[article["id"]] for name, ranks in stages.items() if article["id"] in ranks
        }
        assert told == article["ranks"]
    assert stages["citation"] == {"a12": 1}


def test_every_component_is_timed_and_the_rest_is_the_rest(law_store: Path) -> None:
    found = find("hybrid", law_store)
    assert {lap.name for lap in found.laps} == {"citation", "bm25", "embedder", "dense", "fused"}
    assert all(lap.ms > 0 for lap in found.laps)
    assert sum(lap.ms for lap in found.laps) + found.rest_ms == pytest.approx(found.took_ms)
    assert found.rest_ms > 0


def test_a_re_ranker_says_what_it_read_and_the_fusion_what_it_was_given(
    law_store: Path, mine: Callable[..., str], tiny_ranker: Path
) -> None:
    def change(definition: dict[str, Any]) -> None:
        parameters = definition["components"]["ranker"]["init_parameters"]
        parameters.update(model=str(tiny_ranker), candidates=5)

    found = find(mine("hybrid_rerank", change), law_store)
    stages = {stage.name: stage for stage in found.stages}
    assert list(stages) == ["citation", "bm25", "dense", "fused", "reranker"]
    first = [article["id"] for article in found.articles[:5]]
    assert stages["reranker"].ranks == {id_: rank for rank, id_ in enumerate(first, start=1)}
    assert set(first) == {id_ for id_, rank in stages["fused"].ranks.items() if rank <= 5}
    # Below the five stand those that it has not read, so that no other can have been.
    assert stages["reranker"].cut is None


def test_only_the_last_component_is_asked_for_more(
    law_store: Path, mine: Callable[..., str]
) -> None:
    def change(definition: dict[str, Any]) -> None:
        definition["inputs"]["top_k"] = ["bm25.top_k", "fuser.top_k"]
        definition["components"]["bm25"]["init_parameters"]["top_k"] = 3

    found = find(mine("lexical", change), law_store)
    bm25 = next(stage for stage in found.stages if stage.name == "bm25")
    assert (len(bm25.ranks), bm25.cut) == (3, 3)
    assert len(found.articles) == 3


def test_a_list_that_may_go_on_is_cut(law_store: Path, mine: Callable[..., str]) -> None:
    def change(definition: dict[str, Any]) -> None:
        del definition["inputs"]["top_k"]

    found = find(mine("hybrid", change), law_store)
    assert (len(found.articles), found.cut) == (10, 10)


def test_so_far_down_and_no_further(law_store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("pipelines.comparing.DEPTH", 12)
    found = find("lexical", law_store)
    assert (len(found.articles), found.cut) == (12, 12)


# What moved


def side(*ids: str, cut: int | None = None, **stages: Mapping[str, int]) -> Found:
    articles = [{"id": id_} for id_ in ids]
    told = [StageRanking(name, ranks, None) for name, ranks in stages.items()]
    return Found("some", articles, cut, told, [], 1.0)


def movements(comparison: Comparison) -> dict[str, tuple[str, int]]:
    return {id_: (moved.movement, moved.by) for id_, moved in comparison.moved.items()}


def test_an_article_stays_rises_falls_comes_or_goes() -> None:
    left = side("same", "falls", "middle", "rises", "goes")
    right = side("same", "rises", "middle", "falls", "comes")
    assert movements(compared(left, right)) == {
        "same": ("same", 0),
        "rises": ("up", 2),
        "middle": ("same", 0),
        "falls": ("down", -2),
        "comes": ("new", 0),
        "goes": ("gone", 0),
    }


def test_who_leaves_the_first_ten_is_gone_and_has_its_place_below() -> None:
    ids = [f"a{place}" for place in range(1, 13)]
    right = [ids[11], *ids[:11]]
    comparison = compared(side(*ids), side(*right))
    last, first = comparison.moved["a10"], comparison.moved["a12"]
    assert (last.movement, last.left, last.right, last.by) == ("gone", 10, 11, -1)
    assert (first.movement, first.left, first.right, first.by) == ("new", 12, 1, 11)
    assert "a11" not in comparison.moved
    assert comparison.count("down") == 9
    assert comparison.count("new", "gone") == 2


def test_each_stage_says_what_it_did_on_each_side() -> None:
    left = side("a", bm25={"a": 3}, citation={})
    right = side("a", "b", bm25={"a": 3}, dense={"b": 2, "a": 9}, citation={"b": 1})
    facts = {id_: list(moved.facts) for id_, moved in compared(left, right).moved.items()}
    nowhere = Told(None, None)
    assert facts["a"] == [
        Fact("bm25", Told(3, None), Told(3, None)),
        Fact("dense", None, Told(9, None)),
    ]
    # A citation is told of where there is one: of others, that they are not cited is no news.
    assert facts["b"] == [
        Fact("bm25", nowhere, nowhere),
        Fact("citation", nowhere, Told(1, None)),
        Fact("dense", None, Told(2, None)),
    ]


def test_a_stage_that_was_cut_does_not_say_that_it_found_nothing() -> None:
    found = Found("some", [{"id": "a"}], None, [StageRanking("bm25", {"b": 1}, 1)], [], 1.0)
    (fact,) = compared(found, found).moved["a"].facts
    assert fact.left == Told(None, 1)


@given(
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), unique=True),
    st.lists(st.sampled_from("abcdefghijklmnopqrstuvwxyz"), unique=True),
)
def test_every_article_shown_moves_in_one_way(lefts: list[str], rights: list[str]) -> None:
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


def test_two_real_pipelines_differ_by_the_stage_that_one_lacks(law_store: Path) -> None:
    comparison = compared(find("lexical", law_store), find("hybrid", law_store))
    assert comparison.count("same", "up", "down") > 0
    for moved in comparison.moved.values():
        bm25, dense = moved.facts
        assert (bm25.stage, dense.stage) == ("bm25", "dense")
        assert bm25.left == bm25.right
        assert dense.left is None
        assert dense.right is not None


def test_what_a_question_names_and_the_law_has_not_is_told(law_store: Path) -> None:
    question = "art. 999 and the deposit"
    asked = ask(load_pipeline("lexical", store=law_store), question)["missing"]
    assert asked
    assert find("lexical", law_store, question).missing == asked
    assert not find("lexical", law_store).missing
