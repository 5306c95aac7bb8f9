"""Addresses of the views of the law, in each language."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import date
from urllib.parse import quote, urlencode

from ui.language import Language, address

ARTICLE = "/article"
LAW = "/law"
PICTURE = "/picture"


def article_link(id: str, language: Language, on: date | None = None, **more: str) -> str:
    """The address of an article's view.

    Args:
        id: of the article.
        language: of the interface.
        on: the day of which the state is shown; None for today.
        more: further parameters: `as`, an export.
    """
    that_day = [("on", str(on))] if on else []
    return address(with_query(ARTICLE, [("id", id), *that_day, *more.items()]), language)


def division_link(
    law: str,
    headings: Sequence[str],
    language: Language,
    page: int = 1,
    on: date | None = None,
) -> str:
    """The address of the view of a law, or of one of its divisions.

    Args:
        law: its name; "" for the list of all laws.
        headings: from the top of the law down to the division; none for the law itself.
        language: of the interface.
        page: of the list of its articles, from 1.
        on: the day of which states are shown; None for today.
    """
    ways = [("of", law), *(("in", heading) for heading in headings)]
    # A blank heading divides nothing.
    steps = [(name, value) for name, value in ways if value.strip()]
    if page != 1:
        steps.append(("page", str(page)))
    if on is not None:
        steps.append(("on", str(on)))
    return address(with_query(LAW, steps), language)


def picture_link(id: str, language: Language) -> str:
    """The address of the picture of an article's place in the law."""
    return address(with_query(PICTURE, [("id", id)]), language)


def with_query(path: str, steps: Sequence[tuple[str, str]]) -> str:
    """A path with parameters, percent-encoded: none of them can leave the query."""
    query = urlencode(steps, quote_via=quote, safe="", errors="replace")
    return f"{path}?{query}" if query else path
