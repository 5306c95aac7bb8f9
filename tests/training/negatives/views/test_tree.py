"""The hierarchical view against the tree's own distances and networkx."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from components.statutes import Article, LegislativeTree, StatuteCorpus
from training.negatives.gold import Gold
from training.negatives.views.tree import TreeView

CPU = torch.device("cpu")


def gold_of(n_articles: int, positives: list[list[int]]) -> Gold:
    own = tuple(np.array(sorted(set(each))) for each in positives)
    ids = tuple(f"q{row}" for row in range(len(own)))
    return Gold(ids, tuple(map(str, range(n_articles))), own, own)


def distances(view: TreeView, n_questions: int) -> np.ndarray:
    return -view.difficulty(np.arange(n_questions)).numpy()


@st.composite
def cases(draw: st.DrawFn) -> tuple[list[Article], Gold]:
    """Few labels, so that headings repeat across laws, levels and divisions; laws interleave."""
    headings = st.lists(st.sampled_from(["A", "B"]), max_size=4).map(tuple)
    places = st.tuples(st.sampled_from(["Law 1", "Law 2", "Law 3"]), headings)
    articles = [
        Article(str(n), law, str(n), path, "-")
        for n, (law, path) in enumerate(draw(st.lists(places, min_size=1, max_size=12)))
    ]
    positions = st.lists(st.integers(0, len(articles) - 1), min_size=1, max_size=4)
    return articles, gold_of(len(articles), draw(st.lists(positions, min_size=1, max_size=4)))


@settings(max_examples=150, deadline=None)
@given(cases(), st.sampled_from(["farther", "path"]))
def test_distances_are_the_trees_own(case, cross_law):
    articles, gold = case
    tree = LegislativeTree(articles)
    got = distances(TreeView(tree, gold, CPU, cross_law=cross_law), gold.n_questions)
    for row, positives in enumerate(gold.positives):
        expected = tree.min_distances(positives, cross_law=cross_law)
        assert got[row].tolist() == expected.tolist()


@settings(max_examples=100, deadline=None)
@given(cases())
def test_nearer_by_networkx_is_harder(case):
    articles, gold = case
    tree = LegislativeTree(articles)
    graph = tree.to_networkx()
    difficulty = TreeView(tree, gold, CPU, cross_law="path").difficulty(np.arange(gold.n_questions))
    for row, positives in enumerate(gold.positives):
        nodes = {int(tree.article_node[position]) for position in positives}
        paths = networkx.multi_source_dijkstra_path_length(graph, nodes)
        steps = torch.tensor([float(paths[int(node)]) for node in tree.article_node])
        nearer = steps[:, None] < steps[None, :]
        assert torch.equal(difficulty[row][:, None] > difficulty[row][None, :], nearer)


@settings(max_examples=100, deadline=None)
@given(cases(), st.randoms(use_true_random=False))
def test_permuted_leaves_stand_at_each_others_places(case, chance):
    articles, gold = case
    permutation = np.array(chance.sample(range(len(articles)), len(articles)))
    tree = LegislativeTree(articles)
    view = TreeView(tree, gold, CPU, permutation=permutation)
    # Article i goes with the law and headings of article permutation[i].
    moved = LegislativeTree([articles[place] for place in permutation])
    got = distances(view, gold.n_questions)
    for row, positives in enumerate(gold.positives):
        # Law indices differ, distances do not: "farther" adds the same in both trees.
        assert got[row].tolist() == moved.min_distances(positives).tolist()


@pytest.mark.parametrize("cross_law", ["farther", "path"])
def test_real_law_has_the_trees_distances(real_data: Callable[[str], Path], cross_law):
    corpus = StatuteCorpus.read(real_data("pdpa_en"))
    tree = LegislativeTree(corpus)
    chance = np.random.default_rng(0)
    positives = [chance.choice(len(corpus), 1 + row % 7).tolist() for row in range(40)]
    gold = gold_of(len(corpus), positives)
    got = distances(TreeView(tree, gold, CPU, cross_law=cross_law), 40)
    expected = [tree.min_distances(each, cross_law=cross_law) for each in gold.positives]
    assert np.array_equal(got, np.stack(expected))


def test_an_unknown_cross_law_is_refused():
    articles = [Article("0", "Law", "0", (), "-")]
    with pytest.raises(ValueError, match="cross_law must be 'farther' or 'path', not 'near'"):
        TreeView(LegislativeTree(articles), gold_of(1, [[0]]), CPU, cross_law="near")  # type: ignore[arg-type]
