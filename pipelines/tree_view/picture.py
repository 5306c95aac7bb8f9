"""The picture of an article in its law, as SVG that a lawyer can read."""

from __future__ import annotations

from components.statutes.article import Article
from pipelines.tree_view.attention import Attention
from pipelines.tree_view.citations import Join, citations_height, draw_citations
from pipelines.tree_view.colours import CITATION, LINE, PAPER, QUIET, SEQUENCE, TREE, night_style
from pipelines.tree_view.lettering import text_width
from pipelines.tree_view.marks import SERIF, letters, line_width, name_of, paragraph, per_cent
from pipelines.tree_view.neighbourhood import Neighbourhood
from pipelines.tree_view.outline import Outline, draw_outline
from pipelines.tree_view.svg import element, path, words
from pipelines.tree_view.wording import ENGLISH, Wording

_WIDTH, _MARGIN = 1200.0, 48.0
_COLUMN = 320.0  # width of the citations
_GUTTER = 120.0  # for the lines that lead to them
_ARCS = 56.0  # for the lines between neighbours where there are no citations
_SHADE = 0.65  # lines may cross each other


def draw_picture(
    place: Neighbourhood, attention: Attention | None, note: str, wording: Wording = ENGLISH
) -> str:
    """The whole SVG, a file's text.

    Args:
        place: What is drawn.
        attention: The shares that are drawn with it.
        note: Where the shares come from, or why there are none; stands below the picture. "" for
            nothing.
        wording: The words that are not the law's; `note` is in their language.
    """
    head, top = _head(place.article, wording)
    tall = citations_height(place)
    right = _WIDTH - _MARGIN - (_COLUMN + _GUTTER if tall else _ARCS)
    outline = draw_outline(place, attention, _MARGIN + 8, right, top, wording)
    middle = sum(outline.article) / 2
    start = max(top, min(middle - tall / 2, outline.bottom - tall))
    cards, joins = draw_citations(
        place, attention, _WIDTH - _MARGIN - _COLUMN, _WIDTH - _MARGIN, start, wording
    )
    lines = _joined(outline, joins, attention, _WIDTH - _MARGIN - _COLUMN)
    foot, height = _foot(max(outline.bottom, start + tall) + 22, place, note, wording)
    page = element("rect", width=_WIDTH, height=height, fill=PAPER)
    return (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        + element(
            "svg",
            element("title", words(f"{name_of(place.article)}, {place.article.law}"), id="title"),
            element("desc", words(described(place, attention, note, wording)), id="desc"),
            element("style", night_style()),
            page,
            element(
                "g", head, *outline.back, lines, *outline.front, cards, foot, font_family=SERIF
            ),
            xmlns="http://www.w3.org/2000/svg",
            viewBox=f"0 0 {_WIDTH:g} {height:g}",
            width=_WIDTH,
            height=height,
            role="img",
            aria_labelledby="title desc",
            lang=wording.lang,
        )
        + "\n"
    )


def described(
    place: Neighbourhood, attention: Attention | None, note: str, wording: Wording = ENGLISH
) -> str:
    """The picture in words, for those who hear it."""

    def named(article: Article, share: float | None) -> str:
        of = wording.told_of_law.format(law=article.law)
        law = "" if article.law == place.article.law else of
        return f"{name_of(article)}{law}" + (f" ({per_cent(share)})" if share is not None else "")

    above = wording.told_joint.join(division.label for division in reversed(place.path))
    said = [wording.told_place.format(name=name_of(place.article), places=above)]
    if attention and attention.division is not None:
        share = per_cent(attention.division)
        said.append(wording.told_division_share.format(share=share))
    if attention and attention.own is not None:
        said.append(wording.told_own_share.format(share=per_cent(attention.own)))
    said.append(wording.counted(len(place.siblings) - 1, wording.told_beside))
    if place.previous:
        name = named(place.previous, attention.previous if attention else None)
        said.append(wording.told_before.format(name=name))
    if place.next:
        name = named(place.next, attention.next if attention else None)
        said.append(wording.told_after.format(name=name))
    for sentence, articles, shares in (
        (wording.told_cites, place.cites, attention.cites if attention else {}),
        (wording.told_cited_by, place.cited_by, attention.cited_by if attention else {}),
    ):
        if articles:
            names = ", ".join(named(each, shares.get(each.id)) for each in articles)
            said.append(sentence.format(names=names))
    return " ".join([*said, note]).rstrip()


