"""Similarity by distance, against a slow loop over all pairs."""

from itertools import combinations
from math import sqrt

import numpy as np
import pytest
from numpy.typing import NDArray

from components.statutes.article import Article
from components.statutes.tree import LegislativeTree
from pipelines.tree_view import similarity
from pipelines.tree_view.similarity import NeighbourSimilarity, Similarity, measure_neighbours

LAWS = ("Housing Code", "Work Code", "Family Code")


def articles(n: int, laws: tuple[str, ...] = LAWS) -> list[Article]:
    """Laws in turn, so that none stands together; divisions of several depths."""
    paths = [("Title I",), ("Title I", "Chapter 1"), ("Title II", "Chapter 1", "Section 1"), ()]
    return [
        Article(f"a{i}", laws[i % len(laws)], str(i), paths[i // 4 % len(paths)], "-")
        for i in range(n)
    ]


def unit_vectors(n: int, dim: int = 5) -> NDArray[np.float32]:
    vectors = np.random.default_rng(3).standard_normal((n, dim)) + 0.7
    return (vectors / np.linalg.norm(vectors, axis=1, keepdims=True)).astype(np.float32)


def slowly(pairs: list[tuple[int, int]], vectors: NDArray[np.float32]) -> Similarity:
    """Mean and dyadic interval, from the definition: every two pairs that share an article."""
    exact = vectors.astype(np.float64)
    similar = [float(exact[a] @ exact[b]) for a, b in pairs]
    mean = sum(similar) / len(pairs)
    if len(pairs) == 1:
        return Similarity(1, mean, None)
    errors = [s - mean for s in similar]
    variance = sum(
        errors[p] * errors[q]
        for p in range(len(pairs))
        for q in range(len(pairs))
        if set(pairs[p]) & set(pairs[q])
    )
    reach = 1.959964 * sqrt(max(variance, sum(e * e for e in errors))) / len(pairs)
    return Similarity(len(pairs), mean, (mean - reach, mean + reach))


def slow_measure(
    corpus: list[Article], vectors: NDArray[np.float32], farthest: int
) -> NeighbourSimilarity:
    tree = LegislativeTree(corpus)
    everything = list(combinations(range(len(corpus)), 2))
    inside = [(a, b) for a, b in everything if corpus[a].law == corpus[b].law]
    place = {
        position: order
        for law in {article.law for article in corpus}
        for order, position in enumerate(i for i, a in enumerate(corpus) if a.law == law)
    }
    sequence: dict[int, list[tuple[int, int]]] = {}
    by_tree: dict[int, list[tuple[int, int]]] = {}
    for a, b in inside:
        if place[b] - place[a] <= farthest:
            sequence.setdefault(place[b] - place[a], []).append((a, b))
        distance = tree.node_distance(int(tree.article_node[a]), int(tree.article_node[b]))
        by_tree.setdefault(distance, []).append((a, b))
    across = [pair for pair in everything if pair not in inside]
    return NeighbourSimilarity(
        articles=len(corpus),
        laws=len(tree.laws),
        sequence={d: slowly(sequence[d], vectors) for d in sorted(sequence)},
        tree={d: slowly(by_tree[d], vectors) for d in sorted(by_tree)},
        other_law=slowly(across, vectors) if across else None,
        random=slowly(everything, vectors),
    )


def assert_same(measured: Similarity | None, expected: Similarity | None) -> None:
    if measured is None or expected is None:
        assert measured is expected
        return
    assert measured.pairs == expected.pairs
    assert measured.mean == pytest.approx(expected.mean, abs=1e-6)
    assert measured.interval == (
        None if expected.interval is None else pytest.approx(expected.interval, abs=1e-6)
    )


@pytest.mark.parametrize("laws", [LAWS, LAWS[:1]])
@pytest.mark.parametrize("cells", [1, 40, 2_000_000])
def test_every_number_is_that_of_the_slow_loop(
    monkeypatch: pytest.MonkeyPatch, laws: tuple[str, ...], cells: int
) -> None:
    monkeypatch.setattr(similarity, "_CELLS", cells)  # whatever is held at a time
    corpus, vectors = articles(23, laws), unit_vectors(23)
    measured = measure_neighbours(corpus, vectors, farthest=6)
    expected = slow_measure(corpus, vectors, 6)
    assert (measured.articles, measured.laws) == (expected.articles, expected.laws)
    assert list(measured.sequence) == list(expected.sequence)
    assert list(measured.tree) == list(expected.tree)
    for distance, value in expected.sequence.items():
        assert_same(measured.sequence[distance], value)
    for distance, value in expected.tree.items():
        assert_same(measured.tree[distance], value)
    assert_same(measured.other_law, expected.other_law)
    assert_same(measured.random, expected.random)


def test_random_pairs_of_a_large_corpus_are_drawn_alike_every_time(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    corpus, vectors = articles(60), unit_vectors(60)
    everything = measure_neighbours(corpus, vectors, farthest=1).random
    monkeypatch.setattr(similarity, "RANDOM_PAIRS", 900)
    drawn = [measure_neighbours(corpus, vectors, farthest=1).random for _ in range(2)]
    assert drawn[0] == drawn[1]
    assert drawn[0].pairs == 900
    assert drawn[0].interval is not None
    assert drawn[0].interval[0] < everything.mean < drawn[0].interval[1]


def test_a_corpus_without_headings_has_siblings_alone() -> None:
    corpus = [Article(str(i), "Code", str(i), (), "-") for i in range(4)]
    measured = measure_neighbours(corpus, unit_vectors(4), farthest=10)
    assert list(measured.tree) == [2]
    assert list(measured.sequence) == [1, 2, 3]
    assert measured.sequence[3].interval is None
    assert measured.other_law is None


def test_one_article_has_no_neighbour() -> None:
    with pytest.raises(ValueError, match="two articles"):
        measure_neighbours(articles(1), unit_vectors(1), farthest=1)
