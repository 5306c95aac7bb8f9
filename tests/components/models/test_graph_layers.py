"""Each layer against torch_geometric's, with the same weights."""

from __future__ import annotations

import pytest
import torch
from torch import nn

from components.models.graph_layers import graph_layer
from components.models.graph_tensors import GraphTensors
from components.statutes import EDGE_KINDS

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
    [
        ("sage", "SAGEConv", "lin_l", "lin_r"),
        ("kgnn", "GraphConv", "lin_rel", "lin_root"),
    ],
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
