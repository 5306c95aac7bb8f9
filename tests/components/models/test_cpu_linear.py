from __future__ import annotations

from contextlib import nullcontext

import pytest
import torch
from torch import nn

from components.models import cpu_linear
from components.models.cpu_linear import (
    _OneDnnLinear,
    fast_linear,
    linear_library,
    settle_linear_library,
)

pytestmark = pytest.mark.skipif(
    cpu_linear._onednn_gain() == 0, reason="this build of PyTorch brings no oneDNN"
)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize(
    "states",
    [
        torch.randn(7, 24, generator=torch.Generator().manual_seed(0)),
        torch.randn(3, 5, 24, generator=torch.Generator().manual_seed(1)),
        torch.randn(24, 5, generator=torch.Generator().manual_seed(2)).T,
        torch.randn(4, 6, 24, generator=torch.Generator().manual_seed(3))[::2, 1:4],
        torch.randn(24, generator=torch.Generator().manual_seed(4)),
        torch.empty(0, 24),
    ],
    ids=["matrix", "batch", "transposed", "strided", "vector", "empty"],
)
def test_a_linear_layer_gives_the_same(states, bias):
    torch.manual_seed(0)
    layer = nn.Linear(24, 33, bias=bias)
    with torch.no_grad():
        expected = layer(states)
        with _OneDnnLinear():
            found = layer(states)
    assert found.shape == expected.shape
    assert torch.allclose(found, expected, atol=1e-5)


@pytest.mark.parametrize("bias", [True, False])
@pytest.mark.parametrize("shape", [(7, 24), (3, 5, 24), (24,), (0, 24)], ids=str)
def test_gradients_are_the_same(shape, bias):
    torch.manual_seed(0)
    layer = nn.Linear(24, 33, bias=bias)
    states = torch.randn(shape, requires_grad=True)
    wanted = [states, *layer.parameters()]

    def gradients(block):
        with block:
            out = layer(states)
        return torch.autograd.grad((out * torch.linspace(-1, 1, 33)).square().sum(), wanted)

    for expected, found in zip(gradients(nullcontext()), gradients(_OneDnnLinear()), strict=True):
        torch.testing.assert_close(found, expected, atol=1e-4, rtol=1e-5)


def test_what_asks_for_no_gradient_costs_none(monkeypatch):
    layer = nn.Linear(4, 3).requires_grad_(False)
    states = torch.ones(2, 4, requires_grad=True)
    with _OneDnnLinear():
        out = layer(states)
    calls: list[int] = []
    product = cpu_linear._onednn_linear
    monkeypatch.setattr(
        cpu_linear, "_onednn_linear", lambda *args: calls.append(1) or product(*args)
    )
    out.sum().backward()
    assert len(calls) == 1
    assert layer.weight.grad is None


def test_bf16_is_left_alone():
    layer = nn.Linear(8, 8).bfloat16()
    states = torch.ones(2, 8, dtype=torch.bfloat16)
    with torch.no_grad(), _OneDnnLinear():
        assert torch.equal(layer(states), layer(states).clone())
        assert layer(states).dtype == torch.bfloat16


@pytest.mark.parametrize(("gain", "taken"), [(2.0, True), (1.0, False)])
def test_the_faster_of_the_two_is_taken(monkeypatch, gain, taken):
    on_gpu = torch.device("cuda")
    monkeypatch.setattr(cpu_linear, "_settled", [])
    monkeypatch.setattr(cpu_linear, "_onednn_gain", lambda: gain)
    calls: list[int] = []
    monkeypatch.setattr(
        cpu_linear, "_onednn_linear", lambda *args: calls.append(1) or torch.zeros(1)
    )
    with torch.no_grad(), fast_linear(torch.device("cpu")):
        nn.Linear(4, 4)(torch.ones(1, 4))
    assert bool(calls) == taken
    assert linear_library(torch.device("cpu")) == ("onednn" if taken else "torch")
    assert linear_library(on_gpu) == "torch"
    assert isinstance(fast_linear(on_gpu), nullcontext)


def test_what_is_settled_counts_where_it_can_serve(monkeypatch):
    cpu = torch.device("cpu")
    monkeypatch.setattr(cpu_linear, "_settled", [])
    monkeypatch.setattr(cpu_linear, "_onednn_gain", lambda: 1.0)
    for settled, expected in (("onednn", "onednn"), ("torch", "torch"), ("blis", "torch")):
        settle_linear_library(settled)
        assert linear_library(cpu) == expected
        assert linear_library(torch.device("cuda")) == "torch"
    monkeypatch.setattr(cpu_linear, "_settled", [])
    monkeypatch.setattr(cpu_linear, "_onednn_gain", lambda: 0.0)
    settle_linear_library("onednn")
    assert linear_library(cpu) == "torch"


def test_a_pytorch_without_the_operator_is_served_by_mkl(monkeypatch):
    def absent(*_):
        raise AttributeError("no such operator")

    monkeypatch.setattr(cpu_linear, "_onednn_linear", absent)
    cpu_linear._onednn_gain.cache_clear()
    assert cpu_linear._onednn_gain() == 0
    cpu_linear._onednn_gain.cache_clear()
