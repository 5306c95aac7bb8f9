"""Draws the picture of an article in its law as SVG."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

from components.statutes.article import Article
from pipelines.tree_view.layout import Attention, Division, Neighbourhood, Role
from pipelines.tree_view.svg import (
    CITATION,
    INK,
    LINE,
    PAPER,
    PILL_ROOM,
    QUIET,
    SEQUENCE,
    SERIF,
    SHEET,
    TREE,
    WASH,
    beginning,
    element,
    fitted_line,
    group,
    letters,
    line_width,
    name_of,
    night_style,
    paragraph,
    path,
    per_cent,
    pill,
    rect,
    text_width,
    title_of,
    words,
)

# Singular and plural of a sentence or noun.
Forms = tuple[str, str]


@dataclass(frozen=True)
class Wording:
    """The words of a picture; values replace the names in braces. The defaults are English.

    Attributes:
        lang: BCP 47 tag of these words.
        number: Writes a whole number.
        day: Writes a date.
        zero_is_one: Whether nouns after 0 are singular.
        on: The day on which articles are marked as repealed; None marks none.
    """

    lang: str = "en"
    number: Callable[[int], str] = "{:,}".format
    day: Callable[[date], str] = date.isoformat
    zero_is_one: bool = False
    on: date | None = None
    repealed: str = "{name} (repealed)"
    articles: Forms = ("{count} article", "{count} articles")
    place: str = "{place} of {of}"
    divisions: str = "{label}: {articles}, {place} divisions at that level"
    more: str = "{count} more articles, {first} to {last}"
    and_more: Forms = ("and {count} more", "and {count} more")
    together: str = ", {share} together"
    role_previous: str = "previous"
    role_next: str = "next"
    own_text: str = "its own text"
    within: str = "in {heading}"
    below_law: str = "directly in the law"
    cites: str = "Refers to {articles}"
    cited_by: str = "Referred to by {articles}"
    in_force: str = "In force"
    from_day: str = " from {day}"
    to_day: str = " to {day}"
    stands_in: str = "is in"
    in_sequence: str = "comes before or after"
    citation: str = "arrow points to the article referred to"
    places: str = "“1 of 3” means the first of three at that level. "
    citations: str = "Cross-references are detected automatically and may be incomplete."
    told_place: str = "{name} is in {places}."
    told_joint: str = ", in "
    told_beside: Forms = (
        "{count} other article is in the same division.",
        "{count} other articles are in the same division.",
    )
    told_before: str = "Before it comes {name}."
    told_after: str = "After it comes {name}."
    told_cites: str = "It cites {names}."
    told_cited_by: str = "It is cited by {names}."
    told_of_law: str = " of {law}"
    told_division_share: str = "It attends to that division with {share}."
    told_own_share: str = "Of its own it keeps {share}."

    def counted(self, count: int, forms: Forms) -> str:
        """One of the forms with `{count}` put in."""
        one = count == 1 or (count == 0 and self.zero_is_one)
        return forms[0 if one else 1].format(count=self.number(count))

    def named(self, article: Article) -> str:
        """An article's number, and whether it is repealed."""
        name = name_of(article)
        is_repealed = self.on is not None and article.state(self.on) == "repealed"
        return self.repealed.format(name=name) if is_repealed else name


ENGLISH = Wording()

_PLACE_ALONE = Attention(None, None, None, None, {}, {})

