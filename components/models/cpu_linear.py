"""Faster float32 linear layers on CPUs that MKL does not treat as its own."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.overrides import TorchFunctionMode

from components.models.racing import MeasuredOnce, gain

# A product of a small encoder's feed-forward size.
_PROBE_SHAPE = (512, 384, 1536)
_WORTHWHILE_GAIN = 1.2


LinearLibrary = Literal["torch", "onednn"]
# Empty, or what counts in place of the race.
_settled: list[LinearLibrary] = []


def linear_library(device: torch.device) -> LinearLibrary:
    """What computes float32 linear layers in a `fast_linear` block.

    PyTorch sends every float32 product on x86 to MKL, which on other makers' AVX-512 processors
    keeps to narrower instructions: there oneDNN, which PyTorch brings along, is twice as fast.
    Which is faster is measured, once a process, or settled; the two differ by rounding.
    """
    if device.type != "cpu":
        return "torch"
    if _settled:
        return _settled[0]
    return "onednn" if _onednn_gain() >= _WORTHWHILE_GAIN else "torch"


def settle_linear_library(library: object) -> None:
    """Let a library compute from here on, faster or not; one that cannot serve is passed over."""
    if library == "torch":
        _settled[:] = ["torch"]
    elif library == "onednn" and _onednn_gain() > 0:
        _settled[:] = ["onednn"]


def fast_linear(device: torch.device) -> AbstractContextManager[object]:
    """A block in which float32 linear layers run the faster of MKL and oneDNN, on a CPU.

    Their gradients too, wherever these are asked for.
    """
    return _OneDnnLinear() if linear_library(device) == "onednn" else nullcontext()


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


@MeasuredOnce
def _onednn_gain() -> float:
    """How many times faster oneDNN is; 0 where it cannot serve."""
    rows, inner, columns = _PROBE_SHAPE
    generator = torch.Generator().manual_seed(0)
    states = torch.randn(rows, inner, generator=generator)
    weight = torch.randn(columns, inner, generator=generator)
    bias = torch.randn(columns, generator=generator)
    with torch.no_grad():
        try:
            # An operator that PyTorch keeps for its own compiler: absent or changed, MKL serves.
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
