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

from components.statutes import chinese_citations
from components.statutes.citation_levels import AND, in_brackets, levels_behind
from components.statutes.citation_markers import NUMBER, CitationKind, Marker, next_marker
from components.statutes.citation_numbers import LISTED_PARAGRAPH, canonical_core
from components.statutes.law_hints import LawReference, hint_behind, law_hint


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


# Start, end, number, paragraphs, through and otherwise of a `Citation`.
_Item = tuple[int, int, str, str | None, str | None, tuple[str, str | None] | None]

# In French a "section" is a division and "§" a paragraph of an article.
_FRENCH_DIVISION = re.compile(r"(?:\b(?:la|une|cette|présente|même|dite|de)|sous[- ])\s*$", re.I)
# A list stays on its line, but for French code numbers, which nothing else looks like. Behind a
# number of it may stand "(deposits)" or a reference mark.
_SEPARATOR = re.compile(
    r"(?: ?(?:\([^()\n\d]{3,80}\)|[\[【][^\[\]【】\n]{1,24}[\]】]))?"
    rf" *(?:,\s*(?=[LRD]\.? ?\d)|[,;] *(?:{AND} +)?| {AND} +)",
    re.IGNORECASE,
)
_RANGE = re.compile(r"\s?(?:\bto\b|\bthrough\b|\bà\b|\bau\b|\bbis\b|\bđến\b|–|—|\s-)\s?", re.I)
_HYPHENED = re.compile(r"(\d+[A-Za-z]?)-(\d+[A-Za-z]?)")
_QUANTITY = re.compile(
    r"\s*(?:°|%|€|\$|(?:per ?cent|days?|weeks?|months?|years?|hours?|minutes|times|people|euros?"
    r"|jours?|semaines?|mois|ans?|heures?|fois|personnes|tage?n?|wochen?|monate?n?|jahre?n?|stunden"
    r"|ngày|tháng|năm|giờ)\b)",
    re.IGNORECASE,
)
_SIGN = re.compile(r"§§?\s?")
# An editor's note of the number that an article had before.
_RENUMBERED = re.compile(r"\s+renumérotée?s?\s*\)", re.IGNORECASE)
# "the Markets Regulations 2015" and "Regulation 2016/679" are names of laws.
_YEAR = re.compile(r"(?:1[89]|20)\d\d(?:/\d+)?")
_LIST_GOES_ON = re.compile(
    rf"\s*(?:$|[,;.:?!)\]\"”»—–]|(?:{AND}|of|in|under|to|du|de|des|d['’]|der|của|ff?\.|does|do|is|are"
    r"|must|may|shall|can|appl(?:y|ies)|says?|provides?)\b)",
    re.IGNORECASE,
)
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
    plain = text.translate(PLAIN_CHARACTERS)
    found = [Citation(**fields) for fields in chinese_citations.found(plain)]
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
        group = list(_enumeration(plain, marker, taken))
        if group:
            position = taken = group[-1].end
            found.extend(group)
    if plain != text:
        found = [replace(c, text=text[c.start : c.end]) for c in found]
    return sorted(found, key=lambda citation: citation.start)


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
    items = _items(text, marker)
    if not items:
        return
    before = _LEVEL_BEFORE.search(text, max(taken, start - 40), start)
    if before:
        start = before.start()
    group = (start, items[-1][1])
    division, end = _division(text, *group) if kind == "paragraph" else (None, group[1])
    hint, reference = law_hint(text, start, end)
    if marker.doubtful and reference == "none" and items[0][3] is None:
        return
    for index, (first, stop, core, paragraphs, through, otherwise) in enumerate(items):
        if before and index == 0 and paragraphs is None:
            paragraphs = f"({before['a']})" + (f"({before['b']})" if before["b"] else "")
        begin = start if index == 0 else first
        yield Citation(
            start=begin,
            end=stop,
            text=text[begin:stop],
            number=core,
            paragraph=paragraphs,
            law_hint=hint,
            kind=kind,
            reference=reference,
            through=through,
            division=division,
            group=group,
            otherwise=otherwise,
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


def _items(text: str, marker: Marker) -> list[_Item]:
    """The numbers that a marker leads to."""
    items: list[_Item] = []
    position = marker.end
    while number := NUMBER.match(text, position):
        if _counts_something(text, marker, number):
            break
        closed = number.end() + marker.bracket  # "(5)"
        if items and not marker.bracket and _is_level_of_the_last(text, closed):
            break
        paragraphs, end, others = levels_behind(
            text, closed, sign=marker.sign, plural=marker.plural
        )
        if items and not marker.plural and not _goes_on(text, end):
            break
        core = canonical_core(number[0])
        through: str | None = None
        otherwise: tuple[str, str | None] | None = None
        if (to := _RANGE.match(text, end)) and (last := NUMBER.match(text, to.end())):
            through = canonical_core(last[0])
            end = levels_behind(text, last.end(), sign=marker.sign)[1]
            if to[0] in "–—":  # some print a number's own hyphen so
                otherwise = (canonical_core(f"{number[0]}-{last[0]}"), None)
        elif marker.plural and (both := _HYPHENED.fullmatch(number[0])):
            otherwise = (canonical_core(both[1]), canonical_core(both[2]))
        items.append((number.start(), end, core, paragraphs, through, otherwise))
        items.extend((start, stop, core, other, None, None) for start, stop, other in others)
        separator = _SEPARATOR.match(text, items[-1][1])
        if separator is None:
            break
        position = separator.end()
        if marker.sign and (again := _SIGN.match(text, position)):
            position = again.end()  # "§ 12, § 13"
    return items


def _is_level_of_the_last(text: str, end: int) -> bool:
    """Whether the number of a list that ends there is one like "7)", below the article before."""
    return text.startswith(")", end) and not in_brackets(text, end)


def _counts_something(text: str, marker: Marker, number: re.Match[str]) -> bool:
    """Whether a number is none of an article."""
    if marker.sign and number[0].endswith("er"):
        return True  # "§ 1er" is a paragraph of an article
    if number[0][-1].isupper() and marker.kind != "article" and number[0].isalpha():
        return True  # "Section IV" is a division
    if marker.kind in ("rule", "regulation") and _YEAR.fullmatch(number[0]):
        return True
    return any(each.match(text, number.end()) for each in (_QUANTITY, _RENUMBERED))


def _goes_on(text: str, end: int) -> bool:
    """Whether a number that ends there is the list's, and counts no tenants."""
    return _LIST_GOES_ON.match(text, end) is not None or hint_behind(text, end) is not None
