"""The contrastive objective of CuSINeS, eq. (1)."""

from __future__ import annotations

from typing import TYPE_CHECKING

import torch
from torch import Tensor

if TYPE_CHECKING:
    from training.run_settings import Reduction


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

    Similarities, 1 / t and the logarithm of the sum are computed in float64 with autocast off: at
    t = 0.01 a logit would be off by a tenth in bfloat16, and the loss by 3e-5 in float32.

    Args:
        questions: float `[n_questions, dim]`, unit vectors of a batch's distinct questions.
        articles: float `[n_articles, dim]`, unit vectors of its distinct articles.
        pairs: int64 `[n_pairs, 2]`, rows in `questions` and `articles`.
        candidates: bool `[n_pairs, n_articles]`, True for the negatives of each pair.
        temperature: t.
        reduction: "mean" over the pairs; "question_sum" adds up the pairs of each question and
            takes the mean over the questions.

    Returns:
        A float64 scalar.
    """
    with torch.autocast(questions.device.type, enabled=False):
        positive = pairs[:, 1:]
        compared = candidates.scatter(1, positive, True)
        # Apple's GPUs have no float64.
        exact = torch.float32 if questions.device.type == "mps" else torch.float64
        logits = questions.to(exact)[pairs[:, 0]] @ articles.to(exact).T / temperature
        logits = logits.masked_fill(~compared, float("-inf"))
        losses: Tensor = torch.logsumexp(logits, dim=1) - logits.gather(1, positive).squeeze(1)
        n = len(pairs) if reduction == "mean" else torch.unique(pairs[:, 0]).numel()
        loss: Tensor = losses.sum() / n
        return loss
