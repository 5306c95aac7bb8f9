"""Weighted reciprocal rank fusion, worked by hand, with pinned articles above all."""

from __future__ import annotations

import asyncio
from copy import deepcopy
from typing import Any

import pytest
from haystack import Document, Pipeline
from hypothesis import given
from hypothesis import strategies as st

from components.joiners.rank_fusion import StatuteRankFuser


def listed(ids: str, **meta: Any) -> list[Document]:
    return [Document(id=each, content=each, score=9.0, meta=dict(meta)) for each in ids]


def ids(found: dict[str, list[Document]]) -> str:
    return "".join(document.id for document in found["documents"])


def ranks(found: dict[str, list[Document]]) -> dict[str, dict[str, int]]:
    return {document.id: document.meta["ranks"] for document in found["documents"]}


def test_scores_by_hand() -> None:
    fuser = StatuteRankFuser(stages=["bm25", "dense"], weights={"dense": 2.0}, k=10)
    found = fuser.run(bm25=listed("abc"), dense=listed("cd"))
    highest = 1 / 11 + 2 / 11
    expected = {
        "c": (1 / 13 + 2 / 11) / highest,
        "d": (2 / 12) / highest,
        "a": (1 / 11) / highest,
        "b": (1 / 12) / highest,
    }
    assert ids(found) == "cdab"
    for document in found["documents"]:
        assert document.score == pytest.approx(expected[document.id])
    assert ranks(found) == {
        "c": {"bm25": 3, "dense": 1},
        "d": {"dense": 2},
        "a": {"bm25": 1},
        "b": {"bm25": 2},
    }


def test_first_everywhere_scores_one() -> None:
    fuser = StatuteRankFuser()
    found = fuser.run(citation=listed("a"), bm25=listed("a"), dense=listed("a"))
    assert found["documents"][0].score == pytest.approx(1)


def test_pinned_articles_stand_first_with_all_their_ranks() -> None:
    found = StatuteRankFuser().run(
        pinned=listed("xy"), citation=listed("zy"), bm25=listed("abx"), dense=listed("ab")
    )
    assert ids(found) == "xyabz"
    assert [document.score for document in found["documents"][:2]] == [1.0, 1.0]
    assert ranks(found)["x"] == {"citation": 1, "bm25": 3}
    assert ranks(found)["y"] == {"citation": 2}
    # What is cited is one list, so no two articles are first in it.
    assert ranks(found)["z"] == {"citation": 3}


def test_pinned_articles_have_a_citation_rank_without_that_stage() -> None:
    found = StatuteRankFuser(stages=["dense"]).run(pinned=listed("x"), dense=listed("x"))
    assert ranks(found) == {"x": {"citation": 1, "dense": 1}}


def test_ranks_of_an_earlier_fusion_stay() -> None:
    earlier = listed("ab", ranks={"bm25": 4, "graph": 2})
    found = StatuteRankFuser(stages=["bm25", "reranker"]).run(bm25=listed("b"), reranker=earlier)
    assert ranks(found) == {
        "b": {"bm25": 1, "graph": 2, "reranker": 2},
        "a": {"bm25": 4, "graph": 2, "reranker": 1},
    }


def test_the_first_list_gives_the_payload() -> None:
    found = StatuteRankFuser(stages=["bm25", "dense"]).run(
        dense=listed("a", law="from dense"), bm25=listed("a", law="from bm25")
    )
    assert found["documents"][0].meta["law"] == "from bm25"


def test_equal_scores_go_by_stage_then_rank() -> None:
    fuser = StatuteRankFuser(stages=["one", "two"])
    assert ids(fuser.run(two=listed("ab"), one=listed("cd"))) == "cadb"


def test_a_repeated_article_counts_at_its_best_rank() -> None:
    found = StatuteRankFuser(stages=["bm25"]).run(bm25=listed("abab"), pinned=listed(""))
    assert ranks(found) == {"a": {"bm25": 1}, "b": {"bm25": 2}}


