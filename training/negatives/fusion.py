"""Several rankings of the negatives made into one (CuSINeS, section 3)."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor

from training.negatives.tie_keys import descending


def fuse(ranks: Sequence[Tensor], keys: Tensor, k: int = 60) -> Tensor:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): sum of 1 / (k + rank).

    In float64 division and addition are rounded alike on every device, so is the order.

    Args:
        ranks: For each view float32 `[n_rows, n_articles]`, 1 is hardest, infinity where excluded.
        keys: int64 `[n_rows, n_articles]`; of equal sums the smallest key goes first.
        k: How much less the first ranks count; 60 is what Cormack et al. found to be good, the
            CuSINeS paper gives none.

    Returns:
        int64 `[n_rows, n_articles]`: articles by fused difficulty, hardest first, the excluded
        ones last. Each row is a permutation of all articles.
    """
    score = torch.zeros_like(keys, dtype=torch.float64)
    for view in ranks:
        # The excluded have rank infinity and end with 0, less than any negative.
        score += 1 / (view.double() + k)
    return descending(score, keys)
