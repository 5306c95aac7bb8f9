"""What citations are written with: numbers in one form, and the words of all languages.

The tables of words are in `data/*.ini`.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Mapping
from configparser import RawConfigParser
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from itertools import pairwise
from math import inf
from pathlib import Path
from typing import Any, Literal, NamedTuple

from components.statutes.languages import DIGITS
from components.statutes.sources.units import LATIN_SUFFIX, unit_pattern


@cache
def read_tables(name: str) -> dict[str, Mapping[str, str]]:
    """The tables of data/{name}.ini, each a mapping from names to values.

    A further line of a value follows after a blank; one that begins with "|" or "(?", and every
    one of "forms", without.
    """
    joint = "" if name == "forms" else " "
    parser = RawConfigParser(delimiters=("=",))
    parser.optionxform = str  # type: ignore[method-assign, assignment]  # keeps capitals in names
    parser.read(Path(__file__).parent / "data" / f"{name}.ini", encoding="utf-8")
    return {
        table: {
            key: re.sub(r"\n(?=\||\(\?)", "", value).strip().replace("\n", joint)
            for key, value in parser[table].items()
        }
        for table in parser.sections()
    }


# The numbers of articles, brought to one form so that "L. 1221-1" finds the printed "L1221-1".


# The longest numeral in use has nine characters; without a bound a question could be one number.
CHINESE_DIGITS = "零〇一二三四五六七八九十百千两"
CHINESE_NUMERAL = rf"[{CHINESE_DIGITS}\d]{{1,12}}"

ROMAN_NUMERAL = r"(?=[IVXLC])C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![\w'’-])"
"""From I to CCCXCIX, in capitals."""

FIRST = "premier|primer[oa]|primeiro"
"""An article's number in words: only the first has one that is cited."""

# "I" and "V" count where nothing but the law follows: "the article I read" cites nothing. Behind
# "of this article." a paragraph "II." begins.
ROMAN = rf"(?-i:(?![XLC]\b|[IV]\b(?!\s*(?:$|[.;?!(]|(?:of|du|de|des|del)\b))){ROMAN_NUMERAL})"


class Forms:
    """The regular expressions of a table of `data/forms.ini`.

    Args:
        table: Its name.
        values: Expressions that a module computes.
    """

    def __init__(self, table: str, **values: str) -> None:
        self._forms = _COMMON | dict(read_tables("forms")[table]) | values

    def text(self, name: str) -> str:
        """An expression with all that it refers to."""
        if name.startswith("any "):
            return any_language(name.removeprefix("any "))
        form = self._forms[name]
        return re.sub(r"\{([a-z][a-z_ ]*)\}", lambda place: self.text(place[1]), form)

    def compiled(self, name: str, flags: int = 0) -> re.Pattern[str]:
        """An expression, ready to search with."""
        return re.compile(self.text(name), flags)


_COMMON = {
    "chinese_numeral": CHINESE_NUMERAL,
    "first": FIRST,
    "latin_suffix": LATIN_SUFFIX,
    "roman": ROMAN,
    "unit_after": unit_pattern("after"),
    "unit_before": unit_pattern("before"),
}
_FORMS = Forms("numbers")
_form = cache(_FORMS.compiled)

LISTED_PARAGRAPH = "paragraph"
"""Division of numbers printed as list items, "25)": reached by "paragraph 25" alone."""

_CHINESE_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "○": 0, "两": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN_ARTICLE = re.compile(rf"(?:[Aa]rt(?:icle|\.)?\s+|ART(?:ICLE|\.)?\s+)?({ROMAN_NUMERAL})\.?")


FINAL_TITLE = _FORMS.compiled("final_title")
"""A title of a law whose numbers start again: "Art. 8 SchlT ZGB"."""
IN_FINAL_TITLE = "final title"
"""Division of its numbers."""

NUMERAL = re.compile(rf"[\d{CHINESE_DIGITS}]|\b[IVXLC]+\b|(?i:{FIRST})")
"""What every citation has: digits, a Chinese or Roman numeral, or the first in words."""

_FROM_RAISED = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹", "0123456789")

_PARTS = _FORMS.text("parts")
_CORE = re.compile(rf"(?:[a-z]{{1,3}}[\s.*-]*)?\d+{_PARTS}{{0,12}}(?:\s[a-z]{{1,2}}$)?")
PART = re.compile(r"(\d+[a-z]?)\.(\d{1,2})")
"""A number that may be an article's with its paragraph: "12.3"."""


