"""What an article is called: in a heading, and where it is cited."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from components.statutes.article import spoken_number


def article_title(number: object) -> str:
    """An article's number as a heading; the word is the same in English and French."""
    return spoken_number(str(number))


def citation(article: Mapping[str, Any]) -> str:
    """How an article is cited: its law, then its number.

    Args:
        article: `law` and `number`, as in `pipelines.asking.found_article`.
    """
    title = article_title(article["number"])
    if title != str(article["number"]):
        title = title[0].lower() + title[1:]
    return ", ".join(part for part in (str(article["law"]), title) if part)
