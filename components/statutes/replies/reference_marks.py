"""Reference marks in a reply: [1], [1, 3], [2-4]."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass

MARK = re.compile(r"[\[【]\^?\d{1,4}(?:\s?[-–,;]\s?\d{1,4})*[\]】]")
_ITEM = re.compile(r"(\d+)(?:\s?[-–]\s?(\d+))?")
_LONGEST_RANGE = 50


@dataclass(frozen=True, slots=True)
class ReferenceMark:
    """One mark.

    Attributes:
        start, end: Its span in the reply, brackets included.
        numbers: The numbers that it names; of a range that is too long or turned round, its ends.
    """

    start: int
    end: int
    numbers: tuple[int, ...]


def find_reference_marks(reply: str) -> Iterator[ReferenceMark]:
    """The reference marks of a reply, in their order."""
    for mark in MARK.finditer(reply):
        numbers: dict[int, None] = {}
        for item in _ITEM.finditer(mark[0]):
            first = int(item[1])
            last = int(item[2]) if item[2] else first
            fits = 0 <= last - first < _LONGEST_RANGE
            numbers |= dict.fromkeys(range(first, last + 1) if fits else (first, last))
        yield ReferenceMark(mark.start(), mark.end(), tuple(numbers))
