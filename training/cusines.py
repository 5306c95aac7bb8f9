"""python -m training.cusines: train a bi-encoder with CuSINeS.

    python -m training.cusines --config training/configs/demo.yaml --output models/demo

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import hashlib
import sys
from collections.abc import Hashable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from sentence_transformers.sentence_transformer.modules import Normalize, Pooling
from torch import Tensor, nn
from torch.nn.attention import SDPBackend, sdpa_kernel

from components.models import difference
from components.models.biencoder import BiEncoder, save_questions
from components.models.devices import measured_way, resolve_dtype
from components.models.encoding import (
    HierarchicalArticleHead,
    Passages,
    TextEncoder,
    TokenBudget,
    Tower,
    encode_tokenized,
    open_tower,
    scaled,
)
from components.models.folder import (
    HEAD_PART,
    PARTS,
    QUERY_PART,
    QUESTIONS_PART,
    RANKER_PART,
    ModelError,
    articles_digest,
    check_whole,
    find_model,
    manifest_of,
    model_digest,
)
from training.checkpoint import kept_parts
from training.command_line import SettingsError, run, say, settings_from
from training.data import TrainingData, law_vectors, texts_of
from training.loop import Learner, train
from training.objective import (
    Batch,
    Optimizer,
    Rows,
    StepLoss,
    Vectors,
    everywhere,
    gather,
    propagate,
    propagate_whole_law,
    share,
    warm_up_and_decay,
)
from training.settings import CusinesSettings, StartPooling, only_where

# What training starts from.


def set_dropout(model: nn.Module, probability: float) -> None:
    """Set the dropout probability everywhere in a model."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        # Functional dropout, as in some attention, has its probability in an attribute.
        for name in ("dropout", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, probability)


def fast_backwards(device: str) -> AbstractContextManager[object]:
    """The block in which attention computes what is trained.

    PyTorch's fused attention on CPUs is fast forwards, but four times slower backwards than plain
    matrix products.

    Args:
        device: The type of a device.
    """
    return sdpa_kernel(SDPBackend.MATH) if device == "cpu" else nullcontext()


def starting_model(settings: CusinesSettings, device: torch.device) -> BiEncoder:
    """Open the towers, with the requested pooling, length and head.

    The same settings give the same model, weight for weight, if the caller has seeded torch.

    Raises:
        ModelError: A model cannot be opened, or the parts do not fit together.
        SettingsError: More layers are to be frozen than a tower has, nothing is left to train, or a
            rate is given for a head that does not exist.
    """
    model = _opened(settings)
    if settings.towers == "question":
        return _over(model, settings, device)
    towers = {id(tower): tower for tower in (model.query, model.passage)}.values()
    for tower in towers:
        _set_pooling(tower, settings.pooling)
        if settings.similarity != "cosine":
            for place in reversed(range(len(tower.encoder))):
                if isinstance(tower.encoder[place], Normalize):  # lengths count for dot and l2
                    del tower.encoder[place]
        if settings.dropout is not None:
            set_dropout(tower, settings.dropout)
    head = model.head
    if head is not None and settings.head != "none":
        raise SettingsError(f"head: {settings.starting_model} already has a head. Leave head out.")
    only_where(settings, head is not None or settings.head != "none", "a head", "head_lr")
    if settings.head != "none":
        head = HierarchicalArticleHead(
            model.dim,
            model.passage.attention_heads,
            passage_tokens=settings.passage_tokens,
            max_passages=settings.max_passages,
            pooling=settings.head_pooling,
            init=settings.head,
        )
    if settings.max_tokens is not None:
        for tower in towers:
            tower.limit(settings.max_tokens)
    started = BiEncoder(
        model.query,
        None if model.siamese else model.passage,
        head,
        prompts=model.prompts,
        text_rule=settings.text_rule,
        segmentation=settings.segmentation or model.segmentation,
        similarity=settings.similarity,
        dtype=settings.dtype,
        name=settings.starting_model,
    )
    started.to(device)
    for tower in towers:
        freeze(tower, settings.frozen_layers)
    started.eval()
    if not any(weight.requires_grad for weight in started.parameters()):
        raise SettingsError("frozen_layers: nothing is left to train. Freeze fewer.")
    return started


