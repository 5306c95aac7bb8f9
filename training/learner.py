"""What a training loop trains, and what it asks of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import torch
from torch import Tensor, nn

from training.data import Batch, TrainingData

# AdamW and its learning rates.


BETAS = (0.9, 0.999)
EPSILON = 1e-7

Rates = Callable[[int], float]
"""Share of the highest learning rate at a step, from 0."""


def warm_up_and_decay(total_steps: int, warmup: float) -> Rates:
    """Rising over the first steps, then falling to zero, both in a straight line.

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


def constant(_: int) -> float:
    """The highest rate at every step."""
    return 1.0


class Optimizer:
    """AdamW over what is trainable, its learning rate a function of the step.

    Biases and the weights of norms are not decayed. A head has a learning rate of its own.

    Args:
        model: Its parameters that require a gradient are trained.
        learning_rate: The highest.
        weight_decay: AdamW's.
        rates: Share of the highest rate at each step.
        head_lr: The highest rate of what goes by the name "head", where it has its own.
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
        # A siamese model's tower goes by one name only.
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

    def step(self, step: int) -> None:
        """Go one step down the gradients, and forget them."""
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
