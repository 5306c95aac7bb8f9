"""What a Hugging Face Trainer is told of a run's settings."""

from __future__ import annotations

from typing import Protocol

from components.models.devices import DtypeName


class TrainerSettings(Protocol):
    """The settings that every such training has."""

    @property
    def batch_size(self) -> int:
        """Examples a step."""

    @property
    def weight_decay(self) -> float:
        """AdamW's."""

    @property
    def warmup(self) -> float:
        """Share of the steps in which the learning rate rises; then it falls to zero."""

    @property
    def clip(self) -> float:
        """Highest norm of the gradient."""

    @property
    def checkpoint_every(self) -> int:
        """Steps between two checkpoints."""

    @property
    def dtype(self) -> DtypeName:
        """Number format of the forward pass."""

    @property
    def device(self) -> str | None:
        """cpu, cuda, ...; None is the best there is."""

    @property
    def seed(self) -> int:
        """Of everything that is drawn."""
