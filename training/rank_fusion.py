"""Lists of articles fused as `pipelines/hybrid.yaml` fuses them."""

from __future__ import annotations

from collections.abc import Sequence

from components.models.cross_encoder import FUSION_K

FUSED_FROM = 250
"""How many articles each list gives, as in that file."""

RERANKED = 90
"""How many of the fused list a ranker reads, as in `pipelines/hybrid_rerank.yaml`."""

FULL_COVERAGE = 0.5
"""Share of a question's terms from which on BM25's list has its full weight, as there."""


def fuse_ranks(
    rankings: Sequence[Sequence[int]], weights: Sequence[float] | None = None
) -> list[int]:
    """Reciprocal rank fusion, best first.

    The score is the sum of weight / (k + rank), k = 10; equal scores stand in the order of the
    rankings, then of the ranks, as in `StatuteRankFuser`.

    Args:
        rankings: Lists of articles, best first.
        weights: One for each list; by default 1.
    """
    scores: dict[int, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, article in enumerate(ranking, start=1):
            scores[article] = scores.get(article, 0.0) + weight / (FUSION_K + rank)
    return sorted(scores, key=lambda article: -scores[article])
