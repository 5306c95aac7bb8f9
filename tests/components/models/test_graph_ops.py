"""Sums over edges against loops, their gradients, and what they are made of."""

from __future__ import annotations

import pytest
import torch
from torch.autograd import gradcheck
from torch.nn.functional import leaky_relu
from torch.utils._python_dispatch import TorchDispatchMode

from components.models import graph_ops
from components.models.graph_ops import pair_scores, segment_softmax, take_rows, weighted_sum
from components.models.graph_tensors import GraphTensors

HEADS, DIM = 3, 6


@pytest.fixture(params=["law_graph", "lawless_graph"])
def edges(request):
    return GraphTensors.of(request.getfixturevalue(request.param)).edges


@pytest.fixture(params=["one piece", "pieces of 7 edges"])
def pieces(request, monkeypatch):
    """Pieces end in the middle of a node's edges."""
    if request.param != "one piece":
        monkeypatch.setattr(graph_ops, "_PIECE_ON_CPU", 7 * DIM)


def normal(*shape, dtype=torch.float64, seed=0):
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(*shape, dtype=dtype, generator=generator, requires_grad=True)


def inputs_of(edges, dtype=torch.float64):
    sources = normal(len(edges.source_ends) - 1, DIM, dtype=dtype)
    targets = normal(edges.n_targets, DIM, dtype=dtype, seed=1)
    attention = normal(HEADS, DIM // HEADS, dtype=dtype, seed=2)
    return sources, targets, attention, normal(7, DIM, dtype=dtype, seed=3)


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
        expected = (attention * leaky_relu(total, 0.2).view(HEADS, -1)).sum(1)
        torch.testing.assert_close(scores[edge], expected)
    assert gradcheck(
        lambda *tensors: pair_scores(*tensors, edges), (sources, targets, attention, kinds)
    )


def test_the_softmax_of_each_target_is_torchs(edges):
    scores = normal(len(edges.source), HEADS)
    shares = segment_softmax(scores, edges)
    for target in range(edges.n_targets):
        own = edges.target == target
        torch.testing.assert_close(shares[own], scores[own].softmax(0))
    assert gradcheck(lambda tensor: segment_softmax(tensor, edges), (scores,))


def test_the_softmax_of_scores_far_apart_is_finite(edges):
    scores = torch.linspace(-1e38, 1e38, len(edges.source) * HEADS).view(-1, HEADS)
    scores[edges.target == 0] = -1e30  # all equal, and far below the others
    shares = segment_softmax(scores, edges)
    assert shares.isfinite().all()
    assert torch.allclose(shares[edges.target == 0], 1 / (edges.target == 0).sum())


def test_a_weighted_sum_is_eq_8_head_by_head(edges, pieces):
    states, weights = normal(len(edges.source_ends) - 1, DIM), normal(len(edges.source), HEADS)
    expected = torch.zeros(edges.n_targets, HEADS, DIM // HEADS, dtype=torch.float64)
    for edge, (source, target, _) in each(edges):
        expected[target] += weights[edge, :, None] * states[source].view(HEADS, -1)
    summed = weighted_sum(states, weights, edges)
    torch.testing.assert_close(summed, expected.view(-1, DIM))
    assert gradcheck(lambda *tensors: weighted_sum(*tensors, edges), (states, weights))


def test_rows_taken_twice_add_up_in_the_gradient():
    states, rows = normal(5, 3), torch.tensor([4, 0, 4, 2, 4])
    assert torch.equal(take_rows(states, rows), states[rows])
    assert gradcheck(lambda tensor: take_rows(tensor, rows), (states,))


def test_a_gradient_that_lies_column_by_column_in_memory_is_the_same(edges):
    states, weights = normal(len(edges.source_ends) - 1, DIM), normal(len(edges.source), HEADS)
    summed = weighted_sum(states, weights, edges)
    factor = normal(*summed.shape).detach()
    by_row, by_column = (
        torch.autograd.grad(summed, (states, weights), each, retain_graph=True)
        for each in (factor, factor.t().contiguous().t())
    )
    assert all(torch.equal(a, b) for a, b in zip(by_row, by_column, strict=True))


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


def test_a_row_of_features_for_every_edge_is_never_held(edges, monkeypatch):
    monkeypatch.setattr(graph_ops, "_PIECE_ON_CPU", 7 * DIM)
    largest = 0

    class Sizes(TorchDispatchMode):
        def __torch_dispatch__(self, func, types, args=(), kwargs=None):
            nonlocal largest
            result = func(*args, **(kwargs or {}))
            for tensor in result if isinstance(result, tuple) else (result,):
                if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():
                    largest = max(largest, tensor.numel())
            return result

    sources, targets, attention, kinds = inputs_of(edges)
    with Sizes():
        scores = pair_scores(sources, targets, attention, kinds, edges)
        weighted_sum(sources, segment_softmax(scores, edges), edges).sum().backward()
    assert largest < len(edges.source) * DIM
