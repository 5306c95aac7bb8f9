"""What is measured of each run."""

from __future__ import annotations

from typing import Literal

MeasuredOn = Literal["dev", "test"]
"""The split that is measured."""

DENSE_METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (5, 10, 20, 100, 200, 500)),
    "R-precision",
    "MAP",
    "MRR@10",
)
FUSED = "fused R@10"
"""R@10 of the dense ranking and BM25's, fused."""
METRICS = (*DENSE_METRICS, FUSED)

RE_RANKED_METRICS: tuple[str, ...] = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10")
RE_RANKED_DEPTH = 10
WITH_FIRST_STAGE = "fused "
"""Before the metrics of the ranker's order and the first stage's, fused."""
RANKER_METRICS = (
    *RE_RANKED_METRICS,
    *(WITH_FIRST_STAGE + metric for metric in ("R@10", "MRR@10", "MAP@10")),
)
