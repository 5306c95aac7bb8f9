"""(question, article) pairs as a cross-encoder reads them: passage by passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

Score = Callable[[Sequence[tuple[str, str]]], NDArray[np.float32]]
"""Logits `[n_pairs]` of (question, passage) pairs."""


@dataclass(frozen=True)
class ArticlePairs:
    """The (question, passage) pairs of some (question, article) pairs.

    Attributes:
        pairs: All of them, article after article.
        starts: Where each article's begin, int64 `[n_articles]`.
    """

    pairs: Sequence[tuple[str, str]]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, questions: Sequence[str], passages: Sequence[Sequence[str]]) -> ArticlePairs:
        """Join each question with the passages of the article beside it; every one has some."""
        counts = [len(each) for each in passages]
        return cls(
            pairs=[(q, p) for q, own in zip(questions, passages, strict=True) for p in own],
            starts=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[:-1].astype(np.int64),
        )

    def logits(self, score: Score) -> NDArray[np.float32]:
        """The logit of each article: its best passage's, float32 `[n_articles]`."""
        if not len(self.starts):
            return np.empty(0, np.float32)
        best: NDArray[np.float32] = np.maximum.reduceat(score(self.pairs), self.starts)
        return best


def probabilities(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Sigmoid of logits, without overflow."""
    values: NDArray[np.float64] = 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))
    return values
