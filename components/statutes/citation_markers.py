"""What announces a citation and its number: "Article No. 5", "ss 24", "§§ 812", "Art. IV"."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal, cast

from components.statutes.citation_numbers import LATIN_SUFFIX, ROMAN_NUMERAL

CitationKind = Literal["article", "section", "rule", "regulation", "paragraph"]

# "I" and "V" count where nothing but the law follows: "the article I read" cites nothing. Behind
# "of this article." a paragraph "II." begins.
_ROMAN = rf"(?-i:(?![XLC]\b|[IV]\b(?!\s*(?:$|[.;?!(]|(?:of|du|de|des|del)\b))){ROMAN_NUMERAL})"
_MARKER = re.compile(
    r"(?=[adđlprs§])(?<![\w-])(?:"
    r"(?P<article>(?:articles?|artikel)(?=\d)|art(?:icle|ikel|[íi]culo)?[sn]?\b\.?|điều)"
    r"|(?P<section>sections?(?:\b|(?=\d))|sects?\.|secs?\.|(?-i:Sec[st]?)\b|(?<!['’])(?-i:ss?\.)|§§?)"
    r"|(?P<rule>rules?\b)"
    r"|(?P<regulation>regulations?\b|regs?\.|(?-i:Regs?)\b)"
    r"|(?P<paragraph>(?<!sub-)(?<!sub )paragraphs?\b|paras?\b\.?)"
    # "10 s 5" is a time, "Housing Act 1988 s 21" is not.
    r"|(?<!['’])(?:(?<!\d )|(?<=\b1[5-9]\d\d )|(?<=\b20\d\d ))"
    r"(?:(?P<short_section>(?-i:ss?|secs?)(?=\s?\d))|(?P<short_regulation>(?-i:regs?)(?=\s\d)))"
    # "L. 1221-1" needs no marker; "L 2014-05-12" is a date.
    r"|(?P<code>\b(?=[lrd]\.?\s?\*?\s?\d{3,4}-\d)(?!\w+\s?\d{4}-\d\d-\d\d))"
    # "No. 5", "n° 5", "#5", ": 5", "(5)": of a unit's number.
    r")\s*(?:(?:(?:nos?\.?|n[°º]|n[uú]m(?:ber|éro|\.)s?)(?=[\s\d])|[#№])\s*|:[^\S\n]*"
    r"|\((?!(?:19|20)\d\d\))(?=\d{1,4}[a-z]{0,2}\)))?"
    rf"(?=(?:[a-z]{{1,2}}[\s.*]{{0,4}})?\d|premier\b|(?<!\n)(?<!cle\.)(?<!cle\. ){_ROMAN})",
    re.IGNORECASE,
)
NUMBER = re.compile(
    r"premier\b(?!.{0,20}\balinéa)"
    r"|(?:[LRDlrd]\s?\.?\s?(?:\*\s?)?|[A-Z]{1,2}\.?)?"
    rf"\d+(?:\s?{LATIN_SUFFIX}\b(?!\s(?:\d|§|[Aa]rt(?:ikel|\.)))|er\b|[A-Za-z]{{1,2}}\b)?"
    rf"(?:[-/.:]\d+(?:\s?{LATIN_SUFFIX}\b|[A-Za-z]{{1,2}}\b)?)*"
    r"(?:\s[A-H](?=\s*(?:[,;)]|\.?\s*$|\s(?:et|ou|à|du|de)\b)))?"
    rf"|{_ROMAN}"
)
"""The number of an article, as its marker or the list before it leads to it."""
_KINDS: dict[str, CitationKind] = {
    "code": "article",
    "short_section": "section",
    "short_regulation": "regulation",
}
_PLURAL = re.compile(r"(?:\ws|§§|artikeln)\.?$", re.IGNORECASE)
# What a short marker stands behind: "under s 24", but not "the tenant s 24 keys".
_LEADS_TO_SHORT = re.compile(
    r"(?:^|[\n(,;:]\s?|\b(?:under|in|see|cf\.?|by|per|and|or|of|to|with|from|both|does|do|is|what"
    r"|says?|breach)\s)$",
    re.IGNORECASE,
)


@dataclass(frozen=True, slots=True)
class Marker:
    """A unit of law before a number.

    Attributes:
        start: Of the unit.
        end: Where the number begins.
        kind: The unit.
        plural: Whether several numbers are to come: "sections", "ss", "§§".
        sign: Whether it is "§".
        doubtful: Whether it is so short that something else must say that it cites: "s", "reg".
        bracket: Whether the number stands in brackets: "Article (5)".
    """

    start: int
    end: int
    kind: CitationKind
    plural: bool = False
    sign: bool = False
    doubtful: bool = False
    bracket: bool = False


def next_marker(text: str, position: int) -> Marker | None:
    """The first marker from a position on."""
    while match := _MARKER.search(text, position):
        name = match.lastgroup or ""
        # A bare code ("L. 1221-1") is its own marker, of no length: the search must still move on.
        position = max(match.end(), match.start() + 1)
        kind = _KINDS.get(name) or cast(CitationKind, name)
        between = text[match.end(name) : match.end()]
        before = max(0, match.start() - 12)
        if "(" in between and kind != "article":
            continue  # "sections (2) and (3)" are paragraphs
        if ":" in between and kind not in ("article", "section"):
            continue
        short = name.startswith("short")
        return Marker(
            start=match.start(),
            end=match.end(),
            kind=kind,
            plural=_PLURAL.search(match[name]) is not None,
            sign=match[name].startswith("§"),
            doubtful=short and _LEADS_TO_SHORT.search(text, before, match.start()) is None,
            bracket="(" in between,
        )
    return None
