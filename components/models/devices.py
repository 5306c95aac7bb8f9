"""Where a model runs: device, number format, CPU threads, and the block in which it computes."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, nullcontext
from typing import get_args

import torch
from torch import Tensor, nn

from components.models.folder import DtypeName, ModelError
from components.models.onednn import LINEAR, PROBE_SHAPE, FasterWay, fast_linear, gain, pack_weights

# Of the product `PROBE_SHAPE`; a smaller gain is lost to the casts.
_WORTHWHILE_GAIN = 1.3
# For each thread that is in a `single_thread` block, its number of cores outside it.
_outside: list[int] = []
_counting = threading.Lock()
_here = threading.local()


def resolve_device(device: str | None) -> torch.device:
    """Return the named device, else CUDA, else Apple's MPS, else the CPU.

    Raises:
        ModelError: `device` is not a device name, or this machine has no such device.
    """
    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except RuntimeError as error:
        raise ModelError(f"device {device!r} is not a device name such as 'cuda:1'.") from error
    here = {"cpu": 1, "cuda": torch.cuda.device_count(), "mps": torch.backends.mps.is_available()}
    if (resolved.index or 0) >= here.get(resolved.type, 0):
        raise ModelError(
            f"device {device!r} is not on this machine. Leave it out to take the best."
        )
    return resolved


def resolve_dtype(dtype: DtypeName, device: torch.device) -> torch.dtype:
    """The number format for encoding: "auto" is bfloat16 where it is fast, else float32.

    Raises:
        ModelError: `dtype` is not "auto", "float32" or "bfloat16".
    """
    if dtype not in get_args(DtypeName):
        raise ModelError(f"dtype {dtype!r} is not one of {', '.join(get_args(DtypeName))}.")
    if dtype == "auto":
        return torch.bfloat16 if fast_bf16(device) else torch.float32
    return torch.bfloat16 if dtype == "bfloat16" else torch.float32


def dtype_name(dtype: torch.dtype) -> DtypeName:
    """The name of a number format that `resolve_dtype` returned."""
    return "bfloat16" if dtype == torch.bfloat16 else "float32"


def fast_bf16(device: torch.device) -> bool:
    """Whether bfloat16 matrix products are faster than float32 ones on `device`.

    CUDA: where the card supports it. CPU: measured, because an instruction set that is announced
    may still be emulated. Elsewhere: no.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return BF16.on(device) == "bfloat16"


def _bf16_gain() -> float:
    rows, inner, columns = PROBE_SHAPE

    def product(dtype: torch.dtype) -> Callable[[], Tensor]:
        left, right = torch.ones(rows, inner, dtype=dtype), torch.ones(columns, inner, dtype=dtype)
        return lambda: torch.nn.functional.linear(left, right)

    return gain(product(torch.float32), product(torch.bfloat16))


BF16 = FasterWay("number format", "float32", "bfloat16", _WORTHWHILE_GAIN, _bf16_gain)
"""The number format of "auto" on a CPU."""


def take_cores(device: torch.device) -> None:
    """Give this thread the process's number of cores, once.

    PyTorch gives a thread, at its first call, the number that was last set in any thread: during
        another's `single_thread` that is one, and it would stay one.
    """
    if device.type != "cpu" or getattr(_here, "has_cores", False):
        return
    _here.has_cores = True
    if torch.get_num_threads() > 1:
        return
    with _counting:
        threads = _outside[0] if _outside else _default_threads()
    if threads > 1:
        torch.set_num_threads(threads)


@contextmanager
def single_thread(device: torch.device, *, when: bool = True) -> Iterator[None]:
    """Compute on one CPU thread within the block.

    One short text is some milliseconds of work. Threads that share it wait for each other at every
    layer, and where another process has the cores they wait for a time slice each time: a question
    then takes a hundred times longer.
    """
    take_cores(device)
    threads = torch.get_num_threads()
    if not when or device.type != "cpu" or threads == 1:
        yield
        return
    with _counting:
        _outside.append(threads)
        torch.set_num_threads(1)
    try:
        yield
    finally:
        with _counting:
            torch.set_num_threads(threads)
            _outside.remove(threads)


def _default_threads() -> int:
    """The number of cores that a new thread gets."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]


def pack_linear_layers(module: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
    """Keep the weights of linear layers in the format and order that the CPU's kernel reads.

    Without this every call casts or reorders them, which for one question takes longer than the
    matrix products themselves. Does nothing on other devices, or where that kernel is not faster.

    Args:
        module: A model for inference only, which stays where it is.
        device: Where it computes.
        dtype: The number format of `inference`.
    """
    faster = fast_bf16(device) if dtype == torch.bfloat16 else LINEAR.on(device) == "onednn"
    if device.type == "cpu" and faster:
        pack_weights(module, dtype)


def measured_way(device: torch.device, dtype: torch.dtype) -> str:
    """Which of two ways `inference` uses, for the record of a run."""
    # In training bfloat16 has only PyTorch's own way, recorded under this name from the beginning.
    return f"{LINEAR.name}: {LINEAR.on(device)}" if dtype == torch.float32 else "attention: fused"


def settle_way(record: object) -> None:
    """Use the way that `measured_way` named in another process, if it works here."""
    LINEAR.settle(str(record).removeprefix(f"{LINEAR.name}: "))


@contextmanager
def inference(
    modules: Sequence[nn.Module | None], device: torch.device, dtype: torch.dtype
) -> Iterator[None]:
    """Compute with modules in evaluation mode, and leave them as they were.

    Args:
        modules: Those that compute within the block; None is ignored.
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
        # batch only for what requires a gradient, and so casts them once per call.
        with (
            torch.no_grad(),
            torch.autocast(device.type, dtype, enabled=not exact),
            fast_linear(device) if exact else nullcontext(),
        ):
            yield
    finally:
        # Copies made without gradients must not be used by a caller's own autocast block; not every
        # release of PyTorch ensures that.
        torch.clear_autocast_cache()
        for module in training:
            module.train()
