"""SVG as text: elements, attributes, and untrusted words."""

from __future__ import annotations

import re
import unicodedata
from html import escape
from typing import Any

from components.statutes.article import Article, spoken_number

# Ink on paper, as on the web page; every colour of letters meets 4.5:1 on paper, sheet and wash.
PAPER, SHEET, WASH, LINE = "#fbfaf6", "#ffffff", "#eef3ee", "#bdbbb0"
INK, QUIET = "#1f2522", "#59625c"
TREE, SEQUENCE, CITATION = "#1c5f47", "#24568f", "#8a3b12"

AT_NIGHT = {
    PAPER: "#151917",
    SHEET: "#1b201d",
    WASH: "#202923",
    LINE: "#4d5751",
    INK: "#e7e5dd",
    QUIET: "#a9b2ab",
    TREE: "#8bcfae",
    SEQUENCE: "#9dbdea",
    CITATION: "#e9a983",
}


def night_style() -> str:
    """CSS for dark mode; printed pictures are unchanged."""
    rules = (
        f'[{attribute}="{day}"]{{{attribute}:{night}}}'
        for day, night in AT_NIGHT.items()
        for attribute in ("fill", "stroke")
    )
    return f"@media screen and (prefers-color-scheme:dark){{{''.join(rules)}}}"


# Characters that XML 1.0 cannot hold, even escaped.
_FORBIDDEN = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")

Attribute = str | float | None


def words(text: str) -> str:
    """A text as character data: escaped, on one line, and without what XML forbids."""
    return escape(_FORBIDDEN.sub("\ufffd", " ".join(text.split())))


def element(name: str, *children: str, **attributes: Attribute) -> str:
    """One element.

    Args:
        name: Its tag.
        children: Elements, or text from `words`.
        attributes: Underscores stand for hyphens; numbers are rounded to tenths, and None leaves
            an attribute out.
    """
    given = "".join(
        f' {key.replace("_", "-")}="{_value(value)}"'
        for key, value in attributes.items()
        if value is not None
    )
    return f"<{name}{given}>{''.join(children)}</{name}>" if children else f"<{name}{given}/>"


def path(*steps: str | float, **attributes: Attribute) -> str:
    """A path without a fill: letters and coordinates in turn, `path("M", 0, 0, "H", 9)`."""
    drawn = " ".join(_value(step) for step in steps)
    return element("path", d=drawn, fill="none", **attributes)


def _value(value: str | float) -> str:
    return words(value) if isinstance(value, str) else f"{round(value, 1):g}"


# The reader's fonts are not known, so the widths of words are estimated.
# Widths in ems, a little above those of Arial; Times leaves some room free.
_NARROW = frozenset("iIjlftr|!.,:;'`()[]{}/\\-’‘·°")
_BROAD = frozenset("mwQOGDHNU&œæ")
_BROADEST = frozenset("MW@%—…ŒÆ№")
_WIDTHS = {
    "space": 0.285,
    "narrow": 0.34,
    "small": 0.54,
    "capital": 0.665,
    "broad": 0.84,
    "broadest": 1.0,
}
_BOLD = 1.07

_CJK = r"\u2e80-\u9fff\uac00-\ud7af\uf900-\ufaff\uff00-\uff60\U00020000-\U0003ffff"
# A line of Chinese may end after any character, but none begins with a closing mark.
_CLOSING = r"，。、；：？！）》」』】〉〕”’…·％"
_PIECE = re.compile(rf"[（《「『【〈〔“]?[{_CJK}][{_CLOSING}]*|[^\s{_CJK}]+[{_CLOSING}]*|\s+")


def text_width(text: str, size: float, *, bold: bool = False) -> float:
    """Width that a text needs at a font size, in the units of the size; errs on the broad side."""
    return sum(map(_em, text)) * size * (_BOLD if bold else 1.0)


def is_from_right(text: str) -> bool:
    """Whether a text's first letter is of a script that is written from right to left."""
    sides = (unicodedata.bidirectional(letter) for letter in text)
    return next((side for side in sides if side in ("L", "R", "AL")), "L") != "L"


def fitted(text: str, room: float, size: float, *, lines: int = 1, bold: bool = False) -> list[str]:
    """A text cut into lines; what does not fit is left out, and the last line ends with "…".

    Args:
        text: Runs of white space in it count as one space.
        room: Width of a line.
        size: Font size, in the same units.
        lines: How many lines there may be.
        bold: Whether the letters are bold.

    Returns:
        At most `lines` lines; none for an empty text.
    """
    pieces = _PIECE.findall(text.strip())
    done: list[str] = []
    line = ""
    while pieces:
        piece = pieces.pop(0) if not pieces[0].isspace() else pieces.pop(0) and " "
        if text_width((line + piece).rstrip(), size, bold=bold) <= room:
            line += piece if line or piece != " " else ""
            continue
        if len(done) == lines - 1:
            done.append(_shortened(line + piece, room, size, bold))
            return done
        if not line:  # one piece is broader than a line
            fits = _fitting(piece, room, size, bold)
            line, rest = piece[:fits], piece[fits:]
            pieces.insert(0, rest)
        elif piece != " ":
            pieces.insert(0, piece)
        done.append(line.rstrip())
        line = ""
    if line.strip():
        done.append(line.rstrip())
    return done


