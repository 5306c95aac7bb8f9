"""The numbers of a corpus's articles, and which of them a citation fits."""

from __future__ import annotations

import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Sequence
from functools import lru_cache
from math import inf
from operator import itemgetter
from typing import NamedTuple

from components.statutes.citation_numbers import LISTED_PARAGRAPH, parse_number
from components.statutes.citations import Citation

LONGEST_RANGE = 200
"""Articles that are taken of a range in one law."""

_PART = re.compile(r"(\d+[a-z]?)\.(\d{1,2})")

_Row = tuple[str, int]
_Parts = tuple[tuple[float, str], ...]


class Fitting(NamedTuple):
    """The articles of a law that fit a citation.

    Attributes:
        positions: Theirs, in the corpus's order.
        absent: The end of a range that the law lacks, where the rest of it is there.
        known: Whether the law holds what is cited, be it too much to name.
        rest: What is left out of a range of more than `LONGEST_RANGE` articles: its first and
            last number, as printed ("201–900").
    """

    positions: list[int]
    absent: str | None = None
    known: bool = False
    rest: str | None = None


_NOTHING = Fitting([])


class NumberIndex:
    """Finds articles by law and number.

    Attributes:
        ids: Of the articles, in the corpus's order.
        position: Of each id.
        law: Of each position.
        laws: All of them, in the order of their first articles.
    """

    def __init__(self, entries: Iterable[tuple[str, str, str]], *, whole: bool) -> None:
        """Reads (id, law, number as printed) of every article, in the corpus's order.

        Args:
            entries: Those of a corpus, or of some of its articles.
            whole: Whether a number that is not among them is none of its law's.
        """
        self.ids: list[str] = []
        self.position: dict[str, int] = {}
        self.law: list[str] = []
        self._whole = whole
        # law -> core -> [(division, paragraphs, position)]
        self._numbers: dict[str, dict[str, list[tuple[str, tuple[str, ...], int]]]] = {}
        self._division: list[str] = []
        self._printed: list[str] = []
        self._dotted: set[str] = set()
        # core -> the laws that print it
        self._printing: dict[str, set[str]] = {}
        # (law, division) -> its positions, ascending
        self._places: dict[tuple[str, str], list[int]] = {}
        # (law, division, row) -> (parts, position) of its numbers, ascending: ranges are cut out
        # of it by bisection, so that no question computes the keys again.
        self._rows: dict[tuple[str, str, _Row], list[tuple[_Parts, int]]] = {}
        for position, (article_id, law, printed) in enumerate(entries):
            self.ids.append(article_id)
            self.position[article_id] = position
            self.law.append(law)
            number = parse_number(printed)
            numbers = self._numbers.setdefault(law, {})
            division = number.division if number else ""
            self._division.append(division)
            self._printed.append(printed)
            self._places.setdefault((law, division), []).append(position)
            if number:
                numbers.setdefault(number.core, []).append((division, number.paragraphs, position))
                self._printing.setdefault(number.core, set()).add(law)
                row, parts = _key(number.core)
                self._rows.setdefault((law, division, row), []).append((parts, position))
                if "." in number.core:
                    self._dotted.add(law)
        for of_row in self._rows.values():
            of_row.sort()
        self.laws = tuple(self._numbers)

    def printing(self, citation: Citation, laws: Sequence[str]) -> list[str]:
        """Those of some laws that print a number of a citation; no other one has a fitting article.

        (Of "12.3", 12 may be printed.)
        """
        cores = {core for reading in citation.readings for core in reading if core}
        if part := _PART.fullmatch(citation.number):
            cores.add(part[1])
        printing = set[str]().union(*(self._printing.get(core, ()) for core in cores))
        return [law for law in laws if law in printing]

    def is_range(self, citation: Citation) -> bool:
        """Whether a citation is a range, and not a printed number that has a dash ("13–1")."""
        single = [number for number, through in citation.readings if through is None]
        return len(single) < len(citation.readings) and not any(
            number in self._printing for number in single
        )

    def fitting(self, citation: Citation, law: str, here: int | None) -> Fitting:
        """The articles of a law that fit a citation, which stands in the article at `here`."""
        division = citation.division
        near = division in (None, LISTED_PARAGRAPH)  # "paragraph 2 above" may be of a schedule
        if near and here is not None and citation.kind == "paragraph":
            division = self._division[here] or division
        for number, through in citation.readings:
            found = self._numbered(citation, law, number, division)
            span = self._span(law, found, through)
            if span is not None:
                return Fitting(span, known=True) if through is None else self._cut(span, here)
        for number, through in citation.readings:
            if through is not None:
                part = self._part_of_range(citation, law, (number, through), division, here)
                if part is not _NOTHING:
                    return part
        part_of = self._part_of_article(citation, law) if here is None else None
        if part_of is not None:
            return Fitting(self._numbered(citation, law, part_of[1], division, part_of[2]))
        return _NOTHING

    def _numbered(
        self, citation: Citation, law: str, number: str, division: str | None, *outer: str
    ) -> list[int]:
        """Positions of a law's articles of a number, at the cited levels below `outer`."""
        entries_of_number = self._numbers[law].get(number)
        if entries_of_number is None:
            return []
        if len(entries_of_number) == 1 and not entries_of_number[0][1]:  # most numbers, and fast
            place, _, position = entries_of_number[0]
            return [position] if _reaches(citation, place, division) else []
        places: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for place, paragraphs, position in entries_of_number:
            if _reaches(citation, place, division):
                places.setdefault(place, []).append((paragraphs, position))
        levels = (*outer, *re.findall(r"\w+", citation.paragraph)) if citation.paragraph else outer
        return [p for entries in places.values() for p in _at_levels(entries, levels)]

    def _part_of_article(self, citation: Citation, law: str) -> re.Match[str] | None:
        """Article and paragraph of "art. 12.3", in a law whose numbers have no dots."""
        if not self._whole or law in self._dotted or citation.through is not None:
            return None
        if citation.kind not in ("article", "section"):
            return None
        return _PART.fullmatch(citation.number)

    def _span(self, law: str, found: list[int], through: str | None) -> list[int] | None:
        """Positions from the first found through the last of a number, None where none lies so."""
        if not found or through is None:
            return found or None
        first, division = found[0], self._division[found[0]]
        numbers = self._numbers[law].get(through, ())
        last = max((p for place, _, p in numbers if place == division), default=-1)
        if last < first:
            return None
        positions = self._places[law, division]
        return positions[bisect_left(positions, first) : bisect_right(positions, last)]

    def _cut(self, span: list[int], here: int | None, absent: str | None = None) -> Fitting:
        """What is taken of a range; in a law's own text, a very long one speaks of a book."""
        if len(span) <= LONGEST_RANGE:
            return Fitting(span, absent, known=True)
        if here is not None:
            return Fitting([], absent, known=True)
        rest = f"{self._printed[span[LONGEST_RANGE]]}–{self._printed[span[-1]]}"
        return Fitting(span[:LONGEST_RANGE], absent, known=True, rest=rest)

    def _part_of_range(
        self,
        citation: Citation,
        law: str,
        ends: tuple[str, str],
        division: str | None,
        here: int | None,
    ) -> Fitting:
        """What a law holds of a range that it does not hold from end to end."""
        first, last = (self._numbered(citation, law, end, division) for end in ends)
        doubtful = citation.otherwise is not None  # "13–1" may be a number
        if not (first or last) or (doubtful and here is not None):
            return _NOTHING
        low, high = (_key(end) for end in ends)
        if first and last:
            if doubtful:
                return _NOTHING
            if _comparable(low, high) and high < low:  # "16 to 13"
                if citation.paragraph is not None:  # "article 12 § 2 à 4"
                    return Fitting(first, known=True)
                return self._cut(self._span(law, last, ends[0]) or [], here)
            return Fitting(sorted({*first, *last}), known=True)  # "R. 6233-62 à D. 6233-65"
        if not first and (here is not None or not self._whole):
            return _NOTHING
        absent = ends[0] if last else ends[1]
        inside: list[int] = []
        if _comparable(low, high):
            numbers = self._rows.get((law, self._division[(first or last)[0]], low[0]), [])
            begin = bisect_left(numbers, low[1], key=itemgetter(0))
            end = bisect_right(numbers, high[1], key=itemgetter(0))
            inside = sorted(position for _, position in numbers[begin:end])
        if not inside:
            return _NOTHING if doubtful else Fitting(first or last, absent, known=True)
        return self._cut(inside, here, absent)


