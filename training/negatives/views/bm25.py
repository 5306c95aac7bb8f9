"""The static semantic view: negatives that BM25 scores high are hard."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi
from scipy.sparse import csr_array
from torch import Tensor

from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.lexical import analyzer
from components.statutes.question import Question


class BM25View:
    """Okapi BM25 of the question's words in the article (CuSINeS, section 3, static).

    Counts, lengths and idf, its floor for frequent words included, are those of rank-bm25's
    `BM25Okapi`. The scores are its `get_scores` too, but as a product of sparse matrices: that
    method looks every word up in every article, which takes a hundred times as long.

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
        self._weights = _weights(statistics, len(numbers))
        analyse = analyzer(articles[0].language)
        asked = [
            Counter(numbers[word] for word in analyse(question.text) if word in numbers)
            for question in questions
        ]
        self._asked = _rows_of(asked, len(numbers))

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The scores, float32 `[n_rows, n_articles]`."""
        scores = (self._asked[rows] @ self._weights).toarray()
        return torch.from_numpy(scores.astype(np.float32)).to(self._device)


def _weights(statistics: BM25Okapi, n_words: int) -> csr_array:
    """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`."""
    counts = _rows_of(statistics.doc_freqs, n_words)
    k1, b = statistics.k1, statistics.b
    lengths = np.array(statistics.doc_len) / statistics.avgdl
    saturation = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr))
    idf = np.array([statistics.idf[word] for word in range(n_words)])
    counts.data = idf[counts.indices] * (counts.data * (k1 + 1) / (counts.data + saturation))
    return counts.T.tocsr()


def _rows_of(counts: Sequence[dict[int, int]], n_words: int) -> csr_array:
    """Counts of words as a matrix, float64 `[len(counts), n_words]`."""
    ends = np.cumsum([0, *(len(each) for each in counts)])
    words = np.fromiter((word for each in counts for word in each), np.int32, ends[-1])
    times = np.fromiter((n for each in counts for n in each.values()), np.float64, ends[-1])
    return csr_array((times, words, ends), shape=(len(counts), n_words))
