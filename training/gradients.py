"""Vectors of texts whose gradient comes later: whole, or in pieces that fit into memory."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from components.models.encoding import TextEncoder, TokenBudget
from components.models.tower import Passages

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """The questions or the articles of a run: how they are encoded, and all of them tokenised.

    Attributes:
        encoder: The tower, and the head where there is one.
        passages: All texts of this side, tokenised once a run.
        dtype: Of the tower; its weights, the head and the vectors are float32.
        budget: Padded tokens a forward pass.
    """

    encoder: TextEncoder
    passages: Passages
    dtype: torch.dtype
    budget: TokenBudget

    def embed(self, rows: Rows, budget: TokenBudget | None = None) -> Tensor:
        """Unit vectors of some texts, float32 `[n_rows, dim]`, with gradients where enabled.

        Args:
            rows: int64 `[n_rows]`, which texts.
            budget: In place of the side's own.
        """
        # A block of its own each time: autocast remembers its bf16 copies of the weights until
        # the block ends, and copies made without gradients would cut a later pass off from them.
        with self._autocast(), self._attention():
            return self.encoder.embed(self.passages.take(rows), budget or self.budget)

    def _autocast(self) -> AbstractContextManager[object]:
        device = self.encoder.tower.device.type
        return torch.autocast(device, self.dtype, enabled=self.dtype != torch.float32)

    def _attention(self) -> AbstractContextManager[object]:
        # PyTorch's fused attention for CPUs is fast forwards, and four times slower backwards than
        # plain matrix products. In the pass without gradients too: both give the same vectors.
        if self.encoder.tower.device.type == "cpu":
            return sdpa_kernel(SDPBackend.MATH)
        return nullcontext()

    def forget_gradients(self) -> None:
        """Leave the encoder's parameters without a gradient."""
        for part in (self.encoder.tower, self.encoder.head):
            if part is not None:
                part.zero_grad(set_to_none=True)

    def pieces(self, rows: Rows) -> list[Rows]:
        """Indices into `rows`, by length, in pieces of about the budget's tokens."""
        tokens = self.passages.tokens_per_text[rows]
        order = np.argsort(tokens, kind="stable")
        piece = (np.cumsum(tokens[order]) - 1) // self.budget.tokens
        return np.split(order, np.flatnonzero(np.diff(piece)) + 1)


class GradientVectors:
    """Vectors of some texts now; their gradient is sent into the encoder when it is known.

    Whole: one forward pass, whose activations wait for the gradient. Cached (Gao et al. 2021,
    "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"): a first pass piece
    by piece without activations, and in `backward` a second one that repeats each piece with the
    very same dropout, so that memory is bounded by the piece.

    Dropout repeats itself only in the very same forward passes: in other batches the same texts
    draw other numbers. So where memory runs out a piece is never split. Half the budget makes new
    pieces, and the first pass starts again; if it was the second that ran out, or the other side
    of the batch that lowered the budget, `backward` says so, and the batch has to begin again.

    Args:
        side: Encodes the texts.
        rows: int64 `[n]`, which of the side's texts.
        cached: In pieces.

    Attributes:
        vectors: float32 `[n, dim]`, of unit length, detached from the encoder.

    Raises:
        torch.OutOfMemoryError: The whole, or one text alone, does not fit.
    """

    def __init__(self, side: Side, rows: Rows, *, cached: bool) -> None:
        self._side = side
        self._rows = rows
        self._pieces: Sequence[Rows] = ()
        if not cached or not len(rows):
            self._whole = side.embed(rows)
            self.vectors = self._whole.detach()
            return
        self.vectors = torch.empty(len(rows), side.encoder.tower.dim, device=self._device)
        start = random_states(self._device)
        while not self._first_pass():
            restore_random_states(self._device, start)

    def backward(self, gradient: Tensor) -> bool:
        """Add the parameters' gradient, given the gradient of the vectors, `[n, dim]`.

        Returns:
            Whether that was done. If not, which only happens in pieces, the budget is lower now,
            the parameters hold a part of the gradient, and the batch has to begin again.

        Raises:
            torch.OutOfMemoryError: The whole, or one text alone, does not fit.
        """
        if not self._pieces:
            if self._whole.requires_grad:
                torch.autograd.backward(self._whole, gradient)
            return True
        if self._side.budget.tokens != self._tokens:
            return False
        after = random_states(self._device)
        for piece, states in zip(self._pieces, self._random, strict=True):
            restore_random_states(self._device, states)
            if not self._second_pass(piece, gradient):
                return False
        restore_random_states(self._device, after)
        return True

    def _first_pass(self) -> bool:
        """Make the vectors; False if memory ran out, and the budget is lower now."""
        self._tokens = self._side.budget.tokens
        self._pieces = self._side.pieces(self._rows)
        self._random: list[list[Tensor]] = []
        for piece in self._pieces:
            self._random.append(random_states(self._device))
            try:
                with torch.no_grad():
                    self.vectors[self._places(piece)] = self._embed(piece)
            except torch.OutOfMemoryError:
                if self._tokens == 1:
                    raise
                self._halve_budget(piece)
                return False
        return True

    def _second_pass(self, piece: Rows, gradient: Tensor) -> bool:
        """Repeat a piece and add its gradient; False if memory ran out, as in the first."""
        try:
            vectors = self._embed(piece)
            if vectors.requires_grad:
                torch.autograd.backward(vectors, gradient[self._places(piece)])
        except torch.OutOfMemoryError:
            if self._tokens == 1:
                raise
            self._halve_budget(piece)
            return False
        return True

    def _embed(self, piece: Rows) -> Tensor:
        """The vectors of a piece.

        Raises:
            torch.OutOfMemoryError: Memory ran out, even where smaller batches of it did fit then.
        """
        budget = TokenBudget(self._tokens)
        vectors = self._side.embed(self._rows[piece], budget)
        if budget.tokens != self._tokens:
            raise torch.OutOfMemoryError("memory ran out within a piece")
        return vectors

    def _halve_budget(self, piece: Rows) -> None:
        """Lower the budget, for good, to half of what was tried."""
        n_tokens = int(self._side.passages.tokens_per_text[self._rows[piece]].sum())
        self._side.budget.tokens = max(1, min(self._tokens, n_tokens) // 2)

    def _places(self, piece: Rows) -> Tensor:
        return torch.from_numpy(piece).to(self._device)

    @property
    def _device(self) -> torch.device:
        return self._side.encoder.tower.device


def random_states(device: torch.device) -> list[Tensor]:
    """States of the generators that dropout draws from: the CPU's, and the device's own."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        states.append(torch.mps.get_rng_state())
    return states


def restore_random_states(device: torch.device, states: Sequence[Tensor]) -> None:
    """Put back what `random_states` gave."""
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)
    elif device.type == "mps":
        torch.mps.set_rng_state(states[1])
