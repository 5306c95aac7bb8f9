"""What is known of a corpus once: its tree, counted, and its citations both ways."""

import random
from dataclasses import replace

from components.statutes.article import Article
from components.statutes.corpus import StatuteCorpus
from components.statutes.cross_references import CrossReferences, cross_references
from pipelines.tree_view.citing import Citations
from pipelines.tree_view.neighbourhood import neighbourhood, neighbourhood_in
from pipelines.tree_view.structure import LawStructure


def some_law(n: int, seed: int) -> list[Article]:
    """Articles of three laws at any depth, mixed, each citing some others."""
    chance = random.Random(seed)
    return [
        Article(
            f"a{number}",
            f"Law {chance.randint(1, 3)}",
            str(number),
            tuple(f"Division {chance.randint(1, 3)}" for _ in range(chance.randint(0, 4))),
            f"See article {chance.randint(1, n)} and article {chance.randint(1, n)}.",
        )
        for number in range(1, n + 1)
    ]


def test_articles_below_are_those_with_the_division_on_their_way():
    articles = some_law(80, 1)
    structure = LawStructure(articles)
    tree = structure.tree
    for node in range(tree.n_nodes - tree.n_articles):
        way = [tree.label[each] for each in tree.ancestors[node] if each > 0]
        below = sum([each.law, *each.headings][: len(way)] == way for each in articles)
        assert structure.articles_below[node] == below


def test_siblings_stand_in_order_and_include_the_article():
    articles = some_law(80, 2)
    structure = LawStructure(articles)
    for position, article in enumerate(articles):
        place = (article.law, article.headings)
        expected = [n for n, each in enumerate(articles) if (each.law, each.headings) == place]
        assert structure.siblings(position) == expected


def test_citations_are_the_pairs_from_either_side():
    pairs = sorted({(random.Random(n).randint(0, 19), n % 20) for n in range(60)})
    citations = Citations(CrossReferences(pairs, 0), 20)
    assert [(a, b) for a in range(20) for b in citations.cited_in(a)] == pairs
    assert [(a, b) for b in range(20) for a in citations.citing(b)] == sorted(
        pairs, key=lambda pair: (pair[1], pair[0])
    )


def test_no_citations_are_none():
    citations = Citations(CrossReferences([], 0), 3)
    assert [citations.cited_in(n) + citations.citing(n) for n in range(3)] == [[], [], []]


def test_resident_parts_give_the_same_neighbourhood_as_the_whole_corpus():
    corpus = StatuteCorpus(some_law(60, 3))
    bare = [replace(article, text="") for article in corpus]
    structure = LawStructure(bare)
    citations = Citations(cross_references(bare, iter(corpus)), len(corpus))
    for position in range(len(corpus)):
        resident = neighbourhood_in(structure, citations, position, corpus.__getitem__)
        assert resident == neighbourhood(corpus, position)


def test_without_citations_the_place_is_whole_all_the_same():
    corpus = StatuteCorpus(some_law(20, 4))
    place = neighbourhood_in(LawStructure(corpus), None, 7, corpus.__getitem__)
    assert (place.cites, place.cited_by) == ((), ())
    assert place.siblings == neighbourhood(corpus, 7).siblings
