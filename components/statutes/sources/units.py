"""The words for an article of law, a table for all languages, and headings read by them.

Readers and citations share the table.
"""

from __future__ import annotations

import re
from functools import cache
from typing import NamedTuple

from components.statutes.languages import words_of


class UnitWords(NamedTuple):
    """How a language writes an article's number.

    Attributes:
        before: Words in front of the number, in small letters, separated by blanks: "article art."
        after: Words behind it: Lithuanian "1 straipsnis", Icelandic "3. gr."
    """

    before: str = ""
    after: str = ""


UNIT_WORDS = {
    language: UnitWords(before, words_of("article after").get(language, ""))
    for language, before in words_of("article before").items()
}
"""By language; Chinese, Japanese and Korean write the number between two signs."""


@cache
def unit_pattern(place: str, language: str | None = None) -> str:
    """A regular expression for the unit words of one language, or of all.

    Args:
        place: "before" or "after" the number.
        language: Primary language tag; None for all languages.
    """
    rows = [UNIT_WORDS[language]] if language else list(UNIT_WORDS.values())
    words = {word for row in rows for word in getattr(row, place).split()}
    return "|".join(re.escape(word) for word in sorted(words, key=len, reverse=True))


# The number itself, in all of its parts: nothing of it may be left for the title.

LATIN_SUFFIX = (
    r"(?:bis|ter|qu[aá]ter|quinqu?ies|sexies|septies|octies|nov?n?ies"
    r"|[a-z]{0,8}(?:dec|vic|tric)ies(?:[ -](?:semel|bis|ter|quater))?)"
)
"""Of inserted articles, without end: "bis", "quaterdecies", "duovicies"."""

_SUFFIX = rf"""(?:
    \.?[⁰¹²³⁴-⁹]++ | \^\(?\d+\)?                   # § 12¹, 2^1
  | \.?[º°ª] | (?:er|[èe]re|o)(?!\w)               # 2.º, 1er
  | \.?[ -]?(?i:{LATIN_SUFFIX})(?!\w|[ ](?:§|\d{{3}}|\d+[a-z]))
      (?:[ .-]\d{{1,2}}(?!\w|\.\d))?                # 12 bis 1, not §§ 12 bis 120
  | [a-z](?=(?:bis|ter|quater|quinquies|sexies|septies|octies)(?!\w))  # 12abis
  | [ ](?:ทวิ|ตรี|จัตวา|เบญจ|مكررا?|مکرر)(?!\w)
  | [-–/]\d+                                       # 2º-1, 28d-28
  | (?: [^\W\d_]{{1,3}} | [-–/](?:[A-ZΑ-ΩА-Я]{{1,4}}|[a-zα-ωа-я]{{1,3}})   # 5a, 304-AAB
      | \.[a-zčćđšžа-я]{{1,2}} )(?![\w)'’])          # 3.a
  | [ ][a-xzа-д](?!\w)(?=[ ]*(?:$|[.:(—–-]|§|[^\W\d_a-zß-ÿ]|{{after}}))      # § 7 c
  | [ ][A-HJ-UWYZΑ-ΗΚ-ΩА-Я](?=[.:]?[ ]*(?:$|[—–-])|[.:][ ])       # Artículo 15 A.
)"""


def _core(after: str) -> str:
    suffix = _SUFFIX.replace("{after}", after)
    return (
        rf"(?:(?:[A-Z]{{1,2}}\.?[ ]?\*?[ ]?)?\d++(?:[.\-–/:]\d+)*+{suffix}*+"
        rf"|[IVXLC]++(?:[ -]?{LATIN_SUFFIX})?(?!['’]))(?![\w]|[-–]\d)"
    )


