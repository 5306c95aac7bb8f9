"""The model of the moment on questions that it does not learn: against plain loops."""

from __future__ import annotations

from statistics import fmean

import pytest
import torch

from components.statutes.question import Question
from training.validation import METRICS, validate


def unit(rows: int, seed: int) -> torch.Tensor:
    vectors = torch.randn(rows, 16, generator=torch.Generator().manual_seed(seed))
    return torch.nn.functional.normalize(vectors, dim=1)


IDS = [f"a{n}" for n in range(40)]
QUESTIONS = [
    Question("q0", "Who?", ("a3", "a9", "a17")),
    Question("q1", "When?", ("a5",)),
    Question("q2", "Why?", ("a3", "a30")),
]


def measured(trained=("a3",), select_by="R@7"):
    return validate(QUESTIONS, unit(3, 0), unit(40, 1), IDS, trained, select_by)


def test_recall_and_reciprocal_rank_are_what_loops_find():
    found = measured()
    scores = (unit(3, 0).double() @ unit(40, 1).double().T).tolist()
    for question, row in zip(QUESTIONS, scores, strict=True):
        ranking = [IDS[n] for n in sorted(range(40), key=lambda n: -row[n])]
        for k in (1, 5, 7, 10, 20):
            recall = len(set(ranking[:k]) & set(question.relevant)) / len(question.relevant)
            assert found.values[f"R@{k}"][question.id] == pytest.approx(recall)
        first = min(ranking.index(article) for article in question.relevant)
        expected = 1 / (first + 1) if first < 10 else 0.0
        assert found.values["MRR@10"][question.id] == pytest.approx(expected)


def test_means_are_over_the_questions_and_hold_the_metric_that_selects():
    found = measured()
    assert set(found.means()) == {*METRICS, "R@7"}
    assert found.means()["R@20"] == pytest.approx(fmean(found.values["R@20"].values()))
    assert found.means()["R@500"] == 1.0


def test_questions_none_of_whose_articles_was_trained_on_are_measured_apart():
    found = measured(trained=("a3", "a11"))
    assert found.unseen == ["q1"]
    assert found.unseen_means() == {metric: of["q1"] for metric, of in found.values.items()}
    assert measured(trained=IDS).unseen_means() == {}
