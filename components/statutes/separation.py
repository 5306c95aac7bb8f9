"""Telling questions that have an answer from those that have none, by one score and a threshold."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

_SAMPLES = 10_000
_BLOCK = 2_000_000  # numbers drawn at a time
_LEVEL = 0.05  # two-sided

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Decided:
    """What a threshold makes of questions: those at or above it are answered.

    Attributes:
        precision: Of the questions answered, the share that have an answer; None where none is.
        recall: Of the questions that have an answer, the share answered.
        nothing_precision: Of the others, for which nothing was found, the share without an answer;
            None where there are none.
        nothing_recall: Of the questions without an answer, the share for which nothing was found.
    """

    precision: float | None
    recall: float
    nothing_precision: float | None
    nothing_recall: float

    @property
    def j(self) -> float:
        """Youden's J = recall + nothing_recall - 1: 0 for a coin, 1 for no mistake."""
        return self.recall + self.nothing_recall - 1


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a score tells the two kinds of questions apart.

    Attributes:
        threshold: What `best_threshold` chose on all of them.
        in_sample: What it makes of the questions that it was chosen on: too good.
        held_out: What is made of each question by a threshold chosen without it.
        answered: Whether each question was answered then, `[n_questions]`.
        auc: Area under the ROC curve: the chance that a question with an answer scores above one
            without, ties counted half.
        intervals: 95% bootstrap interval of "auc" and of each number of `held_out`, with "j"; the
            questions are drawn anew, decisions stay.
    """

    threshold: float
    in_sample: Decided
    held_out: Decided
    answered: tuple[bool, ...]
    auc: float
    intervals: Mapping[str, Interval]

    @property
    def separates(self) -> bool:
        """Whether the score says anything: the AUC's interval lies above .5, held-out J above 0."""
        return self.intervals["auc"][0] > 0.5 and self.held_out.j > 0


