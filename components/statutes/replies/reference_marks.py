"""Reference marks in a reply: [1], [1, 3], [2-4], [1 and 2], 【9†source】, ⁹."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

# Nothing of it is given back: a reply can hold thousands of blanks behind "[1".
_AND = r"(?:[,;、/&\s–-]|and|or|und|oder|et|ou|和|to|à|bis)++"
_NUMBER = r"[#^]?\d{1,5}"
# Behind these a raised figure is a power, as in m², mg/m³ and 10³.
_POWER = "".join(
    f"(?<!(?<!{before}){unit})"
    for before, unit in (
        (r"\d", "10"),
        (r"[^\W\d_]", "m"),
        (r"[^\W\d_]", "[cdhkmµμ]m"),
        (r"[^\W\d_]", "(?:ft|yd)"),
    )
)
# Emphasis, escapes and invisible characters may stand around what is meant.
_LOOSE = r"[\s*_\\\u200b-\u200d\u2060\ufeff]*"
MARK = re.compile(
    rf"[\[［【{{]{_LOOSE}(?P<list>{_NUMBER}(?:{_AND}{_NUMBER})*){_LOOSE}(?:†[^\]】]{{0,40}})?"
    r"[\]］】}]"
    rf"|{_POWER}(?P<raised>[⁰¹²³⁴⁵⁶⁷⁸⁹]{{1,3}})"
)
_UNREAD = re.compile(r"[\[［【{][^\[\]【】［］{}\n]{0,24}\d[^\[\]【】［］{}\n]{0,24}[\]］】}]")
_ITEM = re.compile(r"(\d+)(?:\s?(?:[-–]|to|à|bis)\s?[#^]?(\d+))?")
_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")
_LONGEST_RANGE = 50


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """One mark.

    Attributes:
        start, end: Its span in the reply, brackets included.
        numbers: The numbers that it names; of a range that is too long or turned round, its ends.
            () for brackets that hold a number among words, whose meaning nobody knows.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


def find_reference_marks(reply: str) -> Iterator[ReferenceMark]:
    """The reference marks of a reply, in their order."""
    position = 0
    # Of two that begin alike min takes the first, which is the one that can be read.
    while found := min(
        filter(None, (MARK.search(reply, position), _UNREAD.search(reply, position))),
        key=lambda match: match.start(),
        default=None,
    ):
        position = found.end()
        numbers: tuple[int, ...] = ()
        if found.re is MARK:
            numbers = _numbers(found["list"] or found["raised"].translate(_RAISED))
        yield ReferenceMark(found.start(), found.end(), numbers)


def _numbers(listed: str) -> tuple[int, ...]:
    numbers: dict[int, None] = {}
    for item in _ITEM.finditer(listed):
        first = int(item[1])
        last = int(item[2]) if item[2] else first
        fits = 0 <= last - first < _LONGEST_RANGE
        numbers |= dict.fromkeys(range(first, last + 1) if fits else (first, last))
    return tuple(numbers)
