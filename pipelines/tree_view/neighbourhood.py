"""What stands around an article: the divisions above it, its siblings, citations both ways."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import islice
from typing import Literal

import numpy as np

from components.statutes.article import Article
from components.statutes.citation_numbers import parse_number
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import EDGE_KINDS, LegislativeGraph
from components.statutes.tree import LegislativeTree
from pipelines.files import LoadingError, did_you_mean

Role = Literal["previous", "next"]

_NAMED = 3  # articles that a message suggests


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


@dataclass(frozen=True, slots=True)
class Neighbourhood:
    """An article in its place.

    Attributes:
        article: The article.
        path: The law, then the divisions down to the article's own.
        siblings: Articles right below the same division in the law's order, the article included.
        previous: The article before it in its law, wherever that stands.
        next: The one after it.
        cites: Articles that its text cites, in the corpus's order.
        cited_by: Articles whose text cites it, in the corpus's order.
    """

    article: Article
    path: tuple[Division, ...]
    siblings: tuple[Article, ...]
    previous: Article | None
    next: Article | None
    cites: tuple[Article, ...]
    cited_by: tuple[Article, ...]

    def role_of(self, article: Article) -> Role | None:
        """Whether an article comes right before this one, or right after it."""
        if article == self.previous:
            return "previous"
        return "next" if article == self.next else None


def find_article(corpus: StatuteCorpus, article_id: str) -> int:
    """Position of the article with this id.

    Raises:
        LoadingError: There is none; says which may be meant, also where a number was given.
    """
    try:
        return corpus.position(article_id)
    except KeyError:
        number = parse_number(article_id)
        same = (
            f"'{article.id}' ({article.law}, {article.number})"
            for article in corpus
            if number is not None and parse_number(article.number) == number
        )
        named = list(islice(same, _NAMED))
        hint = (
            f" An article is given by its id: {', '.join(named)}."
            if named
            else f" The ids look like '{corpus[0].id}'."
        )
        near = "" if named else did_you_mean(article_id, corpus.ids)
        raise LoadingError(
            f"--article: no article of the corpus has the id '{article_id}'{near}.{hint}"
        ) from None


def neighbourhood(corpus: StatuteCorpus, position: int) -> Neighbourhood:
    """The neighbourhood of the article at a position; citations are sought in every text."""
    tree = LegislativeTree(corpus)
    graph = LegislativeGraph.of(corpus, citations=True)
    node = graph.article_node(position)

    def reached_by(kind: str) -> tuple[Article, ...]:
        messages = (graph.target == node) & (graph.kind == EDGE_KINDS.index(kind))
        return tuple(corpus[int(source) - graph.n_inner] for source in graph.source[messages])

    def at(place: int | None) -> Article | None:
        return None if place is None else corpus[place]

    siblings = sorted([position, *tree.siblings(position)])
    return Neighbourhood(
        article=corpus[position],
        path=tuple(_division(tree, each) for each in tree.path(position)[:-1]),
        siblings=tuple(corpus[each] for each in siblings),
        previous=at(tree.previous(position)),
        next=at(tree.next(position)),
        cites=reached_by("cites"),
        cited_by=reached_by("cited"),
    )


def _division(tree: LegislativeTree, node: int) -> Division:
    beside = [n for n in tree.children(int(tree.parent[node])) if tree.kind[n] != "article"]
    below = tree.ancestors[tree.article_node, tree.depth[node]] == node
    return Division(
        label=tree.label[node],
        place=beside.index(node) + 1,
        of=len(beside),
        articles=int(np.count_nonzero(below)),
    )
