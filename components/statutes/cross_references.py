"""Who cites whom among the articles of a corpus."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from components.statutes.article import Article
from components.statutes.citation_resolver import CitationResolver


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
        with_texts: The same articles, read one by one, where those of `articles` come without
            their texts.
    """
    resolver = CitationResolver((article.id, article.law, article.number) for article in articles)
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
