"""How far a measured number can be trusted: intervals, paired tests, many comparisons."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike, NDArray

_LEVEL = 0.05  # two-sided, everywhere
_POWER = 0.8
_FLOAT_ERROR = 1e-12
_BLOCK = 2_000_000  # random numbers drawn at a time


@dataclass(frozen=True, slots=True)
class Comparison:
    """One system against another over the same questions.

    Attributes:
        difference: Mean of a - b.
        interval: Bootstrap 95% interval of the difference.
        p: Two-sided p-value of the paired randomisation test.
        detectable: The smallest true difference that this many questions would have shown at the
            5% level with a probability of 80%, from the spread of the differences:
            (z_.975 + z_.8) * sd / sqrt(n). An insignificant result says nothing of smaller ones.
            None where the differences are all alike, as of a single question: nothing is known of
            their spread.
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
        values: One number a question, `[n_questions]`.
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
        a: One number a question, `[n_questions]`.
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
    # The smallest float error must not decide whether a sample is as extreme as the observation.
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
        ValueError: A value is no probability.
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
            f"{name} needs one number a question, not an array of shape {numbers.shape}"
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
