"""The numbers behind one marker: "articles 12, 13-1 and 15 to 18"."""

from __future__ import annotations

import re
from typing import NamedTuple

from components.statutes.citation_levels import AND, in_brackets, levels_behind
from components.statutes.citation_markers import NUMBER, Marker, any_language
from components.statutes.citation_numbers import canonical_core
from components.statutes.law_hints import hint_behind


class Item(NamedTuple):
    """One number of a list, or a range of them.

    Attributes:
        start, end: Its span, with its paragraphs.
        number: Canonical.
        paragraph: As `Citation.paragraph`.
        through: As `Citation.through`.
        otherwise: As `Citation.otherwise`.
    """

    start: int
    end: int
    number: str
    paragraph: str | None
    through: str | None = None
    otherwise: tuple[str, str | None] | None = None


# A list stays on its line, but for French code numbers, which nothing else looks like. Behind a
# number of it may stand "(deposits)" or a reference mark.
_SEPARATOR = re.compile(
    r"(?: ?(?:\([^()\n\d]{3,80}\)|[\[【][^\[\]【】\n]{1,24}[\]】]))?"
    rf" *(?:,\s*(?=[LRD]\.? ?\d)|[,;] *(?:{AND} +)?| {AND} +)",
    re.IGNORECASE,
)
_RANGE = re.compile(rf"\s?(?:\b(?:{any_language('to')})\b|–|—|\s-)\s?", re.IGNORECASE)
# "article 12 to article 15": the unit may stand again, the same one.
_UNIT_AGAIN = {
    "article": re.compile(r"(?:l['’]\s?)?(?:art(?:icle|ikel|[íi]culo)?s?\b\.?|điều)\s*", re.I),
    "section": re.compile(r"(?:sections?|ss?\b\.?|secs?\b\.?|§§?)\s*", re.I),
    "rule": re.compile(r"rules?\s*", re.I),
    "regulation": re.compile(r"reg(?:ulation)?s?\b\.?\s*", re.I),
    "paragraph": re.compile(r"para(?:graph)?s?\b\.?\s*", re.I),
}
_HYPHENED = re.compile(r"(\d+[A-Za-z]?)-(\d+[A-Za-z]?)")
_QUANTITY = re.compile(rf"\s*(?:°|%|€|\$|(?:{any_language('counted')})\b)", re.IGNORECASE)
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
# "L. 3162-1 et 2" is L. 3162-2 too.
_PREFIXED = re.compile(r"([lrd]\d+(?:-\d+)*-)\d+")


def items_of(text: str, marker: Marker) -> list[Item]:
    """The numbers that a marker leads to."""
    items: list[Item] = []
    whole = ""  # the last number with more than digits
    position = marker.end
    while number := NUMBER.match(text, position):
        if _counts_something(text, marker, number):
            break
        closed = number.end() + marker.bracket  # "(5)"
        if items and not marker.bracket and _is_level_of_the_last(text, closed):
            break
        paragraph, end, others = levels_behind(text, closed, sign=marker.sign, plural=marker.plural)
        if items and not marker.plural and not _goes_on(text, end):
            break
        core = canonical_core(number[0])
        through: str | None = None
        otherwise: tuple[str, str | None] | None = None
        to = _RANGE.match(text, end)
        again = to and _UNIT_AGAIN[marker.kind].match(text, to.end())
        last = to and NUMBER.match(text, (again or to).end())
        if to and last:
            through = canonical_core(last[0])
            end = levels_behind(text, last.end(), sign=marker.sign)[1]
            if to[0] in "–—":  # some print a number's own hyphen so
                otherwise = (canonical_core(f"{number[0]}-{last[0]}"), None)
        elif marker.plural and (both := _HYPHENED.fullmatch(number[0])):
            otherwise = (canonical_core(both[1]), canonical_core(both[2]))
        otherwise = otherwise or _in_full(core, through, whole)
        whole = whole if core.isdigit() else core
        items.append(Item(number.start(), end, core, paragraph, through, otherwise))
        items.extend(Item(start, stop, core, other) for start, stop, other in others)
        separator = _SEPARATOR.match(text, items[-1].end)
        if separator is None:
            break
        position = separator.end()
        if marker.sign and (sign := _SIGN.match(text, position)):
            position = sign.end()  # "§ 12, § 13"
    return items


def _in_full(core: str, through: str | None, before: str) -> tuple[str, str | None] | None:
    """A number and its range with what they share with a number before; None for nothing."""
    if core.isdigit() and (shared := _PREFIXED.fullmatch(before)):
        return f"{shared[1]}{core}", through and f"{shared[1]}{through}"
    if through and through.isdigit() and (shared := _PREFIXED.fullmatch(core)):
        return core, f"{shared[1]}{through}"
    return None


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
