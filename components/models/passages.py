"""Texts as passages of token ids, tokenised and cut once."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor


@dataclass(frozen=True)
class Passages:
    """The passages of some texts, in the order of the texts, every text with at least one.

    Attributes:
        ids: int32 `[n_tokens]`, the token ids of all passages end to end, special tokens included.
        starts: int64 `[n_passages + 1]`, where each passage begins in `ids`.
        per_text: int64 `[n_texts]`, passages of each text.
        text_tokens: int64 `[n_texts]`, tokens of each text before cutting, special tokens and
            prompt left out.
        kept_tokens: int64 `[n_texts]`, how many of those are in its passages.
        prompt_tokens: Leading tokens of every passage that belong to the prompt; 0 without one.
        pad_id: What fills up a shorter row of a batch.
    """

    ids: NDArray[np.int32]
    starts: NDArray[np.int64]
    per_text: NDArray[np.int64]
    text_tokens: NDArray[np.int64]
    kept_tokens: NDArray[np.int64]
    prompt_tokens: int
    pad_id: int

    def __len__(self) -> int:
        """Number of passages."""
        return len(self.starts) - 1

    @property
    def lengths(self) -> NDArray[np.int64]:
        """int64 `[n_passages]`, tokens of each passage."""
        return np.diff(self.starts)

    def take(self, texts: NDArray[np.int64]) -> Passages:
        """The passages of some texts.

        Args:
            texts: int64 `[n_taken]`, which texts, in the order wanted.
        """
        first = np.concatenate([[0], np.cumsum(self.per_text)])
        passages = _ranges(first[texts], self.per_text[texts])
        lengths = self.lengths[passages]
        return Passages(
            ids=self.ids[_ranges(self.starts[passages], lengths)],
            starts=np.concatenate([[0], np.cumsum(lengths)]),
            per_text=self.per_text[texts],
            text_tokens=self.text_tokens[texts],
            kept_tokens=self.kept_tokens[texts],
            prompt_tokens=self.prompt_tokens,
            pad_id=self.pad_id,
        )

    @property
    def tokens_per_text(self) -> NDArray[np.int64]:
        """int64 `[n_texts]`, tokens of all passages of each text, special tokens included."""
        first = np.concatenate([[0], np.cumsum(self.per_text)])
        tokens: NDArray[np.int64] = np.diff(self.starts[first])
        return tokens

    def batch(self, rows: NDArray[np.int64]) -> tuple[Tensor, Tensor | None]:
        """Passages as a rectangle, padded on the right.

        Args:
            rows: int64 `[n_rows]`, which passages.

        Returns:
            int64 ids `[n_rows, longest]` and an int64 mask of that shape, 1 where a token is real;
            None instead of the mask where nothing is padded, which lets attention run unmasked.
        """
        lengths = self.lengths[rows]
        longest = int(lengths.max())
        columns = np.arange(longest)
        real = columns < lengths[:, None]
        # Places beyond a passage point at its first token and are overwritten.
        places = self.starts[rows][:, None] + np.where(real, columns, 0)
        ids = self.ids[places].astype(np.int64)
        if real.all():
            return torch.from_numpy(ids), None
        ids[~real] = self.pad_id
        return torch.from_numpy(ids), torch.from_numpy(real.astype(np.int64))


def _ranges(starts: NDArray[np.int64], lengths: NDArray[np.int64]) -> NDArray[np.int64]:
    """start, start + 1, ... of each range, `length` numbers long, one range after the other."""
    ends = np.cumsum(lengths)
    return np.arange(ends[-1] if len(ends) else 0) + np.repeat(starts - ends + lengths, lengths)