def best_threshold(scores: ArrayLike, answerable: ArrayLike) -> float:
    """The threshold with the highest J (Youden, 1950), which does not depend on how many of the
    questions are of either kind.

    It lies in the middle between two neighbouring scores. Of thresholds with the same J the middle
    one is taken (of an even number the lower), so that no rescaling of the scores that keeps their
    order changes a decision about these questions; about another one, whose score lies between the
    two, it may. The lowest score, which answers everything, is one of them, with J 0.

    Args:
        scores: `[n_questions]`, finite.
        answerable: bool `[n_questions]`, both kinds among them.

    Raises:
        ValueError: The shapes differ, a score is not finite, or one kind is missing.
    """
    numbers, has_answer = _checked(scores, answerable)
    values, place = np.unique(numbers, return_inverse=True)
    with_answer = np.bincount(place[has_answer], minlength=len(values))
    without = np.bincount(place[~has_answer], minlength=len(values))
    n, m = int(with_answer.sum()), int(without.sum())
    # J n m in whole numbers, so that equal is equal: threshold i answers values[i] and above.
    answered = n - np.concatenate([[0], np.cumsum(with_answer)[:-1]])
    refused = np.concatenate([[0], np.cumsum(without)[:-1]])
    gains = answered * m + refused * n
    best = np.flatnonzero(gains == gains.max())
    chosen = int(best[(len(best) - 1) // 2])
    above = float(values[chosen])
    if chosen == 0:
        return above
    below = float(values[chosen - 1])
    middle = below / 2 + above / 2
    return middle if below < middle < above else above  # neighbouring floats have no middle


def separation(scores: ArrayLike, answerable: ArrayLike, groups: Sequence[str]) -> Separation:
    """Choose a threshold and say how good it is.

    Rows of one group (one question asked with and without its articles, or a question that stands
    twice) are held out together. For the intervals the two kinds are drawn independently, rows of
    one kind and group together: a question without an answer is nobody's question with one. Drawn
    in pairs, questions asked with and without their articles would make any score look sure, since
    the best of fewer articles cannot score more.

    Args:
        scores: `[n_questions]`, finite.
        answerable: bool `[n_questions]`, in two groups at least of each kind.
        groups: `[n_questions]`.

    Raises:
        ValueError: As `best_threshold`, or a kind stands in one group only.
    """
    numbers, has_answer = _checked(scores, answerable)
    _, group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    if len(group) != len(numbers):
        raise ValueError(f"groups has {len(group)} values, scores {len(numbers)}.")
    for kind, name in ((has_answer, "with"), (~has_answer, "without")):
        if len(np.unique(group[kind])) < 2:
            raise ValueError(f"two questions {name} an answer are needed to hold one of them out.")
    threshold = best_threshold(numbers, has_answer)
    held_out = _held_out(numbers, has_answer, group)
    drawn: dict[str, list[NDArray[np.float64]]] = {}
    for weights in _drawn(has_answer, group):
        for name, measured in {
            "auc": _auc(numbers, has_answer, weights),
            **_shares(held_out, has_answer, weights),
        }.items():
            drawn.setdefault(name, []).append(measured)
    once = np.ones((1, len(numbers)))
    return Separation(
        threshold=threshold,
        in_sample=_decided(numbers >= threshold, has_answer),
        held_out=_decided(held_out, has_answer),
        answered=tuple(held_out.tolist()),
        auc=float(_auc(numbers, has_answer, once)[0]),
        intervals={name: _interval(np.concatenate(parts)) for name, parts in drawn.items()},
    )


def _checked(
    scores: ArrayLike, answerable: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    numbers = np.asarray(scores, dtype=np.float64)
    has_answer = np.asarray(answerable, dtype=bool)
    if numbers.ndim != 1 or numbers.shape != has_answer.shape:
        raise ValueError(
            f"scores and answerable need one value a question, not shapes {numbers.shape} and "
            f"{has_answer.shape}."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"scores[{int(np.argmin(np.isfinite(numbers)))}] is not a finite number.")
    if has_answer.all() or not has_answer.any():
        missing = "without" if len(numbers) and has_answer.all() else "with"
        raise ValueError(f"a threshold needs questions of both kinds; none {missing} an answer.")
    return numbers, has_answer


def _held_out(
    numbers: NDArray[np.float64], has_answer: NDArray[np.bool_], group: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each question is answered by the threshold chosen without its group."""
    answered = np.empty(len(numbers), dtype=bool)
    for each in range(int(group.max()) + 1):
        own = group == each
        answered[own] = numbers[own] >= best_threshold(numbers[~own], has_answer[~own])
    return answered


def _drawn(
    has_answer: NDArray[np.bool_], group: NDArray[np.int64]
) -> Iterator[NDArray[np.float64]]:
    """Blocks `[n_samples, n_questions]`: how often each question is drawn.

    As many groups of each kind are drawn as there are, since that was decided by who made the set.
    """
    generator = np.random.default_rng(0)
    rows = max(1, min(_SAMPLES, _BLOCK // len(group)))
    for start in range(0, _SAMPLES, rows):
        times = np.empty((min(rows, _SAMPLES - start), len(group)))
        for kind in (has_answer, ~has_answer):
            members, own = np.unique(group[kind], return_inverse=True)
            shares = np.full(len(members), 1 / len(members))
            times[:, kind] = generator.multinomial(len(members), shares, len(times))[:, own]
        yield times


def _auc(
    numbers: NDArray[np.float64], has_answer: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`[n_samples]`, of questions that count `weights` times, `[n_samples, n_questions]`."""
    order = np.argsort(numbers, kind="stable")
    _, starts = np.unique(numbers[order], return_index=True)
    ordered, kind = weights[:, order], has_answer[order]
    with_answer = np.add.reduceat(ordered * kind, starts, axis=1)
    without = np.add.reduceat(ordered * ~kind, starts, axis=1)
    below = np.cumsum(without, axis=1) - without / 2
    pairs = with_answer.sum(axis=1) * without.sum(axis=1)
    return np.asarray((with_answer * below).sum(axis=1) / pairs)


def _shares(
    answered: NDArray[np.bool_], has_answer: NDArray[np.bool_], weights: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """`[n_samples]` of each number of `Decided`, NaN where there is none, and of J."""
    right, wrong = weights @ (answered & has_answer), weights @ (answered & ~has_answer)
    missed, refused = weights @ (~answered & has_answer), weights @ (~answered & ~has_answer)
    with np.errstate(invalid="ignore"):
        recall, nothing_recall = right / (right + missed), refused / (refused + wrong)
        return {
            "precision": right / (right + wrong),
            "recall": recall,
            "nothing_precision": refused / (refused + missed),
            "nothing_recall": nothing_recall,
            "j": recall + nothing_recall - 1,
        }


def _decided(answered: NDArray[np.bool_], has_answer: NDArray[np.bool_]) -> Decided:
    shares = _shares(answered, has_answer, np.ones((1, len(answered))))
    found = {name: None if np.isnan(of[0]) else float(of[0]) for name, of in shares.items()}
    recall, nothing_recall = float(shares["recall"][0]), float(shares["nothing_recall"][0])
    return Decided(found["precision"], recall, found["nothing_precision"], nothing_recall)


def _interval(values: NDArray[np.float64]) -> Interval:
    """Of the drawings that have a value; of none of them everything is possible."""
    there = values[~np.isnan(values)]
    if not len(there):
        return 0.0, 1.0
    low, high = np.quantile(there, [_LEVEL / 2, 1 - _LEVEL / 2])
    return float(low), float(high)
