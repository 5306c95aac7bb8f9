"""The graph network: its equations, its layers against torch_geometric, and its sums over edges."""

import dataclasses
import itertools
from typing import get_args

import numpy as np
import pytest
import torch
from slow_cases import slow
from torch import nn
from torch.nn.functional import elu, normalize

from components.models.folder import ModelError
from components.models.graph import GraphKind, GraphTensors, LegislativeGraphEncoder
from components.statutes import EDGE_KINDS

# The network

DIM, HEADS = 12, 3
INITS = ("paper", "identity")
GRAPH_KINDS = get_args(GraphKind)
EVERY_NETWORK = list(itertools.product(GRAPH_KINDS, INITS))


@pytest.fixture
def graph(law_graph):
    return GraphTensors.of(law_graph)


@pytest.fixture
def features(law_graph):
    generator = torch.Generator().manual_seed(0)
    return normalize(torch.randn(law_graph.n_nodes, DIM, generator=generator), dim=1)


def encoder_of(kind="gatv2", init="identity", *, trained=True, **arguments):
    """`trained`: no weight is zero any more."""
    torch.manual_seed(0)
    encoder = LegislativeGraphEncoder(
        DIM, heads=HEADS, kind=kind, init=init, edge_kinds=EDGE_KINDS, **arguments
    )
    if trained:
        for parameter in encoder.parameters():
            nn.init.normal_(parameter, std=0.4)
    return encoder


@pytest.mark.parametrize("hidden", [None, 2 * DIM])
@pytest.mark.parametrize("init", INITS)
def test_the_network_is_its_layers(graph, features, init, hidden):
    encoder = encoder_of(init=init, hidden=hidden)
    states = features
    with torch.no_grad():
        for number, layer in enumerate(encoder.convolutions):
            message = layer(states, states, graph.edges)
            if init == "identity":
                states = states + encoder.outputs[number](elu(message))
            else:
                states = elu(message) if number < encoder.layers - 1 else message
        torch.testing.assert_close(encoder(features, graph), states)


@pytest.mark.parametrize("kind", GRAPH_KINDS)
@pytest.mark.parametrize(("training", "autocast"), [(True, False), (False, True)])
def test_an_identity_returns_its_input_bit_for_bit(graph, features, kind, training, autocast):
    encoder = encoder_of(kind, trained=False, dropout=0.2, hidden=2 * DIM).train(training)
    with torch.autocast("cpu", torch.bfloat16, enabled=autocast):
        assert torch.equal(encoder(features, graph), features)
        rows = torch.tensor([9, 2])
        assert torch.equal(encoder(features, graph, rows), features[rows])


@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_every_zero_of_an_identity_learns_at_the_first_step_and_the_rest_at_the_second(
    graph, features, kind
):
    encoder = encoder_of(kind, trained=False)
    target = torch.randn(features.shape, generator=torch.Generator().manual_seed(1))
    optimiser = torch.optim.SGD(encoder.parameters(), lr=0.5)
    last = {name for name, _ in encoder.named_parameters() if name.startswith("outputs.")}
    assert len(last) == 6
    for learning in (last, {name for name, _ in encoder.named_parameters()}):
        optimiser.zero_grad()
        (encoder(features, graph) - target).square().sum().backward()
        for name in learning:
            gradient = encoder.get_parameter(name).grad
            assert gradient is not None and gradient.abs().sum() > 0, name
        optimiser.step()


@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_the_order_of_nodes_changes_nothing(law_graph, features, kind):
    encoder = encoder_of(kind)
    new_number = np.random.default_rng(0).permutation(law_graph.n_nodes).astype(np.int32)
    source, target = new_number[law_graph.source], new_number[law_graph.target]
    order = np.lexsort((law_graph.kind, source, target))
    back = np.argsort(new_number)
    permuted = dataclasses.replace(
        law_graph,
        source=source[order],
        target=target[order],
        kind=law_graph.kind[order],
        degree=law_graph.degree[back],
    )
    with torch.no_grad():
        expected = encoder(features, GraphTensors.of(law_graph))
        found = encoder(features[back], GraphTensors.of(permuted))
    torch.testing.assert_close(found[new_number], expected)


@pytest.mark.parametrize(("kind", "init"), [("gat", "paper"), *slow(*EVERY_NETWORK)])
def test_two_runs_have_the_same_bits(law_graph, features, kind, init):
    def run():
        encoder = encoder_of(kind, init, dropout=0.1)
        inputs = features.clone().requires_grad_()
        torch.manual_seed(1)
        output = encoder(inputs, GraphTensors.of(law_graph))
        output.square().sum().backward()
        return [output, inputs.grad, *(weight.grad for weight in encoder.parameters())]

    for one, other in zip(run(), run(), strict=True):
        assert torch.equal(one, other)


@pytest.mark.parametrize(
    ("kind", "init"), [("gatv2", "paper"), ("gcn", "identity"), *slow(*EVERY_NETWORK)]
)
@pytest.mark.parametrize("rows", [[20, 3, 20, 7], "all, backwards"])
def test_rows_are_those_of_the_whole_and_so_are_their_gradients(graph, features, kind, init, rows):
    encoder = encoder_of(kind, init, layers=2)
    numbers = list(range(graph.n_nodes))[::-1] if rows == "all, backwards" else rows
    nodes = torch.tensor(numbers)
    weights = list(encoder.parameters())
    whole, part = encoder(features, graph)[nodes], encoder(features, graph, nodes)
    torch.testing.assert_close(part, whole)
    factor = torch.randn(whole.shape, generator=torch.Generator().manual_seed(1))
    expected = torch.autograd.grad(whole, weights, factor)
    for one, other in zip(torch.autograd.grad(part, weights, factor), expected, strict=True):
        torch.testing.assert_close(one, other, rtol=1e-4, atol=1e-4)


def test_attention_is_shares_in_the_graphs_order_of_edges(graph, features):
    encoder = encoder_of()
    shares = encoder.attention(features, graph)
    assert shares.shape == (len(graph.edges.kind), HEADS) and not shares.requires_grad
    of_target = [shares[graph.edges.target == node].sum(0) for node in range(graph.n_nodes)]
    torch.testing.assert_close(torch.stack(of_target), torch.ones(graph.n_nodes, HEADS))


@pytest.mark.parametrize("value", [float("nan"), float("-inf")])
def test_features_that_are_not_finite_are_refused(graph, features, value):
    features[7, 3] = value
    encoder = encoder_of()
    for ask in (encoder, encoder.attention):
        with pytest.raises(ModelError, match="features"):
            ask(features, graph)
