"""What a training loop trains, and what it asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from torch import Tensor

from training.batches import Batch
from training.data import TrainingData
from training.optimizer import Optimizer


@dataclass(frozen=True)
class Vectors:
    """Unit vectors of a run's texts, float32 `[n_texts, dim]` on the model's device."""

    articles: Tensor
    train: Tensor
    dev: Tensor

    def are_finite(self) -> bool:
        """Whether none holds NaN or infinity."""
        return all(bool(side.isfinite().all()) for side in (self.articles, self.train, self.dev))


class Learner(Protocol):
    """A model in training: it makes vectors of articles and questions, and learns from batches."""

    @property
    def fixed(self) -> Mapping[str, Any]:
        """What beside settings and data must be the same when a run is taken up again."""

    def optimizer(self, total_steps: int) -> Optimizer:
        """A fresh optimizer over what is trained, for a run of so many steps."""

    def encode(self, progress: Callable[[int], None]) -> Vectors:
        """Vectors of everything under the weights of this moment."""

    def loss_and_gradient(self, batch: Batch) -> float:
        """The loss of a batch, eq. (1), and its gradient in the parameters, which hold none."""

    def changes(self) -> dict[str, float]:
        """How far what started as an identity has moved; an identity has learnt nothing."""

    def train_mode(self) -> None:
        """Be trained: dropout is on."""

    def eval_mode(self) -> None:
        """Be measured: nothing is random."""

    def state(self) -> dict[str, Any]:
        """What JSON can hold of the learner's own state, weights apart."""

    def restore(self, state: Mapping[str, Any]) -> None:
        """Put back what `state` gave."""

    def save(self, output: Path, data: TrainingData, metrics: Mapping[str, Any]) -> None:
        """Write the complete model folder."""
