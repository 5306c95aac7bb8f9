"""The dropout of a model that came with its own."""

from __future__ import annotations

from torch import nn


def set_dropout(model: nn.Module, probability: float) -> None:
    """Give every place of a model where something is dropped the same probability."""
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.p = probability
        # What drops within a function, as some attention does, keeps its probability as a number.
        for name in ("dropout", "attention_dropout"):
            if isinstance(getattr(module, name, None), float):
                setattr(module, name, probability)
