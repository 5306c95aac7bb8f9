"""The static semantic view: negatives that BM25 scores high are hard."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from torch import Tensor

from components.statutes.article import Article, TextRule
from components.statutes.question import Question
from training.bm25_table import CountedLaw, Variant
from training.negatives.curriculum import ViewInputs


class BM25View:
    """Okapi BM25 of the question's words in the article (CuSINeS, section 3, static).

    The scores are those of rank-bm25's `BM25Okapi`, including its floor for the idf of frequent
    words.

    Args:
        articles: The corpus.
        questions: The questions.
        device: Where difficulties are stored.
        k1: Saturation of term frequency.
        b: Weight of length.
        text_rule: Which parts of an article are indexed.

    Raises:
        ValueError: No article has a word.
    """

    name = "bm25"

    def __init__(
        self,
        articles: Sequence[Article],
        questions: Sequence[Question],
        device: torch.device,
        *,
        k1: float = 1.5,
        b: float = 0.75,
        text_rule: TextRule = "headings_text",
    ) -> None:
        law = CountedLaw(articles, questions, terms="analysed", text_rule=text_rule)
        self._asked = law.asked
        self._weights = law.weights(Variant(BM25Okapi, k1, b))
        self._device = device

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The scores, float32 `[n_rows, n_articles]`."""
        scores = (self._asked[rows] @ self._weights).toarray()
        return torch.from_numpy(scores.astype(np.float32)).to(self._device)


def of(inputs: ViewInputs) -> BM25View:
    """The view with the k1 and b of the settings."""
    settings = inputs.settings
    return BM25View(
        inputs.articles,
        inputs.questions,
        inputs.device,
        k1=settings.bm25_k1,
        b=settings.bm25_b,
        text_rule=settings.text_rule,
    )
