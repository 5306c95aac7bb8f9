"""Negatives by question."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class QuestionNegatives:
    """The negatives of all questions, question after question.

    Attributes:
        articles: Positions in the corpus, int64 `[n_negatives]`; of one question each once.
        starts: Where each question's negatives begin, and where the last one's end, int64
            `[n_questions + 1]`.
    """

    articles: NDArray[np.int64]
    starts: NDArray[np.int64]

    def of(self, question: int) -> NDArray[np.int64]:
        """Positions of one question's negatives, int64.

        Raises:
            IndexError: There is no such question.
        """
        n_questions = len(self.starts) - 1
        if not 0 <= question < n_questions:
            raise IndexError(
                f"question {question} is not among the {n_questions:,} questions, which count "
                "from 0. Give its place in the list of questions"
            )
        return self.articles[self.starts[question] : self.starts[question + 1]]

    @property
    def questions(self) -> NDArray[np.int64]:
        """The question that each negative was drawn for, int64 `[n_negatives]`."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))