def _over(base: BiEncoder, settings: CusinesSettings, device: torch.device) -> BiEncoder:
    """A question's tower over a base model, whose articles' side stays as it is."""
    for name in ("text_rule", "similarity"):
        if getattr(settings, name) != getattr(base, name):
            raise SettingsError(
                f"{name} is {getattr(settings, name)}, but the articles were encoded with "
                f"{getattr(base, name)}: set that."
            )
    if settings.frozen_layers >= (n_blocks := len(base.query.blocks)):
        raise SettingsError(
            f"frozen_layers is {settings.frozen_layers}, but there are {n_blocks} layers."
        )
    model = BiEncoder(
        difference.updated(base.query, settings.rank, skip=settings.frozen_layers),
        base.passage.requires_grad_(False),
        None if base.head is None else base.head.requires_grad_(False),
        prompts=base.prompts,
        text_rule=base.text_rule,
        segmentation=base.segmentation,
        similarity=base.similarity,
        dtype=settings.dtype,
        name=settings.starting_model,
    )
    model.to(device)
    if settings.dropout is not None:
        set_dropout(model.query, settings.dropout)
    model.eval()
    return model


def starting_digests(settings: CusinesSettings) -> dict[str, str]:
    """Digest of each model that training starts from, by the setting that names it.

    Raises:
        ModelError: There is no such model.
    """
    names = {
        "model": settings.starting_model if settings.query_model is None else None,
        "query_model": settings.query_model,
        "passage_model": settings.passage_model,
    }
    return {f"{key}_sha256": model_digest(find_model(n)) for key, n in names.items() if n}


def _opened(settings: CusinesSettings) -> BiEncoder:
    if settings.query_model is None or settings.passage_model is None:
        return BiEncoder.load(settings.starting_model, device="cpu", dtype=settings.dtype)
    towers: list[Tower] = []
    segmentation = None
    for side, name in (("query", settings.query_model), ("passage", settings.passage_model)):
        folder = find_model(name)
        if (manifest := manifest_of(folder)) is not None:
            check_whole(manifest, name)
            if side == "passage" and HEAD_PART in manifest.parts and settings.head == "none":
                raise ModelError(f"{name}: has a head, which two towers do not take over: give one")
            segmentation = segmentation or manifest.segmentation
            folder = folder / manifest.towers.get(side, QUERY_PART)
        towers.append(open_tower(folder))
    query, passage = towers
    return BiEncoder(query, passage, segmentation=segmentation, dtype=settings.dtype)


def _set_pooling(tower: Tower, pooling: StartPooling) -> None:
    if pooling == "model":
        return
    pools = list(tower.encoder)[1:2]
    if not pools or not isinstance(pools[0], Pooling):
        raise ModelError(f"pooling {pooling}: the model does not pool by itself. Leave pooling out")
    tower.encoder[1] = Pooling(pools[0].embedding_dimension, pooling_mode=pooling)


def freeze(tower: Tower, n_layers: int) -> None:
    """Freeze the first layers of a tower and all weights that are in no layer, without dropout.

    Some encoders (MPNet, DeBERTa) have position weights outside the layers which every layer uses.

    Raises:
        SettingsError: The tower has fewer layers, or its layers cannot be found.
    """
    if n_layers == 0:
        return
    layers = tower.blocks
    if n_layers > len(layers):
        raise SettingsError(f"frozen_layers is {n_layers}, but there are {len(layers)} layers.")
    tower.requires_grad_(False)
    for layer in layers[n_layers:]:
        layer.requires_grad_(True)


def train_mode(model: BiEncoder) -> None:
    """Switch to training mode, except in wholly frozen modules, where dropout stays off."""
    model.train()
    for module in model.modules():
        parameters = list(module.parameters())
        if parameters and not any(parameter.requires_grad for parameter in parameters):
            module.eval()


OF_ITS_VECTORS = frozenset(PARTS) - {RANKER_PART}
"""Parts that a newly trained bi-encoder replaces or makes invalid; a ranker stays valid."""


