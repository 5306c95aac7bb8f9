"""rank-bm25 over a law: all variants from one count of its words."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray
from rank_bm25 import BM25Okapi, BM25Plus
from scipy.sparse import csr_array

from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.lexical import analyzer, segmenter, words_joined
from components.statutes.question import Question

# rank-bm25's scores as a product of sparse matrices.
#
# Its `get_scores` looks every word up in every article, which takes a hundred times as long.


def rows_of(counts: Sequence[dict[int, int]], n_words: int) -> csr_array:
    """Counts of words as a matrix, float64 `[len(counts), n_words]`."""
    ends = np.cumsum([0, *(len(each) for each in counts)])
    words = np.fromiter((word for each in counts for word in each), np.int32, ends[-1])
    times = np.fromiter((n for each in counts for n in each.values()), np.float64, ends[-1])
    return csr_array((times, words, ends), shape=(len(counts), n_words))


def word_weights(statistics: BM25Okapi | BM25Plus, counts: csr_array) -> csr_array:
    """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`:

        idf * tf * (k1 + 1) / (tf + k1 * (1 - b + b * length / mean length))

    A question's counts times this are `get_scores`. BM25Plus adds delta * idf for each word of the
    question, to every article, those without the word included: that moves no rank and is left out.

    Args:
        statistics: Of articles whose words are numbers from 0; its idf, lengths, k1 and b count.
        counts: `rows_of` of these articles, `[n_articles, n_words]`.
    """
    k1, b = statistics.k1, statistics.b
    lengths = np.array(statistics.doc_len) / statistics.avgdl
    saturation = np.repeat(k1 * (1 - b + b * lengths), np.diff(counts.indptr))
    idf = np.array([statistics.idf[word] for word in range(counts.shape[1])])
    weights = idf[counts.indices] * (counts.data * (k1 + 1) / (counts.data + saturation))
    return csr_array((weights, counts.indices, counts.indptr), shape=counts.shape).T.tocsr()


Terms = Literal["lower_cased", "analysed"]

_QUESTIONS_AT_A_TIME = 32
_WORD = re.compile(r"\w+")

Ranking = NDArray[np.int64]


@dataclass(frozen=True)
class Variant:
    """One row of the table: a formula and its parameters.

    Attributes:
        kind: rank-bm25's class.
        k1: Saturation of term frequency.
        b: Weight of length.
    """

    kind: type[BM25Okapi] | type[BM25Plus]
    k1: float
    b: float

    @property
    def name(self) -> str:
        """Name of the class."""
        return str(self.kind.__name__)


# Le et al. (2025), Table 1: rank-bm25's BM25Okapi and BM25Plus at their defaults, and BM25Plus with
# nine pairs of parameters.
VARIANTS = (
    Variant(BM25Okapi, 1.5, 0.75),
    Variant(BM25Plus, 1.5, 0.75),
    *(Variant(BM25Plus, k1, b) for k1 in (0.8, 1.2, 2.0) for b in (0.0, 0.75, 1.0)),
)


class CountedLaw:
    """The words of a law and of questions, counted once for every variant.

    Args:
        articles: The law.
        questions: A repeated word counts as often as it occurs. Words are analysed in the language
            of the first article.
        terms: How words are made from text. If pyvi is installed, Vietnamese words are whole.
        text_rule: Which parts of an article are searched.

    Attributes:
        asked: How often each word stands in a question, float64 `[n_questions, n_words]`.

    Raises:
        ValueError: No article has a word.
    """

    def __init__(
        self,
        articles: Sequence[Article],
        questions: Sequence[Question],
        *,
        terms: Terms,
        text_rule: TextRule = "headings_text",
    ) -> None:
        numbers: dict[str, int] = {}

        def counted() -> Iterator[list[int]]:
            for article in articles:
                words = _reader(terms, article.language)(
                    indexed_text(article.headings, article.text, text_rule)
                )
                yield [numbers.setdefault(word, len(numbers)) for word in words]

        self._documents = list(counted())
        if not numbers:
            raise ValueError("no article of the corpus has a word. Give articles text")
        self._counts = rows_of([Counter(each) for each in self._documents], len(numbers))
        # idf depends on the class alone; k1 and b are read when articles are scored.
        self._statistics: dict[type[BM25Okapi] | type[BM25Plus], BM25Okapi | BM25Plus] = {}
        read = _reader(terms, articles[0].language)
        asked = [
            Counter(numbers[word] for word in read(question.text) if word in numbers)
            for question in questions
        ]
        self.asked = rows_of(asked, len(numbers))

    def weights(self, variant: Variant) -> csr_array:
        """What a word in a question adds to an article's score, float64 `[n_words, n_articles]`.

        A question's row of `asked` times this are rank-bm25's `get_scores`; of BM25Plus without
        what it adds to all articles alike.
        """
        if variant.kind not in self._statistics:
            self._statistics[variant.kind] = variant.kind(self._documents)
        statistics = self._statistics[variant.kind]
        statistics.k1, statistics.b = variant.k1, variant.b
        return word_weights(statistics, self._counts)

    def rankings(self, variant: Variant, depth: int) -> list[Ranking]:
        """For every question the positions of the best articles.

        An article that shares no word with the question scores 0 and is not found.

        Args:
            variant: The formula.
            depth: At most this many.

        Returns:
            int64 `[at most depth]` for each question, best first; equal scores in the order of the
            law.
        """
        weights = self.weights(variant)
        rankings: list[Ranking] = []
        for start in range(0, self.asked.shape[0], _QUESTIONS_AT_A_TIME):
            scores = (self.asked[start : start + _QUESTIONS_AT_A_TIME] @ weights).tocsr()
            for first, end in zip(scores.indptr[:-1], scores.indptr[1:], strict=True):
                found = _best(scores.indices[first:end], scores.data[first:end], depth)
                rankings.append(found)
        return rankings


def _best(positions: NDArray[np.int32], scores: NDArray[np.float64], depth: int) -> Ranking:
    """The best positions, by score, then position."""
    if len(scores) > depth:
        # Keep all that tie with the last one until their positions decide.
        kept = scores >= np.partition(scores, -depth)[-depth]
        positions, scores = positions[kept], scores[kept]
    return positions[np.lexsort((positions, -scores))][:depth].astype(np.int64)


def segmented_by(language: str | None) -> str | None:
    """Name and version of what segments the words of a language; None if nothing does."""
    return segmenter() if language and language.partition("-")[0] == "vi" else None


def _reader(terms: Terms, language: str | None) -> Callable[[str], list[str]]:
    if terms == "analysed":
        return analyzer(language)
    if segmented_by(language):
        return lambda text: _lower_cased(words_joined(text))
    return _lower_cased


def _lower_cased(text: str) -> list[str]:
    # Compose a letter and its mark into one character: a separate mark would end the word.
    return _WORD.findall(unicodedata.normalize("NFC", text).lower())
