"""Ranked lists of a law's articles, and their reciprocal rank fusion (Cormack et al., 2009).

`training.negatives.sampling.fuse` is the same formula over whole tensors of ranks, for the views of
CuSINeS. It is kept apart because it breaks ties by key, runs on the device and takes half ranks,
and because its constant is another: the published k = 60. Here lists are short and their first
ranks should stand out, so k = 10.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from itertools import chain
from typing import Any, NamedTuple, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from components.statutes.article import Article
from components.statutes.lexical import trust
from components.statutes.tree import LegislativeTree, consecutive

Item = TypeVar("Item", bound=Hashable)

FUSION_K = 10
"""The constant k: the higher, the less the first ranks stand out."""


def rank_scores(
    lists: Iterable[tuple[NDArray[np.int64], NDArray[np.int64]]],
    weights: Iterable[float],
    n: int,
    k: float = FUSION_K,
) -> NDArray[np.float64]:
    """`score(a) = sum over the lists s that hold a of w_s / (k + rank_s(a))`.

    Cormack, Clarke and Buettcher, SIGIR 2009, with weights.

    Args:
        lists: of each list what it holds, as numbers below `n`, each once, and their ranks, from 1.
        weights: one for each list.
        n: how many things there are.
        k: see `FUSION_K`.

    Returns:
        float64 `[n]`, 0 for what no list with a weight holds.
    """
    scores = np.zeros(n)
    for (rows, ranks), weight in zip(lists, weights, strict=True):
        scores[rows] += weight / (k + ranks)
    return scores


def fused_scores(
    rankings: Sequence[Iterable[Item]],
    weights: Sequence[float] | None = None,
    k: float = FUSION_K,
) -> dict[Item, float]:
    """The entries of several lists with their `rank_scores`, best first.

    Args:
        rankings: lists of anything hashable, best first, each entry once.
        weights: one for each list; by default 1.
        k: see `FUSION_K`.

    Returns:
        Equal scores in the order of the lists, then of the ranks.
    """
    listed = [list(ranking) for ranking in rankings]
    items = list(dict.fromkeys(chain.from_iterable(listed)))
    row_of = {item: row for row, item in enumerate(items)}
    lists = [
        (np.array([row_of[item] for item in each], np.int64), np.arange(1, len(each) + 1))
        for each in listed
    ]
    scores = rank_scores(lists, weights or [1.0] * len(lists), len(items), k)
    return {items[row]: float(scores[row]) for row in np.argsort(-scores, kind="stable").tolist()}


def fuse_ranks(rankings: Sequence[Iterable[Item]]) -> list[Item]:
    """The entries of several lists of equal weight, best first; see `fused_scores`."""
    return list(fused_scores(rankings))


def rank_candidates(
    scores: ArrayLike,
    first_stage_weight: float | None = None,
    first_stage_places: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """A ranker's candidates from best to worst.

    With a weight w the order is that of `1 / (k + rank) + w / (k + first rank)`: ranks by the
    ranker's score and by the first stage. Equal candidates stay in the first stage's order.

    Args:
        scores: `[n]`, finite, in the first stage's order, best first.
        first_stage_weight: w; None orders by the ranker's scores alone.
        first_stage_places: `[n]`, ascending positions in the first stage's list, from 0, where the
            scores cover only a part of it.

    Returns:
        int64 `[n]`, indices into `scores`.
    """
    order = np.argsort(-np.asarray(scores, np.float64), kind="stable")
    if first_stage_weight is None:
        return order
    rows = np.arange(len(order))
    first = rows if first_stage_places is None else np.asarray(first_stage_places)
    lists = [(rows, first + 1), (order, rows + 1)]
    return np.argsort(-rank_scores(lists, [first_stage_weight, 1.0], len(order)), kind="stable")


# The articles of a law, by row.

Rows = NDArray[np.int64]
Scores = NDArray[np.float32]


class RankedList(NamedTuple):
    """Articles that one search found, best first.

    Attributes:
        rows: Of the articles in the order of the law, each once, int64 `[n]`.
        scores: Descending, float32 `[n]`.
        ranks: From 1, int64 `[n]`; articles that stand in a list as one share theirs.
    """

    rows: Rows
    scores: Scores
    ranks: Rows

    @classmethod
    def of(cls, rows: NDArray[Any], scores: NDArray[Any]) -> RankedList:
        """A list in which every article has a rank of its own."""
        ranks = np.arange(1, len(rows) + 1)
        return cls(rows.astype(np.int64), scores.astype(np.float32), ranks)


def fused_by_rank(
    lists: Mapping[str, RankedList],
    weights: Mapping[str, float],
    n_articles: int,
    k: float = FUSION_K,
) -> tuple[Rows, NDArray[np.float64]]:
    """Weighted reciprocal rank fusion over the rows of a law.

    Args:
        lists: By name.
        weights: One for each list.
        n_articles: Of the law.
        k: As there.

    Returns:
        Every row of a list with a weight, int64 `[n]`, and its score, best first; equal scores in
        the order of the law.
    """
    ranked = [(each.rows, each.ranks) for each in lists.values()]
    scores = rank_scores(ranked, [weights[name] for name in lists], n_articles, k)
    rows = np.flatnonzero(scores)
    rows = rows[np.argsort(-scores[rows], kind="stable")]
    return rows, scores[rows]


BM25, DIVISION, DENSE = "bm25", "division", "dense"
"""Names of the lists: by the words of the article, of its division, and by meaning."""

FUSED_FROM = 250
"""How many articles, or divisions, each list contributes."""
FULL_COVERAGE = 0.5
"""Share of a question's terms from which on lists by words have their full weight."""
DIVISION_WEIGHT = 0.35
"""Of the list by divisions, where the list by articles has 1: chosen on training questions."""