_WIDTH, _MARGIN = 1200.0, 48.0
_ROOM = _WIDTH - 2 * _MARGIN
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
        note: Where the shares come from, or why there are none; printed below the picture. "" for
            none.
        wording: The words that are not the law's; `note` is in their language.
    """
    attention = attention or _PLACE_ALONE
    head, top = _head(place.article, wording)
    tall = _citations_height(place)
    column = _WIDTH - _MARGIN - _COLUMN
    right = column - _GUTTER if tall else _WIDTH - _MARGIN - _ARCS
    outline = _Outline(place, attention, _MARGIN + 8, right, top, wording)
    start = max(top, min(sum(outline.article) / 2 - tall / 2, outline.bottom - tall))
    cards, joins = _draw_citations(place, attention, column, start, wording)
    lines = _joined(outline, joins, attention, column)
    foot, height = _foot(max(outline.bottom, start + tall) + 22, place, note, wording)
    drawn = (head, *outline.back, lines, *outline.front, cards, foot)
    picture = element(
        "svg",
        element("title", words(f"{name_of(place.article)}, {place.article.law}"), id="title"),
        element("desc", words(described(place, attention, note, wording)), id="desc"),
        element("style", night_style()),
        element("rect", width=_WIDTH, height=height, fill=PAPER),
        element("g", *drawn, font_family=SERIF),
        xmlns="http://www.w3.org/2000/svg",
        viewBox=f"0 0 {_WIDTH:g} {height:g}",
        width=_WIDTH,
        height=height,
        role="img",
        aria_labelledby="title desc",
        lang=wording.lang,
    )
    return f'<?xml version="1.0" encoding="UTF-8"?>\n{picture}\n'


def described(
    place: Neighbourhood, attention: Attention, note: str, wording: Wording = ENGLISH
) -> str:
    """The picture in words, for screen readers."""

    def named(article: Article, share: float | None) -> str:
        foreign = article.law != place.article.law
        law = wording.told_of_law.format(law=article.law) if foreign else ""
        return f"{wording.named(article)}{law}" + ("" if share is None else f" ({per_cent(share)})")

    above = wording.told_joint.join(division.label for division in reversed(place.path))
    sentences = [wording.told_place.format(name=name_of(place.article), places=above)]
    for sentence, share in (
        (wording.told_division_share, attention.division),
        (wording.told_own_share, attention.own),
    ):
        if share is not None:
            sentences.append(sentence.format(share=per_cent(share)))
    sentences.append(wording.counted(len(place.siblings) - 1, wording.told_beside))
    for sentence, article, share in (
        (wording.told_before, place.previous, attention.previous),
        (wording.told_after, place.next, attention.next),
    ):
        if article:
            sentences.append(sentence.format(name=named(article, share)))
    for sentence, articles, shares in (
        (wording.told_cites, place.cites, attention.cites),
        (wording.told_cited_by, place.cited_by, attention.cited_by),
    ):
        if articles:
            names = ", ".join(named(each, shares.get(each.id)) for each in articles)
            sentences.append(sentence.format(names=names))
    return " ".join([*sentences, note]).rstrip()


def _head(article: Article, wording: Wording) -> tuple[str, float]:
    """Number, law and days in force; returns the markup and where the picture continues."""
    name, end = paragraph(_MARGIN, 74, wording.named(article), 34, _ROOM, 2, bold=True)
    law, end = paragraph(_MARGIN, end + 32, article.law, 19, _ROOM, 2, fill=QUIET)
    first, last = article.valid_from, article.valid_to
    days = wording.from_day.format(day=wording.day(first)) if first else ""
    days += wording.to_day.format(day=wording.day(last)) if last else ""
    if days:
        end += 24
        days = f"{wording.in_force}{days}"
        law += fitted_line(_MARGIN, end, days, 14, _ROOM, fill=QUIET, sans=True)
    rule = path("M", _MARGIN, end + 22, "H", _WIDTH - _MARGIN, stroke=LINE)
    return name + law + rule, end + 40


def _foot(top: float, place: Neighbourhood, note: str, wording: Wording) -> tuple[str, float]:
    """What the colours mean, and the note; returns the markup and the lowest line."""
    drawn = [path("M", _MARGIN, top, "H", _WIDTH - _MARGIN, stroke=LINE)]
    x, y = _MARGIN, top + 30
    for colour, meaning, is_drawn in (
        (TREE, wording.stands_in, True),
        (SEQUENCE, wording.in_sequence, place.previous or place.next),
        (CITATION, wording.citation, place.cites or place.cited_by),
    ):
        if is_drawn:
            drawn.append(path("M", x, y - 4.5, "H", x + 30, stroke=colour, stroke_width=3))
            drawn.append(letters(x + 38, y, meaning, 13, sans=True))
            x += 38 + text_width(meaning, 13) + 32
    y += 6
    has_places = any(division.of > 1 for division in place.path[1:])
    for text in filter(None, (note, f"{wording.places if has_places else ''}{wording.citations}")):
        lines, y = paragraph(_MARGIN, y + 22, text, 13, _ROOM, 6, fill=QUIET, sans=True)
        drawn.append(lines)
    return "".join(drawn), y + 34


# The left side: the way down from the law, and the articles around this one.

_SHOWN = 9
_STEP, _DEEPEST = 26.0, 190.0  # indentation of a level, and of all levels together
_NOTE_ROOM = 128.0
_NUMBER_ROOM = 180.0
_ROLE_ROOM = 66.0  # of "previous"
_ROW, _INSET, _ASIDE_GAP = 32.0, 10.0, 4.0


def window(count: int, here: int) -> tuple[int, int]:
    """Start and end of the siblings to draw: the nearest ones; never leaves out just one."""
    if count <= _SHOWN + 1:
        return 0, count
    first = min(max(here - _SHOWN // 2, 0), count - _SHOWN)
    last = first + _SHOWN
    first = 0 if first == 1 else first
    return first, count if last == count - 1 else last


class _Outline:
    """The drawn left side, and where lines from elsewhere may end.

    Attributes:
        right: Right edge, where neighbours are joined to the article.
        bottom: The lowest line drawn so far.
        back: Markup below everything else.
        front: Markup above it.
        article: Top and bottom of the article's own box.
        joins: Middle of the rows of the neighbours in sequence, where there are any.
    """

    def __init__(
        self,
        place: Neighbourhood,
        attention: Attention,
        left: float,
        right: float,
        top: float,
        wording: Wording,
    ) -> None:
        self.right = right
        self.bottom = top
        self.back: list[str] = []
        self.front: list[str] = []
        self.article = (0.0, 0.0)
        self.joins: dict[Role, float] = {}
        self._place, self._attention, self._wording = place, attention, wording
        indent = min(_STEP, _DEEPEST / len(place.path))
        x, above = left, 0.0
        for level, division in enumerate(place.path):
            share = attention.division if level == len(place.path) - 1 else None
            middle = self._draw_division(division, x, share, is_law=level == 0)
            if level:
                way = ("M", x - indent, above + 9, "V", middle, "H", x - 8)
                self.back.append(path(*way, stroke=LINE))
            x, above = x + indent, middle
        self._x = x  # where the articles begin
        shown = [place.article, *self._shown()[1], place.previous, place.next]
        widths = [
            text_width(wording.named(each), 14, bold=True) for each in shown if each is not None
        ]
        self._number_room = min(_NUMBER_ROOM, max(widths) + 14)
        self._draw_articles(x - indent, above + 9)

    def _draw_division(
        self, division: Division, x: float, share: float | None, *, is_law: bool
    ) -> float:
        """Draw one line of the way down; returns the middle of its mark."""
        size = 17.0 if is_law else 15.5
        middle = self.bottom + 14
        note_end = self.right - (PILL_ROOM if share is not None else 0)
        room = note_end - _NOTE_ROOM - x - 18
        text, end = paragraph(x + 14, middle + 5, division.label, size, room, 3, bold=is_law)
        say = self._wording
        counted = say.counted(division.articles, say.articles)
        note, title = counted, f"{division.label}: {counted}"
        if not is_law and division.of > 1:
            where = say.place.format(place=say.number(division.place), of=say.number(division.of))
            note = f"{where} · {counted}"
            title = say.divisions.format(label=division.label, articles=counted, place=where)
        mark = element("circle", cx=x, cy=middle, r=5 if is_law else 4, fill=TREE)
        note = letters(note_end, middle + 5, note, 12.5, fill=QUIET, sans=True, anchor="end")
        self.front.append(group(title, mark, text, note, pill(self.right, middle, share, TREE)))
        self.bottom = end + 13
        return middle

    def _shown(self) -> tuple[Sequence[Article], Sequence[Article], Sequence[Article]]:
        """The siblings that are left out above, that are drawn, and that are left out below."""
        siblings = self._place.siblings
        first, last = window(len(siblings), siblings.index(self._place.article))
        return siblings[:first], siblings[first:last], siblings[last:]

    def _draw_articles(self, spine_x: float, spine_top: float) -> None:
        """Draw the articles of the last division, hung on a line down from its mark."""
        place = self._place
        above, shown, below = self._shown()
        rows = [self._draw_gap(above)] if above else []
        for article in shown:
            if article != place.article:
                rows.append(self._draw_row(article, place.role_of(article)))
                continue
            # Its neighbours in sequence are next to it, whatever their division.
            if place.previous is not None and place.previous not in place.siblings:
                self._draw_row(place.previous, "previous", aside=True)
            rows.append(self._draw_self())
            if place.next is not None and place.next not in place.siblings:
                self._draw_row(place.next, "next", aside=True)
        if below:
            rows.append(self._draw_gap(below))
        end = self._x - _INSET
        self.back += [path("M", spine_x, row, "H", end, stroke=LINE) for row in rows]
        self.back.append(path("M", spine_x, spine_top, "V", rows[-1], stroke=LINE))
        way = ("M", spine_x, spine_top, "V", sum(self.article) / 2, "H", end)
        width = line_width(self._attention.division)
        self.back.append(path(*way, stroke=TREE, stroke_width=width, stroke_linejoin="round"))

    def _draw_self(self) -> float:
        """Draw the article itself; returns the middle of its box."""
        article, own = self._place.article, self._attention.own
        top = self.bottom + _ASIDE_GAP
        base = top + 24
        left, end = self._x + self._number_room, self.right - _INSET
        text, bottom = paragraph(
            left, base, beginning(article), 15, end - left, 5, lang=article.language
        )
        bottom += 16
        kept = ""
        if own is not None:
            bottom += 28
            named = end - PILL_ROOM, bottom - 17.5, self._wording.own_text, 12.5
            kept = letters(*named, fill=QUIET, sans=True, anchor="end")
            kept += pill(end, bottom - 22, own, TREE)
        box = self._box(top, bottom, WASH, TREE, stroke_width=2)
        number = self._number(article, base, TREE)
        self.front.append(group(title_of(article), box, number, text, kept))
        self.article = (top, bottom)
        self.bottom = bottom + _ASIDE_GAP
        return (top + bottom) / 2

    def _draw_row(self, article: Article, role: Role | None, *, aside: bool = False) -> float:
        """Draw another article on one line; returns its middle.

        An article of another division (`aside`) is framed, and a second line names the division.
        """
        top = self.bottom + (_ASIDE_GAP if aside else 0)
        height = 50.0 if aside else _ROW
        base, middle = top + 21, top + height / 2
        left, end = self._x + self._number_room, self.right - _INSET
        share = self._attention.beside(role) if role else None
        parts = []
        if aside:
            parts.append(self._box(top, top + height, PAPER, SEQUENCE, stroke_dasharray="2 4"))
        if share is not None:
            parts.append(pill(end, base - 5, share, SEQUENCE))
            end -= PILL_ROOM
        say = self._wording
        if aside:
            above = article.headings[-1] if article.headings else None
            where = say.within.format(heading=above) if above else say.below_law
            parts.append(fitted_line(left, base + 19, where, 12.5, end - left, fill=QUIET))
        if role:
            self.joins[role] = middle
            named = say.role_previous if role == "previous" else say.role_next
            parts.append(letters(end, base, named, 12.5, fill=SEQUENCE, sans=True, anchor="end"))
            end -= _ROLE_ROOM
        parts.append(self._number(article, base, INK))
        style = {"fill": QUIET, "lang": article.language}
        parts.append(fitted_line(left, base, beginning(article), 14.5, end - left, **style))
        self.front.append(group(title_of(article), *parts))
        self.bottom = top + height + (_ASIDE_GAP if aside else 0)
        return middle

    def _box(self, top: float, bottom: float, fill: str, stroke: str, **style: Any) -> str:
        """The frame of a row."""
        left = self._x - _INSET
        width = self.right - self._x + _INSET
        return rect(left, top, width, bottom - top, 6, fill=fill, stroke=stroke, **style)

    def _draw_gap(self, left_out: Sequence[Article]) -> float:
        """Draw the line for siblings that are left out; returns its middle."""
        middle = self.bottom + 14
        ends = {"first": name_of(left_out[0]), "last": name_of(left_out[-1])}
        text = self._wording.more.format(count=self._wording.number(len(left_out)), **ends)
        room = self.right - self._x
        self.front.append(fitted_line(self._x, middle + 5, text, 13, room, fill=QUIET, sans=True))
        self.bottom += 30
        return middle

    def _number(self, article: Article, base: float, colour: str) -> str:
        style = {"bold": True, "fill": colour, "sans": True}
        return fitted_line(
            self._x, base, self._wording.named(article), 14, self._number_room - 8, **style
        )


# The right side: the articles that this one cites, and those that cite it.

SHOWN = 5
_CARD, _GAP, _HEADER, _REST = 74.0, 10.0, 34.0, 24.0

# (middle of the card's left edge, share of attention, whether the article cites it)
_Join = tuple[float, float | None, bool]


def _citations_height(place: Neighbourhood) -> float:
    """Height of the whole side; 0 if there is no citation."""
    height = 0.0
    for articles in (place.cites, place.cited_by):
        if articles:
            height += _HEADER + min(len(articles), SHOWN) * (_CARD + _GAP)
            height += (_REST if len(articles) > SHOWN else 0) + 14
    return height


def _draw_citations(
    place: Neighbourhood, attention: Attention, left: float, top: float, wording: Wording
) -> tuple[str, list[_Join]]:
    """Draw both lists from `top` on; returns the markup and where to join each article."""
    drawn: list[str] = []
    joins: list[_Join] = []
    for header, articles, shares, outward in (
        (wording.cites, place.cites, attention.cites, True),
        (wording.cited_by, place.cited_by, attention.cited_by, False),
    ):
        if not articles:
            continue
        title = header.format(articles=wording.counted(len(articles), wording.articles))
        drawn.append(letters(left, top + 16, title, 14, bold=True, fill=CITATION, sans=True))
        top += _HEADER
        shown = _most_attended(articles, shares)
        for article in shown:
            share = shares.get(article.id)
            drawn.append(_card(article, place.article, share, left, top, wording))
            joins.append((top + _CARD / 2, share, outward))
            top += _CARD + _GAP
        rest = [article for article in articles if article not in shown]
        if rest:
            together = sum(shares.get(article.id, 0.0) for article in rest)
            text = wording.counted(len(rest), wording.and_more)
            text += wording.together.format(share=per_cent(together)) if shares else ""
            drawn.append(letters(left, top + 12, text, 13, fill=QUIET, sans=True))
            top += _REST
        top += 14
    return "".join(drawn), joins


def _most_attended(articles: tuple[Article, ...], shares: Mapping[str, float]) -> list[Article]:
    """The articles drawn, in the corpus's order; without shares the first ones."""
    best = sorted(articles, key=lambda article: -shares.get(article.id, 0.0))[:SHOWN]
    return [article for article in articles if article in best]


