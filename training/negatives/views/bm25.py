"""The static semantic view: negatives that BM25 scores high are hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from torch import Tensor

from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.lexical import analyzer
from components.statutes.question import Question
from training.bm25.weights import rows_of, word_weights
from training.negatives.given import Given


class BM25View:
    """Okapi BM25 of the question's words in the article (CuSINeS, section 3, static).

    Counts, lengths and idf, its floor for frequent words included, are those of rank-bm25's
    `BM25Okapi`. The scores are its `get_scores` too, but as a product of sparse matrices.

    Args:
        articles: The corpus.
        questions: The questions; a word that stands twice counts twice. A question's words are
            analysed in the language of the first article.
        device: Where difficulties are put.
        k1: Saturation of term frequency.
        b: Weight of length.
        text_rule: What of an article is indexed.

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
        self._device = device
        # Words as numbers: an article's counts are kept until its weights are known.
        numbers: dict[str, int] = {}

        def analysed() -> Iterator[list[int]]:
            for article in articles:
                words = analyzer(article.language)(
                    indexed_text(article.headings, article.text, text_rule)
                )
                yield [numbers.setdefault(word, len(numbers)) for word in words]
            if not numbers:
                raise ValueError("bm25: no article of the corpus has a word. Give articles text")

        statistics = BM25Okapi(analysed(), k1=k1, b=b)
        self._weights = word_weights(statistics, rows_of(statistics.doc_freqs, len(numbers)))
        analyse = analyzer(articles[0].language)
        asked = [
            Counter(numbers[word] for word in analyse(question.text) if word in numbers)
            for question in questions
        ]
        self._asked = rows_of(asked, len(numbers))

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The scores, float32 `[n_rows, n_articles]`."""
        scores = (self._asked[rows] @ self._weights).toarray()
        return torch.from_numpy(scores.astype(np.float32)).to(self._device)


def of(given: Given) -> BM25View:
    """With the options' k1 and b."""
    options = given.options
    return BM25View(
        given.articles,
        given.questions,
        given.device,
        k1=options.bm25_k1,
        b=options.bm25_b,
        text_rule=options.text_rule,
    )
