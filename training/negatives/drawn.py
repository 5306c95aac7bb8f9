"""The negatives drawn for an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray


@dataclass(frozen=True)
class DrawnNegatives:
    """Negatives of all questions, question after question.

    Attributes:
        articles: Positions in the corpus, int64 `[n_drawn]`.
        starts: Where each question's negatives begin, and where the last one's end, int64
            `[n_questions + 1]`.
        buckets: Bucket that each was drawn from, 0 is the easiest, int8 `[n_drawn]`.
        views: Index of the view that ranks it hardest (the first of several), -1 where there are
            no views, int8 `[n_drawn]`.
    """

    articles: NDArray[np.int64]
    starts: NDArray[np.int64]
    buckets: NDArray[np.int8]
    views: NDArray[np.int8]

    def of(self, question: int) -> NDArray[np.int64]:
        """Positions of one question's negatives, int64; each once."""
        return self.articles[self.starts[question] : self.starts[question + 1]]

    @property
    def questions(self) -> NDArray[np.int64]:
        """The question that each negative was drawn for, int64 `[n_drawn]`."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))

    def to_arrays(self) -> dict[str, NDArray[np.int64] | NDArray[np.int8]]:
        """Everything as arrays by name, to be kept in a checkpoint."""
        return {
            "articles": self.articles,
            "starts": self.starts,
            "buckets": self.buckets,
            "views": self.views,
        }

    @classmethod
    def from_arrays(
        cls, arrays: Mapping[str, NDArray[np.int64] | NDArray[np.int8]]
    ) -> DrawnNegatives:
        """What `to_arrays` gave."""
        return cls(
            arrays["articles"].astype(np.int64),
            arrays["starts"].astype(np.int64),
            arrays["buckets"].astype(np.int8),
            arrays["views"].astype(np.int8),
        )
