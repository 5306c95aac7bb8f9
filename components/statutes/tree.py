"""The tree of law: laws, their divisions, and the articles as its leaves."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from components.statutes.article import Article

NodeKind = Literal["root", "law", "division", "article"]
IntArray = npt.NDArray[np.int32]

ROOT = 0


class LegislativeTree:
    """Laws as closed trees under a virtual root.

    A node is the root (depth 0), a law (1), a division (1 + its level) or an
    article (2 + its number of headings). A division is its full path in its law: the same heading
    elsewhere is another division. Nodes are numbered so that parents come before children: 0 is the
    root, then laws and divisions by first appearance, and last the articles, in the corpus's order.

    Attributes:
        laws: The laws, by first appearance.
        article_node: Node of each article, int32 `[n_articles]`.
        law_of: Index in `laws` of each article's law, int32 `[n_articles]`.
        parent: Parent of each node, -1 for the root, int32 `[n_nodes]`.
        depth: Depth of each node, int32 `[n_nodes]`.
        ancestors: Column d is the ancestor at depth d (a node is its own at its own depth), -1
            below, int32 `[n_nodes, max_depth + 1]`.
        label: Title of the law, heading of the division, number of the article; "" for the root.
        kind: "root", "law", "division" or "article".
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        self.label: list[str] = [""]
        self.kind: list[NodeKind] = ["root"]
        parents = [-1]
        first_position = [0]
        child_by_label: dict[tuple[int, str], int] = {}
        node_by_headings: dict[tuple[str, tuple[str, ...]], int] = {}

        def child(parent: int, label: str, kind: NodeKind, position: int) -> int:
            node = child_by_label.setdefault((parent, label), len(parents))
            if node == len(parents):
                parents.append(parent)
                first_position.append(position)
                self.label.append(label)
                self.kind.append(kind)
            return node

        article_parent = np.empty(len(articles), dtype=np.int32)
        for position, article in enumerate(articles):
            path = (article.law, article.headings)
            division = node_by_headings.get(path)
            if division is None:
                division = child(ROOT, article.law, "law", position)
                for heading in article.headings:
                    division = child(division, heading, "division", position)
                node_by_headings[path] = division
            article_parent[position] = division

        self.n_articles = len(articles)
        self._n_inner = len(parents)
        self.label += [article.number for article in articles]
        self.kind += ["article"] * self.n_articles
        self.parent: IntArray = np.concatenate([np.array(parents, dtype=np.int32), article_parent])
        self.n_nodes = len(self.parent)
        self.article_node: IntArray = np.arange(self._n_inner, self.n_nodes, dtype=np.int32)
        self._first_position = np.concatenate(
            [np.array(first_position, dtype=np.int32), np.arange(self.n_articles, dtype=np.int32)]
        )
        self.depth, self.ancestors = _ancestry(self.parent)
        law_nodes = [node for node in range(self._n_inner) if self.kind[node] == "law"]
        self.laws = [self.label[node] for node in law_nodes]
        law_index = np.full(self._n_inner, -1, dtype=np.int32)
        law_index[law_nodes] = np.arange(len(law_nodes), dtype=np.int32)
        # Law of every node above the articles; none for the root.
        inner_law = law_index[self.ancestors[: self._n_inner, :2].max(axis=1)]
        self.law_of: IntArray = inner_law[article_parent]

    def path(self, position: int) -> list[int]:
        """Nodes from the law down to the article at a position."""
        node = self._n_inner + position
        return [int(ancestor) for ancestor in self.ancestors[node, 1 : self.depth[node] + 1]]

    def children(self, node: int) -> list[int]:
        """Nodes right below a node, in the law's order (by the first article under each)."""
        by_parent, ends = self._children
        return [int(child) for child in by_parent[ends[node] : ends[node + 1]]]

    def siblings(self, position: int) -> list[int]:
        """Positions of the other articles right below the same division or law."""
        parent = int(self.parent[self._n_inner + position])
        below = (node - self._n_inner for node in self.children(parent) if node >= self._n_inner)
        return [other for other in below if other != position]

    def previous(self, position: int) -> int | None:
        """Position of the article before this one in its law; `None` for the first."""
        before = int(self._neighbours[0, position])
        return None if before < 0 else before

    def next(self, position: int) -> int | None:
        """Position of the article after this one in its law; `None` for the last."""
        after = int(self._neighbours[1, position])
        return None if after < 0 else after

    @cached_property
    def _children(self) -> tuple[IntArray, IntArray]:
        """All nodes but the root, by parent, then place in the law; ends of each parent's run."""
        order = np.lexsort((self._first_position, self.parent))[1:].astype(np.int32)
        ends = np.searchsorted(self.parent[order], np.arange(self.n_nodes + 1)).astype(np.int32)
        return order, ends

    @cached_property
    def _neighbours(self) -> IntArray:
        """Previous and next position inside the law, -1 at its ends, int32 `[2, n_articles]`."""
        earlier, later = consecutive(self.law_of)
        neighbours = np.full((2, self.n_articles), -1, dtype=np.int32)
        neighbours[0, later] = earlier
        neighbours[1, earlier] = later
        return neighbours


def consecutive(
    law_of: npt.NDArray[Any], step: int = 1
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int64]]:
    """Positions of every two articles of one law of which the second is `step` after the first.

    Args:
        law_of: The law of each article, by position.
        step: How far they are apart.
    """
    order = np.argsort(law_of, kind="stable")
    together = law_of[order[step:]] == law_of[order[:-step]]
    return order[:-step][together], order[step:][together]


def _ancestry(parent: IntArray) -> tuple[IntArray, IntArray]:
    """Depth of each node, and its ancestors by depth, as the class describes them."""
    climb = [np.arange(len(parent), dtype=np.int32)]
    while (above := np.where(climb[-1] >= 0, parent[climb[-1]], -1)).max() >= 0:
        climb.append(above)
    depth: IntArray = np.add.reduce([nodes >= 0 for nodes in climb], dtype=np.int32) - np.int32(1)
    ancestors = np.full((len(parent), len(climb)), -1, dtype=np.int32)
    for steps, nodes in enumerate(climb):
        reached = np.flatnonzero(nodes >= 0)
        ancestors[reached, depth[reached] - steps] = nodes[reached]
    return depth, ancestors
