"""Statistics of measurements: intervals, paired tests, multiple comparisons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from statistics import NormalDist, fmean
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

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

    Raises:
        ValueError: There are no values, or one is not finite.
    """
    numbers = _checked("values", values)
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
        ValueError: The two have different lengths, no values, or one that is not finite.
    """
    first, second = _checked("a", a), _checked("b", b)
    if len(first) != len(second):
        raise ValueError(
            f"a has {len(first)} values and b {len(second)}: a paired test needs the same questions"
        )
    differences = first - second
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

    Raises:
        ValueError: A value is not a probability.
    """
    if wrong := [p for p in pvalues if not 0 <= p <= 1]:
        raise ValueError(f"a p-value lies between 0 and 1, not at {wrong[0]}")
    adjusted = [0.0] * len(pvalues)
    highest = 0.0
    for i, index in enumerate(sorted(range(len(pvalues)), key=pvalues.__getitem__)):
        highest = max(highest, min(1.0, (len(pvalues) - i) * pvalues[index]))
        adjusted[index] = highest
    return adjusted


def _checked(name: str, values: ArrayLike) -> NDArray[np.float64]:
    numbers = np.asarray(values, dtype=np.float64)
    if numbers.ndim != 1 or not len(numbers):
        raise ValueError(
            f"{name} needs one number per question, not an array of shape {numbers.shape}"
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"{name}[{int(np.argmin(np.isfinite(numbers)))}] is not a finite number")
    return numbers


def _blocks(samples: int, n: int) -> list[int]:
    """Rows to draw at a time, so that memory stays small for any number of questions."""
    if samples < 1:
        raise ValueError(f"samples must be 1 or more, not {samples}")
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
        n_questions: Number of questions.
        mean: Mean over questions of the mean over seeds.
        interval: Bootstrap 95% interval over questions.
        against: Comparison with the baseline, on the questions and seeds that both have; None for
            the baseline itself, and if they have none.
        p: The paired test's p-value, Holm-adjusted over the arms; arms that are the same run,
            compared with the same baseline, count once. None as for `against`.
    """

    arm: str
    n_questions: int
    mean: float
    interval: tuple[float, float]
    against: Comparison | None = None
    p: float | None = None


def compare_arms(
    lines: Mapping[str, Sequence[Line]], metric: str, baseline: str | Mapping[str, str]
) -> list[ArmScore]:
    """Score every arm, and compare it with the baseline question by question.

    A question's value is its mean over seeds, so that a test sees each question once.

    Args:
        lines: Arm to the lines of its runs on one dataset; arms without any are left out.
        metric: A key of the lines' values.
        baseline: The arm that the others are compared with, or arm to its own baseline.

    Raises:
        ValueError: Two lines of an arm have values for the same seed and question.
    """
    base_of = dict.fromkeys(lines, baseline) if isinstance(baseline, str) else baseline
    values = {arm: _values(arm, of_arm, metric) for arm, of_arm in lines.items() if of_arm}
    scores = []
    for arm, of_arm in values.items():
        by_question = _by_question(of_arm)
        score = ArmScore(arm, len(by_question), fmean(by_question), bootstrap_interval(by_question))
        other_arm = base_of.get(arm, arm)
        base = values.get(other_arm, {})
        shared = of_arm.keys() & base.keys()
        if arm != other_arm and shared:
            own, other = (
                _by_question({place: each[place] for place in shared}) for each in (of_arm, base)
            )
            score = replace(score, against=paired_randomisation(own, other))
        scores.append(score)
    compared = [score for score in scores if score.against is not None]
    # Two arms with equal settings are one run, and one test if their baselines are one run too.
    test_of = {each.arm: (lines[each.arm], lines[base_of[each.arm]]) for each in compared}
    same = {
        arm: next(each for each, other in test_of.items() if other == test)
        for arm, test in test_of.items()
    }
    distinct = [score for score in compared if same[score.arm] == score.arm]
    adjusted = holm([score.against.p for score in distinct if score.against is not None])
    p_of = dict(zip((score.arm for score in distinct), adjusted, strict=True))
    return [replace(score, p=p_of.get(same.get(score.arm, ""))) for score in scores]


def _values(arm: str, lines: Sequence[Line], metric: str) -> _Values:
    values: _Values = {}
    for line in lines:
        for question, value in zip(line["questions"], line["values"][metric], strict=True):
            # Lines of several grids: later values would replace earlier ones.
            if (line["seed"], question) in values:
                raise ValueError(
                    f"two lines of the arm '{arm}' have values of question {question} with seed "
                    f"{line['seed']}. Choose the lines of one grid."
                )
            values[line["seed"], question] = float(value)
    return values


def _by_question(values: _Values) -> list[float]:
    """Each question's mean over seeds, in the order of the questions."""
    grouped: dict[int, list[float]] = {}
    for (_, question), value in values.items():
        grouped.setdefault(question, []).append(value)
    return [fmean(grouped[question]) for question in sorted(grouped)]
