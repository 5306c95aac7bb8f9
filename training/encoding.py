"""The texts of a run, tokenised once, and their vectors under the current weights."""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack, contextmanager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from components.models.biencoder import BiEncoder
from components.models.devices import resolve_device, resolve_dtype
from components.models.encoding import TextEncoder, TokenBudget, encode_tokenized
from components.models.tower import Passages, Tower
from components.statutes.article import indexed_text
from components.statutes.question import Question
from training.data import TrainingData
from training.starting_model import stack_of

# Several processes work as one: each encodes its share, and all get all vectors.


def share(accelerator: Accelerator, n: int) -> NDArray[np.int64]:
    """Which of n texts this process encodes, int64: every n_processes-th."""
    return np.arange(accelerator.process_index, n, accelerator.num_processes)


def gather(accelerator: Accelerator, own: Tensor, n: int) -> Tensor:
    """The vectors of all n texts `[n, dim]` from every process's `share` of them."""
    if accelerator.num_processes == 1 or n == 0:
        return own
    longest = -(-n // accelerator.num_processes)
    padded = own.new_zeros(longest, own.shape[1])
    padded[: len(own)] = own
    everyone: Tensor = accelerator.gather(padded)
    everyone = everyone.view(accelerator.num_processes, longest, -1)
    # Text i is the (i // n_processes)-th of process i % n_processes.
    return everyone.transpose(0, 1).reshape(-1, own.shape[1])[:n].contiguous()


def sum_gradients(accelerator: Accelerator, parameters: Iterable[nn.Parameter]) -> None:
    """Add up the gradients of all processes.

    Every process has the loss of the whole batch, but the gradient only through its own share of
        the vectors: the sum is the gradient of the loss, divided once by the number of all pairs.
    """
    if accelerator.num_processes == 1:
        return
    parameters = list(parameters)
    device = accelerator.device
    have = torch.tensor([parameter.grad is not None for parameter in parameters], device=device)
    # A parameter without a gradient in any process, such as an unused pooler's, keeps None.
    in_use = (accelerator.reduce(have.int(), reduction="sum") > 0).tolist()
    for parameter, used in zip(parameters, in_use, strict=True):
        if used and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    summed = accelerator.reduce(flat, reduction="sum")
    for gradient, part in zip(
        gradients, summed.split([gradient.numel() for gradient in gradients]), strict=True
    ):
        gradient.copy_(part.view_as(gradient))


def everywhere(accelerator: Accelerator, fact: bool) -> bool:
    """Whether something holds in every process."""
    if accelerator.num_processes == 1:
        return fact
    lacking = torch.tensor([int(not fact)], device=accelerator.device)
    return int(accelerator.reduce(lacking, reduction="sum")) == 0


def from_main(accelerator: Accelerator, value: Any) -> Any:
    """The main process's value, in every process."""
    if accelerator.num_processes == 1:
        return value
    box = [value]
    broadcast_object_list(box)
    return box[0]


def sees_what_main_writes(accelerator: Accelerator, folder: Path) -> bool:
    """Whether every process sees what the main process writes into a folder.

    Args:
        accelerator: The processes.
        folder: Created if missing.
    """
    if accelerator.num_processes == 1:
        return True
    token = folder / f".seen-{from_main(accelerator, secrets.token_hex(8))}"
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        token.touch()
    accelerator.wait_for_everyone()
    shared = everywhere(accelerator, token.exists())
    if accelerator.is_main_process:
        token.unlink()
    return shared


def take_device(name: str | None) -> torch.device:
    """The named device, see `resolve_device`; Accelerate then uses it among several cards.

    Raises:
        ModelError: As in `resolve_device`.
    """
    device = resolve_device(name)
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device


@dataclass(frozen=True)
class Vectors:
    """Unit vectors of a run's texts, float32 `[n_texts, dim]` on the model's device."""

    articles: Tensor
    train: Tensor
    dev: Tensor

    def are_finite(self) -> bool:
        """Whether no vector holds NaN or infinity."""
        return all(bool(side.isfinite().all()) for side in (self.articles, self.train, self.dev))


# Limit for states kept on the device; batches beyond it are computed each time.
MOST_BYTES = 2 << 30


class FrozenStates:
    """Replays the frozen layers of a tower for batches that it has encoded before.

    A batch is recognised by its token ids and their mask, so the order of batches does not matter.
    States are kept in full precision: the vectors are bit for bit the same with and without.

    Args:
        tower: Its embeddings and first layers are frozen.
        n_layers: How many layers.
        most_bytes: Limit for all states together.
    """

    def __init__(self, tower: Tower, n_layers: int, most_bytes: int = MOST_BYTES) -> None:
        self._tower = tower
        self._layers = list(stack_of(tower)[1])[:n_layers]
        self._most_bytes = most_bytes
        self._kept: dict[bytes, Any] = {}
        self._bytes = 0
        self._batch = b""

    @contextmanager
    def replaying(self) -> Iterator[None]:
        """Within this block, skip frozen layers for known batches; no gradients."""
        if not self._layers:
            yield
            return
        *lower, last = self._layers
        with ExitStack() as stack:
            hook = self._tower.register_forward_pre_hook(self._see)
            stack.callback(hook.remove)
            for layer in lower:
                stack.enter_context(_instead(layer, self._skipping(layer.forward)))
            stack.enter_context(_instead(last, self._replaying(last.forward)))
            yield

    def _see(self, _: nn.Module, inputs: tuple[Any, ...]) -> None:
        ids: Tensor = inputs[0]
        # A text may contain the padding token itself: ids alone do not say what is padding.
        mask: Tensor | None = inputs[1]
        digest = hashlib.sha256(str(tuple(ids.shape)).encode())
        for part in (ids, mask):
            digest.update(b"" if part is None else part.cpu().numpy().tobytes())
        self._batch = digest.digest()

    def _skipping(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def skip(states: Tensor, *arguments: Any, **named: Any) -> Any:
            if self._batch not in self._kept:
                return forward(states, *arguments, **named)
            kept = self._kept[self._batch]
            # Some layers return more than their states: repeat everything that they returned.
            return (states, *kept[1:]) if isinstance(kept, tuple) else states

        return skip

    def _replaying(self, forward: Callable[..., Any]) -> Callable[..., Any]:
        def replay(states: Tensor, *arguments: Any, **named: Any) -> Any:
            if self._batch in self._kept:
                return self._kept[self._batch]
            made = forward(states, *arguments, **named)
            tensors = [each for each in _flat(made) if isinstance(each, Tensor)]
            size = sum(each.element_size() * each.nelement() for each in tensors)
            if self._bytes + size <= self._most_bytes:
                self._kept[self._batch] = made
                self._bytes += size
            return made

        return replay


def _flat(value: Any) -> tuple[Any, ...]:
    return value if isinstance(value, tuple) else (value,)


@contextmanager
def _instead(layer: nn.Module, forward: Callable[..., Any]) -> Iterator[None]:
    layer.forward = forward
    try:
        yield
    finally:
        del layer.forward


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
        with self._autocast(), self._attention():
            return self.encoder.embed(self.passages.take(rows), budget or self.budget)

    def _autocast(self) -> AbstractContextManager[object]:
        device = self.encoder.tower.device.type
        return torch.autocast(device, self.dtype, enabled=self.dtype != torch.float32)

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
        numbers. So a piece is never split where memory runs out. Instead the budget is halved, new
        pieces are made, and the first pass starts again. If the second pass ran out, or the other
        side of the batch lowered the budget, `backward` returns False, and the batch has to begin
        again.

    Args:
        side: Encodes the texts.
        rows: int64 `[n]`, which of the side's texts.
        cached: Whether to encode in pieces.

    Attributes:
        vectors: float32 `[n, dim]`, of unit length, detached from the encoder.

    Raises:
        torch.OutOfMemoryError: The whole batch, or in pieces a single text, does not fit.
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
            Whether it succeeded. If not, which only happens in pieces, the budget is lower now, the
            parameters hold a part of the gradient, and the batch has to begin again.

        Raises:
            torch.OutOfMemoryError: The whole batch, or in pieces a single text, does not fit.
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
        """Make the vectors; False if memory ran out and the budget was lowered."""
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
            torch.OutOfMemoryError: Memory ran out, even if smaller batches then fitted.
        """
        budget = TokenBudget(self._tokens)
        vectors = self._side.embed(self._rows[piece], budget)
        if budget.tokens != self._tokens:
            raise torch.OutOfMemoryError("memory ran out within a piece")
        return vectors

    def _halve_budget(self, piece: Rows) -> None:
        """Lower the budget permanently to half of what was tried."""
        n_tokens = int(self._side.passages.tokens_per_text[self._rows[piece]].sum())
        self._side.budget.tokens = max(1, min(self._tokens, n_tokens) // 2)

    def _places(self, piece: Rows) -> Tensor:
        return torch.from_numpy(piece).to(self._device)

    @property
    def _device(self) -> torch.device:
        return self._side.encoder.tower.device


def random_states(device: torch.device) -> list[Tensor]:
    """States of the random generators that dropout draws from: the CPU's and the device's."""
    states = [torch.get_rng_state()]
    if device.type == "cuda":
        states.append(torch.cuda.get_rng_state(device))
    elif device.type == "mps":
        states.append(torch.mps.get_rng_state())
    return states


def restore_random_states(device: torch.device, states: Sequence[Tensor]) -> None:
    """Restore what `random_states` returned."""
    torch.set_rng_state(states[0])
    if device.type == "cuda":
        torch.cuda.set_rng_state(states[1], device)
    elif device.type == "mps":
        torch.mps.set_rng_state(states[1])


# On a CPU larger pieces than for encoding pay off, since each piece adds up gradients.
_TRAINING_TOKENS = {"cpu": 2_048, "cuda": 65_536}
_DEFAULT_TRAINING_TOKENS = 8_192
_ARTICLES_LOOKED_AT = 256


class RunTexts:
    """The articles and questions of a run as token ids.

    Args:
        model: Its tokenizers tokenise the texts.
        data: The texts.
        token_budget: Padded tokens per forward pass of training; None: what suits the device.
        frozen_layers: Layers of each tower that are never trained: `encode` runs them once and
            keeps their states, up to 2 GB per tower.

    Attributes:
        articles: The articles, to be trained on.
        questions: The training questions, to be trained on.
    """

    def __init__(
        self,
        model: BiEncoder,
        data: TrainingData,
        token_budget: int | None,
        frozen_layers: int = 0,
    ) -> None:
        self.dtype = resolve_dtype(model.dtype, model.device)
        default = _TRAINING_TOKENS.get(model.device.type, _DEFAULT_TRAINING_TOKENS)
        self.budget = TokenBudget(token_budget or default)
        by_rule = [indexed_text(a.headings, a.text, model.text_rule) for a in data.corpus]
        self.articles = self._side(model.article_encoder, by_rule)
        self.questions = self._side(model.query_encoder, _texts(data.train))
        self._dev = self._side(model.query_encoder, _texts(data.dev))
        towers = {id(tower): tower for tower in (model.query, model.passage)}
        self._frozen = [
            FrozenStates(tower, frozen_layers) for tower in towers.values() if frozen_layers
        ]

    def _side(self, encoder: TextEncoder, texts: Sequence[str]) -> Side:
        return Side(encoder, encoder.tokenize(texts), self.dtype, self.budget)

    def encode(self, accelerator: Accelerator, progress: Callable[[int], None]) -> Vectors:
        """Vectors of everything under the current weights; processes share the work."""
        with ExitStack() as stack:
            for states in self._frozen:
                stack.enter_context(states.replaying())
            return Vectors(
                *(
                    self._encode(accelerator, side, progress)
                    for side in (self.articles, self.questions, self._dev)
                )
            )

    def _encode(
        self, accelerator: Accelerator, side: Side, progress: Callable[[int], None]
    ) -> Tensor:
        n_texts = len(side.passages.per_text)
        own = share(accelerator, n_texts)
        passages: Passages = side.passages if len(own) == n_texts else side.passages.take(own)
        vectors = encode_tokenized(side.encoder, passages, dtype=side.dtype, progress=progress)
        return gather(accelerator, vectors, n_texts)

    def head_change(self) -> float:
        """How far the head moves the first articles from their pooled passages."""
        n_articles = len(self.articles.passages.per_text)
        some = np.arange(min(_ARTICLES_LOOKED_AT, n_articles))
        return self.articles.encoder.head_change(self.articles.passages.take(some))

    @property
    def dtype_name(self) -> str:
        """The number format of the towers, such as "bfloat16"."""
        return str(self.dtype).removeprefix("torch.")


def _texts(questions: Sequence[Question]) -> list[str]:
    return [question.text for question in questions]
