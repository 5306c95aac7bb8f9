"""Questions in parts for cross-validation."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from components.statutes.article import normalised
from components.statutes.question import Question


def folds_of(questions: Sequence[Question], n_folds: int, *, seed: int) -> list[int]:
    """The fold of each question, `[n_questions]`, from 0.

    Questions with the same words stay together: what is learnt by heart measures nothing. Folds are
    as equal in size as that allows.

    Args:
        questions: In an order that is always the same.
        n_folds: How many.
        seed: Decides who stands with whom.

    Raises:
        ValueError: There are fewer different questions than folds.
    """
    groups: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        groups.setdefault(normalised(question.text), []).append(place)
    if len(groups) < n_folds:
        raise ValueError(f"{len(groups)} different questions cannot be put into {n_folds} folds")
    members = list(groups.values())
    folds = [0] * len(questions)
    sizes = [0] * n_folds
    for group in np.random.default_rng([seed, n_folds]).permutation(len(members)).tolist():
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(members[group])
        for place in members[group]:
            folds[place] = smallest
    return folds
