"""What an article attends to, read from a model folder with a graph network."""

from collections.abc import Callable
from pathlib import Path

import pytest
import torch

from components.models.biencoder import BiEncoder
from components.models.errors import ModelError
from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.models.graph_vectors import graph_for, node_texts
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS
from pipelines.tree_view.attention import read_attention
from pipelines.tree_view.neighbourhood import neighbourhood

MakeModel = Callable[..., Path]


@pytest.fixture
def graph_model(tiny_model: Path, tmp_path: Path) -> MakeModel:
    """`graph_model(**settings)`: a model folder with a random graph network."""

    def make(**settings: object) -> Path:
        encoder = BiEncoder.load(tiny_model)
        torch.manual_seed(0)
        network = LegislativeGraphEncoder(encoder.dim, init="paper", **settings)
        encoder.save(tmp_path / "model", kept={"graph": network.save})
        return tmp_path / "model"

    return make


@pytest.fixture(scope="module")
def aldermere() -> StatuteCorpus:
    return StatuteCorpus.read("aldermere")


def said(lines: list[str]) -> Callable[[str], object]:
    return lines.append


@pytest.mark.parametrize("kind", ["gatv2", "gat"])
def test_shares_are_those_of_the_whole_graph_and_add_up(
    graph_model: MakeModel, aldermere: StatuteCorpus, kind: str
) -> None:
    folder = graph_model(kind=kind, layers=2, heads=2, edge_kinds=EDGE_KINDS)
    position = aldermere.position("housing-12")
    lines: list[str] = []
    attention, note = read_attention(aldermere, position, str(folder), said(lines))
    assert attention is not None
    place = neighbourhood(aldermere, position)
    shares = [attention.own, attention.division, attention.previous, attention.next]
    shares += [*attention.cites.values(), *attention.cited_by.values()]
    assert sum(share for share in shares if share is not None) == pytest.approx(1, abs=1e-5)
    assert list(attention.cites) == [each.id for each in place.cites]
    assert list(attention.cited_by) == [each.id for each in place.cited_by]
    assert "last of 2 layers" in note
    assert "mean over 2 heads" in note

    network = LegislativeGraphEncoder.load(folder / "graph")
    graph = graph_for(network, aldermere)
    encoder = BiEncoder.load(folder)
    features = encoder.encode_articles(list(node_texts(graph, aldermere, "headings_text")))
    everything = network.attention(features, GraphTensors.of(graph, torch.device("cpu")))
    here = graph.article_node(position)
    of_kind = {
        EDGE_KINDS[graph.kind[edge]]: float(everything[edge].mean())
        for edge in (graph.target == here).nonzero()[0]
    }
    assert attention.own == pytest.approx(of_kind["self"], abs=2e-3)
    assert attention.division == pytest.approx(of_kind["down"], abs=2e-3)
    assert attention.previous == pytest.approx(of_kind["previous"], abs=2e-3)
    # Two layers do not see the whole law.
    (line,) = lines
    assert 0 < int(line.split()[2].replace(",", "")) < graph.n_nodes


def test_edges_that_the_network_lacks_have_no_share(
    graph_model: MakeModel, aldermere: StatuteCorpus
) -> None:
    folder = graph_model()
    attention, _ = read_attention(aldermere, 11, str(folder), said([]))
    assert attention is not None
    assert attention.own is not None
    assert attention.division == pytest.approx(1 - attention.own, abs=1e-5)
    assert (attention.previous, attention.next) == (None, None)
    assert (attention.cites, attention.cited_by) == ({}, {})


def test_a_model_without_attention_says_why(
    graph_model: MakeModel, tiny_model: Path, aldermere: StatuteCorpus
) -> None:
    attention, note = read_attention(aldermere, 0, str(tiny_model), said([]))
    assert attention is None
    assert note == "Place alone: the model model has no graph network."
    folder = graph_model(kind="gcn")
    attention, note = read_attention(aldermere, 0, str(folder), said([]))
    assert attention is None
    assert "(gcn) pays no attention" in note


def test_a_model_that_is_not_there_is_refused(aldermere: StatuteCorpus, tmp_path: Path) -> None:
    with pytest.raises(ModelError, match="absent"):
        read_attention(aldermere, 0, str(tmp_path / "absent"), said([]))
