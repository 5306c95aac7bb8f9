"""Where a model runs and in which number format."""

from __future__ import annotations

import functools
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

from components.models.errors import ModelError

# Which of two ways to compute the same is faster on this machine.


_ROUNDS = 8
# One for all races: two at a time would disturb each other's times. A race may ask for another's
# result, in the same thread.
_racing = threading.RLock()


class MeasuredOnce:
    """A measurement that is taken once a process, and by one thread: the others wait for it.

    Args:
        measure: What takes it.
    """

    def __init__(self, measure: Callable[[], float]) -> None:
        functools.update_wrapper(self, measure)
        self._measure = measure
        self._value: float | None = None

    def __call__(self) -> float:
        """What was measured."""
        value = self._value
        if value is None:
            with _racing:
                value = self._value
                if value is None:
                    value = self._value = self._measure()
        return value

    def cache_clear(self) -> None:
        """Measure anew at the next call."""
        self._value = None


def gain(known: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times faster `other` is than `known`, best round against best round.

    In turns, so that a busy moment of the machine does not fall on one of them alone.
    """
    best = {known: float("inf"), other: float("inf")}
    for _ in range(_ROUNDS):
        for way in best:
            start = time.perf_counter()
            way()
            best[way] = min(best[way], time.perf_counter() - start)
    return best[known] / best[other]


DtypeName = Literal["auto", "float32", "bfloat16"]
DTYPE_NAMES: tuple[str, ...] = ("auto", "float32", "bfloat16")

# A matrix product of a small encoder's feed-forward size; below this gain the casts eat it up.
_PROBE_SHAPE = (512, 384, 1536)
_WORTHWHILE_GAIN = 1.3
_DEVICES = "Use 'cpu', 'cuda', 'cuda:1' or 'mps'."
# Empty, or what counts in place of the race on a CPU.
_settled: list[bool] = []
# For each thread that is on one core for a moment, on how many it is otherwise.
_outside: list[int] = []
_counting = threading.Lock()
_here = threading.local()


def resolve_device(device: str | None) -> torch.device:
    """The device to use: the one named, else CUDA, else Apple's MPS, else the CPU.

    Raises:
        ModelError: `device` is no device name, or this machine has no such device.
    """
    if device is None:
        if torch.cuda.is_available():
            return torch.device("cuda")
        return torch.device("mps" if torch.backends.mps.is_available() else "cpu")
    try:
        resolved = torch.device(device)
    except RuntimeError as error:
        raise ModelError(f"device {device!r} is not a device name. {_DEVICES}") from error
    if resolved.type not in ("cpu", "cuda", "mps"):
        raise ModelError(f"device {device!r} is none that is used here. {_DEVICES}")
    if resolved.type == "cuda" and (resolved.index or 0) >= torch.cuda.device_count():
        raise ModelError(
            f"device {device!r}: this machine shows {torch.cuda.device_count()} CUDA devices. "
            "Use 'cpu', or leave the device out to take the best one there is."
        )
    if resolved.type == "mps" and not torch.backends.mps.is_available():
        raise ModelError("device 'mps' is not on this machine. Use 'cpu', or leave the device out.")
    return resolved


def resolve_dtype(dtype: DtypeName, device: torch.device) -> torch.dtype:
    """The number format for encoding: "auto" is bfloat16 where it is fast, else float32.

    Raises:
        ModelError: `dtype` is none of "auto", "float32", "bfloat16".
    """
    if dtype not in DTYPE_NAMES:
        raise ModelError(f"dtype {dtype!r} is not one of {', '.join(DTYPE_NAMES)}.")
    if dtype == "auto":
        return torch.bfloat16 if fast_bf16(device) else torch.float32
    return torch.bfloat16 if dtype == "bfloat16" else torch.float32


def fast_bf16(device: torch.device) -> bool:
    """Whether bfloat16 matrix products are faster than float32 ones on `device`.

    CUDA: where the card supports it. CPU: as settled, or measured once a process, because an
    instruction set that is announced may still be emulated. Elsewhere: no.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    if device.type != "cpu":
        return False
    return _settled[0] if _settled else _cpu_bf16_gain() >= _WORTHWHILE_GAIN


def settle_bf16(dtype: object) -> None:
    """Let "auto" be this number format on a CPU from here on; what is none is passed over."""
    if dtype in ("float32", "bfloat16"):
        _settled[:] = [dtype == "bfloat16"]


@MeasuredOnce
def _cpu_bf16_gain() -> float:
    """How many times faster a bfloat16 product is."""
    rows, inner, columns = _PROBE_SHAPE

    def product(dtype: torch.dtype) -> Callable[[], Tensor]:
        left, right = torch.ones(rows, inner, dtype=dtype), torch.ones(columns, inner, dtype=dtype)
        return lambda: torch.nn.functional.linear(left, right)

    return gain(product(torch.float32), product(torch.bfloat16))


def take_cores(device: torch.device) -> None:
    """Have this thread compute on as many cores as the process does, where it never did so.

    PyTorch gives a thread, at its first call, the number that was set last in any thread: within
    another's `single_thread` that is one, and it would stay.
    """
    if device.type != "cpu" or getattr(_here, "has_cores", False):
        return
    _here.has_cores = True
    if torch.get_num_threads() > 1:
        return
    with _counting:
        threads = _outside[0] if _outside else _of_a_new_thread()
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


def _of_a_new_thread() -> int:
    """What a thread begins with."""
    found: list[int] = []
    thread = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    thread.start()
    thread.join()
    return found[0]
