"""The graph network's layers are torch_geometric's; their sums over edges are those of loops."""

import pytest
import torch
from torch import nn
from torch.autograd import gradcheck
from torch.nn.functional import leaky_relu
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
def features(law_graph):
    torch.manual_seed(0)
    return torch.randn(law_graph.n_nodes, DIM, dtype=torch.float64, requires_grad=True)


@pytest.fixture(params=["law_graph", "tree_graph"])
def graph(request):
    return GraphTensors.of(request.getfixturevalue(request.param))


def random_layer(kind, edge_kinds=EDGE_KINDS):
    """Biases and all at random: what starts at zero is compared too."""
    layer = graph_layer(kind, DIM, HEADS, edge_kinds).double()
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


@pytest.mark.parametrize("with_kinds", [True, False])
def test_gatv2_is_gatv2conv(graph, features, with_kinds):
    layer = random_layer("gatv2", EDGE_KINDS if with_kinds else ("self",))
    peer = geometric.GATv2Conv(
        DIM,
        DIM // HEADS,
        HEADS,
        add_self_loops=False,
        edge_dim=len(EDGE_KINDS) if with_kinds else None,
    )
    weights = {
        "lin_l.weight": layer.source.weight,
        "lin_l.bias": layer.source.bias,
        "lin_r.weight": layer.target.weight,
        "lin_r.bias": layer.target.bias,
        "att": layer.score,
    }
    attributes = None
    if with_kinds:
        weights["lin_edge.weight"] = layer.kinds.weight.t()
        attributes = torch.eye(len(EDGE_KINDS), dtype=torch.float64)[graph.edges.kind]
    peer = copied(peer, **weights)
    theirs, (_, shares) = peer(
        features, edge_index(graph), attributes, return_attention_weights=True
    )
    ours = layer(features, features, graph.edges)
    torch.testing.assert_close(layer.attention(features, features, graph.edges), shares)
    names = {"source.weight": "lin_l.weight", "target.weight": "lin_r.weight", "score": "att"}
    check_gradients(layer, ours, peer, theirs, features, names)
    if with_kinds:
        found, other = (
            torch.autograd.grad(out.square().sum(), weight)[0]
            for out, weight in (
                (layer(features, features, graph.edges), layer.kinds.weight),
                (peer(features, edge_index(graph), attributes), peer.lin_edge.weight),
            )
        )
        torch.testing.assert_close(found, other.t())


