"""Passages through a tower, in batches of a bounded number of tokens."""

from __future__ import annotations

from dataclasses import dataclass

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
    rows: list[NDArray[np.int64]] = []
    vectors: list[Tensor] = []
    todo = _batches(np.arange(len(passages)), passages.lengths, budget.tokens)
    while todo:
        batch = todo.pop()
        ids, mask = passages.batch(batch)
        try:
            vectors.append(
                tower(
                    ids.to(device, non_blocking=True),
                    None if mask is None else mask.to(device, non_blocking=True),
                    passages.prompt_tokens,
                )
            )
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            budget.tokens = max(1, min(budget.tokens, ids.numel()) // 2)
            rest = np.concatenate([batch, *reversed(todo)])
            todo = _batches(rest, passages.lengths, budget.tokens)
            if device.type == "cuda":
                torch.cuda.empty_cache()
        else:
            rows.append(batch)
    if not rows:
        return torch.empty(0, tower.dim, device=device)
    inverse = np.argsort(np.concatenate(rows))
    return torch.cat(vectors)[torch.from_numpy(inverse).to(device)]


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
