"""The layers a graph network can be made of: G-DSR's GATv2, its rivals, and a control."""

from __future__ import annotations

from typing import Literal, get_args

import torch
from torch import Tensor, nn
from torch.nn.functional import elu, leaky_relu

from components.models.graph_ops import (
    NEGATIVE_SLOPE,
    pair_scores,
    segment_softmax,
    take_rows,
    weighted_sum,
)
from components.models.graph_tensors import EdgeBlock
from components.statutes.graph import EDGE_KINDS

GraphKind = Literal["gatv2", "gat", "gcn", "sage", "kgnn", "mlp"]
GRAPH_KINDS: tuple[GraphKind, ...] = get_args(GraphKind)


def graph_layer(kind: GraphKind, dim: int, heads: int, edge_kinds: tuple[str, ...]) -> nn.Module:
    """A layer of a kind.

    Its `forward(states, own, edges)` takes the states of the sources `[n_sources, dim]`, those of
    the targets `[n_targets, dim]` and the edges between them, and returns `[n_targets, dim]`,
    without an activation. Layers with attention have `attention(states, own, edges)` too, which
    returns `[n_edges, heads]`.
    """
    if kind == "gatv2":
        return _GATv2(dim, heads, edge_kinds)
    if kind == "gat":
        return _GAT(dim, heads, edge_kinds)
    return {"gcn": _GCN, "sage": _SAGE, "kgnn": _KGNN, "mlp": _MLP}[kind](dim)


class _GATv2(nn.Module):
    """Attention that depends on the target (Brody et al. 2022; G-DSR, eq. 7 and 8).

    e_ij = a^T LeakyReLU(W_t h_i + W_s h_j + W_e edge_ij), alpha = softmax of e_i over j, and the
    target gets the heads' sum_j alpha_ij W_s h_j side by side.
    """

    def __init__(self, dim: int, heads: int, edge_kinds: tuple[str, ...]) -> None:
        super().__init__()
        self.source = _glorot(dim)
        self.target = _glorot(dim)
        self.score = nn.Parameter(torch.empty(heads, dim // heads))
        nn.init.xavier_uniform_(self.score)
        self.kinds = _KindVectors(edge_kinds, dim) if len(edge_kinds) > 1 else None

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        sources = _linear(self.source, states)
        return weighted_sum(sources, self._shares(sources, own, edges), edges)

    def attention(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        return self._shares(_linear(self.source, states), own, edges)

    def _shares(self, sources: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        kinds = None if self.kinds is None else self.kinds()
        targets = _linear(self.target, own)
        return segment_softmax(pair_scores(sources, targets, self.score, kinds, edges), edges)


class _GAT(nn.Module):
    """Attention that ranks sources alike for all targets (Velickovic et al. 2018).

    e_ij = LeakyReLU(a_t^T W h_i + a_s^T W h_j + w_e), a number w_e a kind of edge and head.
    """

    def __init__(self, dim: int, heads: int, edge_kinds: tuple[str, ...]) -> None:
        super().__init__()
        self.source = _glorot(dim, bias=False)
        self.source_score = nn.Parameter(torch.empty(heads, dim // heads))
        self.target_score = nn.Parameter(torch.empty(heads, dim // heads))
        nn.init.xavier_uniform_(self.source_score)
        nn.init.xavier_uniform_(self.target_score)
        self.kinds = _KindVectors(edge_kinds, heads) if len(edge_kinds) > 1 else None
        self.bias = nn.Parameter(torch.zeros(dim))

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:  # noqa: ARG002
        sources = _linear(self.source, states)
        return weighted_sum(sources, self._shares(sources, edges), edges) + self.bias

    def attention(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:  # noqa: ARG002
        return self._shares(_linear(self.source, states), edges)

    def _shares(self, sources: Tensor, edges: EdgeBlock) -> Tensor:
        by_head = sources.view(len(sources), *self.source_score.shape)
        of_sources = torch.einsum("nhd,hd->nh", by_head, self.source_score)
        of_targets = torch.einsum("nhd,hd->nh", by_head, self.target_score)
        if edges.own is not None:
            of_targets = take_rows(of_targets, edges.own)
        scores = take_rows(of_sources, edges.source) + take_rows(of_targets, edges.target)
        if self.kinds is not None:
            # As a product, whose gradient is one too: a sum over some ten thousand edges a kind.
            is_kind = edges.kind[:, None] == torch.arange(len(EDGE_KINDS), device=scores.device)
            scores = scores + is_kind.to(scores.dtype) @ self.kinds()
        return segment_softmax(leaky_relu(scores, NEGATIVE_SLOPE), edges)


class _GCN(nn.Module):
    """Neighbours weighed by 1 / sqrt(d_i d_j), their degrees (Kipf and Welling 2017)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.source = _glorot(dim)

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:  # noqa: ARG002
        weights = edges.degrees.to(states.dtype).rsqrt()
        return _linear(self.source, weighted_sum(states, weights[:, None], edges))


class _SAGE(nn.Module):
    """The neighbours' mean beside the node itself (Hamilton et al. 2017)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.source = _glorot(dim)
        self.own = _glorot(dim, bias=False)

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        others = _others(edges)
        before = torch.cat([others.new_zeros(1), others.cumsum(0)])
        count = before[edges.target_ends].diff().clamp(min=1)
        mean = others.to(states.dtype) / count[edges.target]
        return _linear(self.source, weighted_sum(states, mean[:, None], edges)) + _linear(
            self.own, own
        )


class _KGNN(nn.Module):
    """The neighbours' sum beside the node itself (Morris et al. 2019)."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.source = _glorot(dim)
        self.own = _glorot(dim, bias=False)

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        others = _others(edges).to(states.dtype)
        return _linear(self.source, weighted_sum(states, others[:, None], edges)) + _linear(
            self.own, own
        )


class _MLP(nn.Module):
    """As many weights as a GATv2 layer's two matrices, and no neighbours: the control."""

    def __init__(self, dim: int) -> None:
        super().__init__()
        self.first = _glorot(dim)
        self.second = _glorot(dim)

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:  # noqa: ARG002
        return _linear(self.second, elu(_linear(self.first, own)))


class _KindVectors(nn.Module):
    """A learned vector for each kind of edge that a network knows."""

    codes: Tensor

    def __init__(self, edge_kinds: tuple[str, ...], width: int) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.empty(len(edge_kinds), width))
        nn.init.xavier_uniform_(self.weight)
        codes = torch.tensor([EDGE_KINDS.index(name) for name in edge_kinds])
        self.register_buffer("codes", codes, persistent=False)

    def forward(self) -> Tensor:
        """The vectors by their kind's code, zeros for unknown ones, `[len(EDGE_KINDS), width]`."""
        table = self.weight.new_zeros(len(EDGE_KINDS), self.weight.shape[1])
        return table.index_copy(0, self.codes, self.weight)


def _glorot(dim: int, *, bias: bool = True) -> nn.Linear:
    linear = nn.Linear(dim, dim, bias=bias)
    nn.init.xavier_uniform_(linear.weight)
    if bias:
        nn.init.zeros_(linear.bias)
    return linear


def _linear(layer: nn.Module, states: Tensor) -> Tensor:
    mapped: Tensor = layer(states)
    return mapped


def _others(edges: EdgeBlock) -> Tensor:
    """1 for an edge from another node, 0 for a node's own: these have a matrix of their own."""
    return (edges.kind != EDGE_KINDS.index("self")).long()
