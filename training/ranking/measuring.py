"""Measurements of a ranker in training: its order on dev, and how its negatives score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.base.model import BaseModel

from components.models.cross_encoder import Calibration, rank_candidates
from components.statutes.metrics import metric_depth
from components.statutes.question import Question
from training.data import evaluated
from training.hf import measurings
from training.negatives.gold import Gold
from training.negatives.semihard import score_statistics
from training.plotting import figure_at
from training.ranking.data import ArticlePairs, Score, probabilities
from training.records import numbers_of

# The records of a ranker's run: metrics on dev and how its negatives score, by epoch.


MEASURED = "eval_"
"""The Trainer's prefix for the name of everything that is measured."""

START_RANKS = "start_ranks"
"""In the record before the first step: whether training starts from a cross-encoder."""

_NOT_MEASURED = ("eval_runtime", "eval_samples_per_second", "eval_steps_per_second")


def make_records(history: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """One record for each measurement.

    Args:
        history: What the Trainer logged, in order; "/" in a name joins levels.

    Returns:
        `step`; `epoch`, how often each example was seen; what was measured, such as `dev` (metric
        to mean) and `negatives` (see `training.ranking.measuring`); after step 0 also `loss`, the
        mean of the training steps since the last record, and `learning_rate` of the last of them.
    """
    return [
        {
            "step": entry["step"],
            "epoch": round(entry.get("epoch") or 0.0, 3),
            **nested(_measured(entry)),
            **trained,
        }
        for entry, trained in measurings(history, lambda entry: bool(_measured(entry)))
    ]


def _measured(entry: Mapping[str, Any]) -> dict[str, Any]:
    """The measured values of a log entry, by name."""
    return {
        name.removeprefix(MEASURED): value
        for name, value in entry.items()
        if name.startswith(MEASURED) and name not in _NOT_MEASURED
    }


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """`{"dev/R@1": .5}` as `{"dev": {"R@1": .5}}`."""
    levels: dict[str, Any] = {}
    for name, value in flat.items():
        *above, last = name.split("/")
        level = levels
        for each in above:
            level = level.setdefault(each, {})
        level[last] = value
    return levels


def best_record(records: Sequence[Mapping[str, Any]], metric: str) -> Mapping[str, Any] | None:
    """The record with the highest `metric` on dev, the first of several; None without one.

    Before the first step a fresh head ranks at random, so that record does not count. A model that
    was already a cross-encoder (`START_RANKS`) may be the best, if training does harm.
    """
    measured = [
        record
        for record in records
        if "dev" in record and (record["step"] or record.get(START_RANKS))
    ]
    return max(measured, key=lambda record: record["dev"][metric], default=None)


def plot_records(records: Sequence[Mapping[str, Any]], folder: Path, metric: str) -> None:
    """Draw `metric` on dev over the epochs and how the negatives score: `metrics.png`, `.svg`."""
    with figure_at(folder / "metrics", 1, 2, figsize=(10, 4)) as (_, (dev, scores)):
        measured = [record for record in records if "dev" in record]
        epochs = [record["epoch"] for record in measured]
        values = [record["dev"][metric] for record in measured]
        dev.plot(epochs, values, marker="o", label="re-ranked")
        if "first_stage" in records[0]:
            dev.axhline(records[0]["first_stage"][metric], color="grey", label="first stage")
        dev.set(xlabel="epochs", ylabel=metric, title="Dev questions")
        for record in records:
            for judge, statistics in record.get("negatives", {}).items():
                shares = {n: v for n, v in statistics.items() if n not in ("n", "mean")}
                label = f"{judge}, epoch {record['epoch']:g}"
                scores.plot(*zip(*shares.items(), strict=True), marker="o", label=label)
        scores.set(xlabel="score", ylabel="share", title="How the negatives score")
        for axes in (dev, scores):
            axes.legend()


METRICS = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10", "Exist@10", "Exist@50", "Exist@90")


@dataclass(frozen=True)
class DevLists:
    """The candidates of the dev questions.

    Attributes:
        questions: `n_questions` of them.
        found: Ids of each question's candidates in the first stage's order, `m` each.
        pairs: The first `depth` candidates of each question, question after question.
        depth: How many of them are re-ranked.
    """

    questions: Sequence[Question]
    found: Sequence[Sequence[str]]
    pairs: ArticlePairs
    depth: int

    def logits(self, score: Score) -> NDArray[np.float32]:
        """Logits of the candidates that are re-ranked, float32 `[n_questions, depth]`."""
        return self.pairs.logits(score).reshape(len(self.questions), self.depth)

    def re_ranked(
        self, logits: NDArray[np.float32], weight: float | None = None
    ) -> list[list[str]]:
        """Ids of each question's candidates, best first; beyond `depth` they stay as they were.

        Args:
            logits: As returned by `logits`.
            weight: Weight of the first stage's rank, see `rank_candidates`.
        """
        return [
            [*(ids[place] for place in rank_candidates(own, weight).tolist()), *ids[self.depth :]]
            for ids, own in zip(self.found, logits, strict=True)
        ]

    def values(self, ranked: Sequence[Sequence[str]], metric: str) -> list[float]:
        """One metric of each question, `[n_questions]`.

        Args:
            ranked: Ids by question, best first.
            metric: Name; in a law with fewer articles than it looks at, all are candidates.
        """
        return list(self._evaluated(ranked, [metric])[metric].values())

    def metrics(self, ranked: Sequence[Sequence[str]], select_by: str) -> dict[str, float]:
        """Means over the questions: `select_by`, and the metrics that the candidates' depth allows.

        Args:
            ranked: Ids by question, best first.
            select_by: Always measured; in a law with fewer articles all are candidates.
        """
        usual = [name for name in METRICS if metric_depth(name) <= len(self.found[0])]
        names = list(dict.fromkeys((*usual, select_by)))
        return {name: fmean(of.values()) for name, of in self._evaluated(ranked, names).items()}

    def _evaluated(
        self, ranked: Sequence[Sequence[str]], names: Sequence[str]
    ) -> Mapping[str, Mapping[str, float]]:
        depth = max(len(self.found[0]), *map(metric_depth, names))
        return evaluated(self.questions, ranked, names, depth)


@dataclass(eq=False)
class RankerMeasuring(BaseEvaluator):
    """The evaluator that the Trainer calls before the first step and after each epoch.

    Attributes:
        score: Scores pairs with the model in training.
        dev: Lists to re-rank; None where no question is of dev.
        negatives: The mined negatives, `n` of them or a sample.
        cosines: The bi-encoder's cosines for them, `[n]`.
        select_by: Metric that chooses the best epoch.
        start_ranks: Whether the model ranks before training, because it already has a head.
        dev_logits: Logits of the dev lists when last measured.
    """

    score: Score
    dev: DevLists | None
    negatives: ArticlePairs
    cosines: Sequence[float]
    select_by: str
    start_ranks: bool
    dev_logits: NDArray[np.float32] | None = None

    def __post_init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    def __call__(
        self,
        model: BaseModel,  # noqa: ARG002 - the Trainer gives all four
        output_path: str | None = None,  # noqa: ARG002
        epoch: float = 0,
        steps: int = -1,  # noqa: ARG002
    ) -> dict[str, float]:
        """Measure; names have their levels joined by "/".

        Returns:
            `dev/METRIC` after each epoch; before the first step also `first_stage/METRIC` and
            `start_ranks`, 0 or 1; before the first step and after one epoch
            `negatives/ranker/...` and `negatives/biencoder/...`, see
            `training.negatives.semihard.score_statistics`. The bi-encoder's is the same both times.
        """
        measured: dict[str, Any] = {}
        before = not epoch
        if self.dev is not None:
            if before:
                found = self.dev.metrics(self.dev.found, self.select_by)
                measured["first_stage"] = found
                measured[START_RANKS] = int(self.start_ranks)
            self.dev_logits = self.dev.logits(self.score)
            ranking = self.dev.re_ranked(self.dev_logits)
            measured["dev"] = self.dev.metrics(ranking, self.select_by)
        if before or epoch == 1:
            own = probabilities(self.negatives.logits(self.score))
            measured["negatives"] = {
                "ranker": score_statistics(own),
                "biencoder": score_statistics(self.cosines),
            }
        return numbers_of(measured)


# How much the first stage's order counts next to the ranker's own.


WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Weights of the first stage's rank from which dev chooses."""

_FOLDS = 5


@dataclass(frozen=True)
class FusionWeight:
    """The weight of the first stage's rank, and the results of choosing it.

    Attributes:
        chosen: The best weight on dev, the smallest of several.
        tried: The metric of each weight, by `str(weight)`.
        of_others: For each dev question the weight that is best on the other four fifths of them:
            a weight chosen on the question itself would flatter it.
        held_out: The metric of each dev question with that weight.
    """

    chosen: float
    tried: dict[str, float]
    of_others: list[float]
    held_out: list[float]

    @classmethod
    def choose(cls, lists: DevLists, logits: NDArray[np.float32], metric: str) -> FusionWeight:
        """Try all weights on dev.

        Args:
            lists: The dev lists.
            logits: `[n_questions, depth]`.
            metric: The metric that decides.
        """
        values = np.array(
            [lists.values(lists.re_ranked(logits, weight), metric) for weight in WEIGHTS]
        )
        folds = np.arange(values.shape[1]) % _FOLDS
        rows = np.empty(values.shape[1], np.int64)
        for fold in np.unique(folds):
            rows[folds == fold] = _best(values[:, folds != fold])
        return cls(
            chosen=WEIGHTS[_best(values)],
            tried={
                str(weight): float(own.mean()) for weight, own in zip(WEIGHTS, values, strict=True)
            },
            of_others=[WEIGHTS[row] for row in rows],
            held_out=values[rows, np.arange(len(rows))].tolist(),
        )


def _best(values: NDArray[np.float64]) -> int:
    """The first row with the highest mean; sums in a fixed order, so that equal rows stay equal."""
    return int(np.argmax(values.sum(axis=1)))


# Calibration: a ranker's logits as probabilities, fitted on dev.

_BINS = 10
_STEPS = 100


def answers_among(found: NDArray[np.int64], gold: Gold) -> NDArray[np.bool_]:
    """Which candidates answer their question, or have the text of one that does.

    Metrics count only the articles that are marked; but a ranker cannot tell twins apart, and
    twins are not negatives in training either.

    Args:
        found: Positions, `[n_questions, depth]`.
        gold: Gold of the same questions.

    Returns:
        bool `[n_questions, depth]`.
    """
    rows = [np.isin(*each) for each in zip(found, gold.excluded, strict=True)]
    return np.array(rows, dtype=np.bool_)


def fit_calibration(logits: NDArray[np.float32], answers: NDArray[np.bool_]) -> Calibration | None:
    """The a and b of p = sigmoid(a z + b) that maximise the likelihood of dev (Platt 1999).

    The targets are Platt's (n+ + 1) / (n+ + 2) and 1 / (n- + 2) in place of 1 and 0, so that a is
    finite even where a threshold separates the two perfectly.

    Args:
        logits: z, `[...]`, of all candidates of all questions, at their natural base rate.
        answers: Of the same shape.

    Returns:
        None if no candidate answers, all do, all have the same logit, or higher logits mean fewer
        answers.
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
        # Newton's step, halved until it does not increase the cost.
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
    """How far probabilities are from observed frequencies (expected calibration error).

    Candidates are sorted by probability into ten bins of equal size; in each, the difference
    between mean probability and share of answers is weighted by the bin's size. Where a bin's edge
    separates candidates of equal probability, each side gets their mean share of answers.

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
    """The calibration error on questions that the calibration was not fitted on.

    Args:
        logits: `[n_questions, depth]`.
        answers: Of the same shape.

    Returns:
        `error` with a calibration fitted on the other four fifths of the questions, `uncalibrated`
        that of sigmoid(z). Nearly all candidates answer nothing and are easy to tell apart. So the
        report also has, for each question's best candidate, which thresholds look at, the mean
        probability, `best_probability`, and the share that answers, `best_answers`. None if a
        calibration cannot be fitted.
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
