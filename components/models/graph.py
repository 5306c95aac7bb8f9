"""The graph network that enriches an article's vector by its place in the law (G-DSR, 3.3)."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import Any, Literal, get_args

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor, nn
from torch.nn.functional import dropout, elu, one_hot

from components.models.encoding import scaled
from components.models.errors import ModelError
from components.models.graph_ops import (
    EdgeBlock,
    GraphTensors,
    ReceptiveField,
    pair_scores,
    segment_softmax,
    take_rows,
    weighted_sum,
)
from components.models.head import Init
from components.models.onednn import fast_linear
from components.models.similarity import Similarity
from components.models.weights import SavedModule, check_arguments
from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS, LegislativeGraph

GraphKind = Literal["gatv2", "gat", "gcn", "sage", "kgnn", "mlp"]
GRAPH_KINDS: tuple[GraphKind, ...] = get_args(GraphKind)


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
        sources = _linear(self.source, states)
        return weighted_sum(sources, self._shares(sources, own, edges), edges)

    def attention(self, states: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        return self._shares(_linear(self.source, states), own, edges)

    def _shares(self, sources: Tensor, own: Tensor, edges: EdgeBlock) -> Tensor:
        kinds = None if self.kinds is None else self.kinds()
        targets = _linear(self.target, own)
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
                f"a graph network of kind {kind!r} needs torch_geometric. Run `pip install "
                "torch_geometric`, or take 'gatv2'."
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


def _glorot(entering: int, leaving: int) -> nn.Linear:
    linear = nn.Linear(entering, leaving)
    nn.init.xavier_uniform_(linear.weight)
    nn.init.zeros_(linear.bias)
    return linear


def _linear(layer: nn.Module, states: Tensor) -> Tensor:
    mapped: Tensor = layer(states)
    return mapped


__all__ = ["GraphKind", "GraphTensors", "LegislativeGraphEncoder"]


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
        ModelError: A value is out of its range, or torch_geometric is not installed.
    """

    description = "graph network"

    def __init__(
        self,
        dim: int,
        *,
        hidden: int | None = None,
        layers: int = 3,
        heads: int = 4,
        kind: GraphKind = "gatv2",
        init: Init = "identity",
        edge_kinds: Sequence[str] = ("self", "down", "up"),
        dropout: float = 0.0,
        similarity: Similarity = "cosine",
    ) -> None:
        super().__init__()
        counts = {"dim": dim, "layers": layers, "heads": heads}
        choices = {
            "kind": (kind, GRAPH_KINDS),
            "init": (init, get_args(Init)),
            "similarity": (similarity, get_args(Similarity)),
        }
        check_arguments("graph", counts, dropout, choices)
        inside = dim if hidden is None else hidden
        if inside < 1 or inside % heads:
            raise ModelError(
                f"graph.hidden is {inside}; it must be at least 1, and graph.heads ({heads}) must "
                "divide it."
            )
        kinds = list(edge_kinds)
        if not (len(set(kinds)) == len(kinds) and {"self"} <= set(kinds) <= set(EDGE_KINDS)):
            raise ModelError(
                f"graph.edge_kinds is {kinds}; it must name each kind once, 'self' among them, out "
                f"of {', '.join(EDGE_KINDS)}."
            )
        self.dim = dim
        self.hidden = inside
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
            raise ModelError(
                f"only networks of kind 'gatv2' show their attention, not {self.kind!r}."
            )
        field = self._fitting(features, graph).receptive_field(None, self.layers)
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

    @property
    def _dtype(self) -> torch.dtype:
        return next(self.parameters()).dtype

    def _entering(self, features: Tensor, field: ReceptiveField) -> Tensor:
        """The features that the first layer needs, checked to be finite."""
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
        """The graph as this network sees it, after checking that features and graph fit."""
        if tuple(features.shape) != (graph.n_nodes, self.dim) or not features.is_floating_point():
            raise ModelError(
                f"features are {features.dtype} {list(features.shape)}; this graph and this "
                f"network need floats [{graph.n_nodes}, {self.dim}], one row per node."
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


Nodes = npt.NDArray[np.int64]


def graph_for(network: LegislativeGraphEncoder, corpus: StatuteCorpus) -> LegislativeGraph:
    """The graph of a corpus with the kinds of edges that a network was trained with."""
    return LegislativeGraph.of(
        corpus,
        neighbours="previous" in network.edge_kinds,
        citations="cites" in network.edge_kinds,
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
