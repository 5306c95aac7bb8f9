"""The negatives drawn for an epoch."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.negatives.question_negatives import QuestionNegatives


@dataclass(frozen=True)
class DrawnNegatives(QuestionNegatives):
    """The negatives of an epoch, and how each was chosen.

    Attributes:
        buckets: Bucket that each was drawn from, 0 is the easiest, int8 `[n_negatives]`.
        views: Index of the view that ranks it hardest (the first of several), -1 where there are
            no views, int8 `[n_negatives]`.
    """

    buckets: NDArray[np.int8]
    views: NDArray[np.int8]

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
