"""Running text as it is printed: pages, headers, page numbers, footnotes, and wrapped lines.

A form feed begins a page. "# " at the start of a line marks a heading, and a line wholly in
`**bold**` is bold; every other line is plain. What belongs to the page and not to the text is
taken out and counted. `Wrapping.paragraphs` puts the lines of a wrapped text together again.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from functools import cached_property
from itertools import pairwise
from typing import NamedTuple

from components.statutes.sources import reading, units

_UNSEEN = re.compile(r"[\x00-\x08\x0b\x0e-\x1f\x7f-\x9f\u200b\u2060\ufeff\u00ad]")
_HEADING = re.compile(r"(#{1,6})\s+(\S.*)")
_BOLD = re.compile(r"\*\*([^*]+)\*\*[.:]?")
# "12", "- 12 -", "Page 12 of 40", "12 | Page".
_PAGE_WORD = r"(?:page|seite|página|pagina|pág\.?|p\.|strona|sida|side|pagină)"
_PAGE_NUMBER = re.compile(
    rf"(?i)(?:[-–—\[(]\s*)?(?:{_PAGE_WORD}\s*)?\d{{1,4}}(?:\s*(?:of|de|von|di|van|/)\s*\d+)?"
    rf"(?:\s*[|·]?\s*{_PAGE_WORD})?(?:\s*[-–—\])])?"
)
_NAMED_PAGE = re.compile(
    rf"(?i)(?:{_PAGE_WORD}\s*\d{{1,4}}(?:\s*(?:of|de|von|di|van|/)\s*\d+)?|[-–—]\s*\d{{1,4}}\s*[-–—])"
)
_RULE = re.compile(r"[_=*~–—-]{5,}|(?:[*_-] ){3,}[*_-]?")
_FOOTNOTE = re.compile(r"[\[(]?(?:\d{1,3}|[*†‡]+)[\]).]?\s+\S")
_MARKED_FOOTNOTE = re.compile(r"\[\^[^\[\]]+\]:")
_CONTENTS_LINE = re.compile(r"\S(?:\s?[.·…]){4,}\s*\d+$|\S\s?…+\s*\d+$|\S(?:\t|\s{3,})\d{1,4}$")
_ITEM = re.compile(r"(?:\(\w{1,5}\)|\w{1,4}[.)]|[-–—•·*])\s|[①-⑳]|（[一二三四五六七八九十]+）")
_ENDS_SENTENCE = (".", ":", ";", "!", "?", ")", "]", "”", "»", '"', "。", "；", "：", "）")
_CJK = re.compile(r"[\u3000-\u30ff\u3400-\u9fff\uff00-\uffef]")

_EDGE_LINES = 2  # at the top and at the bottom of a page
_FEWEST_REPEATS = 3
_WIDEST = 140  # characters of a line in a wrapped text
_FEWEST_LINES = 8
_SHARE_OF_FULL_LINES = 0.45  # of those longer than half a line


class Line(NamedTuple):
    """One line of text.

    Attributes:
        number: In the file, from 1.
        page: From 1; 0 where the text has no pages.
        text: With single spaces, without marks.
        level: Of a heading, from 1; 0 for others.
        is_bold: Whether all of it is bold.
        is_apart: Whether an empty line, or the top of a page, stands above.
        is_contents: Whether it ends with dots or a gap and a page number.
        width: How many characters it takes on the page.
    """

    number: int
    page: int
    text: str
    level: int = 0
    is_bold: bool = False
    is_apart: bool = False
    is_contents: bool = False
    width: int = 0

    @property
    def place(self) -> str:
        """What a person looks for: "line 812", "page 4, line 130"."""
        return f"page {self.page}, line {self.number:,}" if self.page else f"line {self.number:,}"

    @property
    def ends_sentence(self) -> bool:
        """Whether it ends with a sign after which something new may begin."""
        return self.text.endswith(_ENDS_SENTENCE)


def read_lines(text: str, tally: reading.Tally) -> list[Line]:
    """The lines that are text; what belongs to the page is counted in the tally."""
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    text, unseen = _UNSEEN.subn("", text)
    tally.add("repaired", "invisible character", unseen)
    pages = text.split("\f")
    raw: list[list[tuple[int, str]]] = []
    number = 1
    for page in pages:
        lines = page.split("\n")
        raw.append([(number + index, line) for index, line in enumerate(lines)])
        number += len(lines) - 1  # a form feed does not end a line
    has_pages = len(pages) > 1
    edges = _edges(raw, tally) if has_pages else set()
    found: list[Line] = []
    for index, page_lines in enumerate(raw, start=1):
        is_apart, is_first, in_footnotes = False, True, False
        below_rule = _last_rule(page_lines) if has_pages else None
        for number, line in page_lines:
            stripped = line.strip()
            if not stripped or _RULE.fullmatch(stripped):
                is_apart = True
                in_footnotes = in_footnotes or (bool(stripped) and number == below_rule)
            elif (index, number) in edges:
                continue
            elif in_footnotes or _MARKED_FOOTNOTE.match(stripped):
                tally.add("left out", "line of footnotes")
            elif not has_pages and _NAMED_PAGE.fullmatch(stripped):
                tally.add("left out", "page number")
            else:
                if is_first:  # a paragraph may go on from the page before
                    is_apart = not found or found[-1].ends_sentence or stripped[0].isupper()
                found.append(_line(number, index if has_pages else 0, stripped, is_apart))
                is_apart = is_first = False
    return found


def _line(number: int, page: int, stripped: str, is_apart: bool) -> Line:
    level, is_bold = 0, False
    width, is_contents = len(stripped), _CONTENTS_LINE.search(stripped[-_WIDEST:]) is not None
    if stripped[0] == "#" and (heading := _HEADING.fullmatch(stripped)):
        level, stripped = len(heading[1]), heading[2].rstrip("# ")
    if "**" in stripped:
        is_bold = _BOLD.fullmatch(stripped) is not None
        stripped = stripped.replace("**", "")
    text = " ".join(stripped.split())
    return Line(number, page, text, level, is_bold, is_apart, is_contents, width)


def _edges(
    pages: Sequence[Sequence[tuple[int, str]]], tally: reading.Tally
) -> set[tuple[int, int]]:
    """Headers, footers and page numbers, by page and line."""
    by_form: defaultdict[str, list[tuple[int, int, str]]] = defaultdict(list)
    edges: set[tuple[int, int]] = set()
    for index, lines in enumerate(pages, start=1):
        filled = [(number, line.strip()) for number, line in lines if line.strip()]
        for number, line in {*filled[:_EDGE_LINES], *filled[-_EDGE_LINES:]}:
            by_form[re.sub(r"\d+", "#", line)].append((index, number, line))
    for found in by_form.values():
        if len(found) < _FEWEST_REPEATS and not _NAMED_PAGE.fullmatch(found[0][2]):
            continue
        # A number at an edge is the page's where it goes on with the pages: "§ 5" does not.
        shifts = [{int(n) - page for n in re.findall(r"\d+", line)} for page, _, line in found]
        goes_on = max(
            (sum(shift in each for each in shifts) for shift in set().union(*shifts)), default=0
        )
        texts = len({line for _, _, line in found})
        heading = units.numbered_heading(found[0][2])
        if texts > 1 and heading is not None and found[0][2].startswith(heading.unit or "第"):
            continue
        is_number = _PAGE_NUMBER.fullmatch(found[0][2]) is not None
        if texts * 2 <= len(found) or goes_on * 2 > len(found):
            edges.update((page, number) for page, number, _ in found)
            thing = "page number" if is_number else "page header or footer"
            tally.add("left out", thing, len(found))
    return edges


def _last_rule(lines: Sequence[tuple[int, str]]) -> int | None:
    """The line of the rule above a page's footnotes, if it has one."""
    filled = [(number, line.strip()) for number, line in lines if line.strip()]
    for index in range(len(filled) - 2, len(filled) // 3, -1):
        if _RULE.fullmatch(filled[index][1]):
            return filled[index][0] if _FOOTNOTE.match(filled[index + 1][1]) else None
    return None


class Paragraph(NamedTuple):
    """Lines put together; `line` is the first of them."""

    line: Line
    text: str


def _needed(above: Line, below: Line) -> int:
    """How many more characters the first word of a line takes on the line above."""
    if _CJK.match(below.text) or _CJK.match(above.text[-1]):
        return 1  # a line ends between any two signs
    return 1 + len(below.text.split(" ", 1)[0])


class Wrapping:
    """How the lines of a text make paragraphs.

    A text is wrapped where many lines are so long that the next word did not fit. There a line
    goes on with the next one if that word did not fit, unless an item begins; in any other text
    each line is a paragraph.

    Args:
        lines: Of the whole text.
        tally: Counts the hyphens that are taken out.

    Attributes:
        width: Of a full line; 0 where the text is not wrapped.
    """

    def __init__(self, lines: Sequence[Line], tally: reading.Tally) -> None:
        self._lines, self._tally, self.width = lines, tally, 0
        pairs = [
            (above.width, _needed(above, below))
            for above, below in pairwise(lines)
            if not below.is_apart and not (above.level or below.level)
        ]
        if len(pairs) < _FEWEST_LINES:
            return
        widths = sorted(width for width, _ in pairs)
        width = widths[int(len(widths) * 0.98)]
        long = [own + needed > width for own, needed in pairs if own > width // 2]
        if width <= _WIDEST and sum(long) >= _SHARE_OF_FULL_LINES * len(long):
            self.width = width

    @cached_property
    def _words(self) -> set[str]:
        return {word for line in self._lines for word in re.findall(r"[\w-]+", line.text)}

    def goes_on(self, above: Line, below: Line) -> bool:
        """Whether the second line belongs to the paragraph of the first."""
        if below.is_apart or above.level or below.level or above.is_bold != below.is_bold:
            return False
        if above.text.endswith("-") and below.text[0].islower():
            return self.width > 0
        if not self.width or above.width + _needed(above, below) <= self.width:
            return False
        return not (_ITEM.match(below.text) and above.ends_sentence)

    def paragraphs(self, lines: Iterable[Line]) -> list[Paragraph]:
        """The paragraphs of some lines that follow one another."""
        found: list[tuple[Line, list[str]]] = []
        above: Line | None = None
        for line in lines:
            if above is not None and found and self.goes_on(above, line):
                self._join(found[-1][1], line.text)
            elif line.text:
                found.append((line, [line.text]))
            above = line
        return [Paragraph(line, "".join(parts)) for line, parts in found]

    def _join(self, parts: list[str], text: str) -> None:
        above, word = parts[-1].rsplit(" ", 1)[-1], text.split(" ", 1)[0]
        if above.endswith("-") and above[-2:-1].isalpha() and word[:1].islower():
            # The rest of the text says whether the hyphen is the word's or the line's.
            first, second = re.split(r"\W", above[:-1])[-1], re.split(r"\W", word)[0]
            if f"{first}-{second}" not in self._words or f"{first}{second}" in self._words:
                parts[-1] = parts[-1][:-1]
                self._tally.add("repaired", "hyphen at a line's end")
        elif not above.endswith("-") and not (_CJK.match(above[-1:]) or _CJK.match(text)):
            parts.append(" ")
        parts.append(text)
