"""The ranks of the negatives in one view, hardest first (CuSINeS, section 3)."""

from __future__ import annotations

import torch
from torch import Tensor

from training.negatives.tie_keys import descending, group_edges


def mid_ranks(difficulty: Tensor, excluded: Tensor) -> tuple[Tensor, Tensor]:
    """Ranks in which the negatives of a tie group share the middle of the ranks they take up.

    A tree has a handful of distinct distances, so nearly all negatives are tied. Mid-ranks bring no
    noise of a tie-break into the fusion.

    Args:
        difficulty: float32 `[n_rows, n_articles]`, finite; higher is harder.
        excluded: bool, same shape: what is no negative of the row's question.

    Returns:
        Ranks, float32 `[n_rows, n_articles]`: 1 is the hardest negative, whole or half numbers,
        infinity where excluded. And how many negatives of each row are tied, int64 `[n_rows]`.
    """
    values, order = difficulty.masked_fill(excluded, -torch.inf).sort(dim=1, descending=True)
    starts, ends = group_edges(values)
    n = difficulty.shape[1]
    place = torch.arange(1, n + 1, dtype=torch.float32, device=difficulty.device)
    first = torch.where(starts, place, 0.0).cummax(dim=1).values
    last = torch.where(ends, place, torch.inf).flip(1).cummin(dim=1).values.flip(1)
    ranks = torch.empty_like(difficulty).scatter_(1, order, (first + last) / 2)
    return ranks.masked_fill_(excluded, torch.inf), _tied(values, starts, ends)


def permutation_ranks(difficulty: Tensor, excluded: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Ranks in which every negative has its own; the smaller key goes first in a tie.

    The paper's words: each view ranks all negatives.

    Args:
        difficulty: As for `mid_ranks`.
        excluded: As for `mid_ranks`.
        keys: int64, same shape; should differ from view to view, so that one tie-break is not
            counted as agreement between them.

    Returns:
        As for `mid_ranks`; whole numbers.
    """
    masked = difficulty.masked_fill(excluded, -torch.inf)
    order = descending(masked, keys)
    values = masked.gather(1, order)
    n = difficulty.shape[1]
    place = torch.arange(1, n + 1, dtype=torch.float32, device=difficulty.device)
    ranks = torch.empty_like(difficulty).scatter_(1, order, place.expand_as(difficulty))
    return ranks.masked_fill_(excluded, torch.inf), _tied(values, *group_edges(values))


def _tied(values: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    return (~(starts & ends) & (values > -torch.inf)).sum(dim=1)
