"""The words for articles and divisions of law, by language, and headings read by them.

Readers and citations share the tables.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from functools import cache
from typing import NamedTuple

from components.statutes.languages import folded, words_of

# Chinese, Japanese and Korean write the number between two signs.
WORDS_BEFORE = words_of("article before")
"""Words in front of an article's number by language, parted by blanks: "article art."."""
WORDS_AFTER = words_of("article after")
"""Words behind it: Lithuanian "1 straipsnis", Icelandic "3. gr."."""


@cache
def unit_pattern(place: str) -> str:
    """A regular expression for the unit words of all languages.

    Args:
        place: "before" or "after" the number.
    """
    return any_of({word for row in words_of(f"article {place}").values() for word in row.split()})


def any_of(words: Iterable[str]) -> str:
    """A regular expression for any of some words, the longest first."""
    return "|".join(map(re.escape, sorted(words, key=len, reverse=True)))


# The number itself, in all of its parts: nothing of it may be left for the title.

LATIN_SUFFIX = (
    r"(?:bis|ter|qu[aá]ter|quinqu?ies|quinque|sexies|septies|octies|nov?n?ies"
    r"|[a-z]{0,8}(?:dec|vic|tric)ies(?:[ -](?:semel|bis|ter|quater))?)"
)
"""Of inserted articles, without end: "bis", "quaterdecies", "duovicies"."""

