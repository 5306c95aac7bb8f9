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
from typing import Literal

from components.statutes import chinese_citations
from components.statutes.citation_numbers import LATIN_SUFFIX, canonical_core
from components.statutes.law_hints import LawReference, law_hint

CitationKind = Literal["article", "section", "rule", "regulation", "paragraph"]


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
        division: Canonical name of the schedule or annex that is named with the number.
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

_PLURAL = re.compile(r"(?:s|n|ss|§§|es)\.?$", re.IGNORECASE)
_MARKER = re.compile(
    r"(?=[adđlprs§])(?<![\w-])(?:"
    r"(?P<article>art(?:icle|ikel)?[sn]?\b\.?|điều)"
    r"|(?P<section>sections?\b|sects?\.|secs?\.|(?<!['’])(?-i:ss?\.)|(?<=[,(] )(?-i:s)\b|§§?)"
    r"|(?P<rule>rules?\b)"
    r"|(?P<regulation>regulations?\b|regs?\.)"
    r"|(?P<paragraph>(?<!sub-)(?<!sub )paragraphs?\b|paras?\b\.?)"
    # "L. 1221-1" needs no marker; "L 2014-05-12" is a date.
    r"|(?P<code>\b(?=[lrd]\.?\s?\*?\s?\d{3,4}-\d)(?!\w+\s?\d{4}-\d\d-\d\d))"
    r")\s*(?=(?:[a-z]{1,2}[\s.*]{0,4})?\d|premier\b)",
    re.IGNORECASE,
)
# In French a "section" is a division and "§" a paragraph of an article.
_FRENCH_DIVISION = re.compile(r"(?:\b(?:la|une|cette|présente|même|dite|de)|sous[- ])\s*$", re.I)
_NUMBER = re.compile(
    r"premier\b(?!.{0,20}\balinéa)"
    r"|(?:[LRDlrd]\s?\.?\s?(?:\*\s?)?|[A-Z]{1,2}\.?)?"
    rf"\d+(?:\s?{LATIN_SUFFIX}\b(?!\s\d)|er\b|[A-Za-z]{{1,2}}\b)?"
    rf"(?:[-/.]\d+(?:\s?{LATIN_SUFFIX}\b|[A-Za-z]{{1,2}}\b)?)*"
    r"(?:\s[A-H](?=\s*(?:[,;)]|\.?\s*$|\s(?:et|ou|à|du|de)\b)))?"
)
_NOUN_LEVEL = (
    r"(?:§§?|abs(?:atz|\.|(?= ?\d))|al(?:inéas?|\.)|paragraphe?s?|paras?\b\.?|khoản|điểm"
    r"|subsections?|subs(?:ecs?)?\.|satz|nr\.|nummer"
    r"|buchst(?:abe|\.)|lit\.|point)"
)
_LEVEL = re.compile(
    r"(?:\.?| )\(\s?(?P<bracket>\d{1,3}[A-Z]{0,2}|(?<=\w\()\d{4}|[a-z]{1,2}|[ivxl]{1,5}|[A-Z])\s?\)"
    rf"|,?\s?{_NOUN_LEVEL}\s?\(?(?P<noun>\d+|[a-zđ]\b)\)?(?:er\b)?"
    r"|,?\s?(?P<degree>\d+)°"
    r"|,?\s?(?P<ordinal>premier|second|deuxième|troisième|dernier)(?:\set\s\w+)?\salinéas?",
    re.IGNORECASE,
)
_DEEPEST = 8  # levels below an article
_ORDINALS = {"premier": "1", "second": "2", "deuxième": "2", "troisième": "3"}
_AND = r"(?:and|or|et|ou|und|oder|sowie|và|hoặc|&)"
_MORE_BRACKETS = re.compile(
    rf"\s*(?:,\s*{_AND}?|{_AND}|to|à|bis)\s*(\((?:\w{{1,4}})\)(?:\(\w{{1,4}}\))*)"
)
_MORE_LEVELS = re.compile(
    rf"\s*(?:,\s*{_AND}?|{_AND}|à|bis)\s*(?:\d+°|\d{{1,2}}(?:/\d{{1,2}}|er)?(?![\d/.-]|\s?{LATIN_SUFFIX}))"
)
# A list stays on its line, but for French code numbers, which nothing else looks like.
_SEPARATOR = re.compile(rf" *(?:,\s*(?=[LRD]\.? ?\d)|[,;] *(?:{_AND} +)?| {_AND} +)", re.IGNORECASE)
_RANGE = re.compile(r"\s?(?:\bto\b|\bthrough\b|\bà\b|\bau\b|\bbis\b|\bđến\b|–|—|\s-)\s?", re.I)
_HYPHENED = re.compile(r"(\d+)-(\d+)")
_QUANTITY = re.compile(
    r"\s*(?:°|%|€|\$|(?:per ?cent|days?|weeks?|months?|years?|hours?|minutes|times|people|euros?"
    r"|jours?|semaines?|mois|ans?|heures?|fois|personnes|tage?n?|wochen?|monate?n?|jahre?n?|stunden"
    r"|ngày|tháng|năm|giờ)\b)",
    re.IGNORECASE,
)
_YEAR = re.compile(r"(?:1[89]|20)\d\d")  # "the Markets Regulations 2015" is a law's name
_LIST_GOES_ON = re.compile(
    rf"\s*(?:$|[,;.:?!)\]]|(?:{_AND}|of|in|under|to|du|de|des|d['’]|der|của|ff?\.)\b)",
    re.IGNORECASE,
)
_LEVEL_BEFORE = re.compile(
    r"(?:điểm\s+(?P<b>[a-zđ])[\s,]*)?(?:khoản\s+(?P<a>\d+)[\s,]*)$", re.IGNORECASE
)
_PART_OF_ANOTHER = re.compile(r"[\w(),. -]{1,20}\s+of\s+(?:the\s+)?(?:art|sec|rule|s\.)", re.I)
_SCHEDULE = re.compile(
    r"\s*,?\s*(?:of|in|to)\s+(?:the\s+)?(?:(?:part|chapter)\s+\w+\s+of\s+)*"
    r"(schedule|annex|app(?:endix)?)\s*(\d+[A-Z]?)\b",
    re.IGNORECASE,
)
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
    position = taken = 0
    french = (language or "").lower().startswith("fr")
    while marker := _MARKER.search(plain, position):
        # A bare code ("L. 1221-1") is its own marker, of no length: the search must still move on.
        position = max(marker.end(), marker.start() + 1)
        kind: CitationKind = (
            "article" if marker["code"] is not None else marker.lastgroup  # type: ignore[assignment]
        )
        if kind == "paragraph" and _PART_OF_ANOTHER.match(plain, marker.end()):
            continue
        if french and kind != "article":
            continue
        if kind == "section" and _FRENCH_DIVISION.search(
            plain, max(0, marker.start() - 12), marker.start()
        ):
            continue
        group = list(_enumeration(plain, marker, kind, taken))
        if group:
            position = taken = group[-1].end
            found.extend(group)
    if plain != text:
        found = [replace(c, text=text[c.start : c.end]) for c in found]
    return sorted(found, key=lambda citation: citation.start)


