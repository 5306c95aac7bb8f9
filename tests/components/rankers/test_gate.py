"""AnswerabilityGate: nothing goes through when nothing found is near enough."""

from typing import Any

import pytest
from haystack import Document

from components.rankers.gate import AnswerabilityGate


def document(id_: str, score: float | None = None, **meta: Any) -> Document:
    return Document(id=id_, score=score, meta={"law": "Housing Code", "number": id_, **meta})


FOUND = [document("1", 1.0), document("2", 0.4)]
SCORED = [document("2", 0.55), document("3", 0.5), document("1", None)]


@pytest.mark.parametrize(
    ("threshold", "passed"), [(None, ["1", "2"]), (0.55, ["1", "2"]), (0.56, [])]
)
def test_the_best_score_decides(threshold: float | None, passed: list[str]) -> None:
    outcome = AnswerabilityGate(threshold).run(FOUND, SCORED)
    assert [each.id for each in outcome["documents"]] == passed
    assert outcome["closest"] == {
        "id": "2",
        "law": "Housing Code",
        "number": "2",
        "score": 0.55,
        "stage": "dense",
        "threshold": threshold,
        "enough": bool(passed),
        "unread": 0,
    }


def test_what_is_cited_passes_alone() -> None:
    outcome = AnswerabilityGate(0.9).run(FOUND, SCORED, pinned=[document("1", 1.0)])
    assert [each.id for each in outcome["documents"]] == ["1"]
    assert outcome["closest"]["enough"] is False


def test_what_a_reranker_did_not_read_does_not_count() -> None:
    gate = AnswerabilityGate(0.5, stage="reranker")
    ranked = [document("1", 1.0), document("2", 0.2, ranks={"reranker": 1})]
    outcome = gate.run(ranked, ranked)
    assert outcome["documents"] == []
    assert outcome["closest"]["id"] == "2"


@pytest.mark.parametrize(("n_ranked", "passed"), [(0, ["1", "2"]), (1, ["1", "2"]), (2, [])])
def test_what_a_reranker_had_no_time_for_is_not_taken_for_no_answer(
    n_ranked: int, passed: list[str]
) -> None:
    gate = AnswerabilityGate(0.5, stage="reranker")
    best = [document("2", 0.2, ranks={"reranker": 1})] if n_ranked else []
    outcome = gate.run(FOUND, best, ranking={"n_candidates": 2, "n_ranked": n_ranked})
    assert [each.id for each in outcome["documents"]] == passed
    if best:
        assert outcome["closest"]["enough"] is False
        assert outcome["closest"]["unread"] == 2 - n_ranked


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_nothing_scored_is_nothing_near(threshold: float | None) -> None:
    outcome = AnswerabilityGate(threshold).run(FOUND, [document("1", float("nan"))])
    assert outcome["closest"] == {}
    assert bool(outcome["documents"]) == (threshold is None)


def test_scores_below_zero_are_scores() -> None:
    outcome = AnswerabilityGate(-0.5).run(FOUND, [document("1", -0.2), document("2", -0.7)])
    assert outcome["closest"]["id"] == "1"
    assert outcome["documents"]


@pytest.mark.parametrize(
    "parameters",
    [{"threshold": float("nan")}, {"threshold": "0.5"}, {"threshold": True}, {"stage": "bm25"}],
)
def test_wrong_parameters_are_refused(parameters: dict[str, Any]) -> None:
    with pytest.raises(ValueError, match=r"AnswerabilityGate\."):
        AnswerabilityGate(**parameters)