_SUFFIX = rf"""(?:
    \.?[⁰¹²³⁴-⁹]++ | \^\(?\d+\)?                   # § 12¹, 2^1
  | \.?[º°ª] | (?:er|[èe]re|o)(?!\w)               # 2.º, 1er
  | [.:]?[ -]?(?i:{LATIN_SUFFIX})(?!\w|[ ](?:§|\d{{3}}|\d+[a-z]))
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
RANGE_WORDS = (
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
    found = _heading_pattern(language if language in WORDS_BEFORE else None).match(text)
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
    tags = (language, "fr") if language else WORDS_BEFORE
    before, after = (
        any_of({word.rstrip(".") for tag in tags for word in words.get(tag, "").split()} - {"§"})
        or "(?!)"
        for words in (WORDS_BEFORE, WORDS_AFTER)
    )
    core = _core(rf"(?i:{after})")
    return re.compile(
        rf"""
        (?P<apart>{_APART}{core})
        | (?P<before>§§?|(?i:{before})s?(?![^\W\d_])\.?)\s*(?:(?i:n)[.º°]+\s*)?
        (?:(?P<number>{core}(?:,[ ]{core})*(?:[ ]?{RANGE_WORDS}[ ](?:§[ ])?{core})?)
            |(?P<words>{_IN_WORDS}))
        | (?P<signed>{_SIGNED})
        | (?P<last>(?P<first>(?:\d+[ ]?[a-z]?[ ](?:kap\.?|luku)[ ])?{core}(?:\(\d+\))?)
            \.?\s*(?P<after>§§?|(?i:{after})(?!\w))
            (?P<letter>\.?[ ][a-z](?!\w))?)
        | (?P<bare>{core})(?=\.(?:\s|$|[—–-]))
        """,
        re.VERBOSE,
    )


NUMBERED_PROVISION = re.compile(
    r"(?P<number>(?i:disposici(?:ón|ó)|disposição)[ ](?i:add?icional|transit[oò]ri[ao]|final"
    r"|derogat[oò]ri[ao])(?:[ ][^\W\d_]+){1,2})(?:\s*$|[.:]|[ ]?[–—-])\s*(?P<title>.*)"
)
"""Provisions that close a law have numbers of their own: "Disposición final primera"."""

# The divisions above an article, and the tree rebuilt from their words.
#
# Formats flatten the tree of a law: titles and chapters become headings of one level, codes lose
# their headings to plain lines. The words still say what stands under what: a Chapitre stands in a
# Titre, never a Titre in a Chapitre. `DivisionPath` follows them from heading to heading.

_JOINED_NUMBER = {"ja": "第", "ko": "제", "zh": "第"}  # stands before the number, without a space
ORDINALS = frozenset(words_of("ordinals")["*"].split())
"""Ordinals written out that no colon or full stop sets off from the title."""
_ACCENTS_DROPPED = frozenset({"ca", "es", "pt"})  # "TITULO", as capitals are often printed
_WORD_FIRST = frozenset({"da", "de", "nl", "no", "sv"})  # "Erster Teil", "Annen del"

_BIS = "bis|ter|quater|quinquies|sexies|septies|octies|nonies|decies|BIS|TER|QUATER"
_NUMERAL = (
    r"(?:\d+(?:[.\-–]\d+)*[⁰¹²³⁴-⁹]*[a-zA-Z]?|I(?:er|re|ère)|[IVXLCDM]+)(?:\.?\s?[º°ª])?"
    rf"(?:[\s-](?:{_BIS}))?(?![\w'’-])"
)
_NUMBER = re.compile(_NUMERAL)
_NUMBER_FIRST = re.compile(rf"{_NUMERAL}\.?\s+")
# An ordinal or adjective, not "Dieser Abschnitt", "Het hoofdstuk".
_WORD = re.compile(
    r"(?!(?:d(?:er|ie|as|em|en|es|ies\w*|e|et|enne|ette|it)|het|jeder?)\s)\w+\s+", re.I
)
_CJK_NUMBER = r"[\d一二三四五六七八九十百千〇○零]+"
_SEPARATOR = re.compile(r"\s*(?:[:.–—]|\s-\s|-\s)\s*")


@dataclass(frozen=True, slots=True)
class Division:
    """One division of a law, as its heading is printed.

    Attributes:
        label: Kind and number: "Chapitre II", "1. osa"; the whole heading where its kind is
            unknown.
        title: What follows; may be empty.
        rank: Of its kind in the language's table, 0 at the top; None for an unknown kind.
        level: Depth that the format gives it, from 1; None where it gives none.
    """

    label: str
    title: str = ""
    rank: int | None = None
    level: int | None = None

    @property
    def heading(self) -> str:
        """Label and title in one line: "Title II. Deposits"."""
        return heading(self.label, self.title)


def heading(label: str, title: str) -> str:
    """A division's heading: its kind and number, its title.

    >>> heading("Title II:", "Deposits"), heading("第一章", "総則"), heading("a)", "Deposits")
    ('Title II. Deposits', '第一章 総則', 'a) Deposits')
    """
    label, title = label.strip().rstrip(".:–—- "), title.strip().lstrip(".:–—- ")
    if not label or not title:
        return label or title
    return f"{label} {title}" if label[0] in "第제" or label[-1] == ")" else f"{label}. {title}"


def in_small_letters(label: str) -> str:
    """A label with its word in small letters.

    >>> in_small_letters("CHAPTER IV"), in_small_letters("Part 2")
    ('Chapter IV', 'Part 2')
    """
    word, space, number = label.partition(" ")
    return f"{word.capitalize()}{space}{number}"


def division(text: str, language: str | None, level: int | None = None) -> Division:
    """The division that a heading names.

    Args:
        text: In one line.
        language: BCP 47 tag; without one, or with one that has no table, every kind is unknown.
        level: Depth that the format gives it.
    """
    found = _known(" ".join(text.split()), _primary(language))
    return replace(found, level=level) if found else Division(text, level=level)


def numbered_division(text: str, language: str | None) -> Division | None:
    """The division that a plain line names with its kind and number; None for any other line."""
    found = _known(text, _primary(language))
    if found is None or (" " not in found.label and found.label[0] not in _JOINED_NUMBER.values()):
        return None
    return found


def split_run(text: str, language: str | None) -> list[str]:
    """A heading in which several divisions run together, cut before each of them.

    >>> split_run("TITOLO I DEL DIRITTO D'AUTORE CAPO I Opere protette", "it")
    ["TITOLO I DEL DIRITTO D'AUTORE", 'CAPO I Opere protette']
    """
    pattern = _run_pattern(_primary(language))
    if pattern is None:
        return [text]
    starts = [0, *(match.start() for match in pattern.finditer(text) if match.start())]
    ends = [*starts[1:], len(text)]
    return [text[start:end].strip() for start, end in zip(starts, ends, strict=True)]


def _primary(language: str | None) -> str:
    primary = (language or "").replace("_", "-").split("-")[0].lower()
    return {"nb": "no", "nn": "no"}.get(primary, primary)


@cache
def _ranks(language: str) -> dict[str, int]:
    rows = words_of("divisions").get(language, "").split()
    ranks = {
        word.replace("_", " "): rank for rank, row in enumerate(rows) for word in row.split("|")
    }
    if language in _ACCENTS_DROPPED:
        for word, rank in list(ranks.items()):
            ranks.setdefault(folded(word), rank)
    return ranks


@cache
def _pattern(language: str) -> re.Pattern[str] | None:
    """Finds a kind's word, longest first, at the start of a text."""
    kinds = any_of(_ranks(language))
    return re.compile(rf"(?P<kind>{kinds})(?![\w-])", re.IGNORECASE) if kinds else None


@cache
def _run_pattern(language: str) -> re.Pattern[str] | None:
    ranks = _ranks(language)
    kinds = any_of(form for word in ranks for form in (word.upper(), word.capitalize()))
    return re.compile(rf"(?<!\w)(?:{kinds})\s+{_NUMERAL}") if kinds else None


