"""The legislative graph: laws, divisions and articles as nodes, with typed edges."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import numpy as np
import numpy.typing as npt

from components.statutes.article import Article
from components.statutes.citations.resolver import CitationResolver
from components.statutes.corpus import StatuteCorpus
from components.statutes.identity import names_of_laws
from components.statutes.tree import LegislativeTree, consecutive

# Who cites whom among the articles of a corpus.


@dataclass(frozen=True, slots=True)
class CrossReferences:
    """Who cites whom in a corpus.

    Attributes:
        pairs: (position of the citing article, position of the cited one), sorted, each pair once;
            none cites itself.
        unresolved: Citations that lead to no article of the corpus.
    """

    pairs: list[tuple[int, int]]
    unresolved: int


def cross_references(
    articles: Sequence[Article], with_texts: Iterable[Article] | None = None
) -> CrossReferences:
    """The citations between the articles of a corpus.

    A citation without a law means the citing article's own law.

    Args:
        articles: The corpus, in its order.
        with_texts: The same articles, read one by one, if those of `articles` have no texts.
    """
    entries = ((article.id, article.law, article.number) for article in articles)
    resolver = CitationResolver(entries, names_of_laws(articles))
    position_of = {article.id: position for position, article in enumerate(articles)}
    pairs: set[tuple[int, int]] = set()
    unresolved = 0
    for position, article in enumerate(articles if with_texts is None else with_texts):
        for resolved in resolver.resolve(
            article.text, within=article.id, language=article.language
        ):
            unresolved += not resolved.ids
            pairs.update((position, position_of[cited]) for cited in resolved.ids)
    pairs.difference_update([(position, position) for position in range(len(articles))])
    return CrossReferences(sorted(pairs), unresolved)


EDGE_KINDS = ("self", "down", "up", "previous", "next", "cites", "cited")

Nodes = npt.NDArray[np.int64]
# An edge list before it is sorted: kind, sources, targets.
_Edges = tuple[str, npt.NDArray[np.integer[Any]], npt.NDArray[np.integer[Any]]]


@dataclass(frozen=True, eq=False)
class LegislativeGraph:
    """The tree of law as a graph of messages (G-DSR, section 3.3), with more edges by choice.

    Nodes are laws and divisions by first appearance (node i of the `LegislativeTree` is i - 1 here,
    without its virtual root), then articles in the corpus's order. A message flows from `source` to
    `target`. Kinds of edges: "self" at every node; "down" from parent to child and "up" back;
    "previous" from an article to the one after it in its law and "next" back; "cites" from a cited
    article to the one that cites it and "cited" back. Only citations lead from law to law.

    Attributes:
        n_nodes: Laws, divisions and articles.
        n_inner: Laws and divisions: the number of the first article's node.
        source: Where each message comes from, int32 `[n_edges]`.
        target: Where it goes; edges are sorted by (target, source, kind), int32 `[n_edges]`.
        kind: Index in `EDGE_KINDS`, uint8 `[n_edges]`; no two edges agree in all three.
        labels: Title of the law or heading of the division, of each node below `n_inner`.
        laws: The laws, by first appearance.
        law_of: Index in `laws` of each node's law, int32 `[n_nodes]`.
        degree: Edges that lead to each node, int32 `[n_nodes]`; in a part of a graph, those of the
            whole graph.
        unresolved: Citations in the texts that lead to no article; 0 if none were looked for.
    """

    n_nodes: int
    n_inner: int
    source: npt.NDArray[np.int32]
    target: npt.NDArray[np.int32]
    kind: npt.NDArray[np.uint8]
    labels: tuple[str, ...]
    laws: tuple[str, ...]
    law_of: npt.NDArray[np.int32]
    degree: npt.NDArray[np.int32]
    unresolved: int

    @classmethod
    def of(
        cls, corpus: StatuteCorpus, *, neighbours: bool = False, citations: bool = False
    ) -> LegislativeGraph:
        """The graph of a corpus.

        Args:
            corpus: The articles.
            neighbours: Join each article with the one before and after it in its law.
            citations: Join each article with those that its text cites.
        """
        tree = LegislativeTree(corpus)
        n_inner = tree.n_nodes - 1 - tree.n_articles
        nodes = np.arange(tree.n_nodes - 1, dtype=np.int32)
        parent = tree.parent[1:] - 1
        child = np.flatnonzero(parent >= 0)
        edges: list[_Edges] = [
            ("self", nodes, nodes),
            ("down", parent[child], child),
            ("up", child, parent[child]),
        ]
        if neighbours:
            earlier, later = consecutive(tree.law_of)
            edges.append(("previous", n_inner + earlier, n_inner + later))
            edges.append(("next", n_inner + later, n_inner + earlier))
        unresolved = 0
        if citations:
            references = cross_references(corpus)
            pairs = np.array(references.pairs, dtype=np.int32).reshape(-1, 2) + n_inner
            edges.append(("cites", pairs[:, 1], pairs[:, 0]))
            edges.append(("cited", pairs[:, 0], pairs[:, 1]))
            unresolved = references.unresolved
        source, target, kind = _sorted(edges)
        laws, law_of = np.unique(tree.ancestors[1:, 1:2], return_inverse=True)
        return cls(
            n_nodes=len(nodes),
            n_inner=n_inner,
            source=source,
            target=target,
            kind=kind,
            labels=tuple(tree.label[1 : n_inner + 1]),
            laws=tuple(tree.label[law] for law in laws),
            law_of=law_of.reshape(-1).astype(np.int32),
            degree=np.bincount(target, minlength=len(nodes)).astype(np.int32),
            unresolved=unresolved,
        )

    @property
    def n_articles(self) -> int:
        """How many nodes are articles."""
        return self.n_nodes - self.n_inner

    @property
    def article_nodes(self) -> Nodes:
        """Node of each article by its position, int64 `[n_articles]`."""
        return np.arange(self.n_inner, self.n_nodes, dtype=np.int64)

    def article_node(self, position: int) -> int:
        """Node of the article at a position of the corpus."""
        return self.n_inner + position

    @cached_property
    def edge_kinds(self) -> tuple[str, ...]:
        """The kinds of edges that are there, in the order of `EDGE_KINDS`."""
        return tuple(EDGE_KINDS[code] for code in np.unique(self.kind))

    def neighbourhood(self, nodes: npt.ArrayLike, hops: int) -> Nodes:
        """The nodes whose messages reach `nodes` in `hops` steps, themselves included, ascending.

        The output of `hops` layers of a graph network at `nodes` depends only on these nodes'
        features.
        """
        reached = self._mask(nodes)
        for _ in range(hops):
            reached[self.source[reached[self.target]]] = True
        return np.flatnonzero(reached)

    def part(self, nodes: npt.ArrayLike) -> LegislativeGraph:
        """The graph of some nodes and the edges among them.

        Nodes keep their order and are renumbered: node k of the part is the k-th lowest of
        `nodes`. `laws`, `degree` and `unresolved` stay those of the whole.
        """
        inside = self._mask(nodes)
        kept = np.flatnonzero(inside)
        number = (np.cumsum(inside) - 1).astype(np.int32)
        edges = inside[self.source] & inside[self.target]
        inner = kept[kept < self.n_inner]
        return LegislativeGraph(
            n_nodes=len(kept),
            n_inner=len(inner),
            source=number[self.source[edges]],
            target=number[self.target[edges]],
            kind=self.kind[edges],
            labels=tuple(self.labels[node] for node in inner),
            laws=self.laws,
            law_of=self.law_of[kept],
            degree=self.degree[kept],
            unresolved=self.unresolved,
        )

    def report(self) -> dict[str, Any]:
        """What the graph consists of, for logs and JSON.

        Degrees count the messages that reach a node, except its own.
        """
        n_laws = len(np.unique(self.law_of))
        counts = np.bincount(self.kind, minlength=len(EDGE_KINDS))
        others = self.target[self.kind != EDGE_KINDS.index("self")]
        degree = np.bincount(others, minlength=self.n_nodes)
        return {
            "nodes": {"law": n_laws, "division": self.n_inner - n_laws, "article": self.n_articles},
            "edges": {
                name: int(count) for name, count in zip(EDGE_KINDS, counts, strict=True) if count
            },
            "mean_degree": float(degree.mean()) if self.n_nodes else 0.0,
            "largest_degree": int(degree.max(initial=0)),
            "unresolved_citations": self.unresolved,
        }

    def _mask(self, nodes: npt.ArrayLike) -> npt.NDArray[np.bool_]:
        mask = np.zeros(self.n_nodes, dtype=bool)
        mask[np.asarray(nodes, dtype=np.int64).reshape(-1)] = True
        return mask


def _sorted(
    edges: Sequence[_Edges],
) -> tuple[npt.NDArray[np.int32], npt.NDArray[np.int32], npt.NDArray[np.uint8]]:
    """Sources, targets and kinds of all edges, by (target, source, kind)."""
    names, sources, targets = zip(*edges, strict=True)
    source = np.concatenate(sources).astype(np.int32)
    target = np.concatenate(targets).astype(np.int32)
    kind = np.repeat(list(map(EDGE_KINDS.index, names)), list(map(len, sources))).astype(np.uint8)
    order = np.lexsort((kind, source, target))
    return source[order], target[order], kind[order]
