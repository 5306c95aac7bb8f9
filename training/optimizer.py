"""AdamW and its learning rates."""

from __future__ import annotations

from collections.abc import Mapping

import torch
from torch import Tensor, nn

from components.models.biencoder import BiEncoder

BETAS = (0.9, 0.999)
EPSILON = 1e-7


class Optimizer:
    """AdamW over what is trainable, with linear warm-up and decay.

    Biases and the weights of norms are not decayed. A head has a learning rate of its own.

    Args:
        model: Its parameters that require a gradient are trained.
        learning_rate: Highest rate of the towers.
        head_lr: Highest rate of the head.
        weight_decay: AdamW's.
        total_steps: Steps of the whole run.
        warmup: Share of them in which the rate rises.
    """

    def __init__(
        self,
        model: BiEncoder,
        *,
        learning_rate: float,
        head_lr: float,
        weight_decay: float,
        total_steps: int,
        warmup: float,
    ) -> None:
        # A siamese model's tower goes by one name only.
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._total = total_steps
        self._warm = max(1, round(warmup * total_steps))
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, parameter in self.parameters.items():
            rate = head_lr if name.startswith("head.") else learning_rate
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

    def rate(self, step: int) -> float:
        """Share of the highest learning rate at a step, from 0."""
        if step < self._warm:
            return (step + 1) / self._warm
        return max(0.0, (self._total - step) / max(1, self._total - self._warm))

    def step(self, step: int) -> None:
        """Go one step down the gradients, and forget them."""
        for group in self._adamw.param_groups:
            group["lr"] = group["highest"] * self.rate(step)
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
