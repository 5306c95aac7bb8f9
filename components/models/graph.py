"""The graph network that enriches an article's vector by its place in the law (G-DSR, 3.3)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, elu

from components.models.cpu_linear import fast_linear
from components.models.errors import ModelError
from components.models.graph_layers import GRAPH_KINDS, GraphKind, graph_layer
from components.models.graph_ops import take_rows
from components.models.graph_tensors import GraphTensors, ReceptiveField
from components.models.head import Init
from components.models.weights import load_module, save_module
from components.statutes.graph import EDGE_KINDS

__all__ = ["GraphKind", "GraphTensors", "LegislativeGraphEncoder"]

_WITH_ATTENTION = ("gatv2", "gat")


class LegislativeGraphEncoder(nn.Module):
    """Vectors of laws, divisions and articles to vectors that know their neighbours.

    `init="paper"` is as published: h' = ELU(layer(h)), no ELU after the last, Glorot weights, zero
    biases. `init="identity"` is h' = h + W_o ELU(layer(h)) with W_o and its bias at zero: at step 0
    it *is* its input, bit for bit, in training mode too, while every zero receives a gradient at
    the first step. Dropout acts behind every ELU.

    Two runs give the same bits, forwards and backwards, on one machine with as many threads.

    Args:
        dim: Width of the vectors.
        layers: How many, and so how many edges far an article sees.
        heads: Of the attention; must divide `dim`. "gatv2" and "gat" alone have any.
        kind: "gatv2" (G-DSR), "gat", "gcn", "sage" or "kgnn"; "mlp" sees no neighbours: a control
            of equal size.
        init: How a fresh network starts.
        edge_kinds: The kinds of edges it is made for; with more than one, attention learns a
            vector for each.
        dropout: Probability.

    Raises:
        ModelError: A value is out of its range.
    """

    def __init__(
        self,
        dim: int,
        *,
        layers: int = 3,
        heads: int = 4,
        kind: GraphKind = "gatv2",
        init: Init = "identity",
        edge_kinds: Sequence[str] = ("self", "down", "up"),
        dropout: float = 0.0,
    ) -> None:
        super().__init__()
        _check(dim, layers, heads, kind, init, edge_kinds, dropout)
        self.dim = dim
        self.layers = layers
        self.heads = heads
        self.kind: GraphKind = kind
        self.init: Init = init
        self.edge_kinds = tuple(edge_kinds)
        self.dropout = dropout
        self.convolutions = nn.ModuleList(
            graph_layer(kind, dim, heads, self.edge_kinds) for _ in range(layers)
        )
        self.outputs = nn.ModuleList()
        if init == "identity":
            self.outputs.extend(nn.Linear(dim, dim) for _ in range(layers))
            for parameter in self.outputs.parameters():
                nn.init.zeros_(parameter)

    def forward(self, features: Tensor, graph: GraphTensors, rows: Tensor | None = None) -> Tensor:
        """Enriched vectors, in the weights' precision (float32), autocast or not.

        Args:
            features: Vectors of all nodes, `[n_nodes, dim]`.
            graph: Their edges, on the same device.
            rows: Nodes whose vectors are wanted, int64 `[n_rows]`, in any order; None for all.
                Only what these need is computed, and the values are those of the whole, to
                rounding.

        Returns:
            `[n_rows, dim]` or `[n_nodes, dim]`.

        Raises:
            ModelError: Features, graph and rows do not fit each other or this network, or a
                feature that is needed is not a finite number.
        """
        graph = self._fitting(features, graph)
        field = graph.receptive_field(rows, self.layers)
        device = features.device
        with torch.autocast(device.type, enabled=False), fast_linear(device):
            states = self._entering(features, field)
            for number in range(self.layers):
                states = self._step(number, states, field)
            return states if field.rows is None else take_rows(states, field.rows)

    def attention(self, features: Tensor, graph: GraphTensors, layer: int = -1) -> Tensor:
        """The share of attention that each edge gets among those into its target.

        Args:
            features: As for `forward`.
            graph: As for `forward`.
            layer: Which, counted as an index of a list.

        Returns:
            `[n_edges, heads]`, in the graph's order of edges; no gradient.

        Raises:
            ModelError: As for `forward`; or the network has no attention, or no such layer.
        """
        if self.kind not in _WITH_ATTENTION:
            raise ModelError(
                f"a graph network of kind {self.kind!r} has no attention: take "
                f"{' or '.join(_WITH_ATTENTION)}."
            )
        if not -self.layers <= layer < self.layers:
            raise ModelError(f"layer {layer} is not among the graph network's {self.layers}.")
        field = self._fitting(features, graph).receptive_field(None, self.layers)
        with torch.no_grad(), torch.autocast(features.device.type, enabled=False):
            states = self._entering(features, field)
            for number in range(layer % self.layers):
                states = self._step(number, states, field)
            last: Any = self.convolutions[layer]
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

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype

    def _entering(self, features: Tensor, field: ReceptiveField) -> Tensor:
        """The features that the first layer needs, seen to be finite numbers."""
        needed = features if field.nodes is None else take_rows(features, field.nodes)
        if needed.numel():
            low, high = (float(bound) for bound in needed.detach().aminmax())
            if not (math.isfinite(low) and math.isfinite(high)):
                raise ModelError(
                    "features hold values that are not finite numbers. Encode the texts again, "
                    "and check the model that encodes them."
                )
        return needed.to(self._dtype)

    def _fitting(self, features: Tensor, graph: GraphTensors) -> GraphTensors:
        """The graph as this network sees it, once features and graph are seen to fit."""
        if tuple(features.shape) != (graph.n_nodes, self.dim) or not features.is_floating_point():
            raise ModelError(
                f"features are {features.dtype} {list(features.shape)}; this graph and this "
                f"network need floats [{graph.n_nodes}, {self.dim}], a row a node."
            )
        if features.device != graph.device:
            raise ModelError(
                f"features are on {features.device} and the graph on {graph.device}: move one to "
                "the other."
            )
        if self.kind == "mlp":
            return graph.without_edges()
        if unknown := [name for name in graph.edge_kinds if name not in self.edge_kinds]:
            raise ModelError(
                f"the graph has edges of kind {unknown[0]!r}; this network was made for "
                f"{', '.join(self.edge_kinds)}. Build the graph with these alone, or train a "
                "network with more."
            )
        return graph

    def to_dict(self) -> dict[str, Any]:
        """The arguments that make this network again (its weights apart)."""
        return {
            "dim": self.dim,
            "layers": self.layers,
            "heads": self.heads,
            "kind": self.kind,
            "init": self.init,
            "edge_kinds": list(self.edge_kinds),
            "dropout": self.dropout,
        }

    def save(self, folder: Path) -> None:
        """Write `config.json` and `model.safetensors` into `folder`, made if absent."""
        save_module(self, self.to_dict(), folder)

    @classmethod
    def load(cls, folder: Path) -> LegislativeGraphEncoder:
        """Read what `save` wrote, onto the CPU, in the mode for use (`eval`).

        Raises:
            ModelError: A file is missing or broken, the weights do not fit the configuration, or
                a weight is not a finite number.
        """
        return load_module(cls, folder, "graph network")


def _check(
    dim: int,
    layers: int,
    heads: int,
    kind: str,
    init: str,
    edge_kinds: Sequence[str],
    dropout: float,
) -> None:
    for name, value in {"dim": dim, "layers": layers, "heads": heads}.items():
        if value < 1:
            raise ModelError(f"graph.{name} is {value}; it must be at least 1.")
    if dim % heads:
        raise ModelError(f"graph.heads is {heads}; it must divide the width {dim}.")
    if not 0 <= dropout < 1:
        raise ModelError(f"graph.dropout is {dropout}; it must lie in [0, 1).")
    if kind not in GRAPH_KINDS:
        raise ModelError(f"graph.kind is {kind!r}; it must be one of {', '.join(GRAPH_KINDS)}.")
    if init not in ("identity", "paper"):
        raise ModelError(f"graph.init is {init!r}; it must be 'identity' or 'paper'.")
    kinds = list(edge_kinds)
    if len(set(kinds)) != len(kinds) or "self" not in kinds or not set(kinds) <= set(EDGE_KINDS):
        raise ModelError(
            f"graph.edge_kinds is {kinds}; it must name each kind once, 'self' among them, out of "
            f"{', '.join(EDGE_KINDS)}."
        )
