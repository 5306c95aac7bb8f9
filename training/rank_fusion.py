"""Lists of articles fused as `pipelines/hybrid.yaml` fuses them."""

from __future__ import annotations

from collections.abc import Sequence

from components.models.ranking import FUSION_K

FUSED_FROM = 250
"""How many articles each list gives, as in that file."""


def fuse_ranks(rankings: Sequence[Sequence[int]]) -> list[int]:
    """Reciprocal rank fusion with equal weights, best first.

    The score is the sum of 1 / (k + rank), k = 10; equal scores stand in the order of the rankings,
    then of the ranks, as in `StatuteRankFuser`.
    """
    scores: dict[int, float] = {}
    for ranking in rankings:
        for rank, article in enumerate(ranking, start=1):
            scores[article] = scores.get(article, 0.0) + 1 / (FUSION_K + rank)
    return sorted(scores, key=lambda article: -scores[article])
