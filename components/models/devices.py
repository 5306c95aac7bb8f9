"""Where a model runs: device, number format, CPU threads, and the faster of two ways to compute.

On a CPU, PyTorch's own kernel is not always the fastest. Each alternative is timed against it once
per process (`FasterWay`); `inference` is the block in which a trained model computes.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

from components.models.errors import ModelError

# Rounds of a race between two ways to compute.
_ROUNDS = 8
# One lock for all races: two at a time would disturb each other's times.
_racing = threading.RLock()


class FasterWay:
    """The faster of two ways to compute the same thing on a CPU, measured once per process.

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

# For a matrix product of a small encoder's feed-forward size; a smaller gain is lost to the casts.
_PROBE_SHAPE = (512, 384, 1536)
_WORTHWHILE_GAIN = 1.3
_DEVICES = "Use 'cpu', 'cuda', 'cuda:1' or 'mps'."
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
    rows, inner, columns = _PROBE_SHAPE

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


# A product of a small encoder's feed-forward size.
_LINEAR_PROBE = (512, 384, 1536)


def fast_linear(device: torch.device) -> AbstractContextManager[object]:
    """A block in which float32 linear layers and their gradients run the faster way, on a CPU.

    PyTorch sends every float32 product on x86 to MKL, which uses narrower instructions on AVX-512
    processors that are not Intel's; there oneDNN, which PyTorch includes, is twice as fast.
    """
    return _OneDnnLinear() if LINEAR.on(device) == "onednn" else nullcontext()


class _OneDnnLinear(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        if func is torch.nn.functional.linear and not kwargs and len(args) == 3:
            states, weight, bias = args
            fits = states.dtype == weight.dtype == torch.float32 and states.device.type == "cpu"
            if fits and states.numel():  # oneDNN takes no empty ones
                return _Linear.apply(states, weight, bias)  # type: ignore[no-untyped-call]
        return func(*args, **(kwargs or {}))


class _Linear(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
        ctx.save_for_backward(states, weight)
        return _onednn_linear(states, weight, bias)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, weight = ctx.saved_tensors
        rows = grad.reshape(-1, grad.shape[-1])
        of_states = of_weight = of_bias = None
        if ctx.needs_input_grad[0]:
            of_states = _onednn_linear(rows, weight.t(), None).view_as(states)
        if ctx.needs_input_grad[1]:
            of_weight = _onednn_linear(rows.t(), states.reshape(-1, states.shape[-1]).t(), None)
        if ctx.needs_input_grad[2]:
            of_bias = rows.sum(0)
        return of_states, of_weight, of_bias


def _onednn_linear(states: Tensor, weight: Tensor, bias: Tensor | None) -> Tensor:
    linear: Tensor = torch.ops.mkldnn._linear_pointwise(states, weight, bias, "none", [], "")
    return linear


def _onednn_gain() -> float:
    rows, inner, columns = _LINEAR_PROBE
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(rows, inner, generator=generator)
    weight = torch.randn(columns, inner, generator=generator)
    bias = torch.randn(columns, generator=generator)
    with torch.no_grad():
        try:
            # An operator meant for PyTorch's compiler: if it is absent or changed, use MKL.
            same = torch.allclose(
                _onednn_linear(states, weight, bias),
                torch.nn.functional.linear(states, weight, bias),
                atol=1e-3,
            )
        except (AttributeError, RuntimeError, TypeError):
            return 0.0
        if not same:
            return 0.0
        return gain(
            lambda: torch.nn.functional.linear(states, weight, bias),
            lambda: _onednn_linear(states, weight, bias),
        )


LINEAR = FasterWay("linear layers", "torch", "onednn", 1.2, _onednn_gain)


def pack_linear_layers(module: nn.Module, device: torch.device, dtype: torch.dtype) -> None:
    """Keep the weights of linear layers in the format and order that the CPU's kernel reads.

    Without this every call casts or reorders them, which for one question takes longer than the
    matrix products themselves. Does nothing on other devices, or where that kernel is not faster.

    Args:
        module: A model for inference only, which stays where it is: its layers no longer read their
            parameters.
        device: Where it computes.
        dtype: The number format of `inference`.
    """
    if device.type != "cpu" or not LINEAR.gain():
        return
    if not (fast_bf16(device) if dtype == torch.bfloat16 else LINEAR.on(device) == "onednn"):
        return
    # A subclass may compute something else.
    layers = [each for each in module.modules() if type(each) is nn.Linear]
    try:
        packed = [_packed(each, dtype) for each in layers]
    except (AttributeError, RuntimeError):
        return  # an operator meant for PyTorch's compiler, absent or changed
    for layer, forward in zip(layers, packed, strict=True):
        layer.forward = forward  # type: ignore[method-assign, assignment]


def _packed(layer: nn.Linear, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().to(dtype), None)
    bias = None if layer.bias is None else layer.bias.detach().to(dtype)
    return lambda states: _onednn_linear(states.to(dtype), weight, bias)


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
