"""python -m training.cusines: train a bi-encoder with CuSINeS.

    python -m training.cusines --config training/configs/demo.yaml --output models/demo

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor
from torch.nn.attention import SDPBackend, sdpa_kernel

from components.models.biencoder import BiEncoder
from components.models.devices import measured_way, resolve_dtype
from components.models.encoding import Passages, TextEncoder, TokenBudget, encode_tokenized
from components.statutes.question import Question
from training.command_line import run, say, settings_from
from training.data import TrainingData, texts_of
from training.loop import Learner, train
from training.objective import (
    Batch,
    Optimizer,
    StepLoss,
    Vectors,
    everywhere,
    gather,
    propagate,
    share,
    warm_up_and_decay,
)
from training.settings import CusinesSettings
from training.starting_model import (
    OF_ITS_VECTORS,
    kept_parts,
    starting_digests,
    starting_model,
    train_mode,
)

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Side:
    """The questions or the articles of a run, tokenised, and how they are encoded.

    Attributes:
        encoder: The tower, and the head where there is one.
        passages: All texts of this side, tokenised once per run.
        dtype: Number format of the tower's computation; its weights, the head and the vectors are
            float32.
        budget: Padded tokens per forward pass.
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
        # A block of its own each time: autocast caches bf16 copies of the weights until the block
        # ends, and copies made without gradients would cut the weights off from a later pass.
        device = self.encoder.tower.device.type
        autocast = torch.autocast(device, self.dtype, enabled=self.dtype != torch.float32)
        with autocast, self._attention():
            return self.encoder.embed(self.passages.take(rows), budget or self.budget)

    def _attention(self) -> AbstractContextManager[object]:
        # PyTorch's fused attention on CPUs is fast forwards, but four times slower backwards than
        # plain matrix products. Avoid it without gradients too, so that both passes give the same
        # vectors.
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
    """Vectors of some texts; later takes their gradient and propagates it into the encoder.

    Whole: one forward pass, whose activations wait for the gradient. Cached (Gao et al. 2021,
    "Scaling Deep Contrastive Learning Batch Size under Memory Limited Setup"): a first pass piece
    by piece without activations, and in `backward` a second one that repeats each piece with the
    very same dropout, so that memory is bounded by the piece.

    Dropout repeats only in identical forward passes: in other batches the same texts draw other
    numbers. So a piece is never split where memory runs out: the batch has to begin again.

    Args:
        side: Encodes the texts.
        rows: int64 `[n]`, which of the side's texts.
        cached: Whether to encode in pieces.

    Attributes:
        vectors: float32 `[n, dim]`, of unit length, detached from the encoder.

    Raises:
        torch.OutOfMemoryError: The whole batch, or a piece, does not fit.
    """

    def __init__(self, side: Side, rows: Rows, *, cached: bool) -> None:
        self._side = side
        self._rows = rows
        self._whole: Tensor | None = None
        if not cached or not len(rows):
            self._whole = side.embed(rows)
            self.vectors = self._whole.detach()
            return
        self._tokens = side.budget.tokens
        self._pieces = side.pieces(rows)
        self._random: list[list[Tensor]] = []
        self.vectors = torch.empty(len(rows), side.encoder.tower.dim, device=self._device)
        for piece in self._pieces:
            self._random.append(random_states(self._device))
            with torch.no_grad():
                self.vectors[self._places(piece)] = self._embed(piece)

    def backward(self, gradient: Tensor) -> None:
        """Add the parameters' gradient, given the gradient of the vectors, `[n, dim]`.

        Raises:
            torch.OutOfMemoryError: The whole batch, or a piece, does not fit; the parameters hold
                a part of the gradient.
        """
        if self._whole is not None:
            if self._whole.requires_grad:
                torch.autograd.backward(self._whole, gradient)
            return
        after = random_states(self._device)
        for piece, states in zip(self._pieces, self._random, strict=True):
            restore_random_states(self._device, states)
            vectors = self._embed(piece)
            if vectors.requires_grad:
                torch.autograd.backward(vectors, gradient[self._places(piece)])
        restore_random_states(self._device, after)

    def _embed(self, piece: Rows) -> Tensor:
        budget = TokenBudget(self._tokens)
        vectors = self._side.embed(self._rows[piece], budget)
        if budget.tokens != self._tokens:  # the engine went on in smaller batches
            raise torch.OutOfMemoryError("memory ran out within a piece")
        return vectors

    def _places(self, piece: Rows) -> Tensor:
        return torch.from_numpy(piece).to(self._device)

    @property
    def _device(self) -> torch.device:
        return self._side.encoder.tower.device


