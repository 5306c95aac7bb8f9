"""The graph network: eq. 7 and 8, its two starts, what rows need, and what it refuses."""

from __future__ import annotations

import dataclasses
import itertools

import numpy as np
import pytest
import torch
from torch import nn
from torch.nn.functional import elu, leaky_relu, normalize

from components.models.errors import ModelError
from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.models.graph_layers import GRAPH_KINDS, graph_layer
from components.statutes import EDGE_KINDS

DIM, HEADS = 12, 3
INITS = ("paper", "identity")
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


def by_loops(encoder, features, graph):
    """Eq. 7 and 8 in float64, node by node, edge by edge, head by head."""
    states = features.double()
    width = DIM // HEADS
    for number, layer in enumerate(encoder.convolutions):
        weights = {name: weight.detach().double() for name, weight in layer.named_parameters()}
        sources = states @ weights["source.weight"].T + weights["source.bias"]
        targets = states @ weights["target.weight"].T + weights["target.bias"]
        message = torch.zeros_like(states)
        for i in range(graph.n_nodes):
            arriving = [e for e in range(len(graph.target)) if graph.target[e] == i]
            for head in range(HEADS):
                part = slice(head * width, (head + 1) * width)
                scores = []
                for e in arriving:
                    total = targets[i] + sources[graph.source[e]]
                    total = total + weights["kinds.weight"][graph.kind[e]]
                    scores.append(weights["score"][head] @ leaky_relu(total[part], 0.2))
                alpha = torch.stack(scores).softmax(0)
                for share, e in zip(alpha, arriving, strict=True):
                    message[i, part] += share * sources[graph.source[e], part]
        if encoder.init == "identity":
            output = encoder.outputs[number]
            states = states + elu(message) @ output.weight.T.double() + output.bias.double()
        else:
            states = message if number == encoder.layers - 1 else elu(message)
    return states


