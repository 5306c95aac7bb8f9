"""The graph network that enriches an article's vector by its place in the law (G-DSR, 3.3)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Literal

import numpy as np
import numpy.typing as npt
import torch
from pydantic import PositiveInt, validate_call
from torch import Tensor, nn
from torch.autograd.function import once_differentiable
from torch.nn.functional import dropout, elu, leaky_relu, one_hot

from components.models.encoding import Init, scaled
from components.models.folder import ModelError, Similarity
from components.models.onednn import fast_linear
from components.models.weights import Dropout, SavedModule, check_heads
from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS, LegislativeGraph

# Edges, and sums over them: reproducible bit for bit, without a row of features per edge.
#
# A float `[n_edges, dim]` never exists whole on a CPU: what every edge needs is computed in pieces
# small enough for the processor's cache, and computed again for the gradient.


@dataclass(frozen=True, eq=False)
class EdgeBlock:
    """The edges of one layer: from the rows of its input to the rows of its output.

    They are kept in both orders, so that sums over the edges of a target (forwards) and over those
    of a source (its gradient) each run over neighbours in memory, in one fixed order: nothing is
    scattered, and every run has the same bits.

    Attributes:
        source: Row of the input, int64 `[n_edges]`.
        target: Row of the output, ascending, int64 `[n_edges]`.
        kind: Index in `EDGE_KINDS`, int64 `[n_edges]`.
        degrees: Product of the degrees that source and target have in the whole graph, int64
            `[n_edges]`.
        target_ends: Where each target's edges start and the last one's end, int64
            `[n_targets + 1]`.
        by_source: The edges sorted by source, int64 `[n_edges]`.
        source_ends: As `target_ends`, of the sources in that order, int64 `[n_sources + 1]`.
        own: Row of the input that is each target itself, ascending, int64 `[n_targets]`; None where
            the rows are the same.
    """

    source: Tensor
    target: Tensor
    kind: Tensor
    degrees: Tensor
    target_ends: Tensor
    by_source: Tensor
    source_ends: Tensor
    own: Tensor | None = None

    @property
    def n_targets(self) -> int:
        """Rows of the output."""
        return len(self.target_ends) - 1


@dataclass(frozen=True, eq=False)
class ReceptiveField:
    """What some rows of the last layer's output need.

    Attributes:
        nodes: Nodes whose features enter the first layer, ascending, int64; None for all.
        blocks: The edges of each layer, first to last.
        rows: Row of the last layer's output for each row asked for, int64; None where they agree.
    """

    nodes: Tensor | None
    blocks: tuple[EdgeBlock, ...]
    rows: Tensor | None


@dataclass(frozen=True, eq=False)
class GraphTensors:
    """A `LegislativeGraph` as a `LegislativeGraphEncoder` takes it.

    Attributes:
        edges: All edges, in the graph's order.
        edge_kinds: The kinds that are there.
    """

    edges: EdgeBlock
    edge_kinds: tuple[str, ...]

    @classmethod
    def of(cls, graph: LegislativeGraph, device: torch.device | str = "cpu") -> GraphTensors:
        """The edges of a graph, on a device."""
        source, target = graph.source.astype(np.int64), graph.target.astype(np.int64)
        by_source = np.argsort(source, kind="stable")
        nodes = np.arange(graph.n_nodes + 1)
        degree = graph.degree.astype(np.int64)
        arrays = (
            source,
            target,
            graph.kind.astype(np.int64),
            degree[source] * degree[target],
            np.searchsorted(target, nodes),
            by_source,
            np.searchsorted(source[by_source], nodes),
        )
        edges = EdgeBlock(*(torch.from_numpy(array).to(device) for array in arrays))
        return cls(edges, graph.edge_kinds)

    @property
    def n_nodes(self) -> int:
        """Nodes of the graph."""
        return self.edges.n_targets

    @property
    def device(self) -> torch.device:
        """Where the edges are."""
        return self.edges.source.device

    def without_edges(self) -> GraphTensors:
        """The same nodes without edges between them."""
        none = self.edges.source[:0]
        ends = torch.zeros_like(self.edges.target_ends)
        return GraphTensors(EdgeBlock(none, none, none, none, ends, none, ends), ())

    def receptive_field(self, rows: Tensor | None, layers: int) -> ReceptiveField:
        """What `layers` layers must compute for some rows, from the last layer back to the first.

        Args:
            rows: Nodes, in any order, int64 `[n_rows]`; None for all.
            layers: How many there are.
        """
        if rows is None:
            return ReceptiveField(None, (self.edges,) * layers, None)
        wanted = torch.zeros(self.n_nodes, dtype=torch.bool, device=self.device)
        wanted[rows] = True
        number = _numbers(wanted)
        blocks: list[EdgeBlock] = []
        needed = wanted
        for _ in range(layers):
            block, needed = self._block_into(needed)
            blocks.insert(0, block)
        return ReceptiveField(needed.nonzero()[:, 0], tuple(blocks), number[rows])

    def _block_into(self, wanted: Tensor) -> tuple[EdgeBlock, Tensor]:
        """The edges into the wanted nodes, and the mask of all nodes that these need."""
        edges = self.edges
        chosen = wanted[edges.target]
        kept = chosen.nonzero()[:, 0]
        needed = wanted.clone()
        needed[edges.source[kept]] = True
        targets, sources = wanted.nonzero()[:, 0], needed.nonzero()[:, 0]
        source_number = _numbers(needed)
        source = source_number[edges.source[kept]]
        by_source = _numbers(chosen)[edges.by_source[chosen[edges.by_source]]]
        lengths = edges.target_ends.diff()[targets]
        block = EdgeBlock(
            source=source,
            target=_numbers(wanted)[edges.target[kept]],
            kind=edges.kind[kept],
            degrees=edges.degrees[kept],
            target_ends=torch.cat([lengths.new_zeros(1), lengths.cumsum(0)]),
            by_source=by_source,
            source_ends=torch.searchsorted(
                source[by_source], torch.arange(len(sources) + 1, device=self.device)
            ),
            own=None if len(targets) == len(sources) else source_number[targets],
        )
        return block, needed


def _numbers(mask: Tensor) -> Tensor:
    """The place of each True among those of a mask."""
    return mask.cumsum(0) - 1


NEGATIVE_SLOPE = 0.2

# Floats of one piece: what stays in a core's cache, and what keeps a GPU busy.
_PIECE_ON_CPU = 2**19
_PIECE_ON_GPU = 2**26


class _PairScores(torch.autograd.Function):
    """GATv2's scores e_ij = a^T LeakyReLU(W_t h_i + W_s h_j + W_e edge_ij) (G-DSR, eq. 7).

    Args:
        sources: W_s h, `[n_sources, dim]`.
        targets: W_t h, `[n_targets, dim]`.
        attention: a of each head, `[heads, dim / heads]`.
        kinds: W_e, one row per kind of edge in the order of `EDGE_KINDS`, `[n_kinds, dim]`; None
            for 0.
        edges: From sources to targets.

    Returns:
        `[n_edges, heads]`.
    """

    @staticmethod
    def forward(
        ctx: Any,
        sources: Tensor,
        targets: Tensor,
        attention: Tensor,
        kinds: Tensor | None,
        edges: EdgeBlock,
    ) -> Tensor:
        ctx.save_for_backward(sources, targets, attention, kinds)
        ctx.edges = edges
        scores = sources.new_empty(len(edges.source), len(attention))
        for piece in _pieces(len(scores), sources):
            sums = _sums(sources, targets, kinds, edges, piece)
            weighed = leaky_relu(sums, NEGATIVE_SLOPE, inplace=True)
            scores[piece] = weighed.view(-1, *attention.shape).mul_(attention).sum(-1)
        return scores

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        sources, targets, attention, kinds = ctx.saved_tensors
        edges: EdgeBlock = ctx.edges
        of_sources, of_targets = torch.zeros_like(sources), torch.zeros_like(targets)
        of_attention = torch.zeros_like(attention)
        of_kinds = None if kinds is None else torch.zeros_like(kinds)
        for piece in _pieces(len(grad), sources):
            sums = _sums(sources, targets, kinds, edges, piece)
            arriving = grad[piece].unsqueeze(-1)
            active = leaky_relu(sums, NEGATIVE_SLOPE)
            of_attention += active.view(-1, *attention.shape).mul_(arriving).sum(0)
            of_sums = _before_leaky_relu(arriving * attention, sums)
            _add_segments(of_targets, of_sums, edges.target[piece], edges.target_ends, piece)
            if of_kinds is not None:
                is_kind = torch.arange(len(of_kinds), device=grad.device)[:, None]
                of_kinds += (is_kind == edges.kind[piece]).to(grad.dtype) @ of_sums
        for piece in _pieces(len(grad), sources):
            order = edges.by_source[piece]
            sums = _sums(sources, targets, kinds, edges, order)
            of_sums = _before_leaky_relu(grad[order].unsqueeze(-1) * attention, sums)
            _add_segments(of_sources, of_sums, edges.source[order], edges.source_ends, piece)
        return of_sources, of_targets, of_attention, of_kinds, None


class _SegmentSoftmax(torch.autograd.Function):
    """Softmax over the edges into each target, `[n_edges, heads]`."""

    @staticmethod
    def forward(ctx: Any, scores: Tensor, edges: EdgeBlock) -> Tensor:
        highest = _reduced(scores, "max", edges)
        shares = (scores - highest[edges.target]).exp_()
        shares /= _reduced(shares, "sum", edges)[edges.target]
        ctx.save_for_backward(shares)
        ctx.edges = edges
        return shares

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (shares,) = ctx.saved_tensors
        weighed = shares * grad
        return weighed - shares * _reduced(weighed, "sum", ctx.edges)[ctx.edges.target], None


class _WeightedSum(torch.autograd.Function):
    """Sum over each target's edges of weight times the source's state, head by head.

    Args:
        states: `[n_sources, dim]`.
        weights: `[n_edges, heads]`; head h weighs the h-th part of `dim / heads` columns.
        edges: From sources to targets.

    Returns:
        `[n_targets, dim]`.
    """

    @staticmethod
    def forward(ctx: Any, states: Tensor, weights: Tensor, edges: EdgeBlock) -> Tensor:
        ctx.save_for_backward(states, weights)
        ctx.edges = edges
        return _headwise_sum(states, weights, edges.source, edges.target_ends)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        states, weights = ctx.saved_tensors
        edges: EdgeBlock = ctx.edges
        of_states = of_weights = None
        if ctx.needs_input_grad[0]:
            order = edges.by_source
            of_states = _headwise_sum(grad, weights[order], edges.target[order], edges.source_ends)
        if ctx.needs_input_grad[1]:
            of_weights = torch.empty_like(weights)
            for piece in _pieces(len(weights), states):
                products = states[edges.source[piece]].mul_(grad[edges.target[piece]])
                of_weights[piece] = products.view(len(products), weights.shape[1], -1).sum(-1)
        return of_states, of_weights, None


class _TakeRows(torch.autograd.Function):
    """`states[rows]`, whose gradient is summed in a fixed order where a row is taken twice."""

    @staticmethod
    def forward(ctx: Any, states: Tensor, rows: Tensor) -> Tensor:
        ctx.save_for_backward(rows)
        ctx.n_rows = len(states)
        return states.index_select(0, rows)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, grad: Tensor) -> tuple[Tensor | None, ...]:
        (rows,) = ctx.saved_tensors
        ordered, order = rows.sort(stable=True)
        ends = torch.searchsorted(ordered, torch.arange(ctx.n_rows + 1, device=rows.device))
        return _sum_of_rows(grad.contiguous(), order, ends), None


pair_scores: Callable[[Tensor, Tensor, Tensor, Tensor | None, EdgeBlock], Tensor]
pair_scores = _PairScores.apply
segment_softmax: Callable[[Tensor, EdgeBlock], Tensor] = _SegmentSoftmax.apply
weighted_sum: Callable[[Tensor, Tensor, EdgeBlock], Tensor] = _WeightedSum.apply
take_rows: Callable[[Tensor, Tensor], Tensor] = _TakeRows.apply


def _pieces(n_edges: int, states: Tensor) -> Iterator[slice]:
    floats = _PIECE_ON_CPU if states.device.type == "cpu" else _PIECE_ON_GPU
    step = max(1, floats // states.shape[1])
    return (slice(start, min(start + step, n_edges)) for start in range(0, n_edges, step))


def _sums(
    sources: Tensor, targets: Tensor, kinds: Tensor | None, edges: EdgeBlock, which: Any
) -> Tensor:
    """W_t h_i + W_s h_j + W_e edge_ij of some edges, `[n, dim]`."""
    sums = sources.index_select(0, edges.source[which])
    sums += targets.index_select(0, edges.target[which])
    if kinds is not None:
        sums += kinds.index_select(0, edges.kind[which])
    return sums


def _before_leaky_relu(grad: Tensor, sums: Tensor) -> Tensor:
    """The gradient of LeakyReLU's input, written over that of its output, `[n, dim]`."""
    passed = grad.view_as(sums)
    torch.ops.aten.leaky_relu_backward.grad_input(
        passed, sums, NEGATIVE_SLOPE, False, grad_input=passed
    )
    return passed