def _shortened(line: str, room: float, size: float, bold: bool) -> str:
    kept = line[: _fitting(line, room - text_width("…", size, bold=bold), size, bold)]
    # At a space if one is near, so that the mark does not follow half a word.
    whole = kept.rsplit(" ", 1)[0]
    if 2 * len(whole) > len(kept) and len(kept) < len(line) and line[len(kept)] != " ":
        kept = whole
    return kept.rstrip(" ,;:.，、；：。") + "…"


def _fitting(text: str, room: float, size: float, bold: bool) -> int:
    """How many characters of a text fit, at least one."""
    used = 0.0
    for index, character in enumerate(text):
        used += text_width(character, size, bold=bold)
        if used > room:
            return max(index, 1)
    return len(text)


def _em(character: str) -> float:
    if unicodedata.combining(character):
        return 0.0
    if unicodedata.east_asian_width(character) in "WF":
        return _WIDTHS["broadest"]
    if character == " ":
        return _WIDTHS["space"]
    base = unicodedata.normalize("NFD", character)[0]
    if base in _BROADEST:
        return _WIDTHS["broadest"]
    if base in _BROAD:
        return _WIDTHS["broad"]
    if base in _NARROW:
        return _WIDTHS["narrow"]
    return _WIDTHS["capital"] if base.isupper() else _WIDTHS["small"]


# Fonts of the same width everywhere: lines are broken here, not where the picture is shown.
SERIF = "'Times New Roman', Times, 'Liberation Serif', 'Noto Serif CJK SC', 'Songti SC', SimSun, \
serif"
SANS = "Arial, Helvetica, 'Liberation Sans', 'Noto Sans CJK SC', 'PingFang SC', \
'Microsoft YaHei', sans-serif"

PILL_ROOM = 50.0
_LONGEST_TEXT = 1500  # characters looked at
_LONGEST_TITLE = 400
_THINNEST, _THICKEST = 1.6, 14.0


def name_of(article: Article) -> str:
    """The article's number as it is spoken: "Article 12", or as printed: "第一条"."""
    return spoken_number(article.number)


def beginning(article: Article) -> str:
    """The first words of an article, more than any picture shows."""
    return " ".join(article.text[:_LONGEST_TEXT].split())


def title_of(article: Article) -> str:
    """The tooltip of an article: number, law, divisions, first words."""
    text = beginning(article)
    cut = text if len(text) <= _LONGEST_TITLE else text[:_LONGEST_TITLE].rstrip() + "…"
    place = " › ".join([article.law, *article.headings])
    return f"{name_of(article)} · {place}: {cut}"


def per_cent(share: float) -> str:
    """A share of attention in whole per cent."""
    return "<1%" if 0 < share < 0.005 else f"{share:.0%}"


def line_width(share: float | None) -> float:
    """Width of the line that stands for a share of attention; None: a line of place alone."""
    return _THINNEST if share is None else _THINNEST + (_THICKEST - _THINNEST) * share


def group(title: str, *children: str) -> str:
    """Elements with a tooltip."""
    return element("g", element("title", words(title)), *children)


def rect(x: float, y: float, width: float, height: float, radius: float, **style: Attribute) -> str:
    """A rectangle with rounded corners."""
    return element("rect", x=x, y=y, width=width, height=height, rx=radius, **style)


def letters(
    x: float,
    y: float,
    text: str,
    size: float,
    *,
    fill: str = INK,
    bold: bool = False,
    sans: bool = False,
    anchor: str | None = None,
    lang: str | None = None,
) -> str:
    """One line of text; `y` is its base line, and `x` where its left end is without an anchor.

    Words of a right-to-left script begin at their right end, which is where SVG anchors them.
    """
    from_right = is_from_right(text)
    if from_right and anchor != "middle":
        anchor = "end" if anchor is None else None
    return element(
        "text",
        words(text),
        x=x,
        y=y,
        font_size=size,
        font_weight="bold" if bold else None,
        font_family=SANS if sans else None,
        fill=fill,
        text_anchor=anchor,
        direction="rtl" if from_right else None,
        lang=lang,
    )


def paragraph(
    x: float, y: float, text: str, size: float, room: float, lines: int, **style: Any
) -> tuple[str, float]:
    """Text in lines from the base line `y` on, styled as `letters` takes it.

    Returns:
        The markup and the last base line.
    """
    fitting = fitted(text, room, size, lines=lines, bold=style.get("bold", False))
    leading = round(size * 1.38)
    drawn = [letters(x, y + leading * row, line, size, **style) for row, line in enumerate(fitting)]
    return "".join(drawn), y + leading * max(len(fitting) - 1, 0)


def fitted_line(x: float, y: float, text: str, size: float, room: float, **style: Any) -> str:
    """Text on one line, shortened to its room; styled as `letters` takes it."""
    return paragraph(x, y, text, size, room, 1, **style)[0]


def pill(right: float, middle: float, share: float | None, colour: str) -> str:
    """A share of attention in a rounded frame that ends at `right`; "" for None."""
    if share is None:
        return ""
    label = per_cent(share)
    width = text_width(label, 13, bold=True) + 14
    left = right - width
    frame = rect(left, middle - 11, width, 22, 11, fill=SHEET, stroke=colour, stroke_width=1.2)
    style: dict[str, Any] = {"bold": True, "fill": colour, "sans": True, "anchor": "middle"}
    return frame + letters(left + width / 2, middle + 4.5, label, 13, **style)
