"""Edges in both orders, and what some rows need of them."""

from __future__ import annotations

import pytest
import torch

from components.models.errors import ModelError
from components.models.graph_tensors import GraphTensors
from components.statutes import LegislativeGraph


@pytest.fixture(params=["law_graph", "lawless_graph"])
def graph(request) -> LegislativeGraph:
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


def test_edges_stand_in_both_orders(graph):
    tensors = GraphTensors.of(graph)
    assert tensors.n_nodes == graph.n_nodes
    assert tensors.edge_kinds == graph.edge_kinds
    for name in ("source", "target", "kind"):
        assert getattr(tensors.edges, name).tolist() == getattr(graph, name).tolist()
    check_orders(tensors.edges, graph.n_nodes)
    degrees = graph.degree[graph.source] * graph.degree[graph.target]
    assert tensors.edges.degrees.tolist() == degrees.tolist()


@pytest.mark.parametrize("layers", [1, 2, 3])
@pytest.mark.parametrize("rows", [[3], [12, 0, 12, 7]])
def test_a_receptive_field_holds_the_edges_that_the_rows_need(graph, layers, rows):
    tensors = GraphTensors.of(graph)
    field = tensors.receptive_field(torch.tensor(rows), layers)
    asked = sorted(set(rows))
    assert [asked[row] for row in field.rows] == rows
    for hops, block in enumerate(reversed(field.blocks)):
        targets = graph.neighbourhood(asked, hops)
        sources = graph.neighbourhood(asked, hops + 1)
        edges = [
            (sources[s], targets[t], kind, degrees)
            for s, t, kind, degrees in zip(
                *(getattr(block, name).tolist() for name in ("source", "target", "kind")),
                block.degrees.tolist(),
                strict=True,
            )
        ]
        assert edges == [
            edge
            for edge in zip(
                graph.source,
                graph.target,
                graph.kind,
                tensors.edges.degrees.tolist(),
                strict=True,
            )
            if edge[1] in targets
        ]
        assert block.n_targets == len(targets)
        check_orders(block, len(sources))
        own = range(len(targets)) if block.own is None else block.own.tolist()
        assert [sources[row] for row in own] == targets.tolist()
    assert field.nodes.tolist() == graph.neighbourhood(asked, layers).tolist()


def test_all_rows_are_the_graph_itself(law_graph):
    tensors = GraphTensors.of(law_graph)
    field = tensors.receptive_field(None, 2)
    assert field.nodes is None and field.rows is None
    assert all(block is tensors.edges for block in field.blocks)


def test_a_graph_is_on_the_device_it_was_made_for(law_graph):
    tensors = GraphTensors.of(law_graph, "meta")
    assert tensors.device.type == "meta" and tensors.edges.by_source.device.type == "meta"


def test_without_edges_the_nodes_stay(law_graph):
    bare = GraphTensors.of(law_graph).without_edges()
    assert bare.n_nodes == law_graph.n_nodes
    field = bare.receptive_field(torch.tensor([5, 2]), 3)
    assert field.nodes.tolist() == [2, 5] and field.rows.tolist() == [1, 0]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (torch.tensor([0, 999]), "rows holds 999, which is no node: the graph has"),
        (torch.tensor([-1]), "rows holds -1"),
        (torch.tensor([], dtype=torch.int64), "rows is empty"),
        (torch.tensor([0.0]), r"rows is torch.float32 \[1\]"),
        (torch.tensor([[0]]), r"rows is torch.int64 \[1, 1\]"),
        (torch.tensor([True]), "rows is torch.bool"),
        (torch.zeros(1, dtype=torch.int64, device="meta"), "rows is on meta and the graph on cpu"),
    ],
)
def test_rows_that_are_no_nodes_are_refused(law_graph, rows, message):
    with pytest.raises(ModelError, match=message):
        GraphTensors.of(law_graph).receptive_field(rows, 1)