def _known(text: str, language: str) -> Division | None:
    ranks, before = _ranks(language), _JOINED_NUMBER.get(language)
    if before:
        pattern = rf"{before}\s*{_CJK_NUMBER}\s*({any_of(ranks)})((?:の|의)\s*{_CJK_NUMBER})?"
        joined = re.match(pattern, text)
        if joined is None:
            return None
        label, title = joined.group(), text[joined.end() :]
        return Division(label.replace(" ", ""), title.strip(), ranks[joined.group(1)])
    kinds = _pattern(language)
    if kinds is None:
        return None
    if first := kinds.match(text):
        number, title = _number_and_title(text[first.end() :].strip())
        label = f"{first.group()} {number}".strip()
        return Division(label, title, ranks[first.group().lower()])
    number_first = _NUMBER_FIRST.match(text)
    if number_first is None and language in _WORD_FIRST:
        number_first = _WORD.match(text)
    if number_first and (second := kinds.match(text, number_first.end())):
        label = text[: second.end()]
        title = text[second.end() :].lstrip(" .:–—-")
        return Division(label, title, ranks[second.group().lower()])
    return None


def _number_and_title(rest: str) -> tuple[str, str]:
    """What follows a kind: "II : Modalités", "primera. De las personas", "législative"."""
    if match := _NUMBER.match(rest):
        return match.group(), rest[match.end() :].lstrip(" .:–—-")
    first, _, others = rest.partition(" ")
    if first.lower().rstrip(".:") in ORDINALS:
        return first.rstrip(".:"), others.lstrip(" .:–—-")
    separator = _SEPARATOR.search(rest)
    number = rest[: separator.start()] if separator else rest
    if len(number.split()) > 2:
        return "", rest
    return number, rest[separator.end() :] if separator else ""


_PRELIMINARY = re.compile(r"pr[eé]lim|einleit", re.IGNORECASE)

Order = frozenset[tuple[int | None, int | None]]
"""Kinds that stand in one another against the table: ranks of the outer and the inner one."""


def own_order(divisions: Iterable[Division]) -> Order:
    """The order of a law's kinds where it is not that of the table.

    A kind that comes first, and whose numbers go on from one end of the law to the other, holds
    a later kind whose numbers start again. It also holds one that has the same level, or none: a
    preliminary title alone may stand before the first book.
    """
    first: dict[int, Division] = {}
    repeated: set[int] = set()
    labels: set[tuple[int, str]] = set()
    for each in divisions:
        if each.rank is None or _PRELIMINARY.search(each.label):
            continue
        first.setdefault(each.rank, each)
        label = (each.rank, each.label.lower())
        if label in labels:
            repeated.add(each.rank)
        labels.add(label)
    return frozenset(
        (outer, inner)
        for position, outer in enumerate(first)
        for inner in list(first)[position + 1 :]
        if inner < outer
        and outer not in repeated
        and (inner in repeated or first[inner].level == first[outer].level)
    )


class DivisionPath:
    """The divisions above the next article, followed from heading to heading.

    Args:
        order: The law's own, from `own_order`.

    Attributes:
        repaired: Divisions whose place the words gave, against or without the format's level.
        unknown: Divisions of unknown kind that have articles.
    """

    def __init__(self, order: Order = frozenset()) -> None:
        self.repaired = 0
        self._order = order
        self._path: list[Division] = []
        self._unknown: set[tuple[str, ...]] = set()

    @property
    def unknown(self) -> int:
        """How many divisions of unknown kind articles stood in."""
        return len(self._unknown)

    def enter(self, division: Division) -> None:
        """Go into a division, out of those that it cannot stand in."""
        while self._path and not self._stands_in(division, self._path[-1]):
            self._path.pop()
        above = self._path[-1] if self._path else None
        if above is not None and above.level == division.level:
            self.repaired += 1
        self._path.append(division)

    def leave(self) -> None:
        """Go out of the innermost division, which turned out not to be one."""
        self._path.pop()

    def name(self, title: str) -> None:
        """Give the innermost division the title that stands apart from its number."""
        self._path[-1] = replace(self._path[-1], title=title)
        self.repaired += 1

    @property
    def innermost(self) -> Division | None:
        """The division entered last."""
        return self._path[-1] if self._path else None

    def headings(self) -> tuple[str, ...]:
        """The headings above an article that stands here, from the top."""
        found: list[str] = []
        for each in self._path:
            found.append(each.heading)
            if each.rank is None:
                self._unknown.add(tuple(found))
        return tuple(found)

    def __iter__(self) -> Iterator[Division]:
        return iter(self._path)

    def _stands_in(self, inner: Division, outer: Division) -> bool:
        """Whether a division can stand in another; words decide where levels do not."""
        if (outer.rank, inner.rank) in self._order:
            return True
        if (inner.rank, outer.rank) in self._order:
            return False
        if inner.level is not None and outer.level is not None and inner.level != outer.level:
            return inner.level > outer.level
        if inner.rank is not None and outer.rank is not None:
            return inner.rank > outer.rank
        # Of two headings on one level of which one is of unknown kind, the second follows the
        # first; a plain line's division holds every heading of unknown kind.
        return inner.rank is None and outer.level is None