@pytest.mark.parametrize("with_kinds", [True, False])
def test_gat_is_gatconv(graph, features, with_kinds):
    layer = random_layer("gat", EDGE_KINDS if with_kinds else ("self",))
    peer = geometric.GATConv(
        DIM,
        DIM // HEADS,
        HEADS,
        add_self_loops=False,
        edge_dim=len(EDGE_KINDS) if with_kinds else None,
    )
    weights = {
        "lin.weight": layer.source.weight,
        "att_src": layer.source_score,
        "att_dst": layer.target_score,
        "bias": layer.bias,
    }
    attributes = None
    if with_kinds:
        # Its number for a kind and head is a product of two weights; ours is the number itself.
        first_of_head = torch.zeros(HEADS, DIM // HEADS, dtype=torch.float64)
        first_of_head[:, 0] = 1
        spread = torch.zeros(len(EDGE_KINDS), HEADS, DIM // HEADS, dtype=torch.float64)
        spread[:, :, 0] = layer.kinds.weight.detach()
        weights["att_edge"] = first_of_head
        weights["lin_edge.weight"] = spread.view(len(EDGE_KINDS), DIM).t()
        attributes = torch.eye(len(EDGE_KINDS), dtype=torch.float64)[graph.edges.kind]
    peer = copied(peer, **weights)
    theirs, (_, shares) = peer(
        features, edge_index(graph), attributes, return_attention_weights=True
    )
    ours = layer(features, features, graph.edges)
    torch.testing.assert_close(layer.attention(features, features, graph.edges), shares)
    check_gradients(layer, ours, peer, theirs, features, {"source.weight": "lin.weight"})


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

N_HEADS, WIDTH = 3, 6


@pytest.fixture(params=["law_graph", "lawless_graph"])
def edges(request):
    return GraphTensors.of(request.getfixturevalue(request.param)).edges


@pytest.fixture(params=["one piece", "pieces of 7 edges"])
def pieces(request, monkeypatch):
    """Pieces end in the middle of a node's edges."""
    if request.param != "one piece":
        monkeypatch.setattr(graph_ops, "_PIECE_ON_CPU", 7 * WIDTH)


def normal(*shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=dtype, generator=generator, requires_grad=True)


def inputs_of(edges, dtype=torch.float64):
    sources = normal(len(edges.source_ends) - 1, WIDTH, dtype=dtype)
    targets = normal(edges.n_targets, WIDTH, dtype=dtype, seed=1)
    attention = normal(N_HEADS, WIDTH // N_HEADS, dtype=dtype, seed=2)
    return sources, targets, attention, normal(7, WIDTH, dtype=dtype, seed=3)


def each(edges):
    triples = (edges.source.tolist(), edges.target.tolist(), edges.kind.tolist())
    return enumerate(zip(*triples, strict=True))


@pytest.mark.parametrize("with_kinds", [True, False])
def test_scores_are_eq_7_edge_by_edge(edges, pieces, with_kinds):
    sources, targets, attention, kinds = inputs_of(edges)
    kinds = kinds if with_kinds else None
    scores = pair_scores(sources, targets, attention, kinds, edges)
    for edge, (source, target, kind) in each(edges):
        total = targets[target] + sources[source] + (kinds[kind] if with_kinds else 0)
        expected = (attention * leaky_relu(total, 0.2).view(N_HEADS, -1)).sum(1)
        torch.testing.assert_close(scores[edge], expected)
    inputs = (sources, targets, attention, kinds)
    assert gradcheck(lambda *tensors: pair_scores(*tensors, edges), inputs, fast_mode=True)


def test_the_softmax_of_each_target_is_torchs(edges):
    scores = normal(len(edges.source), N_HEADS)
    shares = segment_softmax(scores, edges)
    for target in range(edges.n_targets):
        own = edges.target == target
        torch.testing.assert_close(shares[own], scores[own].softmax(0))
    assert gradcheck(lambda tensor: segment_softmax(tensor, edges), (scores,), fast_mode=True)


def test_the_softmax_of_scores_far_apart_is_finite(edges):
    scores = torch.linspace(-1e38, 1e38, len(edges.source) * N_HEADS).view(-1, N_HEADS)
    scores[edges.target == 0] = -1e30  # all equal, and far below the others
    shares = segment_softmax(scores, edges)
    assert shares.isfinite().all()
    assert torch.allclose(shares[edges.target == 0], 1 / (edges.target == 0).sum())


def test_a_weighted_sum_is_eq_8_head_by_head(edges, pieces):
    states, weights = normal(len(edges.source_ends) - 1, WIDTH), normal(len(edges.source), N_HEADS)
    expected = torch.zeros(edges.n_targets, N_HEADS, WIDTH // N_HEADS, dtype=torch.float64)
    for edge, (source, target, _) in each(edges):
        expected[target] += weights[edge, :, None] * states[source].view(N_HEADS, -1)
    summed = weighted_sum(states, weights, edges)
    torch.testing.assert_close(summed, expected.view(-1, WIDTH))
    assert gradcheck(
        lambda *tensors: weighted_sum(*tensors, edges), (states, weights), fast_mode=True
    )


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
    sources, targets, attention, kinds = inputs_of(edges)
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


def runs(ends):
    return list(zip(ends[:-1].tolist(), ends[1:].tolist(), strict=True))


def check_orders(block, n_sources):
    """Each target's run holds its edges, and each source's run in the other order."""
    for target, (start, end) in enumerate(runs(block.target_ends)):
        assert (block.target == target).nonzero()[:, 0].tolist() == list(range(start, end))
    assert len(block.source_ends) == n_sources + 1
    for source, (start, end) in enumerate(runs(block.source_ends)):
        assert (block.source == source).nonzero()[:, 0].tolist() == block.by_source[
            start:end
        ].tolist()


def test_edges_stand_in_both_orders(given):
    tensors = GraphTensors.of(given)
    assert tensors.n_nodes == given.n_nodes
    assert tensors.edge_kinds == given.edge_kinds
    for name in ("source", "target", "kind"):
        assert getattr(tensors.edges, name).tolist() == getattr(given, name).tolist()
    check_orders(tensors.edges, given.n_nodes)
    degrees = given.degree[given.source] * given.degree[given.target]
    assert tensors.edges.degrees.tolist() == degrees.tolist()
