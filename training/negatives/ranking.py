"""Ranks negatives in each view and fuses the rankings (CuSINeS, section 3)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from training.negatives.curriculum import CurriculumSettings, View
from training.negatives.gold import Gold, flattened

_SIGN = 1 << 63


class TieKeys:
    """A pseudo-random key for every (question, article), from their ids and a seed.

    key(q, a) = mix(hash(seed, purpose, q) xor hash(a)): BLAKE2b for the ids, and the finaliser of
    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) for `mix`. That is a bijection on 64 bits, so
    two articles have the same key for a question only if their ids' hashes collide.

    Args:
        seed: A different seed gives a different order.
        question_ids: Ids of the questions.
        article_ids: Ids of the articles by position.
        device: Where the keys are computed.
    """

    def __init__(
        self,
        seed: int,
        question_ids: Sequence[str],
        article_ids: Sequence[str],
        device: torch.device,
    ) -> None:
        self._seed = seed
        self._question_ids = question_ids
        self._articles = _hashes(article_ids).to(device)

    def of(self, rows: NDArray[np.int64], purpose: str) -> Tensor:
        """Keys of all articles for some questions.

        Args:
            rows: int64 `[n_rows]`, which questions.
            purpose: What the keys are for; a different purpose gives a different order.

        Returns:
            int64 `[n_rows, n_articles]`.
        """
        texts = [f"{self._seed}/{purpose}/{self._question_ids[row]}" for row in rows.tolist()]
        return _mix(_hashes(texts).to(self._articles.device)[:, None] ^ self._articles)


def descending(scores: Tensor, keys: Tensor) -> Tensor:
    """Places by score, highest first; equal scores by key, smallest first.

    Args:
        scores: `[n_rows, n]`.
        keys: int64, same shape.

    Returns:
        int64 `[n_rows, n]`: each row is a permutation.
    """
    values, order = scores.sort(dim=1, descending=True)
    starts, ends = group_edges(values)
    # Fused scores are seldom equal, and sorting all keys would take as long as sorting the scores.
    tied = ~(starts & ends)
    group = starts.flatten().cumsum(0)[tied.flatten()]
    places = order[tied]
    by_key = keys[tied.nonzero()[:, 0], places].argsort()
    by_group = group[by_key].argsort(stable=True)
    order[tied] = places[by_key[by_group]]
    return order


def group_edges(values: Tensor) -> tuple[Tensor, Tensor]:
    """Where each group of equal values starts and ends in sorted rows.

    Args:
        values: `[n_rows, n]`, each row sorted.

    Returns:
        Two bool tensors of the same shape.
    """
    edges = torch.ones(values.shape[0], values.shape[1] + 1, dtype=torch.bool, device=values.device)
    torch.ne(values[:, 1:], values[:, :-1], out=edges[:, 1:-1])
    return edges[:, :-1], edges[:, 1:]


def _hashes(texts: Sequence[str]) -> Tensor:
    digests = (hashlib.blake2b(text.encode(), digest_size=8).digest() for text in texts)
    signed = [int.from_bytes(digest, "little") - _SIGN for digest in digests]
    return torch.tensor(signed, dtype=torch.int64)


def _mix(x: Tensor) -> Tensor:
    x = (x ^ _shifted(x, 30)) * _signed(0xBF58476D1CE4E5B9)
    x = (x ^ _shifted(x, 27)) * _signed(0x94D049BB133111EB)
    return x ^ _shifted(x, 31)


def _shifted(x: Tensor, bits: int) -> Tensor:
    """Right shift that fills with zeros; torch's own fills with the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >= _SIGN else constant


def fuse(ranks: Sequence[Tensor], keys: Tensor, k: int = 60) -> Tensor:
    """Reciprocal rank fusion (Cormack, Clarke and Buettcher, SIGIR 2009): sum of 1 / (k + rank).

    `components.statutes.fusion` fuses the lists of retrievers at query time by the same formula.
    It is not used here because this one fuses whole tensors of ranks on the device: every article
    has a rank, ranks may be halves (ties), and equal sums are ordered by key. Its k differs too:
    k = 60 is the published constant, and the difficulty of the whole list counts here; search
    fuses short lists, in which the first ranks should stand out, with the measured k = 10.

    Division and addition in float64 are rounded the same on every device, so the order is the same.

    Args:
        ranks: For each view float32 `[n_rows, n_articles]`, 1 is hardest, infinity where excluded.
        keys: int64 `[n_rows, n_articles]`; of equal sums the smallest key goes first.
        k: The higher, the less the first ranks stand out. Cormack et al. recommend 60; the CuSINeS
            paper gives none.

    Returns:
        int64 `[n_rows, n_articles]`: articles by fused difficulty, hardest first, the excluded
        ones last. Each row is a permutation of all articles.
    """
    score = torch.zeros_like(keys, dtype=torch.float64)
    for view in ranks:
        # Excluded articles have rank infinity and score 0, less than any negative.
        score += 1 / (view.double() + k)
    return descending(score, keys)


