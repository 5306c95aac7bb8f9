"""Sums over the edges of a graph: reproducible bit for bit, without a row of features per edge.

A float `[n_edges, dim]` never exists whole on a CPU: what every edge needs is computed in pieces
small enough for the processor's cache, and computed again for the gradient.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import once_differentiable
from torch.nn.functional import leaky_relu

from components.models.errors import ModelError
from components.statutes.graph import LegislativeGraph


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

        Raises:
            ModelError: `rows` is empty, or holds something that is not a node.
        """
        if rows is None:
            return ReceptiveField(None, (self.edges,) * layers, None)
        low, high = (int(bound) for bound in rows.aminmax()) if len(rows) else (-1, -1)
        if low < 0 or high >= self.n_nodes:
            raise ModelError(
                f"rows must name at least one of the graph's {self.n_nodes:,} nodes, no others."
            )
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


def pair_scores(
    sources: Tensor, targets: Tensor, attention: Tensor, kinds: Tensor | None, edges: EdgeBlock
) -> Tensor:
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
    scores: Tensor = _PairScores.apply(sources, targets, attention, kinds, edges)  # type: ignore[no-untyped-call]
    return scores


def segment_softmax(scores: Tensor, edges: EdgeBlock) -> Tensor:
    """Softmax over the edges into each target, `[n_edges, heads]`."""
    shares: Tensor = _SegmentSoftmax.apply(scores, edges)  # type: ignore[no-untyped-call]
    return shares


def weighted_sum(states: Tensor, weights: Tensor, edges: EdgeBlock) -> Tensor:
    """Sum over each target's edges of weight times the source's state, head by head.

    Args:
        states: `[n_sources, dim]`.
        weights: `[n_edges, heads]`; head h weighs the h-th part of `dim / heads` columns.
        edges: From sources to targets.

    Returns:
        `[n_targets, dim]`.
    """
    summed: Tensor = _WeightedSum.apply(states, weights, edges)  # type: ignore[no-untyped-call]
    return summed


def take_rows(states: Tensor, rows: Tensor) -> Tensor:
    """`states[rows]`, whose gradient is summed in a fixed order where a row is taken twice."""
    taken: Tensor = _TakeRows.apply(states, rows)  # type: ignore[no-untyped-call]
    return taken


class _PairScores(torch.autograd.Function):
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
            scores[piece] = _by_head(weighed, attention).mul_(attention).sum(-1)
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
            of_attention += _by_head(active, attention).mul_(arriving).sum(0)
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


def _by_head(states: Tensor, attention: Tensor) -> Tensor:
    return states.view(len(states), *attention.shape)


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
