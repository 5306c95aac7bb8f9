"""What is measured of each run."""

from __future__ import annotations

DENSE_METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (5, 10, 20, 100, 200, 500)),
    "R-precision",
    "MAP",
    "MRR@10",
)
FUSED = "fused R@10"
"""R@10 of the dense ranking and BM25's, fused."""
METRICS = (*DENSE_METRICS, FUSED)
