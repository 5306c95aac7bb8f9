"""One step: a batch's loss, and its gradient in the parameters."""

from __future__ import annotations

import torch
from accelerate import Accelerator

from training.batches import Batch
from training.gradients import GradientVectors
from training.objective import contrastive_loss
from training.processes import gather, share
from training.settings import CusinesSettings
from training.texts import RunTexts


def loss_and_gradient(
    batch: Batch, texts: RunTexts, settings: CusinesSettings, accelerator: Accelerator
) -> float:
    """The loss of a batch, eq. (1), its gradient added to the parameters'.

    Each distinct article and question is encoded once, by one of the processes; every process then
    has all vectors and computes the whole loss, and sends the gradient of its own share of the
    vectors back into the encoder.

    Returns:
        The loss; in every process the same.
    """
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
    for part, own, whole in sides:
        assert whole.grad is not None
        part.backward(whole.grad[torch.from_numpy(own).to(device)])
    return float(loss.detach())
