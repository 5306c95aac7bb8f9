"""Modules of our own in a model folder: how they are made again, beside their weights."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import nn

from components.models.errors import ModelError

CONFIG_FILE = "config.json"
WEIGHTS_FILE = "model.safetensors"

M = TypeVar("M", bound=nn.Module)


def save_module(module: nn.Module, arguments: Mapping[str, Any], folder: Path) -> None:
    """Write `config.json` and `model.safetensors` into `folder`, made if absent.

    Args:
        module: Its weights are written.
        arguments: What makes it again, weights apart.
        folder: Where to.
    """
    folder.mkdir(parents=True, exist_ok=True)
    config = json.dumps(arguments, indent=2, sort_keys=True)
    (folder / CONFIG_FILE).write_text(config + "\n", encoding="utf-8")
    weights = {name: tensor.detach().cpu() for name, tensor in module.state_dict().items()}
    save_file(weights, folder / WEIGHTS_FILE)


def load_module(make: Callable[..., M], folder: Path, name: str) -> M:
    """Read what `save_module` wrote, onto the CPU, in the mode for use (`eval`).

    Args:
        make: The module's class.
        folder: Where it was saved.
        name: What messages call it.

    Raises:
        ModelError: A file is missing or broken, the weights do not fit the configuration, or a
            weight is not a finite number.
    """
    try:
        module = make(**json.loads((folder / CONFIG_FILE).read_text(encoding="utf-8")))
        module.load_state_dict(load_file(folder / WEIGHTS_FILE))
        check_finite(module)
    except ModelError as error:
        raise ModelError(f"{folder}: the {name} cannot be read: {error}") from error
    except (OSError, ValueError, TypeError, RuntimeError, SafetensorError) as error:
        reason = " ".join(str(error).split())  # torch lists what does not fit line by line
        raise ModelError(
            f"{folder}: the {name} cannot be read ({reason}). Copy the model folder again."
        ) from error
    return module.eval()


def check_finite(module: nn.Module) -> None:
    """Refuse weights that are not numbers; safetensors loads them without a word.

    Raises:
        ModelError: Names the first tensor with a NaN or an infinity in it.
    """
    for name, tensor in [*module.named_parameters(), *module.named_buffers()]:
        if tensor.is_floating_point() and not torch.isfinite(tensor).all():
            raise ModelError(
                f"its weights {name!r} hold NaN or infinity. Use an earlier copy, or train again."
            )
