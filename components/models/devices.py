"""Where a model runs and in which number format."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Literal

import torch
from torch import Tensor

from components.models.errors import ModelError

# Rounds of a race between two ways to compute.
_ROUNDS = 8
# One lock for all races: two at a time would disturb each other's times.
_racing = threading.RLock()


class FasterWay:
    """The faster of two ways to compute the same thing on a CPU, measured once a process.

    The first thread that asks measures, and the others wait for it. The two ways differ by
    rounding, which is enough to change what is drawn from a ranking.

    Args:
        name: What is computed, for the record of a run.
        known: PyTorch's own way, and the only one on other devices.
        other: The way that is taken where it is at least `least_gain` times faster.
        least_gain: See `other`.
        measure: Returns how many times faster `other` is; 0 where it does not work.
    """

    def __init__(
        self, name: str, known: str, other: str, least_gain: float, measure: Callable[[], float]
    ) -> None:
        self.name = name
        self._known, self._other = known, other
        self._least_gain = least_gain
        self._measure = measure
        self._gain: float | None = None
        self._settled: str | None = None

    def on(self, device: torch.device) -> str:
        """The way that is used on a device."""
        if device.type != "cpu":
            return self._known
        if self._settled is not None:
            return self._settled
        return self._other if self.gain() >= self._least_gain else self._known

    def settle(self, way: object) -> None:
        """Use this way from now on; ignore an unknown name and a way that does not work here."""
        if way == self._known or (way == self._other and self.gain() > 0):
            self._settled = str(way)

    def gain(self) -> float:
        """How many times faster the other way is."""
        if self._gain is None:
            with _racing:
                if self._gain is None:
                    self._gain = self._measure()
        return self._gain


def gain(known: Callable[[], object], other: Callable[[], object]) -> float:
    """How many times faster `other` is than `known`, best round against best round.

    The two take turns, so that a busy moment of the machine does not slow only one of them.
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
# For each thread that is in a `single_thread` block, its number of cores outside it.
_outside: list[int] = []
_counting = threading.Lock()
_here = threading.local()


def resolve_device(device: str | None) -> torch.device:
    """The device to use: the one named, else CUDA, else Apple's MPS, else the CPU.

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
        raise ModelError(f"device {device!r} is not a device name. {_DEVICES}") from error
    if resolved.type not in ("cpu", "cuda", "mps"):
        raise ModelError(f"device {device!r} is not supported. {_DEVICES}")
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
        ModelError: `dtype` is not "auto", "float32" or "bfloat16".
    """
    if dtype not in DTYPE_NAMES:
        raise ModelError(f"dtype {dtype!r} is not one of {', '.join(DTYPE_NAMES)}.")
    if dtype == "auto":
        return torch.bfloat16 if fast_bf16(device) else torch.float32
    return torch.bfloat16 if dtype == "bfloat16" else torch.float32


def fast_bf16(device: torch.device) -> bool:
    """Whether bfloat16 matrix products are faster than float32 ones on `device`.

    CUDA: where the card supports it. CPU: measured, because an instruction set that is announced
    may still be emulated. Elsewhere: no.
    """
    if device.type == "cuda":
        return bool(torch.cuda.is_bf16_supported(including_emulation=False))
    return BF16.on(device) == "bfloat16"


def _bf16_gain() -> float:
    rows, inner, columns = _PROBE_SHAPE

    def product(dtype: torch.dtype) -> Callable[[], Tensor]:
        left, right = torch.ones(rows, inner, dtype=dtype), torch.ones(columns, inner, dtype=dtype)
        return lambda: torch.nn.functional.linear(left, right)

    return gain(product(torch.float32), product(torch.bfloat16))


BF16 = FasterWay("number format", "float32", "bfloat16", _WORTHWHILE_GAIN, _bf16_gain)
"""What "auto" computes in on a CPU."""


def take_cores(device: torch.device) -> None:
    """Give this thread the process's number of cores, once.

    PyTorch gives a thread, at its first call, the number that was set last in any thread: within
    another's `single_thread` that is one, and it would stay.
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
