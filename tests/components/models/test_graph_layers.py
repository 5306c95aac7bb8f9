"""The graph network's layers are torch_geometric's; their sums over edges are those of loops."""

import pytest
import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode

from components.models import graph as graph_module
from components.models.graph import (
    GraphTensors,
    graph_layer,
    pair_scores,
    segment_softmax,
    take_rows,
    weighted_sum,
)
from components.statutes import EDGE_KINDS

# The layers are torch_geometric's

geometric = pytest.importorskip("torch_geometric.nn", reason="torch_geometric is in `test`")
DIM, HEADS = 12, 3


@pytest.fixture
def features(graph):
    torch.manual_seed(0)
    return torch.randn(graph.n_nodes, DIM, dtype=torch.float64, requires_grad=True)


@pytest.fixture(params=["one piece", "pieces of 7 edges"])
def pieces(request, monkeypatch):
    """Pieces end in the middle of a node's edges."""
    if request.param != "one piece":
        monkeypatch.setattr(graph_module, "_PIECE_ON_CPU", 7 * DIM)


@pytest.fixture(params=["law_graph", "tree_graph", "lawless_graph"])
def graph(request):
    return GraphTensors.of(request.getfixturevalue(request.param))


def random_layer(kind, edge_kinds=EDGE_KINDS):
    """Biases and all at random: what starts at zero is compared too."""
    layer = graph_layer(kind, DIM, DIM, HEADS, edge_kinds).double()
    for parameter in layer.parameters():
        nn.init.normal_(parameter)
    return layer


def edge_index(graph, *, own=True):
    edges = torch.stack([graph.edges.source, graph.edges.target])
    return edges if own else edges[:, graph.edges.kind != EDGE_KINDS.index("self")]


def copied(peer, **weights):
    """A torch_geometric layer with these weights, its others at zero."""
    peer = peer.double()
    with torch.no_grad():
        for name, parameter in peer.named_parameters():
            weight = weights.pop(name, torch.zeros(()))
            parameter.copy_(weight.reshape(parameter.shape) if weight.numel() > 1 else weight)
    assert not weights
    return peer


def check_gradients(layer, ours, peer, theirs, features, names):
    torch.testing.assert_close(ours, theirs)
    grad = torch.randn_like(ours)
    mine, other = dict(layer.named_parameters()), dict(peer.named_parameters())
    found = torch.autograd.grad(ours, [features, *(mine[name] for name in names)], grad)
    expected = torch.autograd.grad(theirs, [features, *(other[n] for n in names.values())], grad)
    for one, another in zip(found, expected, strict=True):
        torch.testing.assert_close(one, another.reshape(one.shape))


@pytest.fixture(params=["kinds of edges", "no kinds"])
def with_kinds(request):
    return request.param == "kinds of edges"


def test_gatv2_is_gatv2conv(graph, features, pieces, with_kinds):
    layer = random_layer("gatv2", EDGE_KINDS if with_kinds else ("self",))
    weights = {
        "lin_l.weight": layer.source.weight,
        "lin_l.bias": layer.source.bias,
        "lin_r.weight": layer.target.weight,
        "lin_r.bias": layer.target.bias,
        "att": layer.score,
    }
    edge_dim = attributes = None
    if with_kinds:
        weights["lin_edge.weight"] = layer.kinds.weight.t()
        edge_dim = len(EDGE_KINDS)
        attributes = torch.eye(edge_dim, dtype=torch.float64)[graph.edges.kind]
    conv = geometric.GATv2Conv(DIM, DIM // HEADS, HEADS, add_self_loops=False, edge_dim=edge_dim)
    peer = copied(conv, **weights)
    theirs, (_, shares) = peer(
        features, edge_index(graph), attributes, return_attention_weights=True
    )
    torch.testing.assert_close(layer.attention(features, features, graph.edges), shares)
    ours = layer(features, features, graph.edges)
    names = {"source.weight": "lin_l.weight", "target.weight": "lin_r.weight", "score": "att"}
    if with_kinds:
        (found,) = torch.autograd.grad(ours.square().sum(), layer.kinds.weight, retain_graph=True)
        (expected,) = torch.autograd.grad(
            theirs.square().sum(), peer.lin_edge.weight, retain_graph=True
        )
        torch.testing.assert_close(found, expected.t())
    check_gradients(layer, ours, peer, theirs, features, names)


# Without an edge to itself a node has no degree to divide by.
@pytest.mark.parametrize("graph", ["law_graph", "tree_graph"], indirect=True)
def test_gcn_divides_by_the_degrees_at_both_ends(graph, features):
    layer = random_layer("gcn")
    peer = copied(
        geometric.GCNConv(DIM, DIM, add_self_loops=False),
        **{"lin.weight": layer.conv.lin.weight, "bias": layer.conv.bias},
    )
    ours, theirs = layer(features, features, graph.edges), peer(features, edge_index(graph))
    names = {"conv.lin.weight": "lin.weight", "conv.bias": "bias"}
    check_gradients(layer, ours, peer, theirs, features, names)


# Sums over edges


@pytest.fixture(params=["law_graph", "lawless_graph"])
def edges(request):
    return GraphTensors.of(request.getfixturevalue(request.param)).edges


def normal(*shape):
    return torch.randn(*shape, dtype=torch.float64, requires_grad=True)


def test_the_softmax_of_scores_far_apart_is_finite(edges):
    scores = torch.linspace(-1e38, 1e38, len(edges.source) * HEADS).view(-1, HEADS)
    scores[edges.target == 0] = -1e30  # all equal, and far below the others
    shares = segment_softmax(scores, edges)
    assert shares.isfinite().all()
    assert torch.allclose(shares[edges.target == 0], 1 / (edges.target == 0).sum())


class Operators(TorchDispatchMode):
    """Remembers what was run."""

    def __init__(self):
        super().__init__()
        self.names = []

    def __torch_dispatch__(self, func, types, args=(), kwargs=None):
        accumulates = "index_put" in str(func) and len(args) > 3 and args[3]
        self.names.append(f"{func} accumulate" if accumulates else str(func))
        return func(*args, **(kwargs or {}))


def test_nothing_is_scattered_forwards_or_backwards(edges):
    """Sums whose order is left to the device's threads are what makes a GPU's runs differ."""
    sources, targets = normal(len(edges.source_ends) - 1, DIM), normal(edges.n_targets, DIM)
    attention, kinds = normal(HEADS, DIM // HEADS), normal(len(EDGE_KINDS), DIM)
    with Operators() as operators:
        taken = take_rows(targets, torch.arange(edges.n_targets))
        scores = pair_scores(sources, taken, attention, kinds, edges)
        weighted_sum(sources, segment_softmax(scores, edges), edges).square().sum().backward()
    assert any("embedding_bag" in name for name in operators.names)
    wrong = ("scatter", "index_add", "accumulate", "index_reduce", "embedding_dense_backward")
    assert [name for name in operators.names if any(word in name for word in wrong)] == []
