"""AnswerabilityGate: nothing passes when no article found is near enough."""

import pytest
from haystack import Document

from components.rankers.gate import AnswerabilityGate


def document(id_, score=None, **meta):
    return Document(id=id_, score=score, meta={"law": "Housing Code", "number": id_, **meta})


FOUND = [document("1", 1.0), document("2", 0.4)]
SCORED = [document("2", 0.55), document("3", 0.5), document("1", None)]
READ = document("2", 0.2, ranks={"reranker": 1})


def ids(outcome):
    return " ".join(each.id for each in outcome["documents"])


@pytest.mark.parametrize(("threshold", "passed"), [(None, "1 2"), (0.55, "1 2"), (0.56, "")])
def test_the_best_score_decides(threshold, passed):
    outcome = AnswerabilityGate(threshold).run(FOUND, SCORED)
    assert ids(outcome) == passed
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


def test_pinned_articles_pass_alone_and_negative_scores_count():
    outcome = AnswerabilityGate(0.9).run(FOUND, SCORED, pinned=[document("1", 1.0)])
    assert (ids(outcome), outcome["closest"]["enough"]) == ("1", False)
    outcome = AnswerabilityGate(-0.5).run(FOUND, [document("1", -0.2), document("2", -0.7)])
    assert (ids(outcome), outcome["closest"]["id"]) == ("1 2", "1")


@pytest.mark.parametrize("threshold", [None, 0.1])
def test_without_a_score_nothing_is_near(threshold):
    outcome = AnswerabilityGate(threshold).run(FOUND, [document("1", float("nan"))])
    assert outcome["closest"] == {}
    assert bool(outcome["documents"]) == (threshold is None)


@pytest.mark.parametrize(("n_ranked", "passed"), [(0, "1 2"), (1, "1 2"), (2, "")])
def test_articles_that_a_reranker_did_not_read_prove_nothing(n_ranked, passed):
    gate = AnswerabilityGate(0.5, stage="reranker")
    assert ids(gate.run([document("1", 1.0), READ], [document("1", 1.0), READ])) == ""
    best = [READ] if n_ranked else []
    outcome = gate.run(FOUND, best, ranking={"n_candidates": 2, "n_ranked": n_ranked})
    assert ids(outcome) == passed
    assert not best or outcome["closest"]["unread"] == 2 - n_ranked


@pytest.mark.parametrize(
    ("name", "value"),
    [("threshold", float("nan")), ("threshold", "0.5"), ("threshold", True), ("stage", "bm25")],
)
def test_wrong_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=rf"AnswerabilityGate\.{name}"):
        AnswerabilityGate(**{name: value})
