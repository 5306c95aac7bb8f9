"""The tree of a whole corpus, read once for the places of all its articles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.statutes.article import Article
from components.statutes.tree import LegislativeTree


@dataclass(frozen=True, slots=True)
class Division:
    """A law, or a division of one.

    Attributes:
        label: Title of the law, heading of the division.
        place: From 1, among the divisions right below the same parent; laws count likewise.
        of: How many these are.
        articles: How many articles stand in it, its own divisions' included.
    """

    label: str
    place: int
    of: int
    articles: int


class LawStructure:
    """The tree of a corpus, with the number of articles under each node.

    Attributes:
        tree: The tree.
        articles_below: Articles under each node above the articles, int64 `[n_inner]`.
    """

    def __init__(self, articles: Sequence[Article]) -> None:
        """Reads where the articles stand.

        Args:
            articles: In the corpus's order; their texts are not looked at.
        """
        self.tree = LegislativeTree(articles)
        n_inner = self.tree.n_nodes - self.tree.n_articles
        above = self.tree.ancestors[self.tree.article_node]
        self.articles_below: NDArray[np.int64] = np.bincount(
            above[(above >= 0) & (above < n_inner)], minlength=n_inner
        )

    def division(self, node: int) -> Division:
        """The law or division at a node."""
        tree = self.tree
        beside = [n for n in tree.children(int(tree.parent[node])) if tree.kind[n] != "article"]
        return Division(
            label=tree.label[node],
            place=beside.index(node) + 1,
            of=len(beside),
            articles=int(self.articles_below[node]),
        )

    def siblings(self, position: int) -> list[int]:
        """Positions of the articles right below the same division, the article's included."""
        return sorted([position, *self.tree.siblings(position)])