_CJK = r"[\d一二三四五六七八九十百千〇零]+"
_KOREAN = r"제[ ]?\d+[ ]?조(?:의[ ]?\d+)*"
_CHINESE = rf"第[ ]?{_CJK}(?:[-–]\d+)?[ ]?[条條](?:[ ]?[之の][ ]?{_CJK})*"
_SIGNED = (
    rf"{_KOREAN}(?:(?:부터|내지|및|,|[-–~])[ ]?{_KOREAN}(?:까지)?)*"
    rf"|{_CHINESE}(?:(?:から|及び|至|到|、|[-–~])[ ]?{_CHINESE}(?:まで)?)*"
)
_AND = (
    r"(?:a|al|y|e|à|et|und|u\.|bis|and|to|through|og|och|i|do|až|till?|tot[ ]en[ ]met|t/m|[șş]i"
    r"|и|і|по|до|[-–])"
)
# Provisions numbered on their own, so that their kind belongs to the number: "Ek Madde 2".
_APART = r"(?i:ek|geçici|mükerrer)\s+(?i:madde)\s+"
_IN_WORDS = r"\w+(?:[ ](?:y[ ])?\w+)?(?=\s*(?:$|[.:—–]|-\s))"  # "primero", "unique"
# What sets a number off from the title behind it.
_SET_OFF = re.compile(r"\s*(?:$|[.:;]+(?=[\s—–-]|$)|[.:]?\s*[—–-])")


class NumberedHeading(NamedTuple):
    """The heading of an article, in its parts.

    Attributes:
        unit: Its word or sign as printed, "Article"; empty where there is none.
        number: In all its parts, without the unit unless that stands within: "12 bis", "제3조의2",
            "3. gr. a".
        title: What follows; may be empty.
        is_set_off: Whether a sign or the line's end stands between number and title.
    """

    unit: str
    number: str
    title: str
    is_set_off: bool


def numbered_heading(text: str, language: str | None = None) -> NumberedHeading | None:
    """The heading of an article by its number; None for any other text.

    Args:
        text: In one line.
        language: Primary language tag; None, or one without words in the table, for all.

    >>> numbered_heading("Artículo 12 bis.- Objeto", "es")
    NumberedHeading(unit='Artículo', number='12 bis', title='Objeto', is_set_off=True)
    >>> numbered_heading("3.a člen", "sl").number, numbered_heading("Article 5a", "en").number
    ('3.a', '5a')
    """
    found = _heading_pattern(language if language in UNIT_WORDS else None).match(text)
    if found is None:
        return None
    unit, number = found["before"] or "", found["number"] or found["words"] or ""
    if found["words"] and (len(unit) < 3 or unit[-1] in "sS"):
        return None  # "Artículos transitorios" are a division
    if found["apart"]:
        unit, number = "Madde", found["apart"]
    elif found["signed"]:
        number = found["signed"].replace(" ", "")
    elif found["last"]:
        unit, number = found["after"], found["first"]
        if found["letter"]:
            number = found["last"]
    elif found["bare"]:
        number = found["bare"]
    rest = text[found.end() :]
    title = rest.lstrip(" .:;,—–-").strip()
    return NumberedHeading(
        unit,
        " ".join(number.split()),
        title.removeprefix(") "),
        _SET_OFF.match(rest) is not None or (bool(found["signed"]) and not rest[:1].isalnum()),
    )


@cache
def _heading_pattern(language: str | None) -> re.Pattern[str]:
    # "Article" and "art." are at home in every language: translations of treaties keep them.
    rows = [UNIT_WORDS[language], UNIT_WORDS["fr"]] if language else list(UNIT_WORDS.values())
    before, after = (
        "|".join(
            re.escape(word)
            for word in sorted(
                {word.rstrip(".") for row in rows for word in getattr(row, place).split()} - {"§"},
                key=len,
                reverse=True,
            )
        )
        or "(?!)"
        for place in ("before", "after")
    )
    core = _core(rf"(?i:{after})")
    return re.compile(
        rf"""
        (?P<apart>{_APART}{core})
        | (?P<before>§§?|(?i:{before})s?(?![^\W\d_])\.?)\s*(?:(?i:n)[.º°]+\s*)?
        (?:(?P<number>{core}(?:,[ ]{core})*(?:[ ]?{_AND}[ ](?:§[ ])?{core})?)
            |(?P<words>{_IN_WORDS}))
        | (?P<signed>{_SIGNED})
        | (?P<last>(?P<first>(?:\d+[ ]?[a-z]?[ ](?:kap\.?|luku)[ ])?{core}(?:\(\d+\))?)
            \.?\s*(?P<after>§§?|(?i:{after})(?!\w))
            (?P<letter>\.?[ ][a-z](?!\w))?)
        | (?P<bare>{core})(?=\.(?:\s|$|[—–-]))
        """,
        re.VERBOSE,
    )
