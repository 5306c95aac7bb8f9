"""Passages through a tower, in batches of a bounded number of tokens."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import cast

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.passages import Passages
from components.models.tower import Tower

# A CPU wants a batch's activations in its caches, a GPU wants its units filled.
_TOKENS_A_BATCH = {"cpu": 1_024, "cuda": 65_536}
_DEFAULT_TOKENS_A_BATCH = 8_192


@dataclass
class TokenBudget:
    """Padded tokens that one batch may have; halved whenever the device runs out of memory."""

    tokens: int

    @classmethod
    def for_device(cls, device: torch.device) -> TokenBudget:
        """The size that is fastest on this kind of device."""
        return cls(_TOKENS_A_BATCH.get(device.type, _DEFAULT_TOKENS_A_BATCH))


def embed_passages(tower: Tower, passages: Passages, budget: TokenBudget) -> Tensor:
    """Vectors of passages in their order, as the tower gives them.

    When memory runs out the budget is halved, for good, and the batch is tried again in pieces.

    Returns:
        float32 `[n_passages, dim]` on the tower's device, with gradients where enabled.

    Raises:
        torch.OutOfMemoryError: One passage alone does not fit.
    """
    device = tower.device
    if not len(passages):
        return torch.empty(0, tower.dim, device=device)

    def embed(rows: NDArray[np.int64]) -> Tensor:
        ids, mask = passages.batch(rows)
        return cast(
            Tensor,
            tower(
                ids.to(device, non_blocking=True),
                None if mask is None else mask.to(device, non_blocking=True),
                passages.prompt_tokens,
            ),
        )

    return in_batches(embed, passages.lengths, budget, device)


def in_batches(
    compute: Callable[[NDArray[np.int64]], Tensor],
    lengths: NDArray[np.int64],
    budget: TokenBudget,
    device: torch.device,
) -> Tensor:
    """What a model makes of some rows of tokens, row by row in their order.

    Args:
        compute: Takes int64 `[n_rows]`, which rows, and gives a tensor `[n_rows, ...]`.
        lengths: int64 `[n]`, tokens of each row; at least one row.
        budget: As for `embed_passages`.
        device: Where `compute` works.

    Returns:
        `[n, ...]` on `device`.

    Raises:
        torch.OutOfMemoryError: One row alone does not fit.
    """
    rows: list[NDArray[np.int64]] = []
    computed: list[Tensor] = []
    todo = _batches(np.arange(len(lengths)), lengths, budget.tokens)
    while todo:
        batch = todo.pop()
        try:
            computed.append(compute(batch))
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            padded = len(batch) * int(lengths[batch].max())
            budget.tokens = max(1, min(budget.tokens, padded) // 2)
            rest = np.concatenate([batch, *reversed(todo)])
            todo = _batches(rest, lengths, budget.tokens)
            if device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            rows.append(batch)
    inverse = np.argsort(np.concatenate(rows))
    return torch.cat(computed)[torch.from_numpy(inverse).to(device)]


def _batches(
    rows: NDArray[np.int64], lengths: NDArray[np.int64], budget: int
) -> list[NDArray[np.int64]]:
    """Rows by length in batches of at most `budget` padded tokens, to be taken from the end.

    The longest come first: what runs out of memory does so at once.
    """
    ordered = rows[np.argsort(lengths[rows], kind="stable")]
    ascending = lengths[ordered]
    batches = []
    start = 0
    while start < len(ordered):
        # Padded size of the batch start..j is (j - start + 1) * length of j, which only grows.
        sizes = np.arange(1, len(ordered) - start + 1) * ascending[start:]
        stop = start + max(1, int(np.searchsorted(sizes, budget, side="right")))
        batches.append(ordered[start:stop])
        start = stop
    return batches
