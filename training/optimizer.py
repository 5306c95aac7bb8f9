"""AdamW with a learning rate per step, and its schedules."""

from __future__ import annotations

from collections.abc import Callable, Mapping

import torch
from torch import Tensor, nn

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


def constant(_: int) -> float:
    """The highest rate at every step."""
    return 1.0


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
