"""The plain bfloat16 attention: what the fused one gives, and only where it may serve."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

from components.models import cpu_attention, cpu_linear
from components.models.cpu_attention import fast_attention, plain_attention
from components.models.inference import measured_way, settle_way

Fused = Callable[..., Tensor]
fused: Fused = torch.nn.functional.scaled_dot_product_attention
CPU = torch.device("cpu")


def parts(n: int = 5, tokens: int = 9, others: int = 9, width: int = 8) -> list[Tensor]:
    generator = torch.Generator().manual_seed(0)
    shapes = [(n, 3, tokens, width), (n, 3, others, width), (n, 3, others, width)]
    return [torch.randn(shape, generator=generator).bfloat16() for shape in shapes]


def by_hand(parts: list[Tensor], looked_at: Tensor, scale: float) -> Tensor:
    """In float64, text by text and head by head."""
    query, key, value = (part.double() for part in parts)
    found = torch.zeros_like(query)
    for text in range(len(query)):
        for head in range(query.shape[1]):
            for token in range(query.shape[2]):
                kept = looked_at[text, token]
                scores = (key[text, head, kept] @ query[text, head, token]) * scale
                found[text, head, token] = torch.softmax(scores, 0) @ value[text, head, kept]
    return found


@pytest.mark.parametrize("chunk", [1, 2_000, 2**20])
@pytest.mark.parametrize("kind", ["none", "bool", "bool of one row", "added", "of one text"])
@pytest.mark.parametrize("scale", [None, 0.2])
def test_it_is_attention(
    monkeypatch: pytest.MonkeyPatch, chunk: int, kind: str, scale: float | None
) -> None:
    monkeypatch.setattr(cpu_attention, "_CHUNK_BYTES", chunk)
    given = parts(others=7)
    seen = torch.ones(5, 1, 9, 7, dtype=torch.bool)
    mask: Tensor | None = None
    if kind != "none":
        lengths = torch.tensor([7, 3, 7, 1, 5]) if kind != "of one text" else torch.tensor([4] * 5)
        seen &= (torch.arange(7) < lengths[:, None])[:, None, None]
        mask = seen
        if kind == "bool of one row":
            mask = seen[:, :, :1].expand(5, 1, 9, 7)
        elif kind == "added":
            mask = torch.zeros(5, 1, 9, 7).masked_fill(~seen, -1e30)
        elif kind == "of one text":
            mask = seen[:1]
    found = plain_attention(*given, mask, scale)
    expected = by_hand(given, seen[:, 0], 1 / math.sqrt(8) if scale is None else scale)
    assert found.dtype == torch.bfloat16
    assert (found.double() - expected).abs().max() < 0.03
    # Laid out as PyTorch lays it out: heads side by side, token after token.
    assert found.transpose(1, 2).is_contiguous()


def test_a_text_that_looks_at_nothing_gives_numbers() -> None:
    found = plain_attention(*parts(), torch.zeros(5, 1, 9, 9, dtype=torch.bool), None)
    assert found.isfinite().all()


@pytest.fixture
def plain_calls(monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """A processor on which the plain way is the faster, and the calls that it got."""
    calls: list[Any] = []

    def spy(*given: Any) -> Tensor:
        calls.append(given)
        return plain_attention(*given)

    monkeypatch.setattr(cpu_attention, "_settled", [])
    monkeypatch.setattr(cpu_attention, "_plain_gain", lambda: 2.0)
    monkeypatch.setattr(cpu_attention, "plain_attention", spy)
    return calls


def test_the_block_takes_what_an_encoder_asks_for(plain_calls: list[Any]) -> None:
    mask = torch.ones(5, 1, 9, 9, dtype=torch.bool)
    with torch.no_grad(), fast_attention(CPU):
        found = torch.nn.functional.scaled_dot_product_attention(*parts(), attn_mask=mask)
    assert len(plain_calls) == 1
    assert (found.float() - fused(*parts()).float()).abs().max() < 0.03


@pytest.mark.parametrize(
    ("given", "options"),
    [
        ([each.float() for each in parts()], {}),
        (parts(others=257), {}),
        (parts(n=0), {}),
        ([each[0] for each in parts()], {}),
        (parts(), {"is_causal": True}),
        (parts(), {"dropout_p": 0.5}),
        (parts(), {"attn_mask": torch.ones(5, 3, 9, 9, dtype=torch.bool)}),
    ],
)
def test_all_else_goes_the_fused_way(
    plain_calls: list[Any], given: list[Tensor], options: dict[str, Any]
) -> None:
    with torch.no_grad(), fast_attention(CPU):
        torch.nn.functional.scaled_dot_product_attention(*given, **options)
    assert not plain_calls


def test_gradients_go_the_fused_way(plain_calls: list[Any]) -> None:
    with fast_attention(CPU):
        torch.nn.functional.scaled_dot_product_attention(*parts())
    assert not plain_calls


def test_where_it_is_not_faster_nothing_changes(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_attention, "_settled", [])
    monkeypatch.setattr(cpu_attention, "_plain_gain", lambda: 1.0)

    def never(*given: Any) -> Tensor:
        raise AssertionError

    monkeypatch.setattr(cpu_attention, "plain_attention", never)
    with torch.no_grad(), fast_attention(CPU):
        torch.nn.functional.scaled_dot_product_attention(*parts())
    monkeypatch.setattr(cpu_attention, "_plain_gain", lambda: 2.0)
    with torch.no_grad(), fast_attention(torch.device("meta")):
        torch.nn.functional.scaled_dot_product_attention(*parts())


def test_what_is_settled_counts_on_a_cpu(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cpu_attention, "_settled", [])
    monkeypatch.setattr(cpu_attention, "_plain_gain", lambda: 1.0)
    for settled, expected in (("plain", "plain"), ("fused", "fused"), ("other", "fused")):
        cpu_attention.settle_attention_way(settled)
        assert cpu_attention.attention_way(CPU) == expected
        assert cpu_attention.attention_way(torch.device("cuda")) == "fused"


def test_ways_are_settled_as_they_were_told(monkeypatch: pytest.MonkeyPatch) -> None:
    for module in (cpu_attention, cpu_linear):
        monkeypatch.setattr(module, "_settled", [])
    monkeypatch.setattr(cpu_linear, "_onednn_gain", lambda: 1.0)
    monkeypatch.setattr(cpu_attention, "_plain_gain", lambda: 1.0)
    for way in ("linear layers: onednn", "attention: plain", "nothing", None):
        settle_way(way)
    assert measured_way(CPU, torch.float32) == "linear layers: onednn"
    assert measured_way(CPU, torch.bfloat16) == "attention: plain"
