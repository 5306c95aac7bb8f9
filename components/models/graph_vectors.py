"""Articles' vectors through a graph network: what it needs to be given, and what it makes of it."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Iterator, Sequence

import numpy as np
import numpy.typing as npt
import torch
from torch import Tensor
from torch.nn import functional

from components.models.graph import GraphTensors, LegislativeGraphEncoder
from components.statutes.article import Article, TextRule, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import LegislativeGraph

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
    """What the bi-encoder reads of every node: title or heading alone, then the indexed texts."""
    yield from graph.labels
    for article in articles:
        yield indexed_text(article.headings, article.text, rule)


def enriched(
    network: LegislativeGraphEncoder,
    graph: LegislativeGraph,
    positions: npt.ArrayLike,
    features: Callable[[Nodes], Tensor],
) -> Tensor:
    """Vectors of some articles as the network makes them, normalised.

    Only the nodes that can be seen from these articles are computed and asked for, and the vectors
    are the same, to rounding, whichever articles are asked for together.

    Args:
        network: In the mode for use (`eval`).
        graph: Of the whole corpus.
        positions: The articles, `[n]`.
        features: Gives the base vectors of nodes of the graph, float32 `[n_nodes, dim]`.

    Returns:
        float32 `[n, dim]` on the CPU, of unit length.
    """
    device = next(network.parameters()).device
    rows = graph.article_nodes[np.asarray(positions, dtype=np.int64)]
    nodes = graph.neighbourhood(rows, network.layers)
    places = torch.from_numpy(np.searchsorted(nodes, rows)).to(device)
    with torch.no_grad():
        part = GraphTensors.of(graph.part(nodes), device)
        vectors: Tensor = network(features(nodes).to(device), part, places)
        return functional.normalize(vectors, dim=1).cpu()


def seen_by_articles(
    network: LegislativeGraphEncoder, graph: LegislativeGraph, text_digests: Sequence[str]
) -> list[bytes]:
    """For each article a digest of all that the network makes its vector of.

    Two articles with one digest see equal texts over equal edges, however their nodes are numbered;
    a change that they do not see leaves it as it was (the colours of Weisfeiler and Leman, which
    tell apart what message passing tells apart).

    Args:
        network: How far it sees.
        graph: Of the whole corpus.
        text_digests: Of the nodes' texts, `[n_nodes]`.
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
