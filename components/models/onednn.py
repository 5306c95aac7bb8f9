"""Linear layers on a CPU through oneDNN, by operators that PyTorch keeps for its compiler.

PyTorch sends every float32 product on x86 to MKL, which uses narrower instructions on AVX-512
processors that are not Intel's; there oneDNN, which PyTorch includes, is twice as fast. The two
operators are private: `mkldnn._linear_pointwise` and `mkldnn._reorder_linear_weight`, tried with
PyTorch 2.13. Where one is absent, takes other arguments or gives another result, PyTorch's own way
is used, and only speed is lost.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

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


# A product of a small encoder's feed-forward size.
PROBE_SHAPE = (512, 384, 1536)


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
    rows, inner, columns = PROBE_SHAPE
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


def pack_weights(module: nn.Module, dtype: torch.dtype) -> None:
    """Keep the weights of linear layers in the format and order that oneDNN reads.

    Args:
        module: A model for inference only, on a CPU: its layers no longer read their parameters.
        dtype: The number format to compute in.
    """
    if not LINEAR.gain():
        return
    # A subclass may compute something else.
    layers = [layer for layer in module.modules() if type(layer) is nn.Linear]
    try:
        packed = [_packed(layer, dtype) for layer in layers]
    except (AttributeError, RuntimeError):
        return
    for layer, forward in zip(layers, packed, strict=True):
        layer.forward = forward  # type: ignore[method-assign, assignment]


def _packed(layer: nn.Linear, dtype: torch.dtype) -> Callable[[Tensor], Tensor]:
    weight = torch.ops.mkldnn._reorder_linear_weight(layer.weight.detach().to(dtype), None)
    bias = None if layer.bias is None else layer.bias.detach().to(dtype)
    return lambda states: _onednn_linear(states.to(dtype), weight, bias)
