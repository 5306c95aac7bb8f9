"""What the picture of an article's place is made of: letters, pills, shares of attention."""

from __future__ import annotations

from components.statutes.article import Article, spoken_number
from pipelines.tree_view.colours import INK, SHEET
from pipelines.tree_view.lettering import fitted, is_from_right, text_width
from pipelines.tree_view.svg import element, words

# Faces of one width everywhere: lines are broken here and not where the picture is read.
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
    """What a pointer resting on an article is told: number, law, divisions, first words."""
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
    """Elements that a pointer resting on them explains."""
    return element("g", element("title", words(title)), *children)


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
    x: float,
    y: float,
    text: str,
    size: float,
    room: float,
    lines: int,
    *,
    fill: str = INK,
    bold: bool = False,
    sans: bool = False,
    lang: str | None = None,
) -> tuple[str, float]:
    """Text in lines from the base line `y` on; gives the markup and the last base line."""
    fitting = fitted(text, room, size, lines=lines, bold=bold)
    leading = round(size * 1.38)
    drawn = [
        letters(x, y + leading * number, line, size, fill=fill, bold=bold, sans=sans, lang=lang)
        for number, line in enumerate(fitting)
    ]
    return "".join(drawn), y + leading * max(len(fitting) - 1, 0)


def pill(right: float, middle: float, share: float, colour: str) -> str:
    """A share of attention in a rounded frame that ends at `right`."""
    label = per_cent(share)
    width = text_width(label, 13, bold=True) + 14
    left = right - width
    return element(
        "rect",
        x=left,
        y=middle - 11,
        width=width,
        height=22,
        rx=11,
        fill=SHEET,
        stroke=colour,
        stroke_width=1.2,
    ) + letters(
        left + width / 2,
        middle + 4.5,
        label,
        13,
        bold=True,
        fill=colour,
        sans=True,
        anchor="middle",
    )
