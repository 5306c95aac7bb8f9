"""The semantic view: negatives that the model scores high are hard."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.similarity import Similarity
from training.negatives.curriculum import ViewInputs
from training.objective import similarities

# Articles copied to float64 at a time: 6 MB at 768 dimensions, which fits into a cache.
_ARTICLES_AT_A_TIME = 1024
_UNIT_TOLERANCE = 1e-3
_GRID = 2.0**26


class SemanticView:
    """Similarity of question and article under a model (CuSINeS, section 3).

    Dynamic: `refresh` takes the vectors of the model as it is now.

    The last bits of a float32 matrix product depend on the block's shape, the number of threads and
    the device, and so does the order of near twins. Here components are rounded to multiples of
    2^-26, finer than what float32 sums lose, and counted in these units. In float64 every product
    and every partial sum of unit vectors is then a whole number below 2^53: exact in any order of
    addition. Autocast and TF32 do not affect float64. Dot products and distances of vectors of any
    length are plain float64.

    Args:
        n_questions: Number of questions.
        n_articles: Number of articles in the corpus.
        device: Where difficulties are computed.
        similarity: Of the model.
    """

    name = "semantic"

    def __init__(
        self,
        n_questions: int,
        n_articles: int,
        device: torch.device,
        similarity: Similarity = "cosine",
    ) -> None:
        self._similarity: Similarity = similarity
        self._sizes = {"questions": n_questions, "articles": n_articles}
        self._device = device
        self._questions = self._articles = torch.empty(0, 0, device=device)

    def refresh(self, questions: Tensor, articles: Tensor) -> None:
        """Take the vectors from which difficulties are computed; they are not copied on the device.

        Args:
            questions: float32 `[n_questions, dim]`, for cosine of unit length.
            articles: float32 `[n_articles, dim]`, likewise.

        Raises:
            ValueError: There are too many or too few vectors, or they are not of unit length.
        """
        for name, vectors in (("questions", questions), ("articles", articles)):
            if len(vectors) != self._sizes[name]:
                raise ValueError(
                    f"there are {self._sizes[name]:,} {name}, but {len(vectors):,} vectors"
                )
            if self._similarity != "cosine":
                continue
            # A NaN length fails this test too.
            lengths = torch.linalg.vector_norm(vectors.detach().float(), dim=1)
            if not ((lengths - 1).abs() <= _UNIT_TOLERANCE).all():
                raise ValueError(
                    f"{name}: not all vectors are of unit length. Divide each by its length"
                )
        self._questions = questions.detach().to(self._device, torch.float32)
        self._articles = articles.detach().to(self._device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """The similarities, rounded once to float32, `[n_rows, n_articles]`."""
        if self._similarity != "cosine":
            chosen = self._questions[torch.from_numpy(rows).to(self._device)].double()
            return similarities(chosen, self._articles.double(), self._similarity).float()
        asked = _on_grid(self._questions[torch.from_numpy(rows).to(self._device)].double())
        n_articles, dim = self._articles.shape
        scores = torch.empty(len(rows), n_articles, device=self._device)
        # Reuse one buffer for all blocks: allocating new pages takes as long as filling them.
        copies = torch.empty(_ARTICLES_AT_A_TIME, dim, dtype=torch.float64, device=self._device)
        for start in range(0, n_articles, _ARTICLES_AT_A_TIME):
            some = slice(start, start + _ARTICLES_AT_A_TIME)
            articles = self._articles[some]
            copied = _on_grid(copies[: len(articles)].copy_(articles))
            scores[:, some] = (asked @ copied.T).mul_(_GRID**-2)
        return scores


def of(inputs: ViewInputs) -> SemanticView:
    """The view, without vectors yet."""
    sizes = inputs.gold.n_questions, inputs.gold.n_articles
    return SemanticView(*sizes, inputs.device, inputs.settings.similarity)


def _on_grid(vectors: Tensor) -> Tensor:
    """Scale components to grid steps, in place; scaling by a power of two is exact."""
    return vectors.mul_(_GRID).round_()