@dataclass(frozen=True, slots=True)
class ArticleNumber:
    """A printed number in its parts.

    Attributes:
        core: The article's own number, canonical: "1382-1", "l1221-1", "48f", "6.1.3".
        paragraphs: Levels printed below it, from the outside in: ("1", "b"); usually empty.
        division: "schedule 1" or the like where the numbers of an annex start afresh;
            `LISTED_PARAGRAPH` for list items; "" in the body of the law.
    """

    core: str
    paragraphs: tuple[str, ...] = ()
    division: str = ""


def parse_number(printed: str) -> ArticleNumber | None:
    """The parts of a number as printed, or None where no citation could name it.

    Divisions printed in front ("Part 5.Chapter 4.36.(1)") are passed over, since nobody cites
    them. Numbers with words behind ("1.2.1.Guidance.1.", "Annexe II à l'article R4312-6") are
    not the article that they hang on, and give None.
    """
    printed = printed.strip()
    if chinese := _form("chinese_article").fullmatch(printed):
        return ArticleNumber(_chinese_core(*chinese.groups()))
    if roman := _ROMAN_ARTICLE.fullmatch(printed):
        return ArticleNumber(canonical_core(roman[1]))
    if korean := _form("korean_article").fullmatch(printed):
        return ArticleNumber("-".join(str(int(n)) for n in korean.groups() if n))
    text = _plain(printed).strip()
    if turkish := _form("turkish_division").match(text):
        number = parse_number(text[turkish.end() :])
        return replace(number, division=turkish[1]) if number else None
    if country := _form("country_number").fullmatch(text):
        part = country.groupdict(default="")
        inserted = f"-{part['inserted']}" if part["inserted"] else ""
        chapter = f"{part['chapter']}:" if part["chapter"] else ""
        letter = part["letter"].strip(" .-") + part["behind"]
        return ArticleNumber(re.sub(r"\s", "", f"{chapter}{part['number']}{inserted}{letter}"))
    if re.fullmatch(FIRST, text):
        return ArticleNumber("1")
    text = _form("unit").sub("", text)
    division = ""
    if final := FINAL_TITLE.search(text):
        division, text = IN_FINAL_TITLE, text[: final.start()] + text[final.end() :]
    elif match := _form("division").match(text):
        division, text = f"{match[1][:3]} {match[2]}", text[match.end() :]
        if re.match(r"[a-z]\d", text):  # "APP2.A2.1.1" is cited as A2.1.1
            division = ""
    text = _form("passed_over").sub("", text)
    if re.fullmatch(r"\d+[a-z]?\)", text):
        return ArticleNumber(text[:-1], (), LISTED_PARAGRAPH)
    core = _CORE.match(text)
    if core is None:
        return None
    levels = re.fullmatch(r"((?:\.?\s*\(\w{1,5}\))*)[ .]*", text[core.end() :])
    if levels is None:
        return None
    paragraphs = tuple(re.findall(r"\w+", levels[1]))
    if paragraphs == ("0",):  # "s.24(0)": a section without subsections
        paragraphs = ()
    return ArticleNumber(canonical_core(core[0]), paragraphs, division)


@lru_cache(maxsize=4096)  # most laws have the same numbers
def canonical_core(number: str) -> str:
    """One form for a cited or printed number without its paragraphs.

    >>> canonical_core("L. 1221-1"), canonical_core("R. * 3231-1"), canonical_core("1er")
    ('l1221-1', 'r3231-1', '1')
    >>> canonical_core("203 bis"), canonical_core("第一百二十条"), canonical_core("premier")
    ('203bis', '120', '1')
    >>> canonical_core("XIV")
    '14'
    """
    if chinese := _form("chinese_article").fullmatch(number.strip()):
        return _chinese_core(*chinese.groups())
    if re.fullmatch(ROMAN_NUMERAL, number):
        return str(roman_integer(number))
    text = _plain(number).strip(" .")
    if re.fullmatch(FIRST, text):
        return "1"
    text = re.sub(r"^([a-z]{1,3})[\s.*-]+(?=\d)", r"\1", text)
    text = re.sub(r"(?<=\d)er\b", "", text)
    # Next to letters blanks, hyphens and dots distinguish nothing: "80-IA", "12 bis", "3.a".
    text = re.sub(r"(?<=\d)[\s.-]+(?=[^\W\d_])|(?<=[^\W\d_])(?:[\s-]+|\.\s+)(?=\w)", "", text)
    return re.sub(r"\s+", "", text)


