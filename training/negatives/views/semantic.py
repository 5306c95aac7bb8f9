"""The semantic view: negatives that the model scores high are hard."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.negatives.options import ViewInputs

# Articles whose float64 copies are made at a time: 6 MB at 768 dimensions, which a cache can hold.
_ARTICLES_AT_A_TIME = 1024
_UNIT_TOLERANCE = 1e-3
_GRID = 2.0**26


class SemanticView:
    """Cosine of question and article under a model (CuSINeS, section 3).

    Dynamic: `refresh` takes the vectors of the model as it is now.

    A float32 matrix product depends in its last bits on the block's shape, on the number of threads
    and on the device, and with it the order of near twins. Here components are rounded to multiples
    of 2^-26, finer than what float32 sums lose, and taken as whole numbers of these, so that in
    float64 every product and every partial sum of unit vectors is a whole number below 2^53: exact,
    in whatever order they are added. Autocast and TF32 do not touch float64.

    Args:
        n_questions: Number of questions.
        n_articles: Number of articles in the corpus.
        device: Where difficulties are computed.
    """

    name = "semantic"

    def __init__(self, n_questions: int, n_articles: int, device: torch.device) -> None:
        self._sizes = {"questions": n_questions, "articles": n_articles}
        self._device = device
        self._questions = self._articles = torch.empty(0, 0, device=device)

    def refresh(self, questions: Tensor, articles: Tensor) -> None:
        """Take the vectors that difficulties are computed from; they are not copied on the device.

        Args:
            questions: float32 `[n_questions, dim]`, of unit length.
            articles: float32 `[n_articles, dim]`, of unit length.

        Raises:
            ValueError: The vectors are too many or too few, or not of unit length.
        """
        for name, vectors in (("questions", questions), ("articles", articles)):
            if len(vectors) != self._sizes[name]:
                raise ValueError(f"{name} are {self._sizes[name]:,}, and vectors {len(vectors):,}")
            # A length that is not a number is not near 1 either.
            lengths = torch.linalg.vector_norm(vectors.detach().float(), dim=1)
            if not ((lengths - 1).abs() <= _UNIT_TOLERANCE).all():
                raise ValueError(
                    f"{name}: not all vectors are of unit length. Divide each by its own"
                )
        self._questions = questions.detach().to(self._device, torch.float32)
        self._articles = articles.detach().to(self._device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The cosines, rounded once to float32, `[n_rows, n_articles]`."""
        asked = _on_grid(self._questions[torch.from_numpy(rows).to(self._device)].double())
        n_articles, dim = self._articles.shape
        scores = torch.empty(len(rows), n_articles, device=self._device)
        # One copy's memory for all of them: to ask for new pages takes as long as to fill them.
        copies = torch.empty(_ARTICLES_AT_A_TIME, dim, dtype=torch.float64, device=self._device)
        for start in range(0, n_articles, _ARTICLES_AT_A_TIME):
            some = slice(start, start + _ARTICLES_AT_A_TIME)
            articles = self._articles[some]
            copied = _on_grid(copies[: len(articles)].copy_(articles))
            scores[:, some] = (asked @ copied.T).mul_(_GRID**-2)
        return scores


def of(inputs: ViewInputs) -> SemanticView:
    """Without vectors yet."""
    return SemanticView(inputs.gold.n_questions, inputs.gold.n_articles, inputs.device)


def _on_grid(vectors: Tensor) -> Tensor:
    """How many grid steps each component is, in place: a power of two scales exactly."""
    return vectors.mul_(_GRID).round_()
