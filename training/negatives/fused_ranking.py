"""All negatives of some questions in one order of difficulty, hardest first."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.negatives.fusion import fuse
from training.negatives.gold import Gold, flattened
from training.negatives.options import Ties
from training.negatives.ranking import mid_ranks, permutation_ranks
from training.negatives.tie_keys import TieKeys
from training.negatives.view import View


@dataclass(frozen=True)
class RankedBlock:
    """The negatives of a block of questions.

    Attributes:
        order: int64 `[n_rows, n_articles]`: articles, hardest negative first, then the excluded.
        ranks: For each view float32 `[n_rows, n_articles]`: the rank of each article in it.
        tied: For each view how many negatives it ties with another, int64 `[n_rows]`.
    """

    order: Tensor
    ranks: tuple[Tensor, ...]
    tied: tuple[Tensor, ...]


class FusedRanking:
    """Asks the views, ranks the negatives in each, and fuses the rankings.

    Args:
        views: At least one.
        gold: The questions; what is excluded there stands last.
        ties: "mid_rank" or "permutation".
        k: Of the reciprocal rank fusion.
        seed: Decides ties.
        device: Where the negatives are ranked.
    """

    def __init__(
        self,
        views: Sequence[View],
        gold: Gold,
        *,
        ties: Ties,
        k: int,
        seed: int,
        device: torch.device,
    ) -> None:
        self._views = views
        self._gold = gold
        self._ties = ties
        self._k = k
        self._device = device
        self._keys = TieKeys(seed, gold.question_ids, gold.article_ids, device)

    @torch.no_grad()
    def of(self, rows: NDArray[np.int64]) -> RankedBlock:
        """Rank the negatives of some questions; memory grows with `n_rows * n_articles`.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Raises:
            ValueError: A view gave no finite float32 `[n_rows, n_articles]`; names it.
        """
        excluded = torch.zeros(
            len(rows), self._gold.n_articles, dtype=torch.bool, device=self._device
        )
        cells = flattened(self._gold.excluded, rows)
        excluded[tuple(torch.from_numpy(each).to(self._device) for each in cells)] = True
        ranked = [self._ranks(view, rows, excluded) for view in self._views]
        ranks, tied = zip(*ranked, strict=True)
        order = fuse(ranks, self._keys.of(rows, "fusion"), self._k)
        return RankedBlock(order, ranks, tied)

    def _ranks(
        self, view: View, rows: NDArray[np.int64], excluded: Tensor
    ) -> tuple[Tensor, Tensor]:
        difficulty = _checked(view, view.difficulty(rows), excluded).to(self._device)
        if self._ties == "mid_rank":
            return mid_ranks(difficulty, excluded)
        keys = self._keys.of(rows, f"view {view.name}")
        return permutation_ranks(difficulty, excluded, keys)


def _checked(view: View, difficulty: Tensor, excluded: Tensor) -> Tensor:
    """A view's difficulties; what is none would end in an order that means nothing."""
    asked = f"It must give a float32 tensor {list(excluded.shape)}, a row a question"
    if not isinstance(difficulty, Tensor):
        raise ValueError(f"view {view.name!r} gave {type(difficulty).__name__}. {asked}")
    if difficulty.dtype != torch.float32 or difficulty.shape != excluded.shape:
        kind = str(difficulty.dtype).removeprefix("torch.")
        raise ValueError(f"view {view.name!r} gave {kind} {list(difficulty.shape)}. {asked}")
    # NaN comes through as both, in one pass.
    for value in map(float, difficulty.aminmax()):
        if not math.isfinite(value):
            n = int((~difficulty.isfinite()).sum())
            raise ValueError(
                f"view {view.name!r} gave {n:,} difficulties that are not finite, such as {value}. "
                "Give what has no difficulty a number below all others"
            )
    return difficulty
