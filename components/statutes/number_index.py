"""The numbers of a corpus's articles, and which of them a citation fits."""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass

from components.statutes.citation_numbers import LISTED_PARAGRAPH, parse_number
from components.statutes.citations import Citation

_LONGEST_RANGE = 200  # articles; a longer "from 1 to 900" speaks of a book, not of articles
_PART = re.compile(r"(\d+[a-z]?)\.(\d{1,2})")


@dataclass(frozen=True, slots=True)
class Fitting:
    """The articles of a law that fit a citation.

    Attributes:
        positions: Theirs, in the corpus's order.
        absent: The end of a range that the law lacks, where the rest of it is there.
        known: Whether the law holds what is cited, be it too much to name.
    """

    positions: list[int]
    absent: str | None = None
    known: bool = False


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
        self._dotted: set[str] = set()
        for position, (article_id, law, printed) in enumerate(entries):
            self.ids.append(article_id)
            self.position[article_id] = position
            self.law.append(law)
            number = parse_number(printed)
            numbers = self._numbers.setdefault(law, {})
            self._division.append(number.division if number else "")
            if number:
                numbers.setdefault(number.core, []).append(
                    (number.division, number.paragraphs, position)
                )
                if "." in number.core:
                    self._dotted.add(law)
        self.laws = list(self._numbers)

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
                return Fitting(span, known=True)
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
        places: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for place, paragraphs, position in self._numbers[law].get(number, ()):
            if _reaches(citation, place, division):
                places.setdefault(place, []).append((paragraphs, position))
        levels = (*outer, *re.findall(r"\w+", citation.paragraph or ""))
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
        inside = range(first, last + 1)
        span = [p for p in inside if self.law[p] == law and self._division[p] == division]
        return span if len(span) <= _LONGEST_RANGE else []

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
                return Fitting(self._span(law, last, ends[0]) or [], known=True)
            return Fitting(sorted({*first, *last}), known=True)  # "R. 6233-62 à D. 6233-65"
        if not first and (here is not None or not self._whole):
            return _NOTHING
        absent = ends[0] if last else ends[1]
        place = self._division[(first or last)[0]]
        inside = [
            position
            for core, entries in self._numbers[law].items()
            if _comparable(low, _key(core)) and low <= _key(core) <= high
            for division_of, _, position in entries
            if division_of == place
        ]
        if not _comparable(low, high) or low > high or not inside:
            return _NOTHING if doubtful else Fitting(first or last, absent, known=True)
        return Fitting(inside if len(inside) <= _LONGEST_RANGE else [], absent, known=True)


def _key(core: str) -> tuple[str, int, tuple[tuple[int, str], ...]]:
    """Where a number stands among others: letters before it, how many dots, and its parts."""
    prefix = re.match(r"[a-z]*", core)
    letters = prefix[0] if prefix else ""
    parts = re.findall(r"(\d+)([a-z]*)", core[len(letters) :])
    return letters, core.count("."), tuple((int(digits), suffix) for digits, suffix in parts)


def _comparable(
    one: tuple[str, int, tuple[tuple[int, str], ...]],
    other: tuple[str, int, tuple[tuple[int, str], ...]],
) -> bool:
    """Whether two numbers are of one row: "6.2.7" stands between no two of "6" and "8"."""
    return one[:2] == other[:2]


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
