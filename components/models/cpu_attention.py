"""Faster bfloat16 attention on CPUs, where texts are short."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from typing import Any, Literal

import torch
from torch import Tensor
from torch.overrides import TorchFunctionMode

from components.models.racing import MeasuredOnce, gain

# Scores of so many bytes at a time stay in a core's cache, and are small enough that no memory is
# asked of the system for each.
_CHUNK_BYTES = 2**20
# Texts, heads, tokens and width of a small encoder.
_PROBE_SHAPE = (8, 12, 160, 32)
_WORTHWHILE_GAIN = 1.1
# Tokens; the fused way wins from some 300.
_LONGEST = 256


AttentionWay = Literal["fused", "plain"]
# Empty, or what counts in place of the race.
_settled: list[AttentionWay] = []


def attention_way(device: torch.device) -> AttentionWay:
    """How bfloat16 attention is computed in a `fast_attention` block.

    Which is faster is measured, once a process, or settled. The plain way rounds scores to bfloat16
    before the softmax, the fused one after it.
    """
    if device.type != "cpu":
        return "fused"
    if _settled:
        return _settled[0]
    return "plain" if _plain_gain() >= _WORTHWHILE_GAIN else "fused"


def settle_attention_way(way: object) -> None:
    """Compute one way from here on, faster or not; what is none is passed over."""
    if way in ("plain", "fused"):
        _settled[:] = ["plain" if way == "plain" else "fused"]


def fast_attention(device: torch.device) -> AbstractContextManager[object]:
    """A block without gradients in which bfloat16 attention runs the faster of two ways, on a CPU.

    PyTorch's fused attention multiplies in small blocks, which suits long texts. Articles and
    passages are short: plain products over a few texts at a time take two thirds of the time where
    the processor's bfloat16 products are fast.
    """
    return _PlainAttention() if attention_way(device) == "plain" else nullcontext()


class _PlainAttention(TorchFunctionMode):
    def __torch_function__(
        self,
        func: Callable[..., Any],
        types: Sequence[type],
        args: tuple[Any, ...] = (),
        kwargs: dict[str, Any] | None = None,
    ) -> Any:
        kwargs = kwargs or {}
        if func is torch.nn.functional.scaled_dot_product_attention and _fits(*args, **kwargs):
            query, key, value = args
            mask, scale = kwargs.get("attn_mask"), kwargs.get("scale")
            return plain_attention(query, key, value, mask, scale)
        return func(*args, **kwargs)


def _fits(
    *args: Any,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,  # noqa: ARG001 - any will do
    enable_gqa: bool = False,
    **others: Any,
) -> bool:
    if len(args) != 3 or others or dropout_p or is_causal or enable_gqa:
        return False
    return (
        all(each.dtype == torch.bfloat16 and each.device.type == "cpu" for each in args)
        and all(each.dim() == 4 and each.numel() for each in args)
        and args[1].shape[2] <= _LONGEST
        and (attn_mask is None or (attn_mask.dim() == 4 and attn_mask.shape[1] == 1))
        and not torch.is_grad_enabled()
    )


def plain_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None, scale: float | None
) -> Tensor:
    """softmax(query key^T scale + mask) value, a few texts at a time.

    Args:
        query: bfloat16 `[n, heads, tokens, width]`.
        key: bfloat16 `[n, heads, others, width]`.
        value: As `key`.
        mask: `[n or 1, 1, tokens or 1, others]`: what is added, or False where nothing is looked
            at; None looks at all.
        scale: None is 1 / sqrt(width).

    Returns:
        As `query`.
    """
    n, heads, tokens, width = query.shape
    query = query * (width**-0.5 if scale is None else scale)
    added = _added(mask, query)
    size = max(1, _CHUNK_BYTES // (heads * tokens * key.shape[2] * query.element_size()))
    found = torch.empty(n, tokens, heads, width, dtype=query.dtype).transpose(1, 2)
    for start in range(0, n, size):
        own = slice(start, start + size)
        scores = query[own] @ key[own].transpose(-1, -2)
        if added is not None:
            scores += added[own] if len(added) > 1 else added
        found[own] = torch.softmax(scores, -1) @ value[own]
    return found


def _added(mask: Tensor | None, query: Tensor) -> Tensor | None:
    if mask is None:
        return None
    if mask.stride(2) == 0:
        mask = mask[:, :, :1]
    if mask.dtype == torch.bool:
        # Not infinite: a row that looks at nothing gives numbers.
        lowest = torch.finfo(query.dtype).min
        return torch.zeros_like(mask, dtype=query.dtype).masked_fill_(~mask, lowest)
    return mask.to(query.dtype)


@MeasuredOnce
def _plain_gain() -> float:
    """How many times faster the plain way is."""
    generator = torch.Generator().manual_seed(0)
    query, key, value = (
        torch.randn(_PROBE_SHAPE, generator=generator).bfloat16() for _ in range(3)
    )
    with torch.no_grad():
        return gain(
            lambda: torch.nn.functional.scaled_dot_product_attention(query, key, value),
            lambda: plain_attention(query, key, value, mask=None, scale=None),
        )
