"""Statistics of measurements: intervals, paired tests, multiple comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

_LEVEL = 0.05  # two-sided, everywhere
_POWER = 0.8
_FLOAT_ERROR = 1e-12
_BLOCK = 2_000_000  # random numbers drawn at a time


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system compared with another on the same questions.

    Attributes:
        difference: Mean of a - b.
        interval: Bootstrap 95% interval of the difference.
        p: Two-sided p-value of the paired randomisation test.
        detectable: The smallest true difference that this many questions would have shown at the
            5% level with a probability of 80%, from the spread of the differences:
            (z_.975 + z_.8) * sd / sqrt(n). An insignificant result says nothing about smaller ones.
            None if all differences are equal, as for a single question, since their spread is then
            unknown.
    """

    difference: float
    interval: tuple[float, float]
    p: float
    detectable: float | None


def bootstrap_interval(
    values: ArrayLike, *, seed: int = 0, samples: int = 10_000
) -> tuple[float, float]:
    """The 95% percentile interval of the mean over questions.

    Args:
        values: One number per question, `[n_questions]`.
        seed: The same seed gives the same interval.
        samples: Resamplings of the questions.
    """
    numbers = np.asarray(values, dtype=np.float64)
    generator = np.random.default_rng(seed)
    means = np.concatenate(
        [
            numbers[generator.integers(0, len(numbers), (rows, len(numbers)))].mean(axis=1)
            for rows in _blocks(samples, len(numbers))
        ]
    )
    low, high = np.quantile(means, [_LEVEL / 2, 1 - _LEVEL / 2])
    return float(low), float(high)


def paired_randomisation(
    a: ArrayLike, b: ArrayLike, *, seed: int = 0, samples: int = 10_000
) -> Comparison:
    """Tests whether two systems differ, by swapping their results question by question.

    Under the null hypothesis a question's two results may be exchanged, so the difference's sign
    is random. p = (1 + #{|mean of signed differences| >= |difference|}) / (1 + samples).

    Args:
        a: One number per question, `[n_questions]`.
        b: The other system's, for the same questions in the same order.
        seed: The same seed gives the same result.
        samples: Random assignments of signs.

    Raises:
        ValueError: The two have different lengths, or a value that is not finite.
    """
    first, second = np.asarray(a, dtype=np.float64), np.asarray(b, dtype=np.float64)
    differences = first - second if first.shape == second.shape else np.array([np.nan])
    if not np.isfinite(differences).all():
        raise ValueError("a paired test needs one finite number of each system for each question")
    n = len(differences)
    observed = float(differences.mean())
    generator = np.random.default_rng(seed)
    # Rounding must not decide whether a sample is as extreme as the observation.
    bound = abs(observed) - _FLOAT_ERROR
    extreme = 0
    for rows in _blocks(samples, n):
        signs = generator.integers(0, 2, (rows, n), dtype=np.int8) * 2 - 1
        extreme += int((np.abs(signs @ differences / n) >= bound).sum())
    normal = NormalDist()
    quantiles = normal.inv_cdf(1 - _LEVEL / 2) + normal.inv_cdf(_POWER)
    spread = float(differences.std(ddof=1)) if np.ptp(differences) > _FLOAT_ERROR else None
    return Comparison(
        difference=observed,
        interval=bootstrap_interval(differences, seed=seed, samples=samples),
        p=(1 + extreme) / (1 + samples),
        detectable=None if spread is None else quantiles * spread / float(np.sqrt(n)),
    )


def holm(pvalues: Sequence[float]) -> list[float]:
    """Holm's adjusted p-values for several comparisons, in the order given.

    Sorted ascending, the i-th of m (from 0) is multiplied by m - i, made monotone and capped at 1.
    Rejecting where the adjusted value is at most .05 keeps the chance of any false rejection at 5%.
    """
    adjusted = [0.0] * len(pvalues)
    highest = 0.0
    for i, index in enumerate(sorted(range(len(pvalues)), key=pvalues.__getitem__)):
        highest = max(highest, min(1.0, (len(pvalues) - i) * pvalues[index]))
        adjusted[index] = highest
    return adjusted


def _blocks(samples: int, n: int) -> list[int]:
    """Rows to draw at a time, so that memory stays small for any number of questions."""
    rows = max(1, min(samples, _BLOCK // n))
    return [rows] * (samples // rows) + ([samples % rows] if samples % rows else [])


# Arms of an experiment on the same questions: means, intervals, paired tests.


Line = Mapping[str, Any]
# Seed and question to a value.
_Values = dict[tuple[int, int], float]


@dataclass(frozen=True)
class ArmScore:
    """One arm in one metric.

    Attributes:
        arm: Its name.
        mean: Mean over questions of the mean over seeds.
        interval: Bootstrap 95% interval over questions.
        against: Comparison with the baseline, on the questions and seeds that both have; None for
            the baseline itself, and if they have none.
        p: The paired test's p-value, Holm-adjusted over the arms; arms that are the same run count
            once. None as for `against`.
    """

    arm: str
    mean: float
    interval: tuple[float, float]
    against: Comparison | None = None
    p: float | None = None


def compare_arms(lines: Mapping[str, Sequence[Line]], metric: str, baseline: str) -> list[ArmScore]:
    """Score every arm, and compare it with the baseline question by question.

    A question's value is its mean over seeds, so that a test sees each question once.

    Args:
        lines: Arm to the lines of its runs on one dataset; arms without any are left out.
        metric: A key of the lines' values.
        baseline: The arm that the others are compared with.
    """
    values: dict[str, _Values] = {}
    for arm, of_arm in lines.items():
        for line in of_arm:
            found = zip(line["questions"], line["values"][metric], strict=True)
            values.setdefault(arm, {}).update({(line["seed"], each): v for each, v in found})
    base = values.get(baseline, {})
    scores = []
    for arm, own in values.items():
        by_question = _by_question(own)
        score = ArmScore(arm, fmean(by_question), bootstrap_interval(by_question))
        shared = own.keys() & base.keys()
        if arm != baseline and shared:
            sides = (_by_question({place: each[place] for place in shared}) for each in (own, base))
            score = replace(score, against=paired_randomisation(*sides))
        scores.append(score)
    compared = [score.arm for score in scores if score.against is not None]
    # Two arms with equal settings are one run, and one test.
    same = {arm: next(each for each in compared if lines[each] == lines[arm]) for arm in compared}
    tests = {score.arm: score.against for score in scores if same.get(score.arm) == score.arm}
    adjusted = holm([test.p for test in tests.values() if test is not None])
    p_of = dict(zip(tests, adjusted, strict=True))
    return [replace(score, p=p_of.get(same.get(score.arm, ""))) for score in scores]


def _by_question(values: _Values) -> list[float]:
    """Each question's mean over seeds, in the order of the questions."""
    grouped: dict[int, list[float]] = {}
    for (_, question), value in values.items():
        grouped.setdefault(question, []).append(value)
    return [fmean(grouped[question]) for question in sorted(grouped)]
