"""The evaluator gives the field's metrics over lists of documents."""

from __future__ import annotations

from typing import Any

import pytest
from haystack import Document

from components.evaluators.retrieval import RetrievalEvaluator


def listed(ids: str) -> list[Document]:
    return [Document(id=each) for each in ids]


def test_metrics_by_hand() -> None:
    found = RetrievalEvaluator(["R@2", "MRR@10", "R-precision", "MAP@10"], depth=10).run(
        ground_truth_ids=[["a", "b"], ["z"], ["c", "c"]],
        retrieved_documents=[listed("xayb"), [], listed("c")],
    )
    assert found["individual_metrics"] == {
        "R@2": [0.5, 0.0, 1.0],
        "MRR@10": [0.5, 0.0, 1.0],
        "R-precision": [0.5, 0.0, 1.0],
        "MAP@10": [pytest.approx((1 / 2 + 2 / 4) / 2), 0.0, 1.0],
    }
    assert found["metrics"]["R@2"] == pytest.approx(0.5)
    assert (found["score"], found["individual_scores"]) == (
        found["metrics"]["R@2"],
        found["individual_metrics"]["R@2"],
    )


def test_the_order_counts_and_not_the_score() -> None:
    documents = [
        Document(id="a", score=0.1),
        Document(id="b", score=0.1),
        Document(id="c", score=9),
    ]
    found = RetrievalEvaluator(["MRR@10"], depth=10).run([["b"]], [documents])
    assert found["score"] == 0.5


def test_the_usual_set_is_measured_to_a_depth_of_1000() -> None:
    metrics = RetrievalEvaluator().run([["a"]], [listed("a")])["metrics"]
    assert {
        "R@10",
        "R@500",
        "MAP",
        "MAP@100",
        "R-precision",
        "MRR@10",
        "nDCG@10",
        "Exist@90",
    } <= set(metrics)
    assert set(metrics.values()) == {1.0}


def test_a_metric_deeper_than_the_run_is_refused() -> None:
    with pytest.raises(ValueError, match="R@50"):
        RetrievalEvaluator(["R@50"], depth=10).run([["a"]], [listed("a")])


def test_what_lies_deeper_than_the_depth_does_not_count() -> None:
    evaluator = RetrievalEvaluator(["MAP@1"], depth=1)
    assert evaluator.run([["a"], ["x"]], [listed("xa"), listed("xa")])["individual_scores"] == [
        0,
        1,
    ]


@pytest.mark.parametrize(
    ("metrics", "message"),
    [
        ([], r"metrics must be a list of at least one name.* got \[\]"),
        ("MAP", "metrics must be a list of at least one name.* got 'MAP'"),
        (["R@5", "recall@5"], "RetrievalEvaluator.metrics: no metric is called 'recall@5'"),
    ],
)
def test_unusable_metrics_are_refused_at_once(metrics: list[str], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        RetrievalEvaluator(metrics)


@pytest.mark.parametrize("depth", [0, -1, "10", 10.0, True, None])
def test_an_unusable_depth_is_refused_at_once(depth: Any) -> None:
    with pytest.raises(ValueError, match=r"depth must be a whole number from 1, got"):
        RetrievalEvaluator(["R@1"], depth=depth)


def test_one_id_or_document_in_place_of_a_list_is_refused() -> None:
    evaluator = RetrievalEvaluator(["R@5"])
    ids: Any = [["a"], "housing-12"]
    with pytest.raises(TypeError, match=r"ground_truth_ids\[1\] must be a list.* 'housing-12'"):
        evaluator.run(ids, [listed("a"), listed("a")])
    for given in (Document(id="a"), None):
        documents: Any = [given]
        with pytest.raises(TypeError, match=r"retrieved_documents\[0\] must be a list.* got "):
            evaluator.run([["a"]], documents)


def test_unusable_input_is_refused() -> None:
    evaluator = RetrievalEvaluator(["R@10"], depth=10)
    with pytest.raises(ValueError, match="got 1 and 2"):
        evaluator.run([["a"]], [[], []])
    with pytest.raises(ValueError, match="got 0 and 0"):
        evaluator.run([], [])
    with pytest.raises(ValueError, match=r"ground_truth_ids\[1\] is empty"):
        evaluator.run([["a"], []], [[], []])
    with pytest.raises(ValueError, match="a"):
        evaluator.run([["a"]], [listed("aa")])
