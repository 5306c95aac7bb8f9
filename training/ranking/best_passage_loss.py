"""Binary cross-entropy of an article's best passage."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from sentence_transformers import CrossEncoder
from sentence_transformers.cross_encoder.losses import BinaryCrossEntropyLoss
from sentence_transformers.util import batch_to_device
from torch import Tensor


class BestPassageLoss(BinaryCrossEntropyLoss):
    """sentence-transformers' BinaryCrossEntropyLoss where a text may be several passages.

    In use an article's logit is its best passage's, z = max_p z_p, and so it is here:

        loss = mean over (question, article) of -[y log sigmoid(z) + (1 - y) log(1 - sigmoid(z))]

    Nothing is learnt from the other passage of an article that answers a question, which need not
    answer it itself. Of articles of one passage it is the parent's loss.

    Args:
        model: A CrossEncoder of one label.
        as_read: From a question or passage to the text that its tokenizer reads.

    Inputs:
        | texts                            | labels                        |
        |----------------------------------|-------------------------------|
        | (question, list of passages)     | 1 if it answers it, 0 if not  |
    """

    def __init__(self, model: CrossEncoder, as_read: Callable[[str], str] = str) -> None:
        super().__init__(model)
        self._as_read = as_read

    def forward(
        self,
        inputs: Sequence[Sequence[Any]],
        labels: Tensor,
        prompt: str | None = None,
        task: str | None = None,
    ) -> Tensor:
        """The loss, a float32 scalar.

        Args:
            inputs: Questions, and the passages of the article beside each; every one has some.
            labels: `[n]`, 1 or 0.
            prompt: As for the parent.
            task: As for the parent.
        """
        questions, articles = inputs
        pairs = [
            (self._as_read(question), self._as_read(passage))
            for question, passages in zip(questions, articles, strict=True)
            for passage in passages
        ]
        features = self.model.preprocess(pairs, prompt=prompt, task=task)
        logits = self.model(batch_to_device(features, self.model.device))["scores"].view(-1)
        best = [own.max() for own in logits.float().split([len(each) for each in articles])]
        loss: Tensor = self.bce_with_logits_loss(torch.stack(best), labels.float())
        return loss
