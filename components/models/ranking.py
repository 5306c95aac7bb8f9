"""The order of candidates by the ranker's logits, alone or with the first stage's order."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

# As in the fusion of the first stages.
FUSION_K = 10.0


def ranked(logits: ArrayLike, first_stage_weight: float | None = None) -> NDArray[np.int64]:
    """Candidates from best to worst.

    With a weight w the order is that of `1 / (k + rank) + w / (k + first rank)`, k = 10: ranks by
    logit and by the first stage, both from 1. Equal candidates stay in the first stage's order.

    Args:
        logits: `[n]`, finite, in the first stage's order, best first.
        first_stage_weight: w; None orders by logits alone.

    Returns:
        int64 `[n]`, indices into `logits`.
    """
    values = np.asarray(logits, np.float64)
    order = np.argsort(-values, kind="stable")
    if first_stage_weight is None:
        return order
    ranks = np.arange(1, len(values) + 1)
    fused = first_stage_weight / (FUSION_K + ranks)
    fused[order] += 1 / (FUSION_K + ranks)
    return np.argsort(-fused, kind="stable")