def _head(article: Article, wording: Wording) -> tuple[str, float]:
    room = _WIDTH - 2 * _MARGIN
    name, end = paragraph(_MARGIN, 74, name_of(article), 34, room, 2, bold=True)
    law, end = paragraph(_MARGIN, end + 32, article.law, 19, room, 2, fill=QUIET)
    days = _days(article, wording)
    if days:
        force, end = paragraph(_MARGIN, end + 24, days, 14, room, 1, fill=QUIET, sans=True)
        law += force
    rule = path("M", _MARGIN, end + 22, "H", _WIDTH - _MARGIN, stroke=LINE)
    return name + law + rule, end + 40


def _days(article: Article, wording: Wording) -> str:
    first, last = article.valid_from, article.valid_to
    start = wording.from_day.format(day=wording.day(first)) if first else ""
    end = wording.to_day.format(day=wording.day(last)) if last else ""
    return f"{wording.in_force}{start}{end}" if start or end else ""


def _joined(outline: Outline, joins: list[Join], attention: Attention | None, column: float) -> str:
    """The lines between the article's right edge and its neighbours and citations."""
    top, bottom = outline.article
    # The previous article is joined above the citations, the next one below them.
    ends = sorted(joins)
    step = (bottom - top) / (len(ends) + 3)
    drawn = []
    for role, y in outline.joins.items():
        start = top + step if role == "previous" else bottom - step
        drawn.append(_arc(outline.right, start, y, attention.beside(role) if attention else None))
    for number, (y, share, outward) in enumerate(ends, start=2):
        drawn.append(_arrow(outline.right, top + step * number, column, y, share, outward=outward))
    return "".join(drawn)


def _arc(x: float, start: float, end: float, share: float | None) -> str:
    """A line between two rows, bent to the right."""
    width = line_width(share)
    bend = x + 18 + width / 2 + abs(end - start) * 0.08
    way = ("M", x, start, "C", bend, start, bend, end, x, end)
    return path(*way, stroke=SEQUENCE, stroke_width=width, stroke_opacity=_SHADE)


def _arrow(
    left: float, start: float, right: float, end: float, share: float | None, *, outward: bool
) -> str:
    """A line from the article to a citation's card; its head is on the cited side."""
    width = line_width(share)
    head = 7 + width / 2
    begin, stop = (left, right - head) if outward else (left + head, right)
    half = (left + right) / 2
    line = path(
        *("M", begin, start, "C", half + 16, start, half - 16, end, stop, end),
        stroke=CITATION,
        stroke_width=width,
    )
    tip, base, y = (right, stop, end) if outward else (left, begin, start)
    spread = 3 + width * 0.75
    corners = f"{base:.1f},{y - spread:.1f} {base:.1f},{y + spread:.1f} {tip:.1f},{y:.1f}"
    point = element("polygon", points=corners, fill=CITATION)
    return element("g", line, point, opacity=_SHADE)


def _foot(top: float, place: Neighbourhood, note: str, wording: Wording) -> tuple[str, float]:
    """What the colours mean, and the note; gives the lowest line too."""
    room = _WIDTH - 2 * _MARGIN
    drawn = [path("M", _MARGIN, top, "H", _WIDTH - _MARGIN, stroke=LINE)]
    x, y = _MARGIN, top + 30
    meanings = [(TREE, wording.stands_in)]
    if place.previous or place.next:
        meanings.append((SEQUENCE, wording.in_sequence))
    if place.cites or place.cited_by:
        meanings.append((CITATION, wording.citation))
    for colour, meaning in meanings:
        drawn.append(path("M", x, y - 4.5, "H", x + 30, stroke=colour, stroke_width=3))
        drawn.append(letters(x + 38, y, meaning, 13, sans=True))
        x += 38 + text_width(meaning, 13) + 32
    y += 6
    placed = any(division.of > 1 for division in place.path[1:])
    for said in filter(None, (note, f"{wording.places if placed else ''}{wording.citations}")):
        text, y = paragraph(_MARGIN, y + 22, said, 13, room, 6, fill=QUIET, sans=True)
        drawn.append(text)
    return "".join(drawn), y + 34
