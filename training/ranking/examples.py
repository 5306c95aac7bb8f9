"""What a ranker learns from: questions with articles that answer them, and with mined ones."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray

from components.statutes.question import Question
from training.negatives.gold import Gold, flattened
from training.negatives.semihard import MinedNegatives

Passages = Callable[[str, Sequence[int]], list[list[str]]]
"""From a question's text and positions of articles to the passages of each that are read."""


@dataclass(frozen=True)
class Examples:
    """(question, article) examples, positives before negatives.

    Attributes:
        questions: Rows of the questions, int64 `[n]`.
        articles: Positions of the articles, int64 `[n]`.
        n_positives: How many of them, from the first, are positives.
    """

    questions: NDArray[np.int64]
    articles: NDArray[np.int64]
    n_positives: int

    @classmethod
    def of(cls, gold: Gold, negatives: MinedNegatives) -> Examples:
        """Each (question, positive) once, and each (question, mined negative) once."""
        rows, positives = flattened(gold.positives, np.arange(gold.n_questions))
        return cls(
            questions=np.concatenate([rows, negatives.questions]),
            articles=np.concatenate([positives, negatives.articles]),
            n_positives=len(rows),
        )

    def dataset(self, questions: Sequence[Question], passages: Passages) -> Dataset:
        """Columns `question`, `passages` (of the article, one or more) and `label` (1 or 0)."""
        texts = [questions[row].text for row in self.questions.tolist()]
        return Dataset.from_dict(
            {
                "question": texts,
                "passages": read_passages(texts, self.articles.tolist(), passages),
                "label": [float(place < self.n_positives) for place in range(len(texts))],
            }
        )


def read_passages(
    questions: Sequence[str], articles: Sequence[int], passages: Passages
) -> list[list[str]]:
    """The passages that are read of each (question, article); each question is asked once.

    Args:
        questions: `[n]`.
        articles: Positions, `[n]`.
        passages: Chooses them.
    """
    places: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question, []).append(place)
    chosen: list[list[str]] = [[] for _ in questions]
    for question, own in places.items():
        for place, texts in zip(own, passages(question, [articles[p] for p in own]), strict=True):
            chosen[place] = texts
    return chosen
