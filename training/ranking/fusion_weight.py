"""How much the order before a ranker counts beside its own."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.ranking.measuring import DevLists

WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Weights of the first stage's rank among which dev chooses."""

_FOLDS = 5


@dataclass(frozen=True)
class FusionWeight:
    """The weight of the first stage's rank, and what was found in choosing it.

    Attributes:
        chosen: The one that is best on dev, the smallest of several.
        tried: The metric of each, by `str(weight)`.
        of_others: For each dev question the weight that is best on the other four fifths of them:
            the best of several weights would flatter itself.
        held_out: The metric of each dev question with that one.
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
            metric: What decides.
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
    """The first row of the highest mean; sums in one order, so that equal rows stay equal."""
    return int(np.argmax(values.sum(axis=1)))