def weights_for(
    weights: Mapping[str, float], covered: float, full_coverage: float | None = FULL_COVERAGE
) -> dict[str, float]:
    """The weights of the lists for one question; those by words count less where few are found.

    Args:
        weights: By list.
        covered: Share of the question's terms in the first article that words find.
        full_coverage: Share from which words have their full weight; None for every question.
    """
    trusted = 1.0 if full_coverage is None else trust(covered, full_coverage)
    return {
        name: weight * (trusted if name in (BM25, DIVISION) else 1.0)
        for name, weight in weights.items()
    }


# The law as arrays


class Group(NamedTuple):
    """Which articles stand together.

    Attributes:
        number: Group of each article, from 0, int64 `[n]`.
        size: How many groups there are.
    """

    number: Rows
    size: int


_MOST_IN_A_DIVISION = 250
_FEWEST_IN_A_DIVISION = 1.5  # on average, in a law whose divisions say something of their articles


class LawArrays:
    """Where each article stands, by row in the order of the law.

    A division here is the lowest one above an article: its law, where no heading stands between.

    Args:
        entries: (law, headings, number of characters) of every article, in the order of the law.

    Attributes:
        law: Of each article, from 0, int64 `[n]`.
        division: Of each article, from 0 in the order of the tree's nodes, int64 `[n]`.
        groups: Articles of the same division; of the same division above it, which is the division
            itself where that is a law; and of the same law.
        ancestors: Nodes above each article, from its law down; -1 below its division,
            int32 `[n, depth of the deepest]`.
        depth: How many nodes these are, float32 `[n]`.
        siblings: Other articles in the same division, float32 `[n]`.
        length: ln(1 + characters), float32 `[n]`.
        narrow_divisions: Those that are searched: of at most 250 articles, and not of one alone
            in a law whose divisions have fewer than 1.5 on average, int64 `[n_divisions]`.
        place: In its law, from 0, int64 `[n]`.
        neighbours: Rows one before, one after, two before and two after in the law; -1 where there
            is none, int64 `[4, n]`.
    """

    def __init__(self, entries: Iterable[tuple[str, Sequence[str], int]]) -> None:
        articles: list[Article] = []
        lengths: list[int] = []
        for law, headings, characters in entries:
            articles.append(Article("", law, "", tuple(headings), ""))
            lengths.append(characters)
        tree = LegislativeTree(articles)
        above = tree.parent[tree.article_node]
        higher = np.where(tree.parent[above] > 0, tree.parent[above], above)
        self.law: Rows = tree.law_of.astype(np.int64)
        self.division: Rows = np.unique(above, return_inverse=True)[1].astype(np.int64)
        parent: Rows = np.unique(higher, return_inverse=True)[1].astype(np.int64)
        self.groups = tuple(
            Group(each, int(each.max(initial=-1)) + 1) for each in (self.division, parent, self.law)
        )
        self.ancestors = tree.ancestors[above, 1:]
        self.depth: Scores = tree.depth[above].astype(np.float32)
        sizes = np.bincount(self.division)
        self.siblings: Scores = (sizes[self.division] - 1).astype(np.float32)
        self.length: Scores = np.log1p(np.array(lengths, dtype=np.float32))
        # Rows by law, each law's in its order.
        order = np.argsort(self.law, kind="stable")
        starts = np.searchsorted(self.law[order], np.arange(len(tree.laws)))
        self.place: Rows = np.empty(len(order), dtype=np.int64)
        self.place[order] = np.arange(len(order)) - starts[self.law[order]]
        self.neighbours: Rows = np.full((4, len(order)), -1, dtype=np.int64)
        for step in (1, 2):
            earlier, later = consecutive(self.law, step)
            self.neighbours[2 * step - 2, later] = earlier
            self.neighbours[2 * step - 1, earlier] = later
        # A division of so many articles says nothing of any of them: a law without headings. Nor
        # does one of a law that gives nearly every article a division of its own: it would find
        # the article a second time by the same words.
        law_of_division = np.zeros(len(sizes), dtype=np.int64)
        law_of_division[self.division] = self.law
        articles_in_one = np.bincount(self.law) / np.maximum(np.bincount(law_of_division), 1)
        is_repeat = (sizes == 1) & (articles_in_one[law_of_division] < _FEWEST_IN_A_DIVISION)
        self.narrow_divisions: Rows = np.flatnonzero(~is_repeat & (sizes <= _MOST_IN_A_DIVISION))
        self._by_division = np.argsort(self.division, kind="stable")
        self._sizes = sizes
        self._starts = np.cumsum(sizes) - sizes
        # No two articles of one law are farther apart.
        self._longest_in_law = 2 * float(self.depth.max(initial=1))

    def __len__(self) -> int:
        """Number of articles."""
        return len(self.law)

    def spread(
        self,
        divisions: NDArray[Any],
        scores: NDArray[Any],
        allowed: NDArray[np.bool_] | None = None,
    ) -> RankedList:
        """The articles of divisions that were found, each at its division's rank.

        Args:
            divisions: As in `division`, best first.
            scores: Theirs.
            allowed: Bool `[n]`, the articles that may be listed; by default all.
        """
        sizes = self._sizes[divisions]
        within = np.arange(sizes.sum()) - np.repeat(np.cumsum(sizes) - sizes, sizes)
        rows = self._by_division[np.repeat(self._starts[divisions], sizes) + within]
        found = np.repeat(scores, sizes).astype(np.float32)
        ranks = np.repeat(np.arange(1, len(sizes) + 1), sizes)
        kept = slice(None) if allowed is None else allowed[rows]
        return RankedList(rows[kept], found[kept], ranks[kept])

    def tree_distance(self, rows: Rows, to: int) -> Scores:
        """Distances in the tree to one article, another law's being farthest, float32 `[n]`."""
        own = self.ancestors[to]
        shared = ((self.ancestors[rows] == own) & (own >= 0)).sum(axis=1)
        steps = self.depth[rows] + self.depth[to] + 2 - 2 * shared
        steps[self.law[rows] != self.law[to]] += self._longest_in_law
        steps[rows == to] = 0
        distance: Scores = steps.astype(np.float32)
        return distance

    def sequence_distance(self, rows: Rows, to: int) -> Scores:
        """Articles from one to the other in the law; of another law, the number of all articles."""
        distance = np.abs(self.place[rows] - self.place[to])
        distance[self.law[rows] != self.law[to]] = len(self)
        result: Scores = distance.astype(np.float32)
        return result


def division_texts(
    law: LawArrays, articles: Iterable[tuple[Sequence[str], str, str | None]]
) -> list[tuple[int, str, str | None]]:
    """The text of each division, to be searched by words.

    Args:
        law: Says which article stands where.
        articles: (headings, text, language) of every article, in the order of the law.

    Returns:
        (division, its headings and the texts of its articles, language of the first of them), as
        `LexicalIndex.build` takes them.
    """
    parts: dict[int, list[str]] = {}
    languages: dict[int, str | None] = {}
    for division, (headings, text, language) in zip(law.division.tolist(), articles, strict=True):
        if division not in parts:
            parts[division] = list(headings)
            languages[division] = language
        parts[division].append(text)
    return [(each, " ".join(parts[each]), languages[each]) for each in sorted(parts)]
