"""Where a reply quotes."""

from __future__ import annotations

import re
from dataclasses import dataclass

from components.statutes.replies.reference_marks import MARK

# What opens a quotation, and what may close it; writers mix straight and curved marks.
_PAIRS = {
    '"': '"”“',
    "“": '”"',
    "„": '“”"',
    "«": "»",
    "»": "«",
    "‹": "›",
    "「": "」",
    "『": "』",
    "＂": "＂",
    "‘": "’",
    "‚": "‘’",
    "'": "'’",
}
_SINGLE = "‘‚'"
_LONGEST_SINGLE = 2_000  # characters
_PARAGRAPH = re.compile(r"(?:[^\n]|\n(?!\s*\n))+")
_BLOCK = re.compile(r"(?:^[ \t]*>[^\n]*(?:\n|\Z))+", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation in a reply.

    Attributes:
        start, end: Its span with its marks; a block quotation's lines.
        text: What is quoted, without marks, and without reference marks at its end.
        closed: Whether it ends.
    """

    start: int
    end: int
    text: str
    closed: bool = True


def find_quotations(reply: str) -> list[Quotation]:
    """What a reply puts between quotation marks, or into a block quotation, in its order.

    A quotation within a quotation is part of it. Quotation marks pair within a paragraph: one that
    is never closed quotes to the paragraph's end.
    """
    found: list[Quotation] = []
    for paragraph in _PARAGRAPH.finditer(reply):
        found += _marked(reply, *paragraph.span())
    for block in _BLOCK.finditer(reply):
        start, end = block.start(), block.start() + len(block[0].rstrip())
        if not any(each.start < end and start < each.end for each in found):
            lines = (line.strip().lstrip(">").strip() for line in block[0].splitlines())
            found.append(Quotation(start, end, _inner("\n".join(lines))))
    return sorted((each for each in found if each.text), key=lambda each: each.start)


def _marked(reply: str, start: int, end: int) -> list[Quotation]:
    found: list[Quotation] = []
    place = start
    while place < end:
        mark = reply[place]
        if mark not in _PAIRS or (mark in _SINGLE and not _opens(reply, place)):
            place += 1
            continue
        closing = _closing(reply, place, end)
        if closing is not None:
            found.append(Quotation(place, closing + 1, _inner(reply[place + 1 : closing])))
            place = closing + 1
        elif mark in _SINGLE:
            place += 1  # an apostrophe is no quotation that lacks its end
        else:
            found.append(Quotation(place, end, _inner(reply[place + 1 : end]), closed=False))
            place = end
    return found


def _closing(reply: str, opened: int, end: int) -> int | None:
    """Where the quotation that opens here is closed."""
    mark = reply[opened]
    # Text full of apostrophes should not be searched to its end at each of them.
    last = min(end, opened + _LONGEST_SINGLE) if mark in _SINGLE else end
    for place in range(opened + 1, last):
        character = reply[place]
        if mark in _SINGLE:
            if character in _PAIRS and character not in _SINGLE:
                return None  # what stands between double marks is looked at by itself
            if character in _PAIRS[mark] and _closes(reply, place):
                return place
        elif character in _PAIRS[mark]:
            return place
    return None


def _opens(reply: str, place: int) -> bool:
    """Whether a single mark stands before a word and behind none."""
    before, after = reply[place - 1 : place], reply[place + 1 : place + 2]
    return not before.isalnum() and after.isalnum()


def _closes(reply: str, place: int) -> bool:
    """Whether a single mark stands behind something and is no apostrophe within a word."""
    return not reply[place + 1 : place + 2].isalnum()


def _inner(text: str) -> str:
    while marker := re.search(rf"{MARK.pattern}\s*[.,;:]?\s*\Z", text):
        text = text[: marker.start()]
    return text.strip()
