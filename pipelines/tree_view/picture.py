"""The picture of an article in its law, as SVG that a lawyer can read."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date

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
    Attribute,
    beginning,
    element,
    group,
    letters,
    line_width,
    name_of,
    night_style,
    paragraph,
    path,
    per_cent,
    pill,
    text_width,
    title_of,
    words,
)

# The words of a picture that are not the law's, so that it can be drawn in another language.


# A sentence or noun for one, and for many.
Forms = tuple[str, str]


@dataclass(frozen=True)
class Wording:
    """What a picture says; in braces, what is put in.

    Attributes:
        lang: BCP 47 tag of these words.
        number: Writes a whole number.
        day: Writes a date.
        zero_is_one: Whether nouns after 0 are singular.
    """

    lang: str
    number: Callable[[int], str]
    day: Callable[[date], str]
    zero_is_one: bool
    articles: Forms
    place: str
    divisions: str
    more: str
    and_more: Forms
    together: str
    role_previous: str
    role_next: str
    own_text: str
    within: str
    below_law: str
    cites: str
    cited_by: str
    in_force: str
    from_day: str
    to_day: str
    stands_in: str
    in_sequence: str
    citation: str
    places: str
    citations: str
    told_place: str
    told_joint: str
    told_beside: Forms
    told_before: str
    told_after: str
    told_cites: str
    told_cited_by: str
    told_of_law: str
    told_division_share: str
    told_own_share: str

    def counted(self, count: int, forms: Forms) -> str:
        """One of the forms with `{count}` put in."""
        one = count == 1 or (count == 0 and self.zero_is_one)
        return forms[0 if one else 1].format(count=self.number(count))


ENGLISH = Wording(
    lang="en",
    number="{:,}".format,
    day=date.isoformat,
    zero_is_one=False,
    articles=("{count} article", "{count} articles"),
    place="{place} of {of}",
    divisions="{label}: {articles}, {place} divisions beside each other",
    more="{count} more articles, {first} to {last}",
    and_more=("and {count} more", "and {count} more"),
    together=", {share} together",
    role_previous="previous",
    role_next="next",
    own_text="its own text",
    within="in {heading}",
    below_law="right below the law",
    cites="It cites {articles}",
    cited_by="It is cited by {articles}",
    in_force="In force",
    from_day=" from {day}",
    to_day=" to {day}",
    stands_in="stands in",
    in_sequence="comes before or after",
    citation="cites, the arrow at the cited article",
    places="“1 of 3” is the place of a division among those beside it. ",
    citations=(
        "Citations are those that a program reads in the texts; it may miss some, or read one"
        " wrongly."
    ),
    told_place="{name} stands in {places}.",
    told_joint=", in ",
    told_beside=(
        "{count} other article stands beside it.",
        "{count} other articles stand beside it.",
    ),
    told_before="Before it comes {name}.",
    told_after="After it comes {name}.",
    told_cites="It cites {names}.",
    told_cited_by="It is cited by {names}.",
    told_of_law=" of {law}",
    told_division_share="It attends to that division with {share}.",
    told_own_share="Of its own it keeps {share}.",
)


# The left side of the picture: the way down from the law, and the articles around this one.


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


# The right side of the picture: the articles that this one cites, and those that cite it.


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
