"""A training step: its batch, the loss, and the gradient of the parameters."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray
from torch import Tensor

from training.command_line import say
from training.encoding import (
    GradientVectors,
    RunTexts,
    everywhere,
    gather,
    random_states,
    restore_random_states,
    share,
)
from training.negatives.gold import DrawnNegatives, Gold
from training.settings import CusinesSettings

if TYPE_CHECKING:
    from training.settings import Reduction


Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """The pairs of one step.

    Attributes:
        questions: int64 `[n_questions]`, the distinct questions (index in the training questions).
        articles: int64 `[n_articles]`, the distinct articles (position in the corpus).
        pairs: int64 `[n_pairs, 2]`, each pair as rows of `questions` and `articles`.
        candidates: bool `[n_pairs, n_articles]`, the negatives of each pair.
        n_listed: Articles that the pairs list, counting repeats: what a trainer that does not look
            for repeats would encode.
    """

    questions: Rows
    articles: Rows
    pairs: Rows
    candidates: NDArray[np.bool_]
    n_listed: int


def make_batch(
    pairs: Rows,
    drawn: DrawnNegatives,
    gold: Gold,
    *,
    in_batch: bool,
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
    """
    questions, question_rows = np.unique(pairs[:, 0], return_inverse=True)
    negatives = [drawn.of(question) for question in questions.tolist()]
    articles = np.unique(np.concatenate([pairs[:, 1], *negatives]))
    candidates = np.full((len(questions), len(articles)), in_batch)
    for row, question in enumerate(questions.tolist()):
        if not in_batch:
            candidates[row, np.searchsorted(articles, negatives[row])] = True
        candidates[row, np.isin(articles, gold.excluded[question])] = False
    article_rows = np.searchsorted(articles, pairs[:, 1])
    return Batch(
        questions=questions,
        articles=articles,
        pairs=np.stack([question_rows, article_rows], axis=1),
        candidates=candidates[question_rows],
        n_listed=len(pairs) + sum(len(negatives[row]) for row in question_rows.tolist()),
    )


def question_ids(batch: Batch, gold: Gold) -> Sequence[str]:
    """Ids of the questions of a batch, for messages."""
    return [gold.question_ids[question] for question in batch.questions.tolist()]


def contrastive_loss(
    questions: Tensor,
    articles: Tensor,
    pairs: Tensor,
    candidates: Tensor,
    *,
    temperature: float,
    reduction: Reduction = "mean",
) -> Tensor:
    """Cross-entropy of each pair's positive against its negatives.

    For a pair of question q and positive p, with negatives N(q):

        L = -log( exp(s(q, p) / t) / ( exp(s(q, p) / t) + sum over n in N(q) of exp(s(q, n) / t) ) )

    Similarities, 1 / t and the logarithm of the sum are computed in float64 with autocast off: at t
        = 0.01 a logit would be off by a tenth in bfloat16, and the loss by 3e-5 in float32.

    Args:
        questions: float `[n_questions, dim]`, unit vectors of a batch's distinct questions.
        articles: float `[n_articles, dim]`, unit vectors of its distinct articles.
        pairs: int64 `[n_pairs, 2]`, rows in `questions` and `articles`.
        candidates: bool `[n_pairs, n_articles]`, True for the negatives of each pair.
        temperature: t.
        reduction: "mean" over the pairs; "question_sum" sums over the pairs of each question and
            takes the mean over the questions.

    Returns:
        A float64 scalar.
    """
    with torch.autocast(questions.device.type, enabled=False):
        positive = pairs[:, 1:]
        compared = candidates.scatter(1, positive, True)
        # Apple's GPUs lack float64.
        exact = torch.float32 if questions.device.type == "mps" else torch.float64
        logits = questions.to(exact)[pairs[:, 0]] @ articles.to(exact).T / temperature
        logits = logits.masked_fill(~compared, float("-inf"))
        losses: Tensor = torch.logsumexp(logits, dim=1) - logits.gather(1, positive).squeeze(1)
        n = len(pairs) if reduction == "mean" else torch.unique(pairs[:, 0]).numel()
        loss: Tensor = losses.sum() / n
        return loss


LOSSES: Mapping[str, Callable[..., Tensor]] = {"contrastive": contrastive_loss}
"""Losses by the value of the setting `loss`; each has the signature of `contrastive_loss`."""


def loss_and_gradient(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> float:
    """The loss of a batch, eq. (1); its gradient goes into the parameters, which hold none before.

    Each distinct article and question is encoded once, by one of the processes. Every process then
    has all vectors, computes the whole loss, and propagates the gradient of its own share of the
    vectors into the encoder.

    When memory runs out under gradient caching, all processes begin the batch again with the same
        random numbers, the one concerned in smaller pieces: as if its pieces had been that small
        from the beginning.

    Returns:
        The loss; in every process the same.

    Raises:
        torch.OutOfMemoryError: The batch, or under gradient caching a single text, does not fit.
    """
    device = texts.articles.encoder.tower.device
    start = random_states(device)
    while (loss := _attempt(batch, texts, settings, accelerator)) is None:
        restore_random_states(device, start)
        for side in (texts.questions, texts.articles):
            side.forget_gradients()
        say("Memory ran out: repeating the batch in smaller pieces, and using them from now on")
    return loss


def _attempt(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> float | None:
    """The loss; None if memory ran out in one of the processes."""
    sides = []
    for side, rows in ((texts.questions, batch.questions), (texts.articles, batch.articles)):
        own = share(accelerator, len(rows))
        part = GradientVectors(side, rows[own], cached=settings.gradient_caching)
        whole = gather(accelerator, part.vectors, len(rows)).requires_grad_()
        sides.append((part, own, whole))
    (_, _, questions), (_, _, articles) = sides
    device = articles.device
    loss = LOSSES[settings.loss](
        questions,
        articles,
        torch.from_numpy(batch.pairs).to(device),
        torch.from_numpy(batch.candidates).to(device),
        temperature=settings.temperature,
        reduction=settings.reduction,
    )
    torch.autograd.backward(loss)
    done = True
    for part, own, whole in sides:
        assert whole.grad is not None
        done = done and part.backward(whole.grad[torch.from_numpy(own).to(device)])
    return float(loss.detach()) if everywhere(accelerator, done) else None
