"""The sequential view: negatives near a positive in the order of the law are hard."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.negatives.curriculum import ViewInputs
from training.negatives.gold import Gold, flattened


class SequenceView:
    """Minus the distance in position to the nearest positive (CuSINeS, section 3).

    Args:
        gold: The questions' positives.
        device: Where difficulties are computed.
        permutation: As for `TreeView`.
    """

    name = "sequence"

    def __init__(
        self, gold: Gold, device: torch.device, *, permutation: NDArray[np.int64] | None = None
    ) -> None:
        places = np.arange(gold.n_articles) if permutation is None else permutation
        self._positives = tuple(np.sort(places[own]) for own in gold.positives)
        self._device = device
        self._places = torch.from_numpy(places).to(device, torch.float32)

    def difficulty(self, rows: NDArray[np.int64]) -> Tensor:
        """Minus the distances, float32 `[n_rows, n_articles]`."""
        row, places = flattened(self._positives, rows)
        counts = np.bincount(row, minlength=len(rows))
        # Each question's positives between two sentinels at infinity.
        bounds = np.full((len(rows), counts.max() + 2), np.inf, dtype=np.float32)
        bounds[:, 0] = -np.inf
        bounds[row, 1 + np.arange(len(row)) - (np.cumsum(counts) - counts)[row]] = places
        known = torch.from_numpy(bounds).to(self._device)
        asked = self._places.expand(len(rows), -1)
        after = torch.searchsorted(known, asked.contiguous())
        to_next = known.gather(1, after).sub_(asked)
        to_previous = asked - known.gather(1, after.sub_(1))
        return torch.minimum(to_next, to_previous).neg_()


def of(inputs: ViewInputs) -> SequenceView:
    """The view of the law as it is, or permuted."""
    return SequenceView(inputs.gold, inputs.device, permutation=inputs.permutation)
