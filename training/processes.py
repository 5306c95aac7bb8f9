"""Several processes as one: each encodes its share, all see all vectors, gradients are summed."""

from __future__ import annotations

import secrets
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from numpy.typing import NDArray
from torch import Tensor, nn

from components.models.devices import resolve_device


def share(accelerator: Accelerator, n: int) -> NDArray[np.int64]:
    """Which of n texts this process encodes, int64; every n_processes-th."""
    return np.arange(accelerator.process_index, n, accelerator.num_processes)


def gather(accelerator: Accelerator, own: Tensor, n: int) -> Tensor:
    """The vectors of all n texts `[n, dim]` from every process's `share` of them."""
    if accelerator.num_processes == 1 or n == 0:
        return own
    longest = -(-n // accelerator.num_processes)
    padded = own.new_zeros(longest, own.shape[1])
    padded[: len(own)] = own
    everyone: Tensor = accelerator.gather(padded)
    everyone = everyone.view(accelerator.num_processes, longest, -1)
    # Text i is the (i // n_processes)-th of process i % n_processes.
    return everyone.transpose(0, 1).reshape(-1, own.shape[1])[:n].contiguous()


def sum_gradients(accelerator: Accelerator, parameters: Iterable[nn.Parameter]) -> None:
    """Add up the gradients of all processes.

    Every process holds the whole batch's loss, and the gradient with respect to its own share of
    the vectors: the sum is the gradient of the one loss, divided by the number of all pairs once.
    """
    if accelerator.num_processes == 1:
        return
    parameters = list(parameters)
    device = accelerator.device
    have = torch.tensor([parameter.grad is not None for parameter in parameters], device=device)
    # What no process has a gradient of, such as an unused pooler, stays without: it is no zero.
    in_use = (accelerator.reduce(have.int(), reduction="sum") > 0).tolist()
    for parameter, used in zip(parameters, in_use, strict=True):
        if used and parameter.grad is None:
            parameter.grad = torch.zeros_like(parameter)
    gradients = [parameter.grad for parameter in parameters if parameter.grad is not None]
    flat = torch.cat([gradient.flatten() for gradient in gradients])
    summed = accelerator.reduce(flat, reduction="sum")
    for gradient, part in zip(
        gradients, summed.split([gradient.numel() for gradient in gradients]), strict=True
    ):
        gradient.copy_(part.view_as(gradient))


def everywhere(accelerator: Accelerator, fact: bool) -> bool:
    """Whether something is so in every process."""
    if accelerator.num_processes == 1:
        return fact
    lacking = torch.tensor([int(not fact)], device=accelerator.device)
    return int(accelerator.reduce(lacking, reduction="sum")) == 0


def from_main(accelerator: Accelerator, value: Any) -> Any:
    """The main process's value, in every process."""
    if accelerator.num_processes == 1:
        return value
    box = [value]
    broadcast_object_list(box)
    return box[0]


def sees_what_main_writes(accelerator: Accelerator, folder: Path) -> bool:
    """Whether every process finds in a folder what the main process puts there.

    Args:
        accelerator: The processes.
        folder: Is made where it is missing.
    """
    if accelerator.num_processes == 1:
        return True
    token = folder / f".seen-{from_main(accelerator, secrets.token_hex(8))}"
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        token.touch()
    accelerator.wait_for_everyone()
    shared = everywhere(accelerator, token.exists())
    if accelerator.is_main_process:
        token.unlink()
    return shared


def take_device(name: str | None) -> torch.device:
    """The device that is named, see `resolve_device`; of several cards Accelerate then takes it.

    Raises:
        ModelError: As there.
    """
    device = resolve_device(name)
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device
