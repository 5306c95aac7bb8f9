"""Reciprocal rank fusion of ranked lists (Cormack et al., 2009), for search.

`training.negatives.sampling.fuse` is the same formula over whole tensors of ranks, for the views of
CuSINeS. It is kept apart because it breaks ties by key, runs on the device and takes half ranks,
and because its constant is another: the published k = 60. Here lists are short and their first
ranks should stand out, so k = 10.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from itertools import chain
from typing import TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

Item = TypeVar("Item", bound=Hashable)

FUSION_K = 10
"""The constant k: the higher, the less the first ranks stand out."""


def rank_scores(
    lists: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    weights: Iterable[float],
    n: int,
    k: float = FUSION_K,
) -> NDArray[np.float64]:
    """`score(a) = sum over the lists s that hold a of w_s / (k + rank_s(a))`.

    Cormack, Clarke and Buettcher, SIGIR 2009, with weights.

    Args:
        lists: of each list what it holds, as numbers below `n`, each once, and their ranks, from 1.
        weights: one for each list.
        n: how many things there are.
        k: see `FUSION_K`.

    Returns:
        float64 `[n]`, 0 for what no list with a weight holds.
    """
    scores = np.zeros(n)
    for (rows, ranks), weight in zip(lists, weights, strict=True):
        scores[rows] += weight / (k + ranks)
    return scores


def fused_scores(
    rankings: Sequence[Iterable[Item]],
    weights: Sequence[float] | None = None,
    k: float = FUSION_K,
) -> dict[Item, float]:
    """The entries of several lists with their `rank_scores`, best first.

    Args:
        rankings: lists of anything hashable, best first, each entry once.
        weights: one for each list; by default 1.
        k: see `FUSION_K`.

    Returns:
        Equal scores in the order of the lists, then of the ranks.
    """
    listed = [list(ranking) for ranking in rankings]
    items = list(dict.fromkeys(chain.from_iterable(listed)))
    row_of = {item: row for row, item in enumerate(items)}
    lists = [
        (np.array([row_of[item] for item in each], np.int64), np.arange(1, len(each) + 1))
        for each in listed
    ]
    scores = rank_scores(lists, weights or [1.0] * len(lists), len(items), k)
    return {items[row]: float(scores[row]) for row in np.argsort(-scores, kind="stable").tolist()}


def fuse_ranks(rankings: Sequence[Iterable[Item]]) -> list[Item]:
    """The entries of several lists of equal weight, best first; see `fused_scores`."""
    return list(fused_scores(rankings))


def rank_candidates(
    scores: ArrayLike,
    first_stage_weight: float | None = None,
    first_stage_places: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """A ranker's candidates from best to worst.

    With a weight w the order is that of `1 / (k + rank) + w / (k + first rank)`: ranks by the
    ranker's score and by the first stage. Equal candidates stay in the first stage's order.

    Args:
        scores: `[n]`, finite, in the first stage's order, best first.
        first_stage_weight: w; None orders by the ranker's scores alone.
        first_stage_places: `[n]`, ascending positions in the first stage's list, from 0, where the
            scores cover only a part of it.

    Returns:
        int64 `[n]`, indices into `scores`.
    """
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    if first_stage_weight is None:
        return order
    rows = np.arange(len(order))
    first = rows if first_stage_places is None else np.asarray(first_stage_places)
    lists = [(rows, first + 1), (order, rows + 1)]
    return np.argsort(-rank_scores(lists, [first_stage_weight, 1.0], len(order)), kind="stable")
