"""Reciprocal rank fusion of ranked lists (Cormack et al., 2009), for search.

`training.negatives.ranking.fuse` is the same formula over whole tensors of ranks, for the views of
CuSINeS. It is kept apart because it breaks ties by key, runs on the device and takes half ranks,
and because its constant is another: the published k = 60. Here lists are short and their first
ranks should stand out, so k = 10.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import TypeVar

Item = TypeVar("Item", bound=Hashable)

FUSION_K = 10
"""The constant k: the higher, the less the first ranks stand out."""


def rank_scores(
    rankings: Sequence[Iterable[Item]],
    weights: Sequence[float] | None = None,
    k: float = FUSION_K,
) -> dict[Item, float]:
    """`score(a) = sum over the lists s that hold a of w_s / (k + rank_s(a))`, ranks from 1.

    Cormack, Clarke and Buettcher, SIGIR 2009, with weights.

    Args:
        rankings: lists of anything hashable, best first, each entry once.
        weights: one for each list; by default 1.
        k: see `FUSION_K`.

    Returns:
        The scores, in the order of the lists, then of the ranks.
    """
    scores: dict[Item, float] = {}
    for ranking, weight in zip(rankings, weights or [1.0] * len(rankings), strict=True):
        for rank, item in enumerate(ranking, start=1):
            scores[item] = scores.get(item, 0.0) + weight / (k + rank)
    return scores


def fuse_ranks(
    rankings: Sequence[Iterable[Item]],
    weights: Sequence[float] | None = None,
    k: float = FUSION_K,
) -> list[Item]:
    """The entries of several lists by `rank_scores`; equal scores keep its order."""
    scores = rank_scores(rankings, weights, k)
    return sorted(scores, key=lambda item: -scores[item])