def random_states(device: torch.device) -> list[Tensor]:
    """States of the random generators that dropout draws from: the CPU's and the device's."""
    states = [torch.get_rng_state()]
    if device.type != "cpu":
        states.append(torch.get_device_module(device).get_rng_state())
    return states


def restore_random_states(device: torch.device, states: Sequence[Tensor]) -> None:
    """Restore what `random_states` returned."""
    torch.set_rng_state(states[0])
    if device.type != "cpu":
        torch.get_device_module(device).set_rng_state(states[1])


# On a CPU larger pieces than for encoding pay off, since each piece adds up gradients.
_TRAINING_TOKENS = {"cpu": 2_048, "cuda": 65_536}
_DEFAULT_TRAINING_TOKENS = 8_192


class RunTexts:
    """The articles and questions of a run as token ids.

    Args:
        model: Its tokenizers tokenise the texts.
        data: The texts.
        token_budget: Padded tokens per forward pass of training; None: what suits the device.

    Attributes:
        articles: The articles, to be trained on.
        questions: The training questions, to be trained on.
    """

    def __init__(self, model: BiEncoder, data: TrainingData, token_budget: int | None) -> None:
        self.dtype = resolve_dtype(model.dtype, model.device)
        default = _TRAINING_TOKENS.get(model.device.type, _DEFAULT_TRAINING_TOKENS)
        self.budget = TokenBudget(token_budget or default)
        articles = texts_of(data.corpus, model.text_rule)
        self.articles = self._side(model.article_encoder, articles)
        self.questions = self._side(model.query_encoder, _texts(data.train))
        self._dev = self._side(model.query_encoder, _texts(data.dev))

    def _side(self, encoder: TextEncoder, texts: Sequence[str]) -> Side:
        return Side(encoder, encoder.tokenize(texts), self.dtype, self.budget)

    def encode(self, accelerator: Accelerator) -> Vectors:
        """Vectors of everything under the current weights; processes share the work."""
        sides = (self.articles, self.questions, self._dev)
        return Vectors(*(self._encode(accelerator, side) for side in sides))

    def _encode(self, accelerator: Accelerator, side: Side) -> Tensor:
        n_texts = len(side.passages.per_text)
        own = share(accelerator, n_texts)
        passages: Passages = side.passages if len(own) == n_texts else side.passages.take(own)
        vectors = encode_tokenized(side.encoder, passages, dtype=side.dtype)
        return gather(accelerator, vectors, n_texts)

    @property
    def dtype_name(self) -> str:
        """The number format of the towers, such as "bfloat16"."""
        return str(self.dtype).removeprefix("torch.")


def _texts(questions: Sequence[Question]) -> list[str]:
    return [question.text for question in questions]