def _card(
    article: Article, here: Article, share: float | None, left: float, top: float, wording: Wording
) -> str:
    frame = rect(left, top, _COLUMN, _CARD, 6, fill=SHEET, stroke=LINE)
    inner, room = left + 12, _COLUMN - 24
    beside = room - (PILL_ROOM if share is not None else 0)
    name = fitted_line(inner, top + 21, wording.named(article), 13.5, beside, bold=True, sans=True)
    base, lines = top + 41, 2
    if article.law != here.law:
        name += fitted_line(inner, base, article.law, 13.5, room)
        base, lines = top + 60, 1
    style = {"fill": QUIET, "lang": article.language}
    text, _ = paragraph(inner, base, beginning(article), 13.5, room, lines, **style)
    shown = pill(left + _COLUMN - 8, top + 17, share, CITATION)
    return group(title_of(article), frame, name, text, shown)


# The lines between the article's right edge and its neighbours and citations.


def _joined(outline: _Outline, joins: list[_Join], attention: Attention, column: float) -> str:
    top, bottom = outline.article
    # The previous article is joined above the citations, the next one below them.
    ends = sorted(joins)
    step = (bottom - top) / (len(ends) + 3)
    drawn = []
    for role, y in outline.joins.items():
        start = top + step if role == "previous" else bottom - step
        drawn.append(_arc(outline.right, start, y, attention.beside(role)))
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
    way = ("M", begin, start, "C", half + 16, start, half - 16, end, stop, end)
    line = path(*way, stroke=CITATION, stroke_width=width)
    tip, base, y = (right, stop, end) if outward else (left, begin, start)
    spread = 3 + width * 0.75
    corners = f"{base:.1f},{y - spread:.1f} {base:.1f},{y + spread:.1f} {tip:.1f},{y:.1f}"
    point = element("polygon", points=corners, fill=CITATION)
    return element("g", line, point, opacity=_SHADE)
