"""Citations of articles in running text: questions, articles of law, answers.

Forms: English ("Section 14(2)", "s. 5", "Articles 27 and 28", "Rule 6.1.3(a)"), French
("article L. 1221-1 du Code du travail", "art. 1382 C. civ."), German ("§ 823 Abs. 1 BGB"),
Vietnamese ("khoản 2 Điều 12 Bộ luật Dân sự") and Chinese ("民法典第12条", "第一百二十条第二款").
A number needs its marker: "I worked 12 hours" cites nothing.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from itertools import islice

from components.statutes import chinese_citations
from components.statutes.citation_lists import AND, items_of
from components.statutes.citation_markers import CitationKind, Marker, next_marker
from components.statutes.citation_numbers import LISTED_PARAGRAPH
from components.statutes.law_hints import LawReference, law_hint


@dataclass(frozen=True, slots=True)
class Citation:
    """One cited article, or one range of articles.

    Attributes:
        start, end: Span of the number in the text, with its paragraphs; marker excluded in the
            middle of an enumeration.
        text: text[start:end].
        number: Canonical: "1382-1", "l1221-1", "48f"; Chinese numerals in digits.
        paragraph: Levels below the article, from the outside in: "(2)(a)"; None where none is
            named. Abs. 1, § 1er, alinéa 3, khoản 2, 第一款 are levels alike.
        law_hint: The words that name a law, as they stand; None where none do.
        kind: The unit that the marker names.
        reference: How the law is named: "none", "own" ("this Act"), "same" ("that Act": the one
            named before), "named".
        through: Last number of a range ("to 12"), canonical; None for a single article.
        division: Canonical name of the schedule or annex that is named with the number;
            `LISTED_PARAGRAPH` for "paragraph 25 above".
        group: Span of the whole enumeration, from its marker to its last number.
        otherwise: `number` and `through` as the dash between them can be read too: "14–1" may be
            printed for the number 14-1, and "articles 12-14" may mean a range.
    """

    start: int
    end: int
    text: str
    number: str
    paragraph: str | None
    law_hint: str | None
    kind: CitationKind
    reference: LawReference = "none"
    through: str | None = None
    division: str | None = None
    group: tuple[int, int] = (0, 0)
    otherwise: tuple[str, str | None] | None = None

    @property
    def readings(self) -> list[tuple[str, str | None]]:
        """Each (number, through) that it can mean, the likelier first."""
        return [(self.number, self.through), *([self.otherwise] if self.otherwise else [])]


# In French a "section" is a division and "§" a paragraph of an article.
_FRENCH_DIVISION = re.compile(r"(?:\b(?:la|une|cette|présente|même|dite|de)|sous[- ])\s*$", re.I)
_LEVEL_BEFORE = re.compile(
    r"(?:điểm\s+(?P<b>[a-zđ])[\s,]*)?(?:khoản\s+(?P<a>\d+)[\s,]*)$", re.IGNORECASE
)
_PART_OF_ANOTHER = re.compile(
    r"[\w(),. -]{1,20}\s+(?:of|de|du|des)\s+(?:(?:the|cet|même)\s+|l['’]\s?)?"
    r"(?:art|sec|rule|s\.)",
    re.IGNORECASE,
)
_NEAR = 160  # characters of a sentence in which a citation may go on
_FURTHER = re.compile(
    rf"(?:,|\b{AND})\s+(?=\d[\w/.()-]{{0,16}}\s+(?:of|du|de|des|del)\b)", re.IGNORECASE
)
_SENTENCE_END = re.compile(r"[.!?](?=\s)|\n")
_SCHEDULE = re.compile(
    r"\s*,?\s*(?:of|in|to)\s+(?:the\s+)?(?:(?:part|chapter)\s+\w+\s+of\s+)*"
    r"(?:(?P<unit>schedule|annex|app(?:endix)?)\s*(?P<number>\d+[A-Z]?)\b"
    r"|(?:that|the same|the said)\s+(?P<same>schedule|annex|appendix)\b)",
    re.IGNORECASE,
)
_SCHEDULE_NUMBER = re.compile(
    r"\b(?P<unit>schedule|annex|appendix)\s+(?P<number>\d+[A-Z]?)\b", re.IGNORECASE
)
_BEFORE = 400  # characters in which "that Schedule" was named
# "paragraph 25 above" is an item of the list that it stands in.
_NEARBY = re.compile(r"\s*,?\s*(?:above|below|ci-dessus|ci-dessous)\b", re.IGNORECASE)
# Characters that print nothing or a space, and typographic hyphens, one for one: spans keep.
PLAIN_CHARACTERS = str.maketrans(
    dict.fromkeys("\u00a0\u00ad\u200b\u200c\u200d\u200e\u200f\u202f\u2009\u2060\ufeff\u3000", " ")
    | dict.fromkeys("\u2010\u2011\u2012\u2212", "-")
)


def find_citations(text: str, language: str | None = None) -> list[Citation]:
    """The citations of a text in their order; an enumeration gives one for each article.

    Args:
        text: Any text.
        language: BCP 47 tag of the text, where known. In French "section 2" and "§ 2" are parts
            of something else and not cited articles; without the tag they are told by context.
    """
    return read_citations(text, language)[0]


def read_citations(
    text: str, language: str | None = None, most: int | None = None
) -> tuple[list[Citation], int]:
    """The citations of a text, and where reading ended.

    Args:
        text: Any text.
        language: As in `find_citations`.
        most: How many citations are read, and how many words like "section" before a number that
            may announce one; None reads the whole text.
    """
    plain = text.translate(PLAIN_CHARACTERS)
    limit = len(plain) if most is None else most
    chinese = islice(chinese_citations.found(plain), limit + 1)
    found = [Citation(**fields) for fields in chinese]
    read_end = len(plain)
    tried = 0
    french = (language or "").lower().startswith("fr")
    group: list[Citation] = []  # the last one
    position = taken = 0
    while True:
        marker = next_marker(plain, position)
        gap = marker.start if marker else len(plain)
        while group and (group := list(_further(plain, group[0].kind, taken, gap))):
            found.extend(group)
            taken = group[-1].end
        if marker is None:
            break
        position = max(marker.end, marker.start + 1)
        if _cites_nothing(plain, marker, french):
            continue
        if tried == limit:
            read_end = marker.start
            break
        tried += 1
        group = list(_enumeration(plain, marker, taken))
        if group:
            position = taken = group[-1].end
            found.extend(group)
    if plain != text:
        found = [replace(c, text=text[c.start : c.end]) for c in found]
    found.sort(key=lambda citation: citation.start)
    if len(found) > limit:
        read_end = min(read_end, found[limit].start)
    return [citation for citation in found if citation.start < read_end], read_end


def _cites_nothing(text: str, marker: Marker, french: bool) -> bool:
    """Whether a marker names a part of something else than a law."""
    if (marker.kind == "paragraph" or marker.sign) and _PART_OF_ANOTHER.match(text, marker.end):
        return True
    if french:
        return marker.kind != "article"
    before = max(0, marker.start - 12)
    return (
        marker.kind == "section" and _FRENCH_DIVISION.search(text, before, marker.start) is not None
    )


def _further(text: str, kind: CitationKind, position: int, end: int) -> Iterator[Citation]:
    """What goes on behind the law of a citation, without a marker: "... and 13 of the Work Code".

    Args:
        text: The text.
        kind: Of the citation before.
        position: Where that citation ends.
        end: Where the next one begins.
    """
    sentence_end = _SENTENCE_END.search(text, position, min(end, position + _NEAR))
    end = sentence_end.start() if sentence_end else min(end, position + _NEAR)
    for match in _FURTHER.finditer(text, position, end):
        start = match.end()
        further = list(_enumeration(text, Marker(start, start, kind, doubtful=True), position))
        if further and further[-1].end <= end:
            yield from further
            return


def _enumeration(text: str, marker: Marker, taken: int) -> Iterator[Citation]:
    """The citations behind one marker; the text up to `taken` belongs to others."""
    start, kind = marker.start, marker.kind
    items = items_of(text, marker)
    if not items:
        return
    before = _LEVEL_BEFORE.search(text, max(taken, start - 40), start)
    if before:
        start = before.start()
    group = (start, items[-1].end)
    division, end = _division(text, *group) if kind == "paragraph" else (None, group[1])
    hint, reference = law_hint(text, start, end)
    if marker.doubtful and reference == "none" and items[0].paragraph is None:
        return
    for index, item in enumerate(items):
        paragraph = item.paragraph
        if before and index == 0 and paragraph is None:
            paragraph = f"({before['a']})" + (f"({before['b']})" if before["b"] else "")
        begin = start if index == 0 else item.start
        yield Citation(
            start=begin,
            end=item.end,
            text=text[begin : item.end],
            number=item.number,
            paragraph=paragraph,
            law_hint=hint,
            kind=kind,
            reference=reference,
            through=item.through,
            division=division,
            group=group,
            otherwise=item.otherwise,
        )


def _division(text: str, start: int, end: int) -> tuple[str | None, int]:
    """The division that is named behind paragraphs text[start:end], and where its name ends."""
    if _NEARBY.match(text, end):
        return LISTED_PARAGRAPH, end
    named = _SCHEDULE.match(text, end, end + 80)
    if named is None:
        return None, end
    if named["unit"]:
        return f"{named['unit'][:3].lower()} {named['number'].lower()}", named.end()
    number = ""  # where none was named before, no division is meant that could be known
    for last in _SCHEDULE_NUMBER.finditer(text, max(0, start - _BEFORE), start):
        if last["unit"][:3].lower() == named["same"][:3].lower():
            number = last["number"].lower()
    return f"{named['same'][:3].lower()} {number}", named.end()
