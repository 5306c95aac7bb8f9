"""What stands around an article: the divisions above it, its siblings, citations both ways."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Literal

from components.statutes.article import Article
from components.statutes.citations.patterns import parse_number
from components.statutes.corpus import StatuteCorpus
from components.statutes.graph import cross_references
from pipelines.files import LoadingError, did_you_mean
from pipelines.tree_view.citing import Citations
from pipelines.tree_view.structure import Division, LawStructure

Role = Literal["previous", "next"]

_NAMED = 3  # articles that a message suggests


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
    citations = Citations(cross_references(corpus), len(corpus))
    return neighbourhood_in(LawStructure(corpus), citations, position, corpus.__getitem__)


def neighbourhood_in(
    structure: LawStructure,
    citations: Citations | None,
    position: int,
    article_at: Callable[[int], Article],
) -> Neighbourhood:
    """The neighbourhood of the article at a position, in a structure that is at hand.

    Args:
        structure: Of the whole corpus.
        citations: Of the whole corpus; None leaves them out.
        position: Of the article.
        article_at: Gives the articles by position; those that are not shown with their first
            words may come without text.
    """
    tree = structure.tree

    def at(place: int | None) -> Article | None:
        return None if place is None else article_at(place)

    def every(places: list[int]) -> tuple[Article, ...]:
        return tuple(article_at(place) for place in places)

    return Neighbourhood(
        article=article_at(position),
        path=tuple(structure.division(node) for node in tree.path(position)[:-1]),
        siblings=every(structure.siblings(position)),
        previous=at(tree.previous(position)),
        next=at(tree.next(position)),
        cites=every(citations.cited_in(position) if citations else []),
        cited_by=every(citations.citing(position) if citations else []),
    )