# How its texts are encoded.


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

    def embed(self, rows: Rows) -> Tensor:
        """Unit vectors of some texts, float32 `[n_rows, dim]`, with gradients where enabled.

        Args:
            rows: int64 `[n_rows]`, which texts.

        Raises:
            torch.OutOfMemoryError: They do not fit in batches of the budget's tokens.
        """
        # A block of its own each time: autocast caches bf16 copies of the weights until the block
        # ends, and copies made without gradients would cut the weights off from a later pass.
        device = self.encoder.tower.device.type
        autocast = torch.autocast(device, self.dtype, enabled=self.dtype != torch.float32)
        budget = TokenBudget(self.budget.tokens)
        # Without gradients too, so that both passes give the same vectors.
        with autocast, fast_backwards(device):
            vectors = self.encoder.embed(self.passages.take(rows), budget)
        # Dropout repeats only in identical batches: instead of going on in smaller ones, the
        # training batch has to begin again.
        if budget.tokens != self.budget.tokens:
            raise torch.OutOfMemoryError("memory ran out within a batch")
        return vectors

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
        self._pieces = side.pieces(rows)
        self._random: list[list[Tensor]] = []
        self.vectors = torch.empty(len(rows), side.encoder.tower.dim, device=self._device)
        for piece in self._pieces:
            self._random.append(random_states(self._device))
            with torch.no_grad():
                self.vectors[self._places(piece)] = side.embed(rows[piece])

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
            vectors = self._side.embed(self._rows[piece])
            if vectors.requires_grad:
                torch.autograd.backward(vectors, gradient[self._places(piece)])
        restore_random_states(self._device, after)

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
        fixed: The articles' vectors `[n_articles, dim]` where only questions are trained.

    Attributes:
        model: The model.
        fixed: As above, on the model's device.
        budget: Padded tokens per forward pass of training.
        articles: The articles, to be trained on.
        questions: The training questions, to be trained on.
    """

    def __init__(
        self,
        model: BiEncoder,
        data: TrainingData,
        token_budget: int | None,
        fixed: Tensor | None = None,
    ) -> None:
        self.model = model
        self.fixed = fixed
        self.dtype = resolve_dtype(model.dtype, model.device)
        default = _TRAINING_TOKENS.get(model.device.type, _DEFAULT_TRAINING_TOKENS)
        self.budget = TokenBudget(token_budget or default)
        articles = [] if fixed is not None else texts_of(data.corpus, model.text_rule)
        self.articles = self._side(model.article_encoder, articles)
        self.questions = self._side(model.query_encoder, [each.text for each in data.train])
        self._dev = self._side(model.query_encoder, [each.text for each in data.dev])

    def _side(self, encoder: TextEncoder, texts: Sequence[str]) -> Side:
        return Side(encoder, encoder.tokenize(texts), self.dtype, self.budget)

    def encode(self, accelerator: Accelerator, *, train: bool) -> Vectors:
        """Vectors of everything under the current weights; processes share the work."""
        articles = self.fixed
        if articles is None:
            articles = self._encode(accelerator, self.articles)
        asked = self._encode(accelerator, self.questions) if train else articles[:0]
        return Vectors(articles, asked, self._encode(accelerator, self._dev))

    def _encode(self, accelerator: Accelerator, side: Side) -> Tensor:
        n_texts = len(side.passages.per_text)
        own = side.passages.take(share(accelerator, n_texts))
        vectors = encode_tokenized(side.encoder, own, dtype=side.dtype)
        return gather(accelerator, vectors, n_texts)


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
    start = random_states(texts.model.device)
    while (step := _attempt(batch, texts, settings, accelerator)) is None:
        restore_random_states(texts.model.device, start)
        texts.model.zero_grad()
        say("Memory ran out: repeating the batch in smaller pieces, and using them from now on")
    return step


def _attempt(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> StepLoss | None:
    """What the step reports; None if memory ran out in one of the processes."""
    cached, budget = settings.gradient_caching, texts.budget
    tokens, parts, wholes = budget.tokens, [], []

    @contextmanager
    def halved_without_memory() -> Iterator[None]:
        try:
            yield
        except torch.OutOfMemoryError:
            if not cached or tokens == 1:
                raise
            budget.tokens //= 2

    sides = [(texts.questions, batch.questions)]
    if texts.fixed is None:
        sides.append((texts.articles, batch.articles))
    for side, rows in sides:
        own = share(accelerator, len(rows))
        with halved_without_memory():
            parts.append((GradientVectors(side, rows[own], cached=cached), own))
        if not everywhere(accelerator, budget.tokens == tokens):
            return None
        wholes.append(gather(accelerator, parts[-1][0].vectors, len(rows)).requires_grad_())
    if settings.whole_law:
        assert texts.fixed is not None
        step = propagate_whole_law(wholes[0], texts.fixed, batch, settings)
    else:
        if texts.fixed is not None:
            wholes.append(texts.fixed[torch.from_numpy(batch.articles)])
        questions, articles = wholes
        step = propagate(questions, articles, batch, settings)
    with halved_without_memory():
        for (part, own), whole in zip(parts, wholes, strict=False):  # without fixed articles
            assert whole.grad is not None
            part.backward(whole.grad[torch.from_numpy(own).to(whole.device)])
    return step if everywhere(accelerator, budget.tokens == tokens) else None


# The bi-encoder as a learner of the training loop.


class BiEncoderLearner(Learner):
    """A bi-encoder that learns to find articles.

    Args:
        settings: Of the run.
        data: The texts.
        accelerator: Device and processes.
        known: Vectors of the law's articles by what encoded them. Under towers question they are
            taken from here, or added: runs on one law encode it once.

    Attributes:
        model: The bi-encoder, trained in place.
        articles: As in `Learner`: under towers question.

    Raises:
        ModelError: A model cannot be opened, or the parts do not fit together.
        SettingsError: More layers are to be frozen than a tower has, or nothing is left to train.
    """

    def __init__(
        self,
        settings: CusinesSettings,
        data: TrainingData,
        accelerator: Accelerator,
        known: dict[Hashable, Tensor] | None = None,
    ) -> None:
        torch.manual_seed(settings.seed)  # for a fresh head
        self.model: BiEncoder = starting_model(settings, accelerator.device)
        self._settings = settings
        self._accelerator = accelerator
        self._fixed_articles = {}
        if settings.towers == "question":
            known = {} if known is None else known
            encoder = (*starting_digests(settings).values(), settings.store, settings.dtype)
            if encoder not in known:
                known[encoder] = self._article_vectors(data)
            self.articles = known[encoder]
            content = self.articles.cpu().numpy().tobytes()
            self._fixed_articles = {"articles_sha256": hashlib.sha256(content).hexdigest()}
        self._texts = RunTexts(self.model, data, settings.token_budget, self.articles)

    def _article_vectors(self, data: TrainingData) -> Tensor:
        """The vectors that the articles keep."""
        texts = texts_of(data.corpus, self.model.text_rule)
        digest = articles_digest(find_model(self._settings.starting_model))
        vectors = law_vectors(self.model, digest, texts, self._settings.store, "article")
        return scaled(torch.from_numpy(vectors), self.model.similarity).to(self.model.device)

    @property
    def fixed(self) -> Mapping[str, Any]:
        """Digests of the starting models, number format and matrix-product library."""
        return {
            **starting_digests(self._settings),
            **self._fixed_articles,
            "dtype": str(self._texts.dtype).removeprefix("torch."),
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

    def encode(self, *, train: bool) -> Vectors:
        """Vectors of everything under the current weights; processes share the work."""
        return self._texts.encode(self._accelerator, train=train)

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
        over: dict[str, Any] = {}
        kept = kept_parts(base, without=OF_ITS_VECTORS)
        if self._settings.towers == "question":
            place = Path(base).expanduser()
            name = str(place.resolve()) if place.is_dir() else base
            folder = find_model(base)
            digests = {"sha256": model_digest(folder), "articles": articles_digest(folder)}
            over = {"base": {"model": name, **digests}}
            vectors = self.model.encode_queries(data.asked)
            kept[QUESTIONS_PART] = partial(save_questions, data.asked, vectors)
        self.model.save(
            output,
            **over,
            base_model=base,
            config=self._settings.to_dict(),
            data=data.digests(),
            metrics=metrics,
            held_out=[question.id for question in data.aside],
            kept=kept,
        )


_DESCRIPTION = """\
Trains a bi-encoder on questions with known articles, with negatives whose difficulty comes from the
tree of the law, its sequence and the model itself, from easy to difficult. Writes a model folder
that every pipeline takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("cusines", _DESCRIPTION, CusinesSettings, arguments)
    return run(lambda: train(settings, BiEncoderLearner))


if __name__ == "__main__":
    sys.exit(main())