def test_top_k_cuts_pinned_articles_too() -> None:
    fuser = StatuteRankFuser(top_k=2)
    assert ids(fuser.run(pinned=listed("xyz"), bm25=listed("a"))) == "xy"
    assert ids(fuser.run(pinned=listed("x"), bm25=listed("a"), top_k=5)) == "xa"
    assert ids(fuser.run(bm25=listed("a"), top_k=0)) == ""
    with pytest.raises(ValueError, match="0 or more"):
        fuser.run(top_k=-1)


def test_nothing_in_nothing_out() -> None:
    assert StatuteRankFuser().run() == {"documents": []}


@given(st.lists(st.lists(st.sampled_from("abcdefgh"), max_size=8), min_size=3, max_size=3))
def test_whatever_comes_in_each_article_comes_out_once_with_a_score_up_to_one(
    lists: list[list[str]],
) -> None:
    inputs = {
        stage: [Document(id=each, embedding=[1.0]) for each in listed]
        for stage, listed in zip(("citation", "bm25", "dense"), lists, strict=True)
    }
    before = deepcopy(inputs)
    documents = StatuteRankFuser().run(**inputs)["documents"]
    assert sorted(document.id for document in documents) == sorted(set().union(*lists))
    scores = [document.score or 0 for document in documents]
    assert scores == sorted(scores, reverse=True)
    assert all(0 < score <= 1 for score in scores)
    assert all(document.embedding is None for document in documents)
    assert inputs == before


def test_stages_are_sockets_of_a_pipeline() -> None:
    pipeline = Pipeline()
    pipeline.add_component("fuser", StatuteRankFuser(stages=["bm25", "dense"]))
    assert set(pipeline.inputs()["fuser"]) == {"bm25", "dense", "pinned", "query", "top_k"}
    found = pipeline.run({"fuser": {"dense": listed("a")}})["fuser"]
    assert ranks(found) == {"a": {"dense": 1}}
    found = asyncio.run(pipeline.run_async({"fuser": {"dense": listed("a")}}))["fuser"]
    assert ranks(found) == {"a": {"dense": 1}}


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"stages": []}, "stages must be names"),
        ({"stages": ["a", "a"]}, "each once"),
        ({"stages": ["pinned"]}, "none of"),
        ({"weights": {"bm52": 1.0}}, "'bm52', which is none of the stages citation, bm25, dense"),
        ({"weights": {"bm25": 0.0}}, "must be above 0"),
        ({"weights": {"bm25": float("nan")}}, "must be above 0"),
        ({"k": -1}, r"k must be 0 or more"),
        ({"k": "3"}, r"k must be 0 or more, got '3'"),
        ({"stages": "bm25"}, "stages must be names.*got 'bm25'"),
        ({"weights": {"bm25": "2"}}, "must be above 0, got '2'"),
        ({"top_k": 0}, "top_k must be 1 or more"),
    ],
)
def test_bad_parameters_are_named(parameters: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        StatuteRankFuser(**parameters)


def test_a_list_of_no_stage_is_refused() -> None:
    with pytest.raises(ValueError, match=r"no stage 'graph'; its stages are citation, bm25, dense"):
        StatuteRankFuser().run(graph=listed("a"))


@pytest.mark.parametrize("odd", ["x", ["bm25", 1], {"bm25": "first"}, 3, None])
def test_ranks_that_another_writer_has_written_are_passed_over(odd: Any) -> None:
    found = StatuteRankFuser(stages=["dense"]).run(dense=listed("a", ranks=odd))
    assert ranks(found) == {"a": {"dense": 1}}


def test_weights_that_are_set_later_count_as_they_are_written() -> None:
    fuser = StatuteRankFuser(["bm25", "dense"])
    lists = {"bm25": listed("a"), "dense": listed("b")}
    assert ids(fuser.run(**lists)) == "ab"
    fuser.weights = {"dense": 2.0}
    assert fuser.to_dict()["init_parameters"]["weights"] == {"dense": 2.0}
    assert ids(fuser.run(**lists)) == "ba"


@pytest.mark.parametrize(
    "given", [{"full_coverage": 0.5}, {"weights": ["bm25"]}, {"weights": "bm25"}]
)
def test_numbers_of_stages_come_by_stage(given: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=f"{next(iter(given))} must be numbers by stage"):
        StatuteRankFuser(**given)
