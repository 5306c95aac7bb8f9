"""What a view is."""

from __future__ import annotations

from typing import Protocol

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


class View(Protocol):
    """A way to say how difficult an article is as a negative of a question.

    Attributes:
        name: What the view is called in settings and statistics.
    """

    name: str

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Difficulty of every article for some questions.

        A question's row must not depend on what other rows are asked for with it: the caller may
        split the questions into blocks of any size.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Returns:
            float32 `[n_rows, n_articles]` on the view's device, finite; higher is harder.
        """
        ...
