"""A list by words counts for as much as its first article says of the question."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from haystack import Document, Pipeline

from components.joiners.rank_fusion import StatuteRankFuser

QUESTION = "landlord keeps deposit money"  # four terms


def document(id_: str, text: str | None = "", **meta: Any) -> Document:
    return Document(id=id_, content=text, meta={"language": "en", **meta})


def fuser(**parameters: Any) -> StatuteRankFuser:
    return StatuteRankFuser(
        **{"stages": ["bm25", "dense"], "full_coverage": {"bm25": 0.5}, **parameters}
    )


def scores(found: dict[str, list[Document]]) -> dict[str, float | None]:
    return {each.id: each.score for each in found["documents"]}


@pytest.mark.parametrize(
    ("first", "weight"),
    [
        (document("w", "A landlord."), 0.5),
        (document("w", "The landlord and the deposit."), 1.0),
        (document("w", "A landlord who keeps a deposit of money."), 1.0),
        (document("w", "A horse."), 0.0),
        (document("w", None), 0.0),
        # What stands in the headings is said too.
        (document("w", "Returned in a month.", headings=["Title 2. Deposits"]), 0.5),
        (document("w", "Landlords", language="xx"), 0.0),
    ],
)
def test_the_weight_by_hand(first: Document, weight: float) -> None:
    lists = {"bm25": [first, document("v")], "dense": [document("d"), document("v")]}
    found = scores(fuser(weights={"dense": 2.0}).run(query=QUESTION, **lists))
    highest = (weight + 2) / 11
    assert found == {
        "d": pytest.approx(2 / 11 / highest),
        "v": pytest.approx((weight / 12 + 2 / 12) / highest),
        "w": pytest.approx(weight / 11 / highest),
    }


def test_lay_words_do_not_cost_the_list_by_meaning_its_first_place() -> None:
    words = [document("chance", "Money."), document("other"), document("both")]
    meaning = [document("meant"), *map(document, "abcdefgh"), document("both")]
    plain = StatuteRankFuser(stages=["bm25", "dense"]).run(bm25=words, dense=meaning)
    assert plain["documents"][0].id == "both"
    weighed = fuser().run(query=QUESTION, bm25=words, dense=meaning)
    assert weighed["documents"][0].id == "meant"
    assert weighed["documents"][0].meta["ranks"] == {"dense": 1}
    assert weighed["documents"][1].meta["ranks"] == {"bm25": 3, "dense": 10}


def test_first_in_all_lists_that_count_scores_one() -> None:
    both = document("a", "A landlord.")
    assert scores(fuser().run(query=QUESTION, bm25=[both], dense=[both])) == {
        "a": pytest.approx(1.0)
    }
    # A list that is empty, or says nothing of the question, takes nothing from the others.
    assert scores(fuser().run(query=QUESTION, dense=[both])) == {"a": pytest.approx(1.0)}
    alone = fuser(stages=["bm25"]).run(query=QUESTION, bm25=[document("b", "A horse.")])
    assert scores(alone) == {"b": 0.0}


def test_the_question_is_a_socket_and_asked_for_where_it_is_needed() -> None:
    pipeline = Pipeline()
    pipeline.add_component("fuser", fuser())
    asked = {"fuser": {"query": QUESTION, "bm25": [document("a", "A landlord.")]}}
    for found in (pipeline.run(asked), asyncio.run(pipeline.run_async(asked))):
        assert scores(found["fuser"]) == {"a": pytest.approx(0.5 / 1.5)}
    with pytest.raises(ValueError, match="full_coverage needs the question, to weigh bm25: give"):
        fuser().run(bm25=[document("a")])


@pytest.mark.parametrize(
    ("full_coverage", "message"),
    [
        ({"bm52": 0.5}, "full_coverage names 'bm52', which is none of the stages bm25, dense"),
        ({"bm25": 0.0}, r"full_coverage\['bm25'\] must be above 0 and up to 1, got 0.0"),
        ({"bm25": 1.01}, "must be above 0 and up to 1, got 1.01"),
        ({"bm25": "0.5"}, "must be above 0 and up to 1, got '0.5'"),
        ({"bm25": float("nan")}, "must be above 0 and up to 1, got nan"),
    ],
)
def test_bad_parameters_are_named(full_coverage: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        fuser(full_coverage=full_coverage)


def test_it_is_kept_when_a_pipeline_is_written_down() -> None:
    written = fuser().to_dict()
    assert written["init_parameters"]["full_coverage"] == {"bm25": 0.5}
    assert StatuteRankFuser.from_dict(written).to_dict() == written
