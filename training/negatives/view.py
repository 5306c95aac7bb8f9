"""What a view is."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray
from torch import Tensor


@runtime_checkable
class View(Protocol):
    """A way to say how difficult an article is as a negative of a question.

    Attributes:
        name: What the view is called in settings and statistics; no other view beside it has it.
    """

    name: str

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Difficulty of every article for some questions.

        A question's row must not depend on what other rows are asked for with it: the caller may
        split the questions into blocks of any size.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Returns:
            float32 `[n_rows, n_articles]` on any device, finite; higher is harder.
        """
        ...


@runtime_checkable
class DynamicView(View, Protocol):
    """A view that ranks by the model as it is now: it is given the model's vectors at each draw."""

    def refresh(self, questions: Tensor, articles: Tensor) -> None:
        """Take the vectors that the next difficulties are computed from.

        Args:
            questions: float32 `[n_questions, dim]`, of unit length, on any device.
            articles: float32 `[n_articles, dim]`, of unit length, on any device.
        """
        ...
