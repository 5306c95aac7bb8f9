"""One step: a batch's loss, and its gradient in the parameters."""

from __future__ import annotations

import torch
from accelerate import Accelerator

from training.batches import Batch
from training.command_line import say
from training.gradients import GradientVectors, random_states, restore_random_states
from training.objective import contrastive_loss
from training.processes import everywhere, gather, share
from training.settings import CusinesSettings
from training.texts import RunTexts


def loss_and_gradient(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> float:
    """The loss of a batch, eq. (1), and its gradient in the parameters, which hold none before.

    Each distinct article and question is encoded once, by one of the processes; every process then
    has all vectors and computes the whole loss, and sends the gradient of its own share of the
    vectors back into the encoder.

    When memory runs out under gradient caching, all processes begin the batch again, the one
    concerned in smaller pieces, with the random numbers that they began with: as if its pieces had
    been that small from the start.

    Returns:
        The loss; in every process the same.

    Raises:
        torch.OutOfMemoryError: The batch, or under gradient caching one text alone, does not fit.
    """
    device = texts.articles.encoder.tower.device
    start = random_states(device)
    while (loss := _attempt(batch, texts, settings, accelerator)) is None:
        restore_random_states(device, start)
        for side in (texts.questions, texts.articles):
            side.forget_gradients()
        say("Memory ran out: the batch begins again in smaller pieces, which are kept from now on")
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
    loss = contrastive_loss(
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
