"""Pairs of question and passage as rows of token ids."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

Ids = NDArray[np.int32]


@dataclass(frozen=True)
class PairFormat:
    """What a model puts around the two texts of a pair, and how it tells them apart.

    Attributes:
        opening: Ids before the question.
        between: Ids between question and passage.
        closing: Ids after the passage.
        types: Token type up to the passage, and from there on; None in models without.
        pad_id: What fills up a shorter row of a batch.
        max_tokens: Tokens of a row at most, special tokens included.
    """

    opening: tuple[int, ...]
    between: tuple[int, ...]
    closing: tuple[int, ...]
    types: tuple[int, int] | None
    pad_id: int
    max_tokens: int

    @property
    def room(self) -> int:
        """Tokens for question and passage together."""
        return self.max_tokens - len(self.opening) - len(self.between) - len(self.closing)


@dataclass(frozen=True)
class PairRows:
    """Pairs as the model reads them.

    Attributes:
        rows: The ids of each pair, special tokens included.
        second: int64 `[n_pairs]`, where in its row each passage begins.
        format: What made the rows.
    """

    rows: Sequence[Ids]
    second: NDArray[np.int64]
    format: PairFormat

    @classmethod
    def of(cls, pairs: Sequence[tuple[Ids, Ids]], layout: PairFormat) -> PairRows:
        """Join the ids of questions and passages, each without special tokens."""
        opening, between, closing = (
            np.array(ids, np.int32) for ids in (layout.opening, layout.between, layout.closing)
        )
        rows = []
        second = np.empty(len(pairs), np.int64)
        for place, (question, passage) in enumerate(pairs):
            kept, kept_passage = truncated(len(question), len(passage), layout.room)
            parts = (opening, question[:kept], between, passage[:kept_passage], closing)
            rows.append(np.concatenate(parts))
            second[place] = len(opening) + kept + len(between)
        return cls(rows, second, layout)

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 `[n_pairs]`, tokens of each row."""
        return np.fromiter(map(len, self.rows), np.int64, len(self.rows))

    def batch(self, pairs: NDArray[np.int64]) -> dict[str, Tensor]:
        """Some pairs as the model's inputs, padded on the right.

        Returns:
            int64 `[n, longest]` under `input_ids`, under `token_type_ids` in models that have
            them, and under `attention_mask` (1 where a token is real) where something is padded.
        """
        rows = [self.rows[pair] for pair in pairs]
        lengths = np.fromiter(map(len, rows), np.int64, len(rows))
        columns = np.arange(int(lengths.max()))
        real = columns < lengths[:, None]
        ids = np.full(real.shape, self.format.pad_id, np.int64)
        ids[real] = np.concatenate(rows)
        features = {"input_ids": torch.from_numpy(ids)}
        if not real.all():
            features["attention_mask"] = torch.from_numpy(real.astype(np.int64))
        if self.format.types is not None:
            first, then = self.format.types
            types = np.where(columns < self.second[pairs][:, None], first, then)
            features["token_type_ids"] = torch.from_numpy(types.astype(np.int64))
        return features


def truncated(question: int, passage: int, room: int) -> tuple[int, int]:
    """Tokens kept of each where both do not fit: the longer gives way first ("longest_first")."""
    shorter, longer = sorted((question, passage))
    longer = shorter if shorter > room else min(longer, max(shorter, room - shorter))
    if shorter + longer > room:
        shorter, longer = room // 2, room - room // 2
    return (shorter, longer) if question <= passage else (longer, shorter)
