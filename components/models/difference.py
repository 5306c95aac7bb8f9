"""A tower kept as its difference to another: low-rank updates of its linear layers.

Every linear layer W of the Transformer's blocks becomes W + BA (LoRA: Hu et al., ICLR 2022), where
A has `rank` rows and B `rank` columns. Only they are trained and saved: a few megabytes.
"""

from __future__ import annotations

import copy
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.nn.utils import parametrize

from components.models.encoding import Tower
from components.models.folder import ModelError

DIFFERENCE_FILE = "difference.safetensors"


class LowRank(nn.Module):
    """W to W + BA; nothing at first, since B begins as zeros.

    Args:
        n_out: Rows of W.
        n_in: Columns of W.
        rank: Rows of A and columns of B.
    """

    def __init__(self, n_out: int, n_in: int, rank: int) -> None:
        super().__init__()
        self.A = nn.Parameter(torch.randn(rank, n_in) / n_in**0.5)
        self.B = nn.Parameter(torch.zeros(n_out, rank))

    def forward(self, weight: Tensor) -> Tensor:
        """The updated weight, `[n_out, n_in]`; in float32 also where autocast is on."""
        with torch.autocast(weight.device.type, enabled=False):
            return torch.addmm(weight, self.B, self.A)


def updated(tower: Tower, rank: int, *, skip: int = 0) -> Tower:
    """A copy of a tower with fresh low-rank updates, which alone require a gradient.

    Args:
        tower: It stays as it is.
        rank: Of every update.
        skip: How many of the first blocks stay without one.

    Raises:
        ModelError: Its blocks cannot be found, or have no linear layers that can be updated.
    """
    copied = copy.deepcopy(tower).requires_grad_(False)
    layers = [
        module
        for block in copied.blocks[skip:]
        for module in block.modules()
        if isinstance(module, nn.Linear)
    ]
    if not layers:
        raise ModelError("it has no linear layers that a low-rank update could change.")
    for layer in layers:
        n_out, n_in = layer.weight.shape
        update = LowRank(n_out, n_in, rank).to(layer.weight.device)
        parametrize.register_parametrization(layer, "weight", update)
    return copied


def save_difference(tower: Tower, folder: Path) -> None:
    """Write the updates of a tower from `updated`, by the name of their layer."""
    suffix = ".parametrizations.weight.0"
    tensors = {
        f"{name.removesuffix(suffix)}.{side}": getattr(update, side).detach().cpu().contiguous()
        for name, update in tower.named_modules()
        if isinstance(update, LowRank)
        for side in ("A", "B")
    }
    save_file(tensors, folder / DIFFERENCE_FILE)


def with_difference(tower: Tower, folder: Path) -> Tower:
    """A copy of a tower, changed as `save_difference` wrote it.

    Raises:
        ModelError: The file is missing, broken, not finite, or of another tower.
    """
    path = folder / DIFFERENCE_FILE
    changed = copy.deepcopy(tower)
    try:
        tensors = load_file(path)
        for name in dict.fromkeys(key.rpartition(".")[0] for key in tensors):
            layer = changed.get_submodule(name)
            if not isinstance(layer, nn.Linear):
                raise ValueError(f"{name} is not a linear layer")
            update = tensors[f"{name}.B"] @ tensors[f"{name}.A"]
            if not update.isfinite().all():
                raise ValueError(f"{name} is not finite")
            with torch.no_grad():
                layer.weight += update
    except (OSError, ValueError, KeyError, AttributeError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())
        raise ModelError(
            f"{path}: does not fit its base model, or is broken: {reason}. Copy the model again."
        ) from error
    return changed
