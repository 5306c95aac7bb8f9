"""The evaluator gives the field's metrics over lists of documents."""

import pytest
from haystack import Document

from components.evaluators.retrieval import RetrievalEvaluator


def listed(ids):
    return [Document(id=each, score=float(n)) for n, each in enumerate(ids)]


def test_metrics_by_hand():
    evaluator = RetrievalEvaluator(["R@2", "MRR@10", "R-precision", "MAP@10"], depth=10)
    gold = [["a", "b"], ["z"], ["c", "c"]]
    found = evaluator.run(gold, [listed("xayb"), [], listed("c")])
    assert found["individual_metrics"] == {
        "R@2": [0.5, 0.0, 1.0],
        "MRR@10": [0.5, 0.0, 1.0],
        "R-precision": [0.5, 0.0, 1.0],
        "MAP@10": [pytest.approx((1 / 2 + 2 / 4) / 2), 0.0, 1.0],
    }
    assert found["score"] == found["metrics"]["R@2"] == pytest.approx(0.5)
    assert found["individual_scores"] == found["individual_metrics"]["R@2"]
    shallow = RetrievalEvaluator(["MAP@1"], depth=1)
    assert shallow.run([["a"], ["x"]], [listed("xa")] * 2)["individual_scores"] == [0, 1]
    usual = RetrievalEvaluator().run([["a"]], [listed("a")])["metrics"]
    expected = {"R@500", "MAP", "MAP@100", "R-precision", "MRR@10", "nDCG@10", "Exist@90"}
    assert expected <= set(usual)
    assert set(usual.values()) == {1.0}


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(("metrics", value) for value in ([], "MAP", ["R@5", "recall@5"])),
        ("depth", 0),
    ],
)
def test_wrong_parameters_are_refused(name, value):
    with pytest.raises(ValueError, match=name):
        RetrievalEvaluator(**{"metrics": ["R@1"], name: value})


@pytest.mark.parametrize(
    ("gold", "documents"),
    [([["a"]], [[], []]), ([], []), ([["a"], []], [[], []]), ([["a"]], [listed("aa")])],
)
def test_wrong_input_is_refused(gold, documents):
    with pytest.raises(ValueError):
        RetrievalEvaluator(["R@5"], depth=10).run(gold, documents)
    with pytest.raises(ValueError, match="R@50"):
        RetrievalEvaluator(["R@50"], depth=10).run([["a"]], [listed("a")])