@lru_cache(maxsize=4096)  # most laws have the same numbers
def _key(core: str) -> tuple[_Row, _Parts]:
    """Where a number stands among others: its row (letters before it, how many dots), its parts."""
    prefix = re.match(r"[a-z]*", core)
    letters = prefix[0] if prefix else ""
    parts = re.findall(r"(\d+)([a-z]*)", core[len(letters) :])
    # Python refuses to convert some thousand digits; no law prints more than a few.
    numbers = tuple((int(digits) if len(digits) < 19 else inf, suffix) for digits, suffix in parts)
    return (letters, core.count(".")), numbers


def _comparable(one: tuple[_Row, _Parts], other: tuple[_Row, _Parts]) -> bool:
    """Whether two numbers are of one row: "6.2.7" stands between no two of "6" and "8"."""
    return one[0] == other[0]


def _reaches(citation: Citation, place: str, division: str | None) -> bool:
    """Whether a citation can mean an article printed in a place (`ArticleNumber.division`)."""
    if division == LISTED_PARAGRAPH and "." in citation.number:
        return place in ("", division)
    if division is not None:
        return place == division
    if citation.kind == "paragraph":
        return place != "" or "." in citation.number
    return place == ""


def _at_levels(entries: list[tuple[tuple[str, ...], int]], levels: tuple[str, ...]) -> list[int]:
    """The entries at the cited levels; else those below; else the nearest that hold them."""
    if exact := [position for paragraphs, position in entries if paragraphs == levels]:
        return exact
    depth = len(levels)
    if below := [position for paragraphs, position in entries if paragraphs[:depth] == levels]:
        return below
    for above in range(depth - 1, -1, -1):
        if holding := [
            position for paragraphs, position in entries if paragraphs == levels[:above]
        ]:
            return holding
    return []
