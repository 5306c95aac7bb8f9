"""Negatives of a re-ranker, drawn from what a first stage ranks best (Le et al., 2025)."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from training.negatives.curriculum import random_generator
from training.negatives.gold import Gold, QuestionNegatives

Strategy = Literal["semi_hard", "hard", "easy"]

SCORE_BOUNDS = (0.5, 0.8, 0.9)
"""Upper bounds of the parts in the paper's Table 3."""

_PARTS = ("below_0.5", "0.5_to_0.8", "0.8_to_0.9", "from_0.9")


@dataclass(frozen=True)
class MinedNegatives(QuestionNegatives):
    """The negatives of all questions, and the questions that got too few.

    Attributes:
        short: Ids of the questions that got fewer than were asked for, because no more were left.
    """

    short: tuple[str, ...]


def mine_negatives(
    gold: Gold, found: NDArray[np.int64], *, strategy: Strategy, n: int, seed: int
) -> MinedNegatives:
    """Draw n negatives for each question.

    Articles that `gold` excludes are never drawn: positives, those of questions with the same text,
        and the twins of both. The draw depends only on the seed, the question's id and its
        candidates; a semi-hard draw with a smaller n gets the first negatives of one with a larger
        n.

    Args:
        gold: The questions' positives, `n_questions` of them.
        found: Positions of the articles that the first stage ranks best, best first, int64
            `[n_questions, m]` (paper: m = 90); positives may be among them.
        strategy: semi_hard draws at random from `found`, hard takes its best, easy draws at random
            from the whole corpus. Paper: semi_hard.
        n: Negatives per question. Paper: 2, 5 or 10.
        seed: Seed of the draw.
    """
    drawn = []
    for row, (question, candidates) in enumerate(zip(gold.question_ids, found, strict=True)):
        rng = random_generator(seed, "negatives", strategy, question)
        if strategy == "easy":
            drawn.append(_anywhere(rng, gold, row, n))
            continue
        allowed = candidates[~np.isin(candidates, gold.excluded[row])]
        drawn.append((allowed if strategy == "hard" else rng.permutation(allowed))[:n])
    counts = [len(each) for each in drawn]
    return MinedNegatives(
        articles=np.concatenate([*drawn, np.empty(0, np.int64)]),
        starts=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        short=tuple(q for q, count in zip(gold.question_ids, counts, strict=True) if count < n),
    )


def _anywhere(rng: np.random.Generator, gold: Gold, question: int, n: int) -> NDArray[np.int64]:
    """Positions from the whole corpus, at the cost of the n that are drawn."""
    n_allowed = gold.n_articles - len(gold.excluded[question])
    places = rng.choice(n_allowed, size=min(n, n_allowed), replace=False)
    return gold.negatives_at(question, places)


def score_statistics(scores: ArrayLike) -> dict[str, Any]:
    """How high some negatives score, as in the paper's Table 3.

    Args:
        scores: `[n]`, probabilities of a ranker or cosines of a bi-encoder.

    Returns:
        `n`; the shares `below_0.5`, `0.5_to_0.8`, `0.8_to_0.9` and `from_0.9` (a bound belongs to
        the part above it); `mean`. All but `n` are None where there are no scores.

    Raises:
        ValueError: A score is not finite.
    """
    values = np.asarray(scores, np.float64)
    if not np.isfinite(values).all():
        raise ValueError("a score is NaN or infinity: the model that gave it is broken")
    if not len(values):
        return {"n": 0, **dict.fromkeys((*_PARTS, "mean"))}
    parts = np.searchsorted(SCORE_BOUNDS, values, side="right")
    shares = np.bincount(parts, minlength=len(_PARTS)) / len(values)
    named = dict(zip(_PARTS, shares.tolist(), strict=True))
    return {"n": len(values), **named, "mean": float(values.mean())}
