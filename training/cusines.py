"""python -m training.cusines: train a bi-encoder with CuSINeS.

    python -m training.cusines --config training/configs/demo.yaml --output models/demo

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import torch
from accelerate import Accelerator

from components.models.biencoder import BiEncoder
from components.models.devices import measured_way
from training.command_line import run, settings_from
from training.data import TrainingData
from training.encoding import RunTexts, Vectors
from training.loop import Learner, Optimizer, train, warm_up_and_decay
from training.objective import Batch, StepLoss, loss_and_gradient
from training.settings import CusinesSettings
from training.starting_model import kept_parts, starting_digests, starting_model, train_mode

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
        self._texts = RunTexts(self.model, data, settings.token_budget, settings.frozen_layers)

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

    def encode(self, progress: Callable[[int], None]) -> Vectors:
        """Vectors of everything under the current weights; processes share the work."""
        return self._texts.encode(self._accelerator, progress)

    def loss_and_gradient(self, batch: Batch) -> StepLoss:
        """As `training.objective.loss_and_gradient`."""
        return loss_and_gradient(batch, self._texts, self._settings, self._accelerator)

    def changes(self) -> dict[str, float]:
        """How far the head moves articles from their pooled passages, where there is one."""
        return {} if self.model.head is None else {"head_change": self._texts.head_change()}

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
            kept=kept_parts(base),
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
        train(settings, make_learner)

    return run(work)


def make_learner(
    settings: CusinesSettings, data: TrainingData, accelerator: Accelerator
) -> BiEncoderLearner:
    """Open the bi-encoder that training starts from, ready to learn.

    Raises:
        ModelError: A model cannot be opened, or the parts do not fit together.
        SettingsError: More layers are to be frozen than a tower has, or nothing is left to train.
    """
    from training.data import say_where_dev_is_learnt

    say_where_dev_is_learnt(settings, data)
    return BiEncoderLearner(settings, data, accelerator)


if __name__ == "__main__":
    sys.exit(main())