def _enumeration(
    text: str, marker: re.Match[str], kind: CitationKind, taken: int
) -> Iterator[Citation]:
    """The citations behind one marker; the text up to `taken` belongs to others."""
    plural = _PLURAL.search(marker[0].rstrip()) is not None
    items: list[_Item] = []
    position = marker.end()
    while number := _NUMBER.match(text, position):
        if marker[0].startswith("§") and number[0].endswith("er"):
            break  # "§ 1er" is a paragraph of an article
        paragraphs, end, others = _levels(text, number.end())
        if _QUANTITY.match(text, number.end()) or (
            kind in ("rule", "regulation") and _YEAR.fullmatch(number[0])
        ):
            break
        if items and not plural and not _LIST_GOES_ON.match(text, end):
            break
        core = canonical_core(number[0])
        through: str | None = None
        otherwise: tuple[str, str | None] | None = None
        if (to := _RANGE.match(text, end)) and (last := _NUMBER.match(text, to.end())):
            through = canonical_core(last[0])
            end = _levels(text, last.end())[1]
            if to[0] in "–—":  # some print a number's own hyphen so
                otherwise = (canonical_core(f"{number[0]}-{last[0]}"), None)
        elif plural and (both := _HYPHENED.fullmatch(number[0])):
            otherwise = (canonical_core(both[1]), canonical_core(both[2]))
        items.append((number.start(), end, core, paragraphs, through, otherwise))
        items.extend((start, stop, core, other, None, None) for start, stop, other in others)
        separator = _SEPARATOR.match(text, items[-1][1])
        if separator is None:
            break
        position = separator.end()
    if not items:
        return
    start = marker.start()
    before = _LEVEL_BEFORE.search(text, max(taken, start - 40), start)
    if before:
        start = before.start()
    group = (start, items[-1][1])
    schedule = _SCHEDULE.match(text, group[1], group[1] + 80) if kind == "paragraph" else None
    hint, reference = law_hint(text, start, schedule.end() if schedule else group[1])
    for index, (first, end, core, paragraphs, through, otherwise) in enumerate(items):
        if before and index == 0 and paragraphs is None:
            paragraphs = f"({before['a']})" + (f"({before['b']})" if before["b"] else "")
        begin = start if index == 0 else first
        yield Citation(
            start=begin,
            end=end,
            text=text[begin:end],
            number=core,
            paragraph=paragraphs,
            law_hint=hint,
            kind=kind,
            reference=reference,
            through=through,
            division=f"{schedule[1][:3].lower()} {schedule[2].lower()}" if schedule else None,
            group=group,
            otherwise=otherwise,
        )


