"""What dev says of a ranker's logits as probabilities."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from components.models.cross_encoder import Calibration
from training.negatives.gold import Gold
from training.ranking.article_pairs import probabilities

_FOLDS = 5
_BINS = 10
_STEPS = 100


def answers_among(found: NDArray[np.int64], gold: Gold) -> NDArray[np.bool_]:
    """Which candidates answer their question, as what reads the same as one that does.

    Metrics count the articles that are marked; a ranker cannot tell their twins from them, which
    are no negatives in training either.

    Args:
        found: Positions, `[n_questions, depth]`.
        gold: Of the same questions.

    Returns:
        bool `[n_questions, depth]`.
    """
    rows = [np.isin(*each) for each in zip(found, gold.excluded, strict=True)]
    return np.array(rows, dtype=np.bool_)


def fit_calibration(logits: NDArray[np.float32], answers: NDArray[np.bool_]) -> Calibration | None:
    """The a and b of p = sigmoid(a z + b) that make dev most likely (Platt 1999).

    The targets are Platt's (n+ + 1) / (n+ + 2) and 1 / (n- + 2) in place of 1 and 0, so that a is
    finite where a bound parts the two without fault.

    Args:
        logits: z, `[...]`, of all candidates of all questions: at their natural rate.
        answers: Of the same shape.

    Returns:
        None where no candidate answers, all do, all have one logit, or a higher one speaks against
        an article.
    """
    z = logits.astype(np.float64).ravel()
    positive = answers.ravel()
    n_positive, n_negative = int(positive.sum()), int((~positive).sum())
    if not (n_positive and n_negative) or (z == z[0]).all():
        return None
    target = np.where(positive, (n_positive + 1) / (n_positive + 2), 1 / (n_negative + 2))
    middle, spread = z.mean(), z.std()
    x = np.stack([(z - middle) / spread, np.ones_like(z)], axis=1)
    weights = np.array([1.0, np.log((n_positive + 1) / (n_negative + 1))])
    for _ in range(_STEPS):
        p = probabilities(x @ weights)
        gradient = x.T @ (p - target)
        curvature = (x * (p * (1 - p))[:, None]).T @ x + 1e-9 * np.eye(2)
        step = np.linalg.solve(curvature, gradient)
        # Newton's step, shortened until it does not make things worse.
        while _cost(x @ (weights - step), target) > _cost(x @ weights, target) + 1e-12:
            step /= 2
        weights = weights - step
        if np.abs(step).max() < 1e-9:
            break
    scale = float(weights[0] / spread)
    if not scale > 0:
        return None
    return Calibration(scale, float(weights[1] - scale * middle))


def calibration_error(predicted: NDArray[np.float64], answers: NDArray[np.bool_]) -> float:
    """How far probabilities are from what happens, in the mean (expected calibration error).

    Candidates are put into ten bins of equal number by probability; of each the difference between
    mean probability and share of answers counts by the bin's size. Where a bound parts candidates
    of equal probability, each side has their mean share of answers.

    Args:
        predicted: Probabilities, `[...]`.
        answers: Of the same shape.
    """
    values, group, size = np.unique(predicted, return_inverse=True, return_counts=True)
    shares = np.bincount(group.ravel(), weights=answers.ravel()) / size
    bins = zip(
        np.array_split(np.repeat(values, size), _BINS),
        np.array_split(np.repeat(shares, size), _BINS),
        strict=True,
    )
    return float(sum(abs(p.mean() - a.mean()) * len(p) for p, a in bins if len(p)) / answers.size)


def calibration_report(
    logits: NDArray[np.float32], answers: NDArray[np.bool_]
) -> dict[str, float] | None:
    """The calibration error of questions that a calibration was not fitted on.

    Args:
        logits: `[n_questions, depth]`.
        answers: Of the same shape.

    Returns:
        `error` with a calibration fitted on the other four fifths of the questions, `uncalibrated`
        that of sigmoid(z). Nearly all candidates answer nothing and are told apart with ease, so of
        each question's best candidate, which thresholds look at, also the mean probability,
        `best_probability`, and the share of them that answer, `best_answers`. None where one cannot
        be fitted.
    """
    fitted = np.empty(logits.shape)
    folds = np.arange(len(logits)) % _FOLDS
    for fold in range(min(_FOLDS, len(logits))):
        own = folds == fold
        calibration = fit_calibration(logits[~own], answers[~own])
        if calibration is None:
            return None
        fitted[own] = probabilities(calibration.scale * logits[own] + calibration.offset)
    best = np.arange(len(logits)), fitted.argmax(axis=1)
    return {
        "best_probability": float(fitted[best].mean()),
        "best_answers": float(answers[best].mean()),
        "error": calibration_error(fitted, answers),
        "uncalibrated": calibration_error(probabilities(logits), answers),
    }


def _cost(z: NDArray[np.float64], target: NDArray[np.float64]) -> float:
    return float((np.logaddexp(0, z) - target * z).sum())