# Several articles that are printed as one: "§§ 15 bis 20", "150–158", "Arts. 1912 a 1920.".


def printed_range(printed: str) -> tuple[str, str] | None:
    """The canonical first and last number of articles that are printed as one; None if it is one.

    >>> printed_range("(XXXX) §§ 195 bis 198"), printed_range("28d–28f")
    (('195', '198'), ('28d', '28f'))
    >>> printed_range("§ 1-4")
    """
    found = _form("range").fullmatch(printed.strip())
    if found is None or (found["through"] in ("-", "–") and found["singular"]):
        return None
    numbers = (parse_number(found[end].replace("條", "条")) for end in ("first", "last"))
    first, last = (number.core if number else "" for number in numbers)
    low, high = number_order(first), number_order(last)
    # A pair is a range only where no number lies between its two: "§§ 114 und 115".
    if low >= high or (found["pair"] and high[0] - low[0] > 1):
        return None
    return first, last


def number_order(core: str) -> tuple[float, str]:
    """The key by which canonical numbers are ordered: 9, 10, 10a, 10b, 11."""
    found = re.match(r"\d+", core)
    digits = found[0] if found else "0"
    rest = re.sub(r"\d+", lambda more: more[0].zfill(4), core.removeprefix(digits))
    # Python refuses to convert thousands of digits.
    return (int(digits) if len(digits) < 19 else inf), rest


def spellings(number: str) -> Iterator[str]:
    """Other spellings of a canonical number: "1349" and "1.349", "2o" and "2", "1-2" and "1.2".

    "12.3" stays: it may be paragraph 3 of article 12.
    """
    if thousand := _form("thousand").fullmatch(number):
        yield f"{thousand[1]}{'' if '.' in number else '.'}{thousand[2]}"
    if ordinal := re.fullmatch(r"(\d+)o([a-z]*)", number):  # "3o", "2o-A", "3o. bis"
        yield "".join(ordinal.groups())
    if not PART.fullmatch(number):
        for sign in "-./":
            yield _form("digits_joined").sub(sign, number)


def _plain(number: str) -> str:
    number = _form("raised").sub(lambda raised: f"-{raised[1].translate(_FROM_RAISED)}", number)
    number = _form("ordinal_sign").sub("", number)
    text = _form("invisible").sub("", unicodedata.normalize("NFKC", number))
    return _form("hyphen").sub("-", text.translate(DIGITS)).lower().replace("i\u0307", "i")


def chinese_integer(numeral: str) -> int:
    """The value of a Chinese numeral below ten thousand, or of digits.

    >>> chinese_integer("一千零七十九"), chinese_integer("十五"), chinese_integer("12")
    (1079, 15, 12)
    """
    if numeral.isdecimal():
        return int(numeral)
    if not any(c in _CHINESE_UNITS for c in numeral):  # written digit by digit: 一二〇
        return int("".join(str(_CHINESE_DIGITS.get(c, c)) for c in numeral))
    total = digit = 0
    for character in numeral:
        if character in _CHINESE_UNITS:
            total += (digit or 1) * _CHINESE_UNITS[character]
            digit = 0
        else:
            digit = int(_CHINESE_DIGITS.get(character, character))
    return total + digit


def roman_integer(numeral: str) -> int:
    """The value of a Roman numeral in capitals."""
    values = [*(_ROMAN_DIGITS[letter] for letter in numeral), 0]
    return sum(value if value >= following else -value for value, following in pairwise(values))


def _chinese_core(article: str, *insertions: str | None) -> str:
    return "-".join(str(chinese_integer(each)) for each in (article, *insertions) if each)


CitationKind = Literal["article", "section", "rule", "regulation", "paragraph"]
LawReference = Literal["none", "own", "same", "named"]


