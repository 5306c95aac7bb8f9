"""Distances in the tree of law, by networkx on every path."""

from __future__ import annotations

import networkx
import numpy as np
from numpy.typing import ArrayLike, NDArray

from components.statutes import LegislativeTree


def tree_distances(
    tree: LegislativeTree, sources: ArrayLike, cross_law: str = "farther"
) -> NDArray[np.int64]:
    """Tree distances of every article from each source, `[n_sources, n_articles]`.

    "farther" puts every article of another law farther away than any two articles of one law are.
    """
    graph = networkx.Graph([(up, node) for node, up in enumerate(tree.parent.tolist()) if node])
    paths = dict(networkx.all_pairs_shortest_path_length(graph))
    positions = np.atleast_1d(sources)
    nodes = tree.article_node.tolist()
    found = np.array([[paths[nodes[source]][node] for node in nodes] for source in positions])
    if cross_law == "farther":
        other_law = tree.law_of[positions][:, None] != tree.law_of[None, :]
        found[other_law] += 2 * (int(tree.depth.max()) - 1)
    return found