def _reduced(values: Tensor, how: str, edges: EdgeBlock) -> Tensor:
    """Sum or maximum over the edges into each target, `[n_targets, heads]`."""
    return torch.segment_reduce(values, how, offsets=edges.target_ends, axis=0, unsafe=True)


def _add_segments(
    total: Tensor, values: Tensor, segment: Tensor, ends: Tensor, piece: slice
) -> None:
    """Add each run of `values` to the row of `total` that it belongs to.

    Args:
        total: `[n_segments, dim]`.
        values: Those of one piece of the sorted edges, `[n, dim]`.
        segment: Segment of each of them, ascending, `[n]`.
        ends: Of all segments in all edges, `[n_segments + 1]`.
        piece: Which of the edges they are.
    """
    first, last = int(segment[0]), int(segment[-1]) + 1
    inside = (ends[first : last + 1] - piece.start).clamp_(0, len(values))
    order = torch.arange(len(values), device=values.device)
    total[first:last] += _sum_of_rows(values, order, inside)


def _headwise_sum(states: Tensor, weights: Tensor, source: Tensor, ends: Tensor) -> Tensor:
    """`weighted_sum` over edges sorted by segment.

    A row and a head are one row of `dim / heads` to the sum below, so a segment's edges are put in
    the order (head, edge).
    """
    heads = weights.shape[1]
    lengths = ends.diff()
    segments = torch.arange(len(lengths), device=ends.device)
    n = weights.numel()
    segment = segments.repeat_interleave(lengths * heads, output_size=n)
    start, length = ends[:-1][segment], lengths[segment]
    place = torch.arange(n, device=ends.device) - start * heads
    head = place // length
    edge = start + place - head * length
    head_ends = ends[:-1, None] * heads + lengths[:, None] * torch.arange(heads, device=ends.device)
    summed = torch.embedding_bag(
        states.detach().contiguous().view(-1, states.shape[1] // heads),
        source[edge] * heads + head,
        torch.cat([head_ends.view(-1), ends[-1:] * heads]),
        mode=0,
        per_sample_weights=weights.detach().reshape(-1)[edge * heads + head],
        include_last_offset=True,
    )[0]
    return summed.view(len(lengths), -1)


def _sum_of_rows(states: Tensor, rows: Tensor, ends: Tensor) -> Tensor:
    """Sum of some rows of `states` for each run of `rows`."""
    return torch.embedding_bag(states.detach(), rows, ends, mode=0, include_last_offset=True)[0]


# The network

GraphKind = Literal["gatv2", "gat", "gcn", "sage", "kgnn", "mlp"]


def graph_layer(
    kind: GraphKind, entering: int, leaving: int, heads: int, edge_kinds: tuple[str, ...]
) -> nn.Module:
    """A layer of a kind, from states of width `entering` to states of width `leaving`.

    Its `forward(states, own, edges)` takes the states of the sources `[n_sources, entering]`, those
    of the targets `[n_targets, entering]` and the edges between them, and returns
    `[n_targets, leaving]`, without an activation. "gatv2" has `attention(states, own, edges)` too,
    which returns `[n_edges, heads]`.
    """
    if kind == "gatv2":
        return _GATv2(entering, leaving, heads, edge_kinds)
    if kind == "mlp":
        return _MLP(entering, leaving)
    return _Published(kind, entering, leaving, heads)


class _GATv2(nn.Module):
    """Attention that depends on the target (Brody et al. 2022; G-DSR, eq. 7 and 8).

    e_ij = a^T LeakyReLU(W_t h_i + W_s h_j + W_e edge_ij), alpha = softmax of e_i over j, and the
    target gets the heads' sum_j alpha_ij W_s h_j side by side.
    """

    def __init__(
        self, entering: int, leaving: int, heads: int, edge_kinds: tuple[str, ...]
    ) -> None:
        super().__init__()
        self.source = _glorot(entering, leaving)
        self.target = _glorot(entering, leaving)
        self.score = nn.Parameter(torch.empty(heads, leaving // heads))
        nn.init.xavier_uniform_(self.score)
        self.kinds = _KindVectors(edge_kinds, leaving) if len(edge_kinds) > 1 else None

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        sources = self.source(states)
        return weighted_sum(sources, self._shares(sources, own, edges), edges)

    def attention(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        return self._shares(self.source(states), own, edges)

    def _shares(self, sources: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        kinds = None if self.kinds is None else self.kinds()
        targets = self.target(own)
        return segment_softmax(pair_scores(sources, targets, self.score, kinds, edges), edges)


class _Published(nn.Module):
    """A layer of torch_geometric, by the names of G-DSR's Table 4.

    "gat": attention that ranks sources in the same order for all targets (Velickovic et al. 2018).
    "gcn": neighbours weighed by 1 / sqrt(d_i d_j), their degrees (Kipf and Welling 2017).
    "sage" and "kgnn": the neighbours' mean or sum next to the node itself (Hamilton et al. 2017;
    Morris et al. 2019).
    """

    def __init__(self, kind: GraphKind, entering: int, leaving: int, heads: int) -> None:
        super().__init__()
        try:
            from torch_geometric import nn as geometric
        except ImportError as error:
            raise ModelError(
                f"a graph network of kind {kind!r} needs it: pip install torch_geometric."
            ) from error
        self.kind = kind
        self.conv: nn.Module
        if kind == "gat":
            options = {"add_self_loops": False, "edge_dim": len(EDGE_KINDS)}
            self.conv = geometric.GATConv(entering, leaving // heads, heads, **options)
        elif kind == "gcn":
            self.conv = geometric.GCNConv(entering, leaving, normalize=False)
        else:
            conv = geometric.SAGEConv if kind == "sage" else geometric.GraphConv
            self.conv = conv(entering, leaving)

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:  # noqa: ARG002
        message: Tensor = self.conv(states, *self._edges(edges, states.dtype))
        return message if edges.own is None else take_rows(message, edges.own)

    def _edges(self, edges: EdgeBlock, dtype: torch.dtype) -> tuple[Tensor, ...]:
        """The edges as the layer takes them, both ends as rows of its input."""
        target = edges.target if edges.own is None else edges.own[edges.target]
        index = torch.stack([edges.source, target])
        if self.kind == "gat":
            return index, one_hot(edges.kind, len(EDGE_KINDS)).to(dtype)
        if self.kind == "gcn":
            return index, edges.degrees.to(dtype).rsqrt()
        # The node itself has a matrix of its own.
        return (index[:, edges.kind != EDGE_KINDS.index("self")],)


class _MLP(nn.Module):
    """As many weights as a GATv2 layer's two matrices, but no neighbours: the control."""

    def __init__(self, entering: int, leaving: int) -> None:
        super().__init__()
        # entering * between + between * leaving = 2 * entering * leaving, to rounding.
        between = max(1, round(2 * entering * leaving / (entering + leaving)))
        self.first = _glorot(entering, between)
        self.second = _glorot(between, leaving)

    def forward(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:  # noqa: ARG002
        mapped: Tensor = self.second(elu(self.first(own)))
        return mapped


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


def _glorot(entering: int, leaving: int) -> nn.Linear:
    linear = nn.Linear(entering, leaving)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


class LegislativeGraphEncoder(SavedModule):
    """Enriches vectors of laws, divisions and articles by their neighbours.

    `init="paper"` is as published: h' = ELU(layer(h)), no ELU after the last, Glorot weights, zero
    biases. The states between two layers are `hidden` wide. `init="identity"` is
    h' = h + W_o ELU(layer(h)), where layer(h) is `hidden` wide and W_o and its bias are zero: at
    step 0 it *is* its input, bit for bit, in training mode too, while every zero receives a
    gradient at the first step. Dropout acts after every ELU.

    Two runs of "gatv2" and "mlp" give the same bits, forwards and backwards, on one machine with
    the same number of threads.

    Args:
        dim: Width of the vectors.
        hidden: Width inside the network; default: `dim`. G-DSR: 4 times `dim`.
        layers: Number of layers, and so how many edges away an article sees.
        heads: Attention heads; must divide `dim` and `hidden`. Only "gatv2" and "gat" have any.
            G-DSR: 1.
        kind: "gatv2" (G-DSR); "gat", "gcn", "sage" or "kgnn", which are torch_geometric's; "mlp"
            sees no neighbours: a control of equal size.
        init: How a fresh network is initialised.
        edge_kinds: The kinds of edges it is made for; with more than one, attention learns a
            vector for each.
        dropout: Dropout probability. G-DSR: 0.1.
        similarity: Of the bi-encoder below.

    Raises:
        ValidationError: A value is out of its range.
        ModelError: `heads` does not divide a width, `edge_kinds` are unknown or lack "self", or
            torch_geometric is not installed.
    """

    description = "graph network"

    @validate_call
    def __init__(
        self,
        dim: PositiveInt,
        *,
        hidden: PositiveInt | None = None,
        layers: PositiveInt = 3,
        heads: PositiveInt = 4,
        kind: GraphKind = "gatv2",
        init: Init = "identity",
        edge_kinds: Sequence[str] = ("self", "down", "up"),
        dropout: Dropout = 0.0,
        similarity: Similarity = "cosine",
    ) -> None:
        super().__init__()
        counts = {"dim": dim, "layers": layers, "heads": heads}
        inside = dim if hidden is None else hidden
        check_heads("graph", heads, dim, inside)
        kinds = list(edge_kinds)
        if not (len(set(kinds)) == len(kinds) and {"self"} <= set(kinds) <= set(EDGE_KINDS)):
            raise ModelError(
                f"graph.edge_kinds is {kinds}; it must name kinds once, 'self' among them, out of "
                f"{', '.join(EDGE_KINDS)}."
            )
        self.dim = dim
        self.layers = layers
        self.heads = heads
        self.kind: GraphKind = kind
        self.init: Init = init
        self.edge_kinds = tuple(edge_kinds)
        self.dropout = dropout
        self.similarity: Similarity = similarity
        options = {"kind": kind, "init": init, "edge_kinds": kinds, "dropout": dropout}
        self.arguments = {**counts, "hidden": hidden, **options, "similarity": similarity}
        # An identity comes back to `dim` after each layer.
        widths = [(dim, inside)] * layers
        if init == "paper":
            widths = list(pairwise([dim, *[inside] * (layers - 1), dim]))
        self.convolutions = nn.ModuleList(
            graph_layer(kind, *width, heads, self.edge_kinds) for width in widths
        )
        self.outputs = nn.ModuleList()
        if init == "identity":
            self.outputs.extend(nn.Linear(inside, dim) for _ in range(layers))
            for parameter in self.outputs.parameters():
                nn.init.zeros_(parameter)

    def forward(self, features: Tensor, graph: GraphTensors, rows: Tensor | None = None) -> Tensor:
        """Enriched vectors, in the weights' precision (float32), autocast or not.

        Args:
            features: Vectors of all nodes, `[n_nodes, dim]`.
            graph: Their edges, on the same device.
            rows: Nodes to compute, int64 `[n_rows]`, in any order; None for all. Only what these
                need is computed, with the same values as for all nodes, to rounding.

        Returns:
            `[n_rows, dim]` or `[n_nodes, dim]`.

        Raises:
            ModelError: The graph has edges of a kind that the network was not made for, or a
                feature that is needed is not a finite number.
        """
        graph = self._fitting(graph)
        field = graph.receptive_field(rows, self.layers)
        device = features.device
        with torch.autocast(device.type, enabled=False), fast_linear(device):
            states = self._entering(features, field)
            for number in range(self.layers):
                states = self._step(number, states, field)
            return states if field.rows is None else take_rows(states, field.rows)

    def attention(self, features: Tensor, graph: GraphTensors) -> Tensor:
        """The share of attention that the last layer pays to each edge among those into its target.

        Args:
            features: As for `forward`.
            graph: As for `forward`.

        Returns:
            `[n_edges, heads]`, in the graph's order of edges; no gradient.

        Raises:
            ModelError: As for `forward`; or the network is not of kind "gatv2".
        """
        if self.kind != "gatv2":
            raise ModelError(f"only networks of kind 'gatv2' show attention, not {self.kind!r}.")
        field = self._fitting(graph).receptive_field(None, self.layers)
        with torch.no_grad(), torch.autocast(features.device.type, enabled=False):
            states = self._entering(features, field)
            for number in range(self.layers - 1):
                states = self._step(number, states, field)
            last: Any = self.convolutions[-1]
            shares: Tensor = last.attention(states, states, graph.edges)
        return shares

    def _step(self, number: int, states: Tensor, field: ReceptiveField) -> Tensor:
        edges = field.blocks[number]
        own = states if edges.own is None else take_rows(states, edges.own)
        message: Tensor = self.convolutions[number](states, own, edges)
        if self.init == "identity":
            branch: Tensor = self.outputs[number](self._active(message))
            return own + branch
        return message if number == self.layers - 1 else self._active(message)

    def _active(self, message: Tensor) -> Tensor:
        return dropout(elu(message), self.dropout, self.training)

    def _entering(self, features: Tensor, field: ReceptiveField) -> Tensor:
        """The features that the first layer needs, checked to be finite."""
        needed = features if field.nodes is None else take_rows(features, field.nodes)
        if needed.numel():
            low, high = (float(bound) for bound in needed.detach().aminmax())
            if not (math.isfinite(low) and math.isfinite(high)):
                raise ModelError("features hold NaN or infinity. Encode the texts again.")
        return needed.to(next(self.parameters()).dtype)

    def _fitting(self, graph: GraphTensors) -> GraphTensors:
        """The graph as this network sees it."""
        if self.kind == "mlp":
            return graph.without_edges()
        if unknown := [name for name in graph.edge_kinds if name not in self.edge_kinds]:
            raise ModelError(
                f"the graph has edges of kind {unknown[0]!r}; this network was made for "
                f"{', '.join(self.edge_kinds)}."
            )
        return graph


Nodes = npt.NDArray[np.int64]


def graph_for(network: LegislativeGraphEncoder, corpus: StatuteCorpus) -> LegislativeGraph:
    """The graph of a corpus with the kinds of edges that a network was trained with."""
    return LegislativeGraph.of(
        corpus, neighbours="previous" in network.edge_kinds, citations="cites" in network.edge_kinds
    )


def node_texts(
    graph: LegislativeGraph, articles: Sequence[Article], rule: TextRule
) -> Iterator[str]:
    """The bi-encoder's text of every node: titles and headings, then the indexed texts."""
    yield from graph.labels
    for article in articles:
        yield indexed_text(article.headings, article.text, rule)


def enriched(
    network: LegislativeGraphEncoder,
    graph: LegislativeGraph,
    positions: npt.ArrayLike,
    features: Callable[[Nodes], Tensor],
) -> Tensor:
    """The network's vectors of some articles, as its bi-encoder's are compared.

    Only the nodes that these articles can see are computed and requested. The vectors are the same,
    to rounding, whichever articles are computed together.

    Args:
        network: In the mode for use (`eval`).
        graph: Of the whole corpus.
        positions: The articles, `[n]`.
        features: Gives the base vectors of nodes of the graph, float32 `[n_nodes, dim]`.

    Returns:
        float32 `[n, dim]` on the CPU, for cosine of unit length.
    """
    device = next(network.parameters()).device
    rows = graph.article_nodes[np.asarray(positions, dtype=np.int64)]
    nodes = graph.neighbourhood(rows, network.layers)
    places = torch.from_numpy(np.searchsorted(nodes, rows)).to(device)
    with torch.no_grad():
        part = GraphTensors.of(graph.part(nodes), device)
        vectors: Tensor = network(features(nodes).to(device), part, places)
        return scaled(vectors, network.similarity).cpu()


def seen_by_articles(
    network: LegislativeGraphEncoder, graph: LegislativeGraph, text_digests: Sequence[str]
) -> list[bytes]:
    """For each article a digest of everything that its vector is computed from.

    Two articles with the same digest see equal texts over equal edges, however their nodes are
    numbered; a change that they do not see does not change it. (These are the colours of Weisfeiler
    and Leman, which distinguish what message passing distinguishes.)

    Args:
        network: Decides how far an article sees.
        graph: Of the whole corpus.
        text_digests: Digests of the nodes' texts, `[n_nodes]`.
    """
    # A GCN divides by the degrees at both ends of an edge: it counts the last nodes' edges too.
    degrees = graph.degree.tolist() if network.kind == "gcn" else [""] * graph.n_nodes
    seen = [
        _sha256(f"{digest} {degree}".encode())
        for digest, degree in zip(text_digests, degrees, strict=True)
    ]
    bounds = np.searchsorted(graph.target, np.arange(graph.n_nodes + 1)).tolist()
    sources, kinds = graph.source.tolist(), graph.kind.tolist()
    code = [bytes([kind]) for kind in range(256)]
    for _ in range(network.layers):
        arriving = [code[k] + seen[s] for k, s in zip(kinds, sources, strict=True)]
        seen = [
            _sha256(seen[node] + b"".join(sorted(arriving[bounds[node] : bounds[node + 1]])))
            for node in range(graph.n_nodes)
        ]
    return seen[graph.n_inner :]


def _sha256(content: bytes) -> bytes:
    return hashlib.sha256(content).digest()
