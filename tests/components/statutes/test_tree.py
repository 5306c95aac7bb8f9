"""The shape of the tree, compared with networkx, and its neighbours."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import Article, LegislativeTree

GENERAL = "Chapter 1. General provisions"


def articles_of(*places):
    return [
        Article(str(n), law, str(n), headings, f"Words {n}.")
        for n, (law, headings) in enumerate(places)
    ]


def graph_of(tree):
    graph = networkx.Graph()
    graph.add_nodes_from(range(tree.n_nodes))
    graph.add_edges_from((parent, node) for node, parent in enumerate(tree.parent.tolist()) if node)
    return graph


@st.composite
def corpora(draw):
    """Few labels, so that headings repeat across laws, levels and divisions; laws interleave."""
    headings = st.lists(st.sampled_from(["A", "B", "C"]), max_size=4).map(tuple)
    places = st.tuples(st.sampled_from(["Law 1", "Law 2", "Law 3"]), headings)
    return articles_of(*draw(st.lists(places, min_size=1, max_size=14)))


@pytest.fixture(scope="module")
def two_codes():
    return LegislativeTree(
        articles_of(
            ("Housing Code", ("Book I", GENERAL)),
            ("Housing Code", ("Book I", GENERAL)),
            ("Work Code", (GENERAL,)),
            ("Housing Code", ("Book I", "Chapter 2")),
            ("Housing Code", ("Book II", GENERAL)),
            ("Work Code", ()),
            ("Housing Code", ("Book I", GENERAL)),
        )
    )


def test_a_heading_repeated_elsewhere_is_another_division(two_codes):
    parents = two_codes.parent[two_codes.article_node]
    general = [int(parents[position]) for position in (0, 2, 4)]
    assert [two_codes.label[node] for node in general] == [GENERAL] * 3
    assert len(set(general)) == 3
    assert parents[0] == parents[6], "the same path, not next to each other, is one division"


@given(corpora())
def test_arrays_hold_what_their_names_say(articles):
    tree = LegislativeTree(articles)
    graph = graph_of(tree)
    assert networkx.is_tree(graph)
    depths = networkx.single_source_shortest_path_length(graph, 0)
    paths = networkx.single_source_shortest_path(graph, 0)
    assert tree.ancestors.shape == (tree.n_nodes, int(tree.depth.max()) + 1)
    for node in range(tree.n_nodes):
        assert tree.depth[node] == depths[node]
        padded = paths[node] + [-1] * (tree.ancestors.shape[1] - len(paths[node]))
        assert tree.ancestors[node].tolist() == padded
        assert tree.parent[node] == (paths[node][-2] if node else -1)
        assert tree.parent[node] < node, "a parent's number is below its children's"
    for position, article in enumerate(articles):
        node = int(tree.article_node[position])
        labels = [tree.label[step] for step in tree.path(position)]
        assert labels == [article.law, *article.headings, article.number]
        assert tree.depth[node] == 2 + len(article.headings)
        assert tree.kind[node] == "article"
        assert tree.laws[tree.law_of[position]] == article.law
    for array in (tree.parent, tree.depth, tree.ancestors, tree.article_node, tree.law_of):
        assert array.dtype == np.int32


@given(corpora())
def test_children_are_every_node_below_in_the_laws_order(articles):
    tree = LegislativeTree(articles)

    def leaves(node):
        if tree.kind[node] == "article":
            return [int(tree.label[node])]
        return [leaf for child in tree.children(node) for leaf in leaves(child)]

    assert sorted(leaves(0)) == list(range(len(articles)))
    for node in range(tree.n_nodes):
        below = tree.children(node)
        assert all(tree.parent[child] == node for child in below)
        firsts = [min(leaves(child)) for child in below]
        assert firsts == sorted(firsts)


def test_siblings_and_neighbours_stay_in_their_law(two_codes):
    assert two_codes.siblings(0) == [1, 6]
    assert two_codes.siblings(5) == []
    assert [two_codes.next(p) for p in (1, 2, 4, 5, 6)] == [3, 5, 6, None, None]
    assert [two_codes.previous(p) for p in (0, 1, 2, 3, 5)] == [None, 0, None, 1, 2]
