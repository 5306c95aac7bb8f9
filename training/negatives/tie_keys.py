"""Keys that break ties: the same on every device, in every process, in any block."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

_SIGN = 1 << 63


class TieKeys:
    """A pseudo-random key for every (question, article), from their ids and a seed.

    key(q, a) = mix(hash(seed, purpose, q) xor hash(a)): BLAKE2b for the ids, and the finaliser of
    SplitMix64 (Steele, Lea and Flood, OOPSLA 2014) for `mix`. That is a bijection on 64 bits, so
    two articles have the same key for a question only if their ids' hashes collide.

    Args:
        seed: Another seed, another order.
        question_ids: Ids of the questions.
        article_ids: Ids of the articles by position.
        device: Where the keys are made.
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
            purpose: What the keys are for; another purpose, another order.

        Returns:
            int64 `[n_rows, n_articles]`.
        """
        texts = [f"{self._seed}/{purpose}/{self._question_ids[row]}" for row in rows.tolist()]
        return _mix(_hashes(texts).to(self._articles.device)[:, None] ^ self._articles)


def descending(scores: Tensor, keys: Tensor) -> Tensor:
    """Places by score, highest first, and of equal scores the smallest key first.

    Args:
        scores: `[n_rows, n]`.
        keys: int64, same shape.

    Returns:
        int64 `[n_rows, n]`: each row is a permutation.
    """
    values, order = scores.sort(dim=1, descending=True)
    starts, ends = group_edges(values)
    # Fused scores are seldom equal, and to sort all keys takes as long as to sort all scores.
    tied = ~(starts & ends)
    group = starts.flatten().cumsum(0)[tied.flatten()]
    places = order[tied]
    by_key = keys[tied.nonzero()[:, 0], places].argsort()
    by_group = group[by_key].argsort(stable=True)
    order[tied] = places[by_key[by_group]]
    return order


def group_edges(values: Tensor) -> tuple[Tensor, Tensor]:
    """Where in sorted rows a group of equal values starts, and where it ends.

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
    """Shift to the right that brings in zeros; torch's own brings in the sign."""
    return (x >> bits) & ((1 << (64 - bits)) - 1)


def _signed(constant: int) -> int:
    return constant - (1 << 64) if constant >= _SIGN else constant
