"""In what order an epoch asks its questions: at random, or from easy to difficult.

CuSINeS orders negatives by difficulty and leaves the difficulty of questions to future work. Here a
question view says how difficult each question is, and an epoch asks the easier ones first.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np
import torch
from numpy.typing import NDArray

from components.statutes.article import indexed_text
from components.statutes.lexical import analyzer
from components.statutes.tree import LegislativeTree
from training.objective import similarities

if TYPE_CHECKING:
    from training.data import TrainingData
    from training.loop import Vectors
    from training.settings import RunSettings

Difficulty = NDArray[np.float64]

_AGREEING = 10
_QUESTIONS_AT_A_TIME = 256


class QuestionView(Protocol):
    """A way to say how difficult a question is.

    Attributes:
        dynamic: Whether it depends on the model as it is now.
    """

    dynamic: bool

    def difficulty(self, vectors: Vectors | None) -> Difficulty:
        """Difficulty of each training question, float64 `[n_train]`, finite; higher is harder.

        Args:
            vectors: Of the law and the questions under the current weights; None where nothing
                needed them and the view is not dynamic.
        """
        ...


class FixedView:
    """Difficulties that do not change.

    Args:
        difficulty: float64 `[n_train]`.
    """

    dynamic = False

    def __init__(self, difficulty: Sequence[float]) -> None:
        self._difficulty = np.array(difficulty, dtype=np.float64)

    def difficulty(self, vectors: Vectors | None) -> Difficulty:  # noqa: ARG002
        """See `QuestionView.difficulty`."""
        return self._difficulty


class AgreementView:
    """How few of the ten best articles by words are also among the ten best by meaning.

    Args:
        data: Law and questions.
        settings: They say how articles are read and vectors compared.
    """

    dynamic = True

    def __init__(self, data: TrainingData, settings: RunSettings) -> None:
        from rank_bm25 import BM25Okapi

        from training.bm25_table import CountedLaw, Variant

        law = CountedLaw(
            data.corpus.articles, data.train, terms="analysed", text_rule=settings.text_rule
        )
        variant = Variant(BM25Okapi, settings.bm25_k1, settings.bm25_b)
        self._by_words = [set(each.tolist()) for each in law.rankings(variant, _AGREEING)]
        self._similarity = settings.similarity

    def difficulty(self, vectors: Vectors | None) -> Difficulty:
        """See `QuestionView.difficulty`."""
        from components.models.dense_index import DenseIndex

        assert vectors is not None
        index = DenseIndex(
            vectors.articles.cpu().numpy(), str(vectors.articles.device), self._similarity
        )
        by_meaning = index.search(vectors.train.cpu().numpy(), _AGREEING)[1].tolist()
        return np.array(
            [
                1 - len(words & set(meaning)) / _AGREEING
                for words, meaning in zip(self._by_words, by_meaning, strict=True)
            ]
        )


class LossView:
    """The model's own loss: the contrastive one of the best positive against the whole law.

    Args:
        data: Law and questions.
        settings: They say how vectors are compared, and the temperature.
    """

    dynamic = True

    def __init__(self, data: TrainingData, settings: RunSettings) -> None:
        self._positives = [
            [data.corpus.position(article) for article in question.relevant]
            for question in data.train
        ]
        self._settings = settings

    def difficulty(self, vectors: Vectors | None) -> Difficulty:
        """See `QuestionView.difficulty`."""
        assert vectors is not None
        losses: list[float] = []
        articles = vectors.articles.cpu().double()
        for start in range(0, len(self._positives), _QUESTIONS_AT_A_TIME):
            rows = slice(start, start + _QUESTIONS_AT_A_TIME)
            asked = vectors.train[rows].cpu().double()
            logits = similarities(asked, articles, self._settings.similarity)
            logits /= self._settings.temperature
            whole = torch.logsumexp(logits, dim=1).tolist()
            for row, (total, positives) in enumerate(
                zip(whole, self._positives[rows], strict=True)
            ):
                losses.append(total - float(logits[row, positives].max()))
        return np.array(losses)


def question_view(settings: RunSettings, data: TrainingData) -> QuestionView | None:
    """The view that the settings name; None for a random order."""
    if settings.question_order == "random":
        return None
    if settings.question_order == "agreement":
        return AgreementView(data, settings)
    if settings.question_order == "loss":
        return LossView(data, settings)
    if settings.question_order == "spread":
        return FixedView(_spreads(data, settings))
    read = analyzer(data.corpus[0].language)
    asked = [read(question.text) for question in data.train]
    if settings.question_order == "length":
        return FixedView([float(len(words)) for words in asked])
    return FixedView(_rarities(asked, data, settings))


def by_difficulty(
    pairs: NDArray[np.int64], order: NDArray[np.int64], difficulty: Difficulty
) -> NDArray[np.int64]:
    """An epoch's order with easier questions first; equally difficult ones keep their order.

    Args:
        pairs: int64 `[n_pairs, 2]`, question and positive.
        order: int64 `[n_pairs]`, the epoch's random order of the pairs.
        difficulty: float64 `[n_train]`.
    """
    return order[np.argsort(difficulty[pairs[order, 0]], kind="stable")]


def _spreads(data: TrainingData, settings: RunSettings) -> list[float]:
    """Mean distance in the tree between a question's positives; 0 with one."""
    tree = LegislativeTree(data.corpus.articles)
    spreads = []
    for question in data.train:
        positions = np.array([data.corpus.position(each) for each in question.relevant])
        distances = [
            tree.min_distances(positions[[row]], cross_law=settings.cross_law)[positions[row + 1 :]]
            for row in range(len(positions) - 1)
        ]
        between = np.concatenate([*distances, np.empty(0)])
        spreads.append(float(between.mean()) if len(between) else 0.0)
    return spreads


def _rarities(
    asked: Sequence[Sequence[str]], data: TrainingData, settings: RunSettings
) -> list[float]:
    """Mean over a question's words of log(N / articles with the word); unknown words count N."""
    frequency: dict[str, int] = {}
    for article in data.corpus:
        words = analyzer(article.language)(
            indexed_text(article.headings, article.text, settings.text_rule)
        )
        for word in set(words):
            frequency[word] = frequency.get(word, 0) + 1
    return [_rarity(words, frequency, len(data.corpus)) for words in asked]


def _rarity(words: Sequence[str], frequency: Mapping[str, int], n_articles: int) -> float:
    if not words:
        return 0.0
    return math.fsum(math.log(n_articles / frequency.get(w, 1)) for w in words) / len(words)
