"""The block in which a trained model computes: no gradients, no dropout, the chosen format."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import torch
from torch import nn

from components.models.cpu_attention import (
    attention_way,
    fast_attention,
    settle_attention_way,
)
from components.models.cpu_linear import fast_linear, linear_library, settle_linear_library
from components.models.devices import take_cores

_LINEAR, _ATTENTION = "linear layers: ", "attention: "


def measured_way(device: torch.device, dtype: torch.dtype) -> str:
    """What `inference` computes by where that was measured in this process.

    The ways differ by rounding, which is enough to change what is drawn from a ranking.
    """
    if dtype == torch.float32:
        return f"{_LINEAR}{linear_library(device)}"
    return f"{_ATTENTION}{attention_way(device)}"


def settle_way(way: object) -> None:
    """Compute from here on as `measured_way` said in another process, where this one can."""
    text = str(way)
    if text.startswith(_LINEAR):
        settle_linear_library(text.removeprefix(_LINEAR))
    elif text.startswith(_ATTENTION):
        settle_attention_way(text.removeprefix(_ATTENTION))


@contextmanager
def inference(
    modules: Sequence[nn.Module | None], device: torch.device, dtype: torch.dtype
) -> Iterator[None]:
    """Compute with modules as they serve, and leave them as they were.

    Args:
        modules: Those that compute within the block; None is passed over.
        device: Where they are.
        dtype: bfloat16 computes in autocast; the weights stay float32.
    """
    take_cores(device)
    training = [module for module in modules if module is not None and module.training]
    for module in training:
        module.eval()
    exact = dtype == torch.float32
    try:
        # no_grad, not inference_mode: autocast keeps its bf16 copies of the weights from batch to
        # batch only for what requires a gradient, and so casts them once a call.
        with (
            torch.no_grad(),
            torch.autocast(device.type, dtype, enabled=not exact),
            fast_linear(device) if exact else fast_attention(device),
        ):
            yield
    finally:
        # Copies made without gradients must not serve a caller's own autocast block; not every
        # release of PyTorch sees to that itself.
        torch.clear_autocast_cache()
        for module in training:
            module.train()
