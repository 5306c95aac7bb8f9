"""A legislative graph on a device, with its edges in both orders."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

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
        """The same nodes, and nothing that joins them."""
        none = self.edges.source[:0]
        ends = torch.zeros_like(self.edges.target_ends)
        return GraphTensors(EdgeBlock(none, none, none, none, ends, none, ends), ())

    def receptive_field(self, rows: Tensor | None, layers: int) -> ReceptiveField:
        """What `layers` layers must compute for some rows, from the last layer back to the first.

        Args:
            rows: Nodes, in any order, int64 `[n_rows]`; None for all.
            layers: How many there are.

        Raises:
            ModelError: `rows` holds no node, or something that is none.
        """
        if rows is None:
            return ReceptiveField(None, (self.edges,) * layers, None)
        self._check_rows(rows)
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

    def _check_rows(self, rows: Tensor) -> None:
        if rows.dtype != torch.int64 or rows.dim() != 1:
            raise ModelError(
                f"rows is {rows.dtype} {list(rows.shape)}; it must be a list of nodes, torch.int64 "
                "[n_rows]."
            )
        if rows.device != self.device:
            raise ModelError(
                f"rows is on {rows.device} and the graph on {self.device}: move one to the other."
            )
        if not len(rows):
            raise ModelError("rows is empty; name at least one node, or leave it out for all.")
        low, high = (int(bound) for bound in rows.aminmax())
        if low < 0 or high >= self.n_nodes:
            raise ModelError(
                f"rows holds {low if low < 0 else high}, which is no node: the graph has "
                f"{self.n_nodes:,}, counted from 0."
            )


def _numbers(mask: Tensor) -> Tensor:
    """The place of each True among those of a mask."""
    return mask.cumsum(0) - 1