def loss_and_gradient(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> StepLoss:
    """The loss of a batch; its gradient goes into the parameters, which hold none before.

    Each distinct article and question is encoded once, by one of the processes. Every process then
    has all vectors, computes the whole loss, and propagates the gradient of its own share of the
    vectors into the encoder.

    When memory runs out under gradient caching, all processes begin the batch again with the same
    random numbers, the one concerned in smaller pieces: as if its pieces had been that small from
    the beginning.

    Returns:
        What the step reports; in every process the same.

    Raises:
        torch.OutOfMemoryError: The batch, or under gradient caching a single text, does not fit.
    """
    device = texts.articles.encoder.tower.device
    start = random_states(device)
    while (step := _attempt(batch, texts, settings, accelerator)) is None:
        restore_random_states(device, start)
        for side in (texts.questions, texts.articles):
            side.forget_gradients()
        say("Memory ran out: repeating the batch in smaller pieces, and using them from now on")
    return step


def _attempt(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> StepLoss | None:
    """What the step reports; None if memory ran out in one of the processes."""
    cached, budget = settings.gradient_caching, texts.budget
    parts, wholes, fits = [], [], True
    for side, rows in ((texts.questions, batch.questions), (texts.articles, batch.articles)):
        own = share(accelerator, len(rows))
        try:
            parts.append((GradientVectors(side, rows[own], cached=cached), own))
        except torch.OutOfMemoryError:
            if not cached or budget.tokens == 1:
                raise
            budget.tokens //= 2
            fits = False
        if not everywhere(accelerator, fits):
            return None
        wholes.append(gather(accelerator, parts[-1][0].vectors, len(rows)).requires_grad_())
    questions, articles = wholes
    step = propagate(questions, articles, batch, settings)
    try:
        for (part, own), whole in zip(parts, wholes, strict=True):
            assert whole.grad is not None
            part.backward(whole.grad[torch.from_numpy(own).to(whole.device)])
    except torch.OutOfMemoryError:
        if not cached or budget.tokens == 1:
            raise
        budget.tokens //= 2
        fits = False
    return step if everywhere(accelerator, fits) else None


# The bi-encoder as a learner of the training loop.


class BiEncoderLearner(Learner):
    """A bi-encoder that learns to find articles.

    Args:
        settings: Of the run.
        data: The texts.
        accelerator: Device and processes.

    Attributes:
        model: The bi-encoder, trained in place.

    Raises:
        ModelError: A model cannot be opened, or the parts do not fit together.
        SettingsError: More layers are to be frozen than a tower has, or nothing is left to train.
    """

    def __init__(
        self, settings: CusinesSettings, data: TrainingData, accelerator: Accelerator
    ) -> None:
        torch.manual_seed(settings.seed)  # for a fresh head
        self.model: BiEncoder = starting_model(settings, accelerator.device)
        self._settings = settings
        self._accelerator = accelerator
        self._texts = RunTexts(self.model, data, settings.token_budget)

    @property
    def fixed(self) -> Mapping[str, Any]:
        """Digests of the starting models, number format and matrix-product library."""
        return {
            **starting_digests(self._settings),
            "dtype": self._texts.dtype_name,
            "products": measured_way(self.model.device, self._texts.dtype),
        }

    def optimizer(self, total_steps: int) -> Optimizer:
        """AdamW with warm-up and linear decay; the head has its own rate."""
        settings = self._settings
        return Optimizer(
            self.model,
            learning_rate=settings.learning_rate,
            head_lr=settings.head_lr,
            weight_decay=settings.weight_decay,
            rates=warm_up_and_decay(total_steps, settings.warmup),
        )

    def encode(self) -> Vectors:
        """Vectors of everything under the current weights; processes share the work."""
        return self._texts.encode(self._accelerator)

    def loss_and_gradient(self, batch: Batch) -> StepLoss:
        """Call the function of this name with the texts of this learner."""
        return loss_and_gradient(batch, self._texts, self._settings, self._accelerator)

    def train_mode(self) -> None:
        """Turn dropout on, except in frozen modules."""
        train_mode(self.model)

    def state(self) -> dict[str, Any]:
        """The token budget: a device that ran out of memory has halved it."""
        return {"token_budget": self._texts.budget.tokens}

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` gave."""
        self._texts.budget.tokens = int(state["token_budget"])

    def save(
        self, output: Path, data: TrainingData, metrics: Mapping[str, Any], *, dense_weight: float
    ) -> None:
        """Write the model folder; a ranker of the starting model is copied into it."""
        base = self._settings.starting_model
        self.model.dense_weight = dense_weight
        self.model.save(
            output,
            base_model=base,
            config=self._settings.to_dict(),
            data=data.digests(),
            metrics=metrics,
            held_out=[question.id for question in data.aside],
            kept=kept_parts(base, without=OF_ITS_VECTORS),
        )


_DESCRIPTION = """\
Trains a bi-encoder on questions with known articles, with negatives whose difficulty comes from the
tree of the law, its sequence and the model itself, from easy to difficult. Writes a model folder
that every pipeline takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("cusines", _DESCRIPTION, CusinesSettings, arguments)

    def work() -> None:
        settings.check_views()
        train(settings, BiEncoderLearner)

    return run(work)


if __name__ == "__main__":
    sys.exit(main())
