"""Probabilities that say how often an article answers, and the weight of the first stage."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize

from components.statutes.article import Article
from components.statutes.question import Question
from training.negatives.gold import Gold
from training.ranking.article_pairs import probabilities
from training.ranking.calibration import (
    answers_among,
    calibration_error,
    calibration_report,
    fit_calibration,
)


def sample(n: int, scale: float, offset: float, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    random = np.random.default_rng(seed)
    logits = random.normal(0, 3, n).astype(np.float32)
    return logits, random.random(n) < probabilities(scale * logits + offset)


def test_what_reads_the_same_as_an_answer_answers_too() -> None:
    texts = ["Rent is due monthly.", "The roof is kept whole.", "rent is  due monthly.", "Dogs."]
    law = [Article(f"a{n}", f"{n}", "Housing Code", (), text) for n, text in enumerate(texts)]
    asked = [Question("q0", "When?", ("a0",)), Question("q1", "Who?", ("a3", "a1"))]
    found = np.array([[1, 2, 0], [3, 0, 1]])
    answers = answers_among(found, Gold.of(law, asked))
    assert answers.tolist() == [[False, True, True], [True, False, True]]


def test_it_finds_the_curve_that_the_answers_came_from() -> None:
    logits, answers = sample(50_000, 0.7, -2.0)
    fitted = fit_calibration(logits, answers)
    assert fitted is not None
    assert (fitted.scale, fitted.offset) == pytest.approx((0.7, -2.0), abs=0.08)


def test_it_is_the_most_likely_one() -> None:
    logits, answers = sample(300, 1.3, -1.0, seed=4)
    n_positive, n_negative = answers.sum(), (~answers).sum()
    target = np.where(answers, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))

    def cost(ab: np.ndarray) -> float:
        z = ab[0] * logits + ab[1]
        return float((np.logaddexp(0, z) - target * z).sum())

    fitted = fit_calibration(logits, answers)
    assert fitted is not None
    expected = minimize(cost, [1.0, 0.0], tol=1e-12)
    assert cost(np.array([fitted.scale, fitted.offset])) <= expected.fun + 1e-6


@given(st.lists(st.tuples(st.floats(-50, 50), st.booleans()), max_size=30))
def test_whatever_dev_says_it_is_finite_and_keeps_the_order(
    pairs: list[tuple[float, bool]],
) -> None:
    logits = np.array([logit for logit, _ in pairs], np.float32)
    fitted = fit_calibration(logits, np.array([answer for _, answer in pairs], bool))
    if fitted is not None:
        assert 0 < fitted.scale < np.inf
        assert np.isfinite(fitted.offset)


@pytest.mark.parametrize("answers", [[False] * 4, [True] * 4, [True, True, False, False]])
def test_where_logits_say_nothing_there_is_none(answers: list[bool]) -> None:
    assert fit_calibration(np.arange(4, dtype=np.float32), np.array(answers)) is None


def test_one_logit_for_all_says_nothing() -> None:
    assert (
        fit_calibration(np.full(4, 2.5, np.float32), np.array([True, False, False, False])) is None
    )


def test_the_error_is_the_gap_between_said_and_seen() -> None:
    answers = np.arange(100) % 4 == 0
    assert calibration_error(np.full(100, 0.25), answers) == pytest.approx(0)
    assert calibration_error(np.full(100, 0.85), answers) == pytest.approx(0.6)
    # In whatever order those of equal probability come.
    assert calibration_error(np.full(100, 0.25), np.sort(answers)) == pytest.approx(0)
    said = np.repeat([0.1, 0.9], 50).reshape(10, 10)
    seen = said > 0.5
    assert calibration_error(said, seen) == pytest.approx(0.1)
    assert calibration_error(said, ~seen) == pytest.approx(0.9)


def test_a_calibration_is_measured_on_other_questions_and_helps() -> None:
    logits, answers = sample(4_000, 0.5, -2.0)
    report = calibration_report(logits.reshape(200, 20), answers.reshape(200, 20))
    assert report is not None
    assert report["error"] < 0.05 < 0.2 < report["uncalibrated"]
    assert abs(report["best_probability"] - report["best_answers"]) < 0.1


def test_best_candidates_that_are_too_sure_show_where_the_error_does_not() -> None:
    # Among 90 candidates one answers and one other is scored above all, with as much certainty.
    logits = np.random.default_rng(0).normal(-6.0, 0.5, (100, 90)).astype(np.float32)
    answers = np.zeros((100, 90), np.bool_)
    answers[:, 1] = True
    logits[:, 1] = 3.0
    logits[:, 0] = 3.0 + 0.1
    report = calibration_report(logits, answers)
    assert report is not None
    assert report["error"] < 0.01
    assert report["best_probability"] - report["best_answers"] > 0.3