def mid_ranks(difficulty: Tensor, excluded: Tensor) -> tuple[Tensor, Tensor]:
    """Ranks in which tied negatives share the middle of the ranks that they occupy.

    A tree has a handful of distinct distances, so nearly all negatives are tied. Mid-ranks keep
    the noise of a tie-break out of the fusion.

    Args:
        difficulty: float32 `[n_rows, n_articles]`, finite; higher is harder.
        excluded: bool, same shape: what is not a negative of the row's question.

    Returns:
        Ranks, float32 `[n_rows, n_articles]`: 1 is the hardest negative, whole or half numbers,
        infinity where excluded; and how many negatives of each row are tied, int64 `[n_rows]`.
    """
    values, order = difficulty.masked_fill(excluded, -torch.inf).sort(dim=1, descending=True)
    starts, ends = group_edges(values)
    n = difficulty.shape[1]
    place = torch.arange(1, n + 1, dtype=torch.float32, device=difficulty.device)
    first = torch.where(starts, place, 0.0).cummax(dim=1).values
    last = torch.where(ends, place, torch.inf).flip(1).cummin(dim=1).values.flip(1)
    ranks = torch.empty_like(difficulty).scatter_(1, order, (first + last) / 2)
    return ranks.masked_fill_(excluded, torch.inf), _tied(values, starts, ends)


def permutation_ranks(difficulty: Tensor, excluded: Tensor, keys: Tensor) -> tuple[Tensor, Tensor]:
    """Ranks in which every negative has its own; among tied ones the smaller key goes first.

    As in the paper: each view ranks all negatives.

    Args:
        difficulty: As for `mid_ranks`.
        excluded: As for `mid_ranks`.
        keys: int64, same shape; should differ from view to view, so that a shared tie-break does
            not count as agreement.

    Returns:
        As for `mid_ranks`; whole numbers.
    """
    masked = difficulty.masked_fill(excluded, -torch.inf)
    order = descending(masked, keys)
    values = masked.gather(1, order)
    n = difficulty.shape[1]
    place = torch.arange(1, n + 1, dtype=torch.float32, device=difficulty.device)
    ranks = torch.empty_like(difficulty).scatter_(1, order, place.expand_as(difficulty))
    return ranks.masked_fill_(excluded, torch.inf), _tied(values, *group_edges(values))


def _tied(values: Tensor, starts: Tensor, ends: Tensor) -> Tensor:
    return (~(starts & ends) & (values > -torch.inf)).sum(dim=1)


@dataclass(frozen=True)
class RankedBlock:
    """The negatives of a block of questions.

    Attributes:
        order: int64 `[n_rows, n_articles]`: articles, hardest negative first, then the excluded.
        ranks: For each view float32 `[n_rows, n_articles]`: the rank of each article in it.
        tied: For each view how many negatives it ties with another, int64 `[n_rows]`.
    """

    order: Tensor
    ranks: tuple[Tensor, ...]
    tied: tuple[Tensor, ...]


class FusedRanking:
    """Ranks the negatives in each view, and fuses the rankings.

    Args:
        views: At least one.
        gold: The questions; articles that it excludes come last.
        settings: They decide how ties are ranked and how views are fused.
        device: Where the negatives are ranked.
    """

    def __init__(
        self,
        views: Sequence[View],
        gold: Gold,
        settings: CurriculumSettings,
        device: torch.device,
    ) -> None:
        self._views = views
        self._gold = gold
        self._settings = settings
        self._device = device
        self._keys = TieKeys(settings.seed, gold.question_ids, gold.article_ids, device)

    @torch.no_grad()
    def of(self, rows: NDArray[np.int64]) -> RankedBlock:
        """Rank the negatives of some questions; memory grows with `n_rows * n_articles`.

        Args:
            rows: int64 `[n_rows]`, which questions.

        Raises:
            ValueError: A view did not return finite float32 `[n_rows, n_articles]`; names it.
        """
        excluded = torch.zeros(
            len(rows), self._gold.n_articles, dtype=torch.bool, device=self._device
        )
        cells = flattened(self._gold.excluded, rows)
        excluded[tuple(torch.from_numpy(each).to(self._device) for each in cells)] = True
        ranked = [self._ranks(view, rows, excluded) for view in self._views]
        ranks, tied = zip(*ranked, strict=True)
        order = fuse(ranks, self._keys.of(rows, "fusion"), self._settings.k)
        return RankedBlock(order, ranks, tied)

    def _ranks(
        self, view: View, rows: NDArray[np.int64], excluded: Tensor
    ) -> tuple[Tensor, Tensor]:
        difficulty = _checked(view, view.difficulty(rows), excluded).to(self._device)
        if self._settings.ties == "mid_rank":
            return mid_ranks(difficulty, excluded)
        keys = self._keys.of(rows, f"view {view.name}")
        return permutation_ranks(difficulty, excluded, keys)


def _checked(view: View, difficulty: Tensor, excluded: Tensor) -> Tensor:
    """A view's difficulties, checked: NaN would give a meaningless order."""
    if difficulty.dtype != torch.float32 or difficulty.shape != excluded.shape:
        raise ValueError(
            f"view {view.name!r} gave {difficulty.dtype} {list(difficulty.shape)}. It must give "
            f"float32 {list(excluded.shape)}, one row per question"
        )
    # NaN becomes both minimum and maximum, so one pass finds it.
    if not all(map(math.isfinite, difficulty.aminmax())):
        raise ValueError(
            f"view {view.name!r} gave difficulties that are not finite. Give articles without a "
            "difficulty a number below all others"
        )
    return difficulty
