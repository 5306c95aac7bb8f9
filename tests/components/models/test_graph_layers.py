"""The graph network's layers are torch_geometric's; their sums over edges are those of loops."""

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.utils._python_dispatch import TorchDispatchMode

from components.models import graph_ops
from components.models.graph import graph_layer
from components.models.graph_ops import (
    GraphTensors,
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
        monkeypatch.setattr(graph_ops, "_PIECE_ON_CPU", 7 * DIM)


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


def check_attention(layer, peer, graph, features, attributes, names):
    theirs, (_, shares) = peer(
        features, edge_index(graph), attributes, return_attention_weights=True
    )
    torch.testing.assert_close(layer.attention(features, features, graph.edges), shares)
    ours = layer(features, features, graph.edges)
    check_gradients(layer, ours, peer, theirs, features, names)


@pytest.fixture(params=["kinds of edges", "no kinds"])
def with_kinds(request):
    return request.param == "kinds of edges"


@pytest.fixture
def make_peer(graph, with_kinds):
    """A torch_geometric layer of attention with these weights, and the attributes of its edges."""
    one_hot = torch.eye(len(EDGE_KINDS), dtype=torch.float64)[graph.edges.kind]
    more = {"edge_dim": len(EDGE_KINDS)} if with_kinds else {}

    def make(conv, weights, of_kinds):
        peer = conv(DIM, DIM // HEADS, HEADS, add_self_loops=False, **more)
        weights |= of_kinds if with_kinds else {}
        return copied(peer, **weights), one_hot if with_kinds else None

    return make


def test_gatv2_is_gatv2conv(graph, features, pieces, with_kinds, make_peer):
    layer = random_layer("gatv2", EDGE_KINDS if with_kinds else ("self",))
    weights = {
        "lin_l.weight": layer.source.weight,
        "lin_l.bias": layer.source.bias,
        "lin_r.weight": layer.target.weight,
        "lin_r.bias": layer.target.bias,
        "att": layer.score,
    }
    of_kinds = {"lin_edge.weight": layer.kinds.weight.t()} if with_kinds else {}
    peer, attributes = make_peer(geometric.GATv2Conv, weights, of_kinds)
    names = {"source.weight": "lin_l.weight", "target.weight": "lin_r.weight", "score": "att"}
    check_attention(layer, peer, graph, features, attributes, names)
    if with_kinds:
        ours = layer(features, features, graph.edges).square().sum()
        theirs = peer(features, edge_index(graph), attributes).square().sum()
        (found,) = torch.autograd.grad(ours, layer.kinds.weight)
        (expected,) = torch.autograd.grad(theirs, peer.lin_edge.weight)
        torch.testing.assert_close(found, expected.t())


def test_gat_is_gatconv(graph, features, pieces, with_kinds, make_peer):
    layer = random_layer("gat", EDGE_KINDS if with_kinds else ("self",))
    weights = {
        "lin.weight": layer.source.weight,
        "att_src": layer.source_score,
        "att_dst": layer.target_score,
        "bias": layer.bias,
    }
    of_kinds = {}
    if with_kinds:
        # Its number for a kind and head is a product of two weights; ours is the number itself.
        first_of_head = torch.zeros(HEADS, DIM // HEADS, dtype=torch.float64)
        first_of_head[:, 0] = 1
        spread = torch.zeros(len(EDGE_KINDS), HEADS, DIM // HEADS, dtype=torch.float64)
        spread[:, :, 0] = layer.kinds.weight.detach()
        of_kinds["att_edge"] = first_of_head
        of_kinds["lin_edge.weight"] = spread.view(len(EDGE_KINDS), DIM).t()
    peer, attributes = make_peer(geometric.GATConv, weights, of_kinds)
    check_attention(layer, peer, graph, features, attributes, {"source.weight": "lin.weight"})


# Without an edge to itself a node has no degree to divide by.
@pytest.mark.parametrize("graph", ["law_graph", "tree_graph"], indirect=True)
def test_gcn_is_gcnconv(graph, features):
    layer = random_layer("gcn")
    peer = copied(
        geometric.GCNConv(DIM, DIM, add_self_loops=False),
        **{"lin.weight": layer.source.weight, "bias": layer.source.bias},
    )
    ours, theirs = layer(features, features, graph.edges), peer(features, edge_index(graph))
    names = {"source.weight": "lin.weight", "source.bias": "bias"}
    check_gradients(layer, ours, peer, theirs, features, names)


@pytest.mark.parametrize(
    ("kind", "conv", "neighbours", "own"),
    [("sage", "SAGEConv", "lin_l", "lin_r"), ("kgnn", "GraphConv", "lin_rel", "lin_root")],
)
def test_sage_and_kgnn_are_sageconv_and_graphconv(graph, features, kind, conv, neighbours, own):
    layer = random_layer(kind)
    names = {
        "source.weight": f"{neighbours}.weight",
        "source.bias": f"{neighbours}.bias",
        "own.weight": f"{own}.weight",
    }
    weights = {theirs: layer.get_parameter(ours) for ours, theirs in names.items()}
    peer = copied(getattr(geometric, conv)(DIM, DIM), **weights)
    ours = layer(features, features, graph.edges)
    theirs = peer(features, edge_index(graph, own=False))
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


def test_rows_taken_twice_add_up_in_the_gradient():
    states, rows = normal(5, 3), torch.tensor([4, 0, 4, 2, 4])
    assert torch.equal(take_rows(states, rows), states[rows])
    assert gradcheck(lambda tensor: take_rows(tensor, rows), (states,))


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


# Edges in both orders


@pytest.fixture(params=["law_graph", "lawless_graph"])
def given(request):
    return request.getfixturevalue(request.param)


def test_edges_stand_in_both_orders(given):
    tensors = GraphTensors.of(given)
    assert (tensors.n_nodes, tensors.edge_kinds) == (given.n_nodes, given.edge_kinds)
    edges = tensors.edges
    for name in ("source", "target", "kind"):
        assert getattr(edges, name).tolist() == getattr(given, name).tolist()
    for ends, nodes, order in (
        (edges.target_ends, edges.target, torch.arange(len(edges.target))),
        (edges.source_ends, edges.source, edges.by_source),
    ):
        assert len(ends) == given.n_nodes + 1
        for node in range(given.n_nodes):
            of_node = order[ends[node] : ends[node + 1]]
            assert of_node.tolist() == (nodes == node).nonzero()[:, 0].tolist()
    degrees = given.degree[given.source] * given.degree[given.target]
    assert edges.degrees.tolist() == degrees.tolist()
