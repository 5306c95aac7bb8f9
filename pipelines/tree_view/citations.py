"""The right side of the picture: the articles that this one cites, and those that cite it."""

from __future__ import annotations

from collections.abc import Mapping

from components.statutes.article import Article
from pipelines.tree_view.attention import Attention
from pipelines.tree_view.colours import CITATION, LINE, QUIET, SHEET
from pipelines.tree_view.marks import (
    PILL_ROOM,
    beginning,
    group,
    letters,
    name_of,
    paragraph,
    per_cent,
    pill,
    title_of,
)
from pipelines.tree_view.neighbourhood import Neighbourhood
from pipelines.tree_view.svg import element
from pipelines.tree_view.wording import Wording

SHOWN = 5
_CARD, _GAP, _HEADER, _REST = 74.0, 10.0, 34.0, 24.0

# (middle of the card's left edge, share of attention, whether the article cites it)
Join = tuple[float, float | None, bool]


def citations_height(place: Neighbourhood) -> float:
    """Height of the whole side; 0 where there is no citation."""
    height = 0.0
    for articles in (place.cites, place.cited_by):
        if articles:
            height += _HEADER + min(len(articles), SHOWN) * (_CARD + _GAP)
            height += (_REST if len(articles) > SHOWN else 0) + 14
    return height


def draw_citations(
    place: Neighbourhood,
    attention: Attention | None,
    left: float,
    right: float,
    top: float,
    wording: Wording,
) -> tuple[str, list[Join]]:
    """Draw both lists from `top` on; gives the markup and where each article is to be joined."""
    drawn: list[str] = []
    joins: list[Join] = []
    for header, articles, shares, outward in (
        (wording.cites, place.cites, attention.cites if attention else {}, True),
        (wording.cited_by, place.cited_by, attention.cited_by if attention else {}, False),
    ):
        if not articles:
            continue
        count = wording.counted(len(articles), wording.articles)
        drawn.append(_header(left, top, header.format(articles=count)))
        top += _HEADER
        shown = _most_attended(articles, shares)
        for article in shown:
            share = shares.get(article.id)
            drawn.append(_card(article, place.article, share, left, right, top))
            joins.append((top + _CARD / 2, share, outward))
            top += _CARD + _GAP
        rest = [article for article in articles if article not in shown]
        if rest:
            together = sum(shares.get(article.id, 0.0) for article in rest)
            said = wording.counted(len(rest), wording.and_more)
            said += wording.together.format(share=per_cent(together)) if shares else ""
            drawn.append(letters(left, top + 12, said, 13, fill=QUIET, sans=True))
            top += _REST
        top += 14
    return "".join(drawn), joins


def _header(left: float, top: float, text: str) -> str:
    return letters(left, top + 16, text, 14, bold=True, fill=CITATION, sans=True)


def _most_attended(articles: tuple[Article, ...], shares: Mapping[str, float]) -> list[Article]:
    """The articles drawn, in the corpus's order; without shares the first ones."""
    best = sorted(articles, key=lambda article: -shares.get(article.id, 0.0))[:SHOWN]
    return [article for article in articles if article in best]


def _card(
    article: Article, here: Article, share: float | None, left: float, right: float, top: float
) -> str:
    frame = element(
        "rect",
        x=left,
        y=top,
        width=right - left,
        height=_CARD,
        rx=6,
        fill=SHEET,
        stroke=LINE,
    )
    inner = left + 12
    room = right - left - 24
    beside = room - (PILL_ROOM if share is not None else 0)
    name, _ = paragraph(inner, top + 21, name_of(article), 13.5, beside, 1, bold=True, sans=True)
    foreign = article.law != here.law
    if foreign:
        law, _ = paragraph(inner, top + 41, article.law, 13.5, room, 1)
        name += law
    text, _ = paragraph(
        inner,
        top + (60 if foreign else 41),
        beginning(article),
        13.5,
        room,
        1 if foreign else 2,
        fill=QUIET,
        lang=article.language,
    )
    shown = pill(right - 8, top + 17, share, CITATION) if share is not None else ""
    return group(title_of(article), frame, name, text, shown)
