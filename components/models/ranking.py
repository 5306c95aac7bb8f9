"""The order of candidates by the ranker's logits, alone or with the first stage's order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# As in the fusion of the first stages.
FUSION_K = 10.0


def ranked(
    logits: ArrayLike,
    first_stage_weight: float | None = None,
    first_stage_places: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Candidates from best to worst.

    With a weight w the order is that of `1 / (k + rank) + w / (k + first rank)`, k = 10: ranks by
    logit and by the first stage, both from 1. Equal candidates stay in the first stage's order.

    Args:
        logits: `[n]`, finite, in the first stage's order, best first.
        first_stage_weight: w; None orders by logits alone.
        first_stage_places: `[n]`, where each stood in the first stage's list, from 0 and rising,
            where some of that list are not among these; by default they are the whole list.

    Returns:
        int64 `[n]`, indices into `logits`.
    """
    values = np.asarray(logits, np.float64)
    order = np.argsort(-values, kind="stable")
    if first_stage_weight is None:
        return order
    ranks = np.arange(1, len(values) + 1)
    first = ranks if first_stage_places is None else np.asarray(first_stage_places) + 1
    fused = first_stage_weight / (FUSION_K + first)
    fused[order] += 1 / (FUSION_K + ranks)
    return np.argsort(-fused, kind="stable")