def _levels(text: str, position: int) -> tuple[str | None, int, list[tuple[int, int, str]]]:
    """The levels named behind a number, where they end, and further ones of the same article.

    "48K(1)(b), (2)" gives "(1)(b)" and the further "(2)".
    """
    levels: list[str] = []
    others: list[tuple[int, int, str]] = []
    while not others and len(levels) < _DEEPEST and (level := _LEVEL.match(text, position)):
        position = level.end()
        ordinal = level["ordinal"]
        value = (
            level["bracket"]
            or level["noun"]
            or level["degree"]
            or _ORDINALS.get((ordinal or "").lower(), "")
        )
        if value:
            levels.append(value.lower())
        if level["bracket"]:
            behind = position
            while more := _MORE_BRACKETS.match(text, behind):
                others.append((more.start(1), more.end(), _replaced(levels, more[1])))
                behind = more.end()
        elif not ordinal:
            while more := _MORE_LEVELS.match(text, position):
                if ("°" in more[0]) != bool(level["degree"]) or not _many(level):
                    break
                position = more.end()
    named = "".join(f"({level})" for level in levels)
    return named or None, position, others


def _many(level: re.Match[str]) -> bool:
    """Whether the level may be followed by others of its sort: "§§ 4 et 5", "1°, 2° et 4°"."""
    return bool(level["degree"]) or re.search(r"§§|alinéas|paragraphes|subs", level[0]) is not None


def _replaced(levels: list[str], other: str) -> str:
    """The levels with those of `other` put where the first one of its sort stands."""
    further = re.findall(r"\w+", other.lower())
    for index, level in enumerate(levels):
        if level[0].isdigit() == further[0][0].isdigit():
            return "".join(f"({x})" for x in [*levels[:index], *further])
    return "".join(f"({x})" for x in [*levels, *further])