class Citation(NamedTuple):
    """One cited article, or one range of articles.

    Attributes:
        start, end: Span of the number in the text, paragraphs included; the marker too, except
            within an enumeration.
        text: text[start:end].
        number: Canonical: "1382-1", "l1221-1", "48f"; Chinese numerals in digits.
        paragraph: Levels below the article, from the outside in: "(2)(a)"; None where none is
            named. Abs. 1, § 1er, alinéa 3, khoản 2, 第一款 are levels alike.
        law_hint: The words that name a law, as written; None if there are none.
        code: The title or code that the citation names as part of itself, written out, and that
            alone decides its law: "Title 15, United States Code". None in other citations. With
            no `law_hint`, it may as well be a division of whatever law is meant: "title 5".
        kind: The unit that the marker names.
        reference: How the law is named: "none", "own" ("this Act"), "same" ("that Act": the one
            named before), "named".
        through: Last number of a range ("to 12"), canonical; None for a single article.
        division: Canonical name of the schedule or annex named with the number;
            `LISTED_PARAGRAPH` for "paragraph 25 above".
        group: Span of the whole enumeration, from its marker to its last number.
        otherwise: `number` and `through` if the dash is read the other way: "14–1" may be
            the number 14-1, and "articles 12-14" may mean a range.
        longer: What the number may be more of, each (number, end), the longest first: "304-AAB".
        unread: What is attached to it and was not read: "-based" of "304-based".
        onward: Whether the articles that follow are meant too: "§§ 535 ff."
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
    longer: tuple[tuple[str, int], ...] = ()
    unread: str = ""
    onward: bool = False
    code: str | None = None

    @property
    def readings(self) -> list[tuple[str, str | None]]:
        """Each (number, through) that the citation can mean, the likelier first."""
        return [(self.number, self.through), *([self.otherwise] if self.otherwise else [])]

    @property
    def numbers(self) -> set[str]:
        """Every number that may name the cited article, in any spelling."""
        numbers = {number for reading in self.readings for number in reading if number}
        return {*numbers, *spellings(self.number), *(number for number, _ in self.longer)}


class Enumeration(NamedTuple):
    """A stretch of text that cites.

    Attributes:
        start, end: Its span, the name of the law included; nothing else is cited in it.
        citations: Those in it; empty for a law that is named as a whole.
    """

    start: int
    end: int
    citations: list[Citation]


def completed(items: Iterable[Citation], text: str, **shared: Any) -> list[Citation]:
    """The citations of one enumeration with their words and what they share."""
    return [each._replace(text=text[each.start : each.end], **shared) for each in items]


def any_language(kind: str) -> str:
    """An expression for the words of a kind, in any language."""
    return "|".join(row[kind] for row in read_tables("words").values() if kind in row)


def plain_words(kind: str) -> frozenset[str]:
    """The words of a kind that are plain text, in any language."""
    return frozenset(
        word for row in read_tables("words").values() for word in row.get(kind, "").split()
    )


def ordinals(stems: str) -> dict[str, str]:
    """The value of each ordinal of a row of a table: "first second" gives "1", "2"."""
    return {
        stem: str(value)
        for value, variants in enumerate(stems.split(), 1)
        for stem in variants.split("/")
    }


NUMBER = _FORMS.compiled("number")
"""The number of an article, as its marker or the list before it leads to it.

It is read as far as any law's numbers go; `longer_numbers` gives what a particular law may add.
"""
_MOST_CONTINUATIONS = 6


def longer_numbers(text: str, number: str, end: int) -> tuple[tuple[str, int], ...]:
    """What a number that ends at `end` may be more of: each (canonical, end), the longest first.

    Only the numbers that a law prints can decide: "304-AAB" is one number, "304-based" is none.

    >>> longer_numbers("1.704(b)-2 of", "1.704", 5)
    (('1.704(b)-2', 10), ('1.704(b)', 8))
    """
    longer: list[tuple[str, int]] = []
    while len(longer) < _MOST_CONTINUATIONS and (more := _form("continuation").match(text, end)):
        number, end = number + more[0], more.end()
        longer.append((canonical_core(number), end))
    return tuple(reversed(longer))


def unread_after(text: str, end: int, *, levels: bool) -> str:
    """What is attached to a citation that ends at `end`; "" for nothing.

    Args:
        text: The text.
        end: Where the number ends, or its paragraphs.
        levels: Whether paragraphs were read behind the number.

    >>> unread_after("§ 7 q BGB", 3, levels=False), unread_after("12(3)x", 5, levels=True)
    (' q', 'x')
    """
    attached = _form("attached").match(text, end)
    if attached is None and not levels:
        attached = _form("letter_behind").match(text, end) or _form("suffixed").match(text, end)
    return attached[0] if attached else ""


def is_letter_behind(text: str, number_end: int) -> bool:
    """Whether a single letter behind a blank clearly belongs to the number before it."""
    return _form("letter_behind").match(text, number_end) is not None
