"""The left side of the picture: the way down from the law, and the articles around this one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

from components.statutes.article import Article
from pipelines.tree_view.attention import Attention
from pipelines.tree_view.colours import INK, LINE, PAPER, QUIET, SEQUENCE, TREE, WASH
from pipelines.tree_view.lettering import text_width
from pipelines.tree_view.marks import (
    PILL_ROOM,
    beginning,
    group,
    letters,
    line_width,
    name_of,
    paragraph,
    pill,
    title_of,
)
from pipelines.tree_view.neighbourhood import Neighbourhood, Role
from pipelines.tree_view.structure import Division
from pipelines.tree_view.svg import Attribute, element, path
from pipelines.tree_view.wording import Wording

_SHOWN = 9
_STEP, _DEEPEST = 26.0, 190.0  # indentation of a level, and of all levels together
_NOTE_ROOM = 128.0
_NUMBER_ROOM = 180.0
_ROLE_ROOM = 66.0  # of "previous"
_ROW, _INSET, _ASIDE_GAP = 32.0, 10.0, 4.0


@dataclass
class Outline:
    """The drawn left side, and where lines from elsewhere may end.

    Attributes:
        wording: The words that are not the law's.
        right: Right edge, where neighbours are joined to the article.
        bottom: The lowest line drawn so far.
        back: Markup that lies under everything else.
        front: Markup above it.
        article: Top and bottom of the article's own box.
        joins: Middle of the rows of the neighbours in sequence, where there are any.
    """

    wording: Wording
    right: float
    bottom: float
    back: list[str] = field(default_factory=list)
    front: list[str] = field(default_factory=list)
    article: tuple[float, float] = (0.0, 0.0)
    joins: dict[Role, float] = field(default_factory=dict)


def draw_outline(
    place: Neighbourhood,
    attention: Attention | None,
    left: float,
    right: float,
    top: float,
    wording: Wording,
) -> Outline:
    """Draw the divisions from the law down, and the articles of the last one."""
    drawn = Outline(wording, right, top)
    indent = min(_STEP, _DEEPEST / len(place.path))
    share = attention.division if attention else None
    x, above = left, 0.0
    for level, division in enumerate(place.path):
        last = level == len(place.path) - 1
        mark = _draw_division(drawn, division, x, share if last else None, is_law=level == 0)
        if level:
            way = ("M", x - indent, above + 9, "V", mark, "H", x - 8)
            drawn.back.append(path(*way, stroke=LINE))
        x, above = x + indent, mark
    _draw_articles(drawn, place, attention, (x - indent, above + 9), x, share)
    return drawn


def _draw_division(
    drawn: Outline, division: Division, x: float, share: float | None, *, is_law: bool
) -> float:
    """A line of the way down; gives the middle of its mark."""
    size = 17.0 if is_law else 15.5
    middle = drawn.bottom + 14
    note_end = drawn.right - (PILL_ROOM if share is not None else 0)
    room = note_end - _NOTE_ROOM - x - 18
    text, end = paragraph(x + 14, middle + 5, division.label, size, room, 3, bold=is_law)
    say = drawn.wording
    counted = say.counted(division.articles, say.articles)
    alone = is_law or division.of == 1
    numbers = {"place": say.number(division.place), "of": say.number(division.of)}
    where = "" if alone else say.place.format_map(numbers)
    note = letters(
        note_end,
        middle + 5,
        f"{where} · {counted}" if where else counted,
        12.5,
        fill=QUIET,
        sans=True,
        anchor="end",
    )
    mark = element("circle", cx=x, cy=middle, r=5 if is_law else 4, fill=TREE)
    told = f"{division.label}: {counted}"
    if where:
        told = say.divisions.format(label=division.label, articles=counted, place=where)
    shown = pill(drawn.right, middle, share, TREE) if share is not None else ""
    drawn.front.append(group(told, mark, text, note, shown))
    drawn.bottom = end + 13
    return middle


def _draw_articles(
    drawn: Outline,
    place: Neighbourhood,
    attention: Attention | None,
    spine: tuple[float, float],
    x: float,
    share: float | None,
) -> None:
    """The articles from `x` on, hung on a line that starts at `spine`."""
    siblings = place.siblings
    here = siblings.index(place.article)
    first, last = window(len(siblings), here)
    shown = siblings[first:last]
    names = [name_of(each) for each in (*shown, place.previous, place.next) if each is not None]
    number_room = min(_NUMBER_ROOM, max(text_width(name, 14, bold=True) for name in names) + 14)
    rows: list[float] = []
    if first:
        rows.append(_draw_gap(drawn, siblings[:first], x))
    for article in shown:
        if article == place.article:
            # Its neighbours in sequence stand next to it, from whatever division they are.
            if place.previous is not None and place.previous not in siblings:
                _draw_row(drawn, place.previous, "previous", attention, x, number_room, aside=True)
            rows.append(_draw_self(drawn, article, attention, x, number_room))
            if place.next is not None and place.next not in siblings:
                _draw_row(drawn, place.next, "next", attention, x, number_room, aside=True)
        else:
            role = place.role_of(article)
            rows.append(_draw_row(drawn, article, role, attention, x, number_room))
    if last < len(siblings):
        rows.append(_draw_gap(drawn, siblings[last:], x))
    drawn.back += [path("M", spine[0], row, "H", x - _INSET, stroke=LINE) for row in rows]
    drawn.back.append(path("M", *spine, "V", rows[-1], stroke=LINE))
    way = ("M", *spine, "V", sum(drawn.article) / 2, "H", x - _INSET)
    drawn.back.append(
        path(*way, stroke=TREE, stroke_width=line_width(share), stroke_linejoin="round")
    )


def _draw_self(
    drawn: Outline, article: Article, attention: Attention | None, x: float, number_room: float
) -> float:
    """The article itself; gives the middle of its box."""
    top = drawn.bottom + _ASIDE_GAP
    base = top + 24
    left, end = x + number_room, drawn.right - _INSET
    own = attention.own if attention else None
    words = beginning(article)
    text, bottom = paragraph(left, base, words, 15, end - left, 5, lang=article.language)
    bottom += 16
    kept = ""
    if own is not None:
        bottom += 28
        named = end - PILL_ROOM, bottom - 17.5, drawn.wording.own_text, 12.5
        kept = letters(*named, fill=QUIET, sans=True, anchor="end")
        kept += pill(end, bottom - 22, own, TREE)
    box = _box(drawn, x, top, bottom, WASH, TREE, stroke_width=2)
    number = _number(article, x, base, number_room, TREE)
    drawn.front.append(group(title_of(article), box, number, text, kept))
    drawn.article = (top, bottom)
    drawn.bottom = bottom + _ASIDE_GAP
    return (top + bottom) / 2


def _draw_row(
    drawn: Outline,
    article: Article,
    role: Role | None,
    attention: Attention | None,
    x: float,
    number_room: float,
    *,
    aside: bool = False,
) -> float:
    """Another article on one line; gives its middle.

    One that stands in another division (`aside`) is framed, and a second line names the division.
    """
    top = drawn.bottom + (_ASIDE_GAP if aside else 0)
    height = 50.0 if aside else _ROW
    base = top + 21
    left, end = x + number_room, drawn.right - _INSET
    share = attention.beside(role) if attention and role else None
    parts = []
    if aside:
        parts.append(_box(drawn, x, top, top + height, PAPER, SEQUENCE, stroke_dasharray="2 4"))
    if share is not None:
        parts.append(pill(end, base - 5, share, SEQUENCE))
        end -= PILL_ROOM
    if aside:
        above = article.headings[-1] if article.headings else None
        say = drawn.wording
        stands = say.within.format(heading=above) if above else say.below_law
        parts += paragraph(left, base + 19, stands, 12.5, end - left, 1, fill=QUIET)[:1]
    if role:
        drawn.joins[role] = top + height / 2
        named = _role(drawn.wording, role)
        parts.append(letters(end, base, named, 12.5, fill=SEQUENCE, sans=True, anchor="end"))
        end -= _ROLE_ROOM
    parts.append(_number(article, x, base, number_room, INK))
    words = beginning(article)
    parts += paragraph(left, base, words, 14.5, end - left, 1, fill=QUIET, lang=article.language)[
        :1
    ]
    drawn.front.append(group(title_of(article), *parts))
    drawn.bottom = top + height + (_ASIDE_GAP if aside else 0)
    return top + height / 2


def _box(
    drawn: Outline, x: float, top: float, bottom: float, fill: str, stroke: str, **style: Attribute
) -> str:
    """The frame of a row whose words begin at `x`."""
    size: dict[str, Attribute] = {"width": drawn.right - x + _INSET, "height": bottom - top}
    return element("rect", x=x - _INSET, y=top, **size, rx=6, fill=fill, stroke=stroke, **style)


def _draw_gap(drawn: Outline, left_out: Sequence[Article], x: float) -> float:
    """The line for siblings that are not drawn; gives its middle."""
    middle = drawn.bottom + 14
    say = drawn.wording
    count = say.number(len(left_out))
    text = say.more.format(count=count, first=name_of(left_out[0]), last=name_of(left_out[-1]))
    line, _ = paragraph(x, middle + 5, text, 13, drawn.right - x, 1, fill=QUIET, sans=True)
    drawn.front.append(line)
    drawn.bottom += 30
    return middle


def _number(article: Article, x: float, base: float, room: float, colour: str) -> str:
    text, _ = paragraph(
        x, base, name_of(article), 14, room - 8, 1, bold=True, fill=colour, sans=True
    )
    return text


def _role(wording: Wording, role: Role) -> str:
    return wording.role_previous if role == "previous" else wording.role_next


def window(count: int, here: int) -> tuple[int, int]:
    """Where the siblings begin and end that are drawn: the nearest; nobody is left out alone."""
    if count <= _SHOWN + 1:
        return 0, count
    first = min(max(here - _SHOWN // 2, 0), count - _SHOWN)
    last = first + _SHOWN
    first = 0 if first == 1 else first
    return first, count if last == count - 1 else last
