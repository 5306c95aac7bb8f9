"""How much law there is, in words."""

from __future__ import annotations


def counted(count: int, noun: str) -> str:
    """A number with a regular English noun.

    >>> counted(1, "law"), counted(1200, "law")
    ('1 law', '1,200 laws')
    """
    return f"{count:,} {noun}{'' if count == 1 else 's'}"


def articles_of_laws(articles: int, laws: int) -> str:
    """How many articles of how many laws.

    >>> articles_of_laws(315, 1)
    '315 articles of 1 law'
    """
    return f"{counted(articles, 'article')} of {counted(laws, 'law')}"
