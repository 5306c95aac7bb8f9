"""The legislative graph: its nodes and edges by slow oracles."""

import networkx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import (
    EDGE_KINDS,
    Article,
    LegislativeGraph,
    LegislativeTree,
    StatuteCorpus,
)
from components.statutes.graph import cross_references

GENERAL = "Chapter 1. General provisions"
HOUSING, WORK = "Housing Code of Aldermere (invented)", "Work Code of Aldermere (invented)"


@st.composite
def corpora(draw):
    """Few labels, so that headings repeat across laws and levels; laws interleave; all is cited."""
    headings = st.lists(st.sampled_from(["A", "B"]), max_size=3).map(tuple)
    laws = st.sampled_from([HOUSING, WORK])
    text = st.builds(
        "See article {} of the {}, and article {}.".format,
        st.integers(0, 9),
        st.sampled_from(["Housing Code", "Work Code"]),
        st.integers(0, 9),
    )
    places = draw(st.lists(st.tuples(laws, headings, text), min_size=1, max_size=10))
    return StatuteCorpus(
        Article(f"a{n}", law, str(n), path, words) for n, (law, path, words) in enumerate(places)
    )


@pytest.fixture(scope="module")
def two_codes():
    places = [
        (HOUSING, ("Book I", GENERAL), "This Code is about dwellings."),
        (WORK, (GENERAL,), "Subject to article 0 of the Housing Code and article 99."),
        (HOUSING, ("Book I", GENERAL), "See articles 0 and 3."),
        (WORK, (), "Words."),
        (HOUSING, ("Book II", GENERAL), "Words."),
    ]
    return StatuteCorpus(
        Article(f"a{n}", law, str(n), path, text) for n, (law, path, text) in enumerate(places)
    )


def everything(corpus):
    return LegislativeGraph.of(corpus, neighbours=True, citations=True)


def edges(graph, kind):
    """(source, target) of each edge of a kind."""
    chosen = graph.kind == EDGE_KINDS.index(kind)
    return set(zip(graph.source[chosen].tolist(), graph.target[chosen].tolist(), strict=True))


def turned(pairs):
    return {(b, a) for a, b in pairs}


def test_the_report_counts_nodes_edges_and_what_was_not_found(two_codes):
    assert everything(two_codes).report() == {
        "nodes": {"law": 2, "division": 5, "article": 5},
        "edges": {
            "self": 12,
            "down": 10,
            "up": 10,
            "previous": 3,
            "next": 3,
            "cites": 2,
            "cited": 2,
        },
        "mean_degree": 30 / 12,
        "largest_degree": 4,  # article 0: its chapter, the article behind it, two that cite it
        "unresolved_citations": 2,  # article 99, and article 3 of the Housing Code
    }


@given(corpora())
def test_edges_are_those_of_the_tree_the_order_and_the_citations(corpus):
    graph, tree = everything(corpus), LegislativeTree(corpus)
    assert (graph.n_nodes, graph.n_articles) == (tree.n_nodes - 1, len(corpus))
    assert (graph.article_nodes == tree.article_node - 1).all()
    assert list(graph.labels) == tree.label[1 : graph.n_inner + 1]
    down = {(int(p) - 1, n) for n, p in enumerate(tree.parent[1:]) if p > 0}
    before = [(tree.previous(position), position) for position in range(len(corpus))]
    previous = {(graph.article_node(a), graph.article_node(b)) for a, b in before if a is not None}
    references = cross_references(corpus)
    # The cited article speaks to the one that cites it.
    cites = {(graph.article_node(b), graph.article_node(a)) for a, b in references.pairs}
    assert edges(graph, "self") == {(node, node) for node in range(graph.n_nodes)}
    for one, other, expected in (
        ("down", "up", down),
        ("previous", "next", previous),
        ("cites", "cited", cites),
    ):
        assert edges(graph, one) == expected
        assert edges(graph, other) == turned(expected)
    assert graph.unresolved == references.unresolved
    leaving = graph.law_of[graph.source] != graph.law_of[graph.target]
    assert {EDGE_KINDS[kind] for kind in graph.kind[leaving]} <= {"cites", "cited"}
    for node in range(graph.n_nodes):
        assert graph.laws[graph.law_of[node]] == tree.label[tree.ancestors[node + 1, 1]]
    forest = networkx.Graph()
    forest.add_nodes_from(range(graph.n_nodes))
    forest.add_edges_from(edges(graph, "down"))
    assert networkx.is_forest(forest)
    assert networkx.number_connected_components(forest) == len(corpus.laws)
    rows = list(zip(graph.target, graph.source, graph.kind, strict=True))
    assert rows == sorted(set(rows)), "sorted by target, each once"
    assert graph.degree.tolist() == np.bincount(graph.target, minlength=graph.n_nodes).tolist()


@given(corpora(), st.integers(0, 3), st.data())
def test_a_neighbourhood_is_what_a_search_against_the_edges_finds(corpus, hops, data):
    graph = everything(corpus)
    nodes = data.draw(st.lists(st.integers(0, graph.n_nodes - 1), min_size=1, max_size=3))
    search = networkx.DiGraph(zip(graph.target.tolist(), graph.source.tolist(), strict=True))
    expected = set(nodes)
    for node in nodes:
        expected |= set(networkx.single_source_shortest_path_length(search, node, cutoff=hops))
    assert graph.neighbourhood(nodes, hops).tolist() == sorted(expected)


@given(corpora(), st.data())
def test_a_part_has_the_edges_among_its_nodes(corpus, data):
    graph = everything(corpus)
    nodes = sorted(data.draw(st.sets(st.integers(0, graph.n_nodes - 1))))
    part = graph.part(nodes)
    for kind in EDGE_KINDS:
        inside = {(a, b) for a, b in edges(graph, kind) if a in nodes and b in nodes}
        assert {(nodes[a], nodes[b]) for a, b in edges(part, kind)} == inside
    assert part.n_nodes == len(nodes)
    assert part.labels == tuple(graph.labels[node] for node in nodes if node < graph.n_inner)
    assert part.law_of.tolist() == graph.law_of[nodes].tolist()
    assert part.degree.tolist() == graph.degree[nodes].tolist(), "the whole's"


def test_a_corpus_without_articles_has_no_node():
    graph = everything(StatuteCorpus([]))
    assert (graph.n_nodes, len(graph.kind), graph.laws, graph.edge_kinds) == (0, 0, (), ())
    assert graph.report()["mean_degree"] == 0.0