@pytest.mark.parametrize("init", INITS)
def test_the_network_is_eq_7_and_8(law_graph, graph, features, init):
    encoder = encoder_of(init=init)
    with torch.no_grad():
        expected = by_loops(encoder, features, law_graph)
        torch.testing.assert_close(encoder(features, graph), expected.float())
        exact = encoder.double()(features.double(), graph)
    torch.testing.assert_close(exact, expected, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", GRAPH_KINDS)
@pytest.mark.parametrize("training", [True, False])
@pytest.mark.parametrize("autocast", [True, False])
def test_an_identity_returns_its_input_bit_for_bit(graph, features, kind, training, autocast):
    encoder = encoder_of(kind, trained=False, dropout=0.2).train(training)
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


@pytest.mark.parametrize("kind", [kind for kind in GRAPH_KINDS if kind != "mlp"])
def test_an_identity_has_moved_after_500_steps(graph, features, kind):
    """Article vectors learn to lie near questions that speak of their division."""
    encoder = encoder_of(kind, trained=False)
    generator = torch.Generator().manual_seed(2)
    articles = torch.arange(graph.n_nodes - 14, graph.n_nodes)
    questions = normalize(torch.randn(14, DIM, generator=generator), dim=1)
    optimiser = torch.optim.AdamW(encoder.parameters(), lr=2e-4, weight_decay=0.1)
    for _ in range(500):
        optimiser.zero_grad()
        scores = questions @ normalize(encoder(features, graph, articles), dim=1).T / 0.1
        nn.functional.cross_entropy(scores, torch.arange(14)).backward()
        nn.utils.clip_grad_norm_(encoder.parameters(), 1.0)
        optimiser.step()
    with torch.no_grad():
        moved = encoder(features, graph, articles) - features[articles]
    assert moved.norm(dim=1).mean() > 0.05  # features are 1 long


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


@pytest.mark.parametrize(("kind", "init"), EVERY_NETWORK)
def test_gradients_are_those_of_finite_differences(graph, features, kind, init):
    encoder = encoder_of(kind, init, layers=2).double()
    names, weights = zip(*encoder.named_parameters(), strict=True)
    rows = torch.tensor([16, 3, 16])

    def enriched(states, *values):
        return torch.func.functional_call(
            encoder, dict(zip(names, values, strict=True)), (states, graph, rows)
        )

    states = features.double().requires_grad_()
    # Along one random direction an input: an entry at a time would take minutes.
    assert torch.autograd.gradcheck(enriched, (states, *weights), fast_mode=True)


@pytest.mark.parametrize(("kind", "init"), EVERY_NETWORK)
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


@pytest.mark.parametrize(("kind", "init"), EVERY_NETWORK)
@pytest.mark.parametrize("rows", [[0], [20, 3, 20, 7], "all, backwards"])
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


@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_rows_look_at_nothing_beyond_their_receptive_field(law_graph, graph, features, kind):
    encoder = encoder_of(kind, layers=1)
    seen = [5] if kind == "mlp" else law_graph.neighbourhood([5], 1)
    assert len(seen) < graph.n_nodes
    hidden = torch.full_like(features, float("nan"))
    hidden[seen] = features[seen]
    row = torch.tensor([5])
    assert torch.equal(encoder(hidden, graph, row), encoder(features, graph, row))


@pytest.mark.parametrize("kind", GRAPH_KINDS)
def test_a_part_of_the_graph_gives_its_rows_the_vectors_of_the_whole(law_graph, features, kind):
    encoder = encoder_of(kind, layers=1)
    nodes = law_graph.neighbourhood([5, 19], 1)
    part = GraphTensors.of(law_graph.part(nodes))
    rows = torch.from_numpy(np.searchsorted(nodes, [5, 19]))
    whole = encoder(features, GraphTensors.of(law_graph))[[5, 19]]
    torch.testing.assert_close(encoder(features[nodes], part, rows), whole)


@pytest.mark.parametrize("kind", ["gatv2", "gat"])
def test_attention_is_shares_in_the_graphs_order_of_edges(graph, features, kind):
    encoder = encoder_of(kind)
    for layer in range(-3, 3):
        shares = encoder.attention(features, graph, layer)
        assert shares.shape == (len(graph.edges.kind), HEADS) and not shares.requires_grad
        of_target = [shares[graph.edges.target == node].sum(0) for node in range(graph.n_nodes)]
        torch.testing.assert_close(torch.stack(of_target), torch.ones(graph.n_nodes, HEADS))
        assert torch.equal(shares, encoder.attention(features, graph, layer % 3))
    single = encoder_of(kind, layers=1)
    nn.init.zeros_(single.convolutions[0].source.weight)
    ahead = torch.zeros(len(EDGE_KINDS))
    ahead[EDGE_KINDS.index("cites")] = 50
    with torch.no_grad():
        kinds = single.convolutions[0].kinds.weight
        kinds.copy_(ahead[:, None].expand_as(kinds))
        for name, weight in single.convolutions[0].named_parameters():
            if "score" in name:
                weight.fill_(1.0)
    shares = single.attention(features, graph)
    cites = graph.edges.kind == EDGE_KINDS.index("cites")
    citing = graph.edges.target[cites].unique()
    expected = torch.stack([shares[cites & (graph.edges.target == node)].sum(0) for node in citing])
    torch.testing.assert_close(expected, torch.ones_like(expected))


def test_the_last_layer_is_the_one_whose_attention_is_shown(graph, features):
    encoder = encoder_of(layers=2)
    before = encoder.attention(features, graph, -1)
    nn.init.normal_(encoder.convolutions[1].score)
    assert not torch.allclose(encoder.attention(features, graph), before)
    assert torch.equal(
        encoder.attention(features, graph, 0), encoder_of(layers=2).attention(features, graph, 0)
    )


def test_dropout_is_for_training_alone(graph, features):
    encoder = encoder_of(dropout=0.5)
    torch.manual_seed(0)
    assert not torch.equal(encoder(features, graph), encoder(features, graph))
    encoder.eval()
    assert torch.equal(encoder(features, graph), encoder(features, graph))


@pytest.mark.parametrize("init", INITS)
def test_autocast_changes_nothing(graph, features, init):
    encoder = encoder_of(init=init)
    with torch.autocast("cpu", torch.bfloat16):
        found = encoder(features, graph)
    assert found.dtype == torch.float32
    assert torch.equal(found, encoder(features, graph))


def test_the_published_start_has_no_residual_and_no_elu_behind_the_last_layer(graph, features):
    encoder = encoder_of(init="paper", trained=False, layers=1)
    assert not encoder.outputs
    output = encoder(features, graph)
    plain = encoder.convolutions[0](features, features, graph.edges)
    assert torch.equal(output, plain)


def test_the_control_sees_no_neighbour_and_is_as_large_as_gatv2(graph, features):
    layer = encoder_of("mlp", layers=1).convolutions[0]
    expected = layer.second(elu(layer.first(features)))
    assert torch.equal(layer(features, features, graph.edges), expected)
    gatv2 = encoder_of("gatv2").convolutions[0]
    matrices = [*gatv2.source.parameters(), *gatv2.target.parameters()]
    assert [w.shape for w in layer.parameters()] == [w.shape for w in matrices]


@pytest.mark.parametrize("kind", ["gatv2", "gat"])
def test_glorot_weights_and_zero_biases_at_the_start(kind):
    torch.manual_seed(0)
    layer = graph_layer(kind, 64, 4, EDGE_KINDS)
    for name, weight in layer.named_parameters():
        if name.endswith("bias"):
            assert not weight.any()
        else:
            bound = (6 / sum(weight.shape)) ** 0.5
            assert 0.8 * bound < weight.abs().max() <= bound, name


def test_edge_kinds_have_vectors_only_where_there_are_several():
    alone = LegislativeGraphEncoder(DIM, heads=HEADS, edge_kinds=("self",))
    assert not [name for name, _ in alone.named_parameters() if "kinds" in name]
    several = LegislativeGraphEncoder(DIM, heads=HEADS, edge_kinds=("up", "self"))
    assert several.convolutions[0].kinds.weight.shape == (2, DIM)
    table = several.convolutions[0].kinds()
    up, own = EDGE_KINDS.index("up"), EDGE_KINDS.index("self")
    assert torch.equal(table[[up, own]], several.convolutions[0].kinds.weight)
    assert not table[[code for code in range(len(EDGE_KINDS)) if code not in (up, own)]].any()


@pytest.mark.parametrize(("kind", "init"), EVERY_NETWORK)
def test_a_saved_network_comes_back_bit_for_bit(tmp_path, graph, features, kind, init):
    encoder = encoder_of(kind, init, layers=2, dropout=0.1).eval()
    encoder.save(tmp_path / "graph")
    again = LegislativeGraphEncoder.load(tmp_path / "graph")
    assert not again.training
    assert again.to_dict() == encoder.to_dict()
    assert torch.equal(again(features, graph), encoder(features, graph))


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"heads": 5}, "graph.heads is 5; it must divide the width 12"),
        ({"layers": 0}, "graph.layers is 0; it must be at least 1"),
        ({"dim": 0}, "graph.dim is 0"),
        ({"dropout": 1.0}, r"graph.dropout is 1.0; it must lie in \[0, 1\)"),
        ({"kind": "gin"}, "graph.kind is 'gin'; it must be one of gatv2, gat"),
        ({"init": "zero"}, "graph.init is 'zero'"),
        ({"edge_kinds": ("self", "sideways")}, "graph.edge_kinds is"),
        ({"edge_kinds": ("self", "self")}, "name each kind once"),
        ({"edge_kinds": ("up", "down")}, "'self' among them"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(arguments, message):
    with pytest.raises(ModelError, match=message):
        LegislativeGraphEncoder(**{"dim": DIM, "heads": HEADS, **arguments})


def test_features_that_do_not_fit_are_refused(graph, features):
    encoder = encoder_of()
    n = graph.n_nodes
    for wrong in (features[1:], features[:, 1:], features[0], features.long()):
        with pytest.raises(ModelError, match=rf"need floats \[{n}, 12\]"):
            encoder(wrong, graph)
    with pytest.raises(ModelError, match="features are on meta and the graph on cpu"):
        encoder(features.to("meta"), graph)
    with pytest.raises(ModelError, match="rows holds 999"):
        encoder(features, graph, torch.tensor([999]))


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf")])
def test_features_that_are_not_finite_are_refused(graph, features, value):
    features[7, 3] = value
    for ask in ("forward", "attention"):
        with pytest.raises(ModelError, match="features hold values that are not finite"):
            getattr(encoder_of(), ask)(features, graph)


def test_a_graph_with_edges_of_another_kind_is_refused(graph, features):
    encoder = LegislativeGraphEncoder(DIM, heads=HEADS)
    with pytest.raises(ModelError, match="the graph has edges of kind 'previous'; this network"):
        encoder(features, graph)
    with pytest.raises(ModelError, match="the graph has edges of kind 'previous'; this network"):
        encoder.attention(features, graph)
    control = LegislativeGraphEncoder(DIM, heads=HEADS, kind="mlp")
    assert torch.equal(control(features, graph), features)


def test_attention_that_is_not_there_is_refused(graph, features):
    with pytest.raises(ModelError, match="kind 'gcn' has no attention: take gatv2 or gat"):
        encoder_of("gcn").attention(features, graph)
    for layer in (3, -4):
        with pytest.raises(ModelError, match=f"layer {layer} is not among the graph network's 3"):
            encoder_of().attention(features, graph, layer)
