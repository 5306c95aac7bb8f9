"""A training step: its batch, the loss, the gradient of the parameters, and the optimizer."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, NamedTuple

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor, nn

from components.models.folder import Similarity

if TYPE_CHECKING:
    from training.negatives.gold import DrawnNegatives, Gold
    from training.settings import RunSettings

Rows = NDArray[np.int64]


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


@dataclass(frozen=True)
class Vectors:
    """Unit vectors of a run's texts, float32 `[n_texts, dim]` on the model's device."""

    articles: Tensor
    train: Tensor
    dev: Tensor

    def are_finite(self) -> bool:
        """Whether no vector holds NaN or infinity."""
        return all(bool(side.isfinite().all()) for side in (self.articles, self.train, self.dev))


@dataclass(frozen=True)
class Batch:
    """The pairs of one step.

    Attributes:
        questions: int64 `[n_questions]`, the distinct questions (index in the training questions).
        articles: int64 `[n_articles]`, the distinct articles (position in the corpus).
        pairs: int64 `[n_pairs, 2]`, each pair as rows of `questions` and `articles`.
        candidates: bool `[n_pairs, n_articles]`, the negatives of each pair.
        buckets: int8 `[n_pairs, n_articles]`, the bucket from which a negative was drawn for the
            pair's question; -1 for articles that were drawn for other questions only.
        n_listed: Articles that the pairs list, counting repeats: what a trainer that does not look
            for repeats would encode.
    """

    questions: Rows
    articles: Rows
    pairs: Rows
    candidates: NDArray[np.bool_]
    buckets: NDArray[np.int8]
    n_listed: int


def make_batch(
    pairs: Rows, drawn: DrawnNegatives, gold: Gold, *, in_batch: bool, whole_law: bool = False
) -> Batch:
    """Make the batch of some pairs.

    A question's negatives are shared by its pairs. With `in_batch` the positives and negatives of
    the batch's other questions are negatives too, but never an article that answers the same
    question or has the same text as one that does.

    Args:
        pairs: int64 `[n_pairs, 2]`, question and position of its positive.
        drawn: The epoch's negatives.
        gold: Gold of the training questions.
        in_batch: Whether other questions' articles count.
        whole_law: Whether all articles do.
    """
    questions, question_rows = np.unique(pairs[:, 0], return_inverse=True)
    drawn_for = [slice(*drawn.starts[question : question + 2]) for question in questions]
    negatives = [drawn.articles[places] for places in drawn_for]
    articles = np.unique(np.concatenate([pairs[:, 1], *negatives]))
    if whole_law:
        articles = np.arange(gold.n_articles)
    candidates = np.full((len(questions), len(articles)), in_batch or whole_law)
    buckets = np.full((len(questions), len(articles)), -1, dtype=np.int8)
    for row, question in enumerate(questions.tolist()):
        own = np.searchsorted(articles, negatives[row])
        candidates[row, own] = True
        buckets[row, own] = drawn.buckets[drawn_for[row]]
        candidates[row, np.isin(articles, gold.excluded[question])] = False
    article_rows = np.searchsorted(articles, pairs[:, 1])
    return Batch(
        questions=questions,
        articles=articles,
        pairs=np.stack([question_rows, article_rows], axis=1),
        candidates=candidates[question_rows],
        buckets=buckets[question_rows],
        n_listed=len(pairs) + sum(len(negatives[row]) for row in question_rows.tolist()),
    )


def similarities(questions: Tensor, articles: Tensor, similarity: Similarity) -> Tensor:
    """The similarity of each question with each article, higher is nearer.

    Args:
        questions: `[n_questions, dim]`, as `scaled` gives them.
        articles: `[n_articles, dim]`, likewise.
        similarity: Of the model.

    Returns:
        `[n_questions, n_articles]`.
    """
    if similarity == "l2":
        # Through a matrix product near vectors would lose their distance.
        exactly = "donot_use_mm_for_euclid_dist"
        return -torch.cdist(questions, articles, compute_mode=exactly)
    return questions @ articles.T


def contrastive_loss(
    scores: Tensor, positives: Tensor, candidates: Tensor, *, temperature: float
) -> Tensor:
    """Cross-entropy of each pair's positive against its negatives.

    For a pair of question q and positive p, with negatives N(q):

        L = -log( exp(s(q, p) / t) / ( exp(s(q, p) / t) + sum over n in N(q) of exp(s(q, n) / t) ) )

    Eq. (1) of CuSINeS is the sum of these over the positives of one question.

    Args:
        scores: s, float `[n_pairs, n_articles]`.
        positives: int64 `[n_pairs, 1]`, the column of each pair's positive.
        candidates: bool `[n_pairs, n_articles]`, True for the negatives of each pair.
        temperature: t.

    Returns:
        `[n_pairs]`.
    """
    compared = candidates.scatter(1, positives, True)
    logits = (scores / temperature).masked_fill(~compared, float("-inf"))
    losses: Tensor = torch.logsumexp(logits, dim=1) - logits.gather(1, positives).squeeze(1)
    return losses


def triplet_loss(scores: Tensor, positives: Tensor, candidates: Tensor, *, margin: float) -> Tensor:
    """How far negatives are from being less similar than the positive by a margin.

    For a pair of question q and positive p, the mean over its negatives n of

        max(0, m - s(q, p) + s(q, n))

    Args:
        scores: s, float `[n_pairs, n_articles]`.
        positives: int64 `[n_pairs, 1]`, the column of each pair's positive.
        candidates: bool `[n_pairs, n_articles]`, True for the negatives of each pair.
        margin: m.

    Returns:
        `[n_pairs]`; 0 for a pair without negatives.
    """
    excess = torch.relu(margin - scores.gather(1, positives) + scores)
    counts = candidates.sum(dim=1).clamp(min=1)
    losses: Tensor = excess.masked_fill(~candidates, 0.0).sum(dim=1) / counts
    return losses


PairLoss = Callable[[Tensor, Tensor, Tensor], Tensor]
"""From scores, positives and candidates to the loss of each pair, as `contrastive_loss`."""

LOSSES: Mapping[str, Callable[[RunSettings], PairLoss]] = {
    "contrastive": lambda settings: partial(contrastive_loss, temperature=settings.temperature),
    "triplet": lambda settings: partial(triplet_loss, margin=settings.margin),
}
"""Losses by the value of the setting `loss`."""


class BatchLoss(NamedTuple):
    """The loss of a batch.

    Attributes:
        value: A scalar.
        scores: What it was computed from, `[n_pairs, n_articles]`: the similarity of each pair's
            question with every article of the batch.
    """

    value: Tensor
    scores: Tensor


def loss_of(
    settings: RunSettings,
    questions: Tensor,
    articles: Tensor,
    pairs: Tensor,
    candidates: Tensor,
) -> BatchLoss:
    """The loss that the settings describe, from vectors to a scalar.

    Similarities and losses are computed in float64 with autocast off: at a temperature of 0.01 a
    logit would be off by a tenth in bfloat16, and the loss by 3e-5 in float32.

    Args:
        settings: Of the run.
        questions: Vectors of a batch's distinct questions, float `[n_questions, dim]`, for cosine
            of unit length.
        articles: Those of its distinct articles, float `[n_articles, dim]`.
        pairs: The pairs as rows of the two, int64 `[n_pairs, 2]`.
        candidates: The negatives of each pair, bool `[n_pairs, n_articles]`.
    """
    exact = _exact(questions.device)
    with torch.autocast(questions.device.type, enabled=False):
        compared = similarities(questions.to(exact), articles.to(exact), settings.similarity)
        scores = compared[pairs[:, 0]]
        losses = LOSSES[settings.loss](settings)(scores, pairs[:, 1:], candidates)
        return BatchLoss(losses.sum() / _divisor(pairs, settings), scores)


def _exact(device: torch.device) -> torch.dtype:
    # Apple's GPUs lack float64.
    return torch.float32 if device.type == "mps" else torch.float64


def _divisor(pairs: Tensor, settings: RunSettings) -> int:
    return len(pairs) if settings.reduction == "mean" else torch.unique(pairs[:, 0]).numel()


class StepLoss(NamedTuple):
    """What a step reports.

    Attributes:
        loss: Of its batch.
        own_mass: For each bucket the sum over the pairs of `own_mass`, float64 `[n_buckets]`.
        compared: How many pairs have a negative that gets any gradient.
    """

    loss: float
    own_mass: NDArray[np.float64]
    compared: int


def propagate(questions: Tensor, articles: Tensor, batch: Batch, settings: RunSettings) -> StepLoss:
    """Take the loss of a batch, propagate its gradient into the vectors, and describe it.

    Args:
        questions: Vectors of the batch's questions, float `[n_questions, dim]`.
        articles: Vectors of its articles, float `[n_articles, dim]`.
        batch: What is compared.
        settings: Of the run.
    """
    device = articles.device
    pairs = torch.from_numpy(batch.pairs).to(device)
    candidates = torch.from_numpy(batch.candidates).to(device)
    loss = loss_of(settings, questions, articles, pairs, candidates)
    loss.scores.retain_grad()
    torch.autograd.backward(loss.value)
    assert loss.scores.grad is not None
    shares = own_mass(loss.scores.grad.cpu().numpy(), batch, settings.buckets)
    return StepLoss(float(loss.value.detach()), shares.sum(axis=0), len(shares))


# 6 MB of float64 at 384 dimensions, and a megabyte of scores of 64 pairs.
_ARTICLES_AT_A_TIME = 2048


def propagate_whole_law(
    questions: Tensor, articles: Tensor, batch: Batch, settings: RunSettings
) -> StepLoss:
    """As `propagate`, for the contrastive loss over a law whose vectors are fixed, in pieces.

    With the probabilities P(a) of a pair's softmax over its positive p and its negatives, the loss
    is -log P(p), and its gradient in the question's vector q is

        ( sum over a of P(a) ds(q, a)/dq - ds(q, p)/dq ) / t

    Both sums run over pieces of the law and are scaled down whenever a higher score appears, so
    that the scores of the whole law never exist at once (as in Milakov and Gimelshein 2018,
    "Online normalizer calculation for softmax").

    Args:
        questions: Vectors of the batch's questions, float `[n_questions, dim]`.
        articles: Vectors of the law, float `[n_articles, dim]`; they get no gradient.
        batch: Of the whole law, without drawn negatives.
        settings: Of the run.
    """
    device, exact = articles.device, _exact(articles.device)
    pairs = torch.from_numpy(batch.pairs).to(device)
    with torch.autocast(device.type, enabled=False):
        asked = questions[pairs[:, 0]].to(exact)
        leaf = asked.detach().requires_grad_()

        def logits(some: Tensor) -> Tensor:
            return similarities(leaf, some.to(exact), settings.similarity) / settings.temperature

        positive = logits(articles[pairs[:, 1]]).diagonal()
        (of_positive,) = torch.autograd.grad(positive.sum(), leaf)
        positive = positive.detach()
        # The sums begin with the positive: exp(positive - highest) is 1.
        highest, total, slope = positive, torch.ones_like(positive), of_positive
        for start in range(0, len(articles), _ARTICLES_AT_A_TIME):
            piece = slice(start, start + _ARTICLES_AT_A_TIME)
            scores = logits(articles[piece])
            candidates = torch.from_numpy(batch.candidates[:, piece]).to(device)
            compared = scores.detach().masked_fill(~candidates, -torch.inf)
            higher = torch.maximum(highest, compared.amax(dim=1))
            mass = torch.exp(compared - higher[:, None])
            kept = torch.exp(highest - higher)
            (of_piece,) = torch.autograd.grad(scores, leaf, mass)
            total = total * kept + mass.sum(dim=1)
            slope = slope * kept[:, None] + of_piece
            highest = higher
        n = _divisor(pairs, settings)
        loss = (highest + total.log() - positive).sum() / n
        torch.autograd.backward(asked, (slope / total[:, None] - of_positive) / n)
    return StepLoss(float(loss), np.zeros(settings.buckets), 0)


def own_mass(gradient: NDArray[np.floating], batch: Batch, n_buckets: int) -> NDArray[np.float64]:
    """The share of drawn negatives in the gradient that all negatives of a pair get.

    With the contrastive loss that is their share of the softmax mass on all negatives. Where it is
    near 0, the model learns from the batch's other articles and not from the drawn negatives, so
    it does not matter where these come from.

    Args:
        gradient: Of the similarities, `[n_pairs, n_articles]`.
        batch: Which articles are compared and which were drawn.
        n_buckets: From how many buckets they were drawn.

    Returns:
        float64 `[n_compared, n_buckets]`, by bucket, for the pairs whose negatives get any
        gradient.
    """
    mass = np.abs(np.where(batch.candidates, gradient, 0.0)).astype(np.float64)
    whole = mass.sum(axis=1)
    compared = whole > 0
    of_buckets = np.stack(
        [np.where(batch.buckets == b, mass, 0.0).sum(axis=1) for b in range(n_buckets)], axis=1
    )
    shares: NDArray[np.float64] = of_buckets[compared] / whole[compared, None]
    return shares


# AdamW with a learning rate per step, and its schedules.

BETAS = (0.9, 0.999)
EPSILON = 1e-7

Rates = Callable[[int], float]
"""Share of the highest learning rate at a step, from 0."""


def warm_up_and_decay(total_steps: int, warmup: float) -> Rates:
    """A rate that rises over the first steps, then falls to zero, both linearly.

    Args:
        total_steps: Steps of the whole run.
        warmup: Share of them in which the rate rises.
    """
    warm = max(1, round(warmup * total_steps))

    def rate(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return max(0.0, (total_steps - step) / max(1, total_steps - warm))

    return rate


class Optimizer:
    """AdamW over the trainable parameters, with a learning rate per step.

    Biases and the weights of norms are not decayed. A head has a learning rate of its own.

    Args:
        model: Its parameters that require a gradient are trained.
        learning_rate: The highest.
        weight_decay: AdamW's.
        rates: Share of the highest rate at each step.
        head_lr: The highest rate of the module named "head", if it has its own.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        learning_rate: float,
        weight_decay: float,
        rates: Rates,
        head_lr: float | None = None,
    ) -> None:
        # The tower of a siamese model is listed under one name only.
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._rates = rates
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, parameter in self.parameters.items():
            rate = learning_rate
            if head_lr is not None and name.startswith("head."):
                rate = head_lr
            decay = weight_decay if parameter.ndim > 1 else 0.0
            groups.setdefault((rate, decay), []).append(parameter)
        self._adamw = torch.optim.AdamW(
            [
                {"params": parameters, "lr": rate, "weight_decay": decay, "highest": rate}
                for (rate, decay), parameters in groups.items()
            ],
            betas=BETAS,
            eps=EPSILON,
        )

    def clip(self, highest: float) -> float:
        """Scale the gradients down where their norm is above `highest`; returns the norm before."""
        return float(torch.nn.utils.clip_grad_norm_(self.parameters.values(), highest))

    def step(self, step: int) -> None:
        """Take one step along the gradients, then clear them."""
        for group in self._adamw.param_groups:
            group["lr"] = group["highest"] * self._rates(step)
        self._adamw.step()
        self._adamw.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """The moments, as "<moment>/<parameter>"."""
        return {
            f"{moment}/{name}": value
            for name, parameter in self.parameters.items()
            for moment, value in self._adamw.state[parameter].items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave."""
        for name, parameter in self.parameters.items():
            for moment in ("step", "exp_avg", "exp_avg_sq"):
                value = state.get(f"{moment}/{name}")
                if value is not None:
                    # AdamW counts its steps on the CPU.
                    device = "cpu" if moment == "step" else parameter.device
                    self._adamw.state[parameter][moment] = value.to(device)
