"""The numbers of articles, brought to one form so that "L. 1221-1" finds the printed "L1221-1"."""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import pairwise

LATIN_SUFFIX = (
    r"(?:bis|ter|quater|quinquies|sexies|septies|octies|novies|nonies|decies|undecies|duodecies"
    r"|terdecies|quaterdecies|quindecies)"
)
# The longest numeral in use has nine characters; without a bound a question could be one number.
CHINESE_NUMERAL = r"[零〇一二三四五六七八九十百千两\d]{1,12}"

ROMAN_NUMERAL = r"(?=[IVXLC])C{0,3}(?:XC|XL|L?X{0,3})(?:IX|IV|V?I{0,3})(?![\w'’-])"
"""From I to CCCXCIX, in capitals."""

LISTED_PARAGRAPH = "paragraph"
"""Division of numbers printed as list items, "25)": reached by "paragraph 25" alone."""

_CHINESE_DIGITS = {c: i for i, c in enumerate("零一二三四五六七八九")} | {"〇": 0, "两": 2}
_CHINESE_UNITS = {"十": 10, "百": 100, "千": 1000}
_ROMAN_DIGITS = {"I": 1, "V": 5, "X": 10, "L": 50, "C": 100}
_ROMAN_ARTICLE = re.compile(rf"(?:[Aa]rt(?:icle|\.)?\s+|ART(?:ICLE|\.)?\s+)?({ROMAN_NUMERAL})\.?")
_CHINESE_ARTICLE = re.compile(rf"第?({CHINESE_NUMERAL})条(?:之({CHINESE_NUMERAL}))?")

_INVISIBLE = re.compile(r"[\u00ad\u200b-\u200f\u2060\ufeff]")
_HYPHEN = re.compile(r"[\u2010-\u2015\u2212]")  # as typesetters print a number's hyphen
# "PDPA s.2(1)", "Art. 12", "§ 823", "Điều 5": the abbreviation of the law and the unit go.
_UNIT = re.compile(
    r"^(?:[\w.]{1,12}\s+)?"
    r"(?:ss?\.|sec(?:tion|\.)|art(?:icle|ikel|[íi]culo|\.)|§|rule|reg(?:ulation|\.)|điều|điêu)\s*(?=\S*\d)"
)
_DIVISION = re.compile(r"^(schedule|annexe?|app(?:endix)?)\s*([\divxlc]+[a-z]?)\s*[.,]\s*")
_PASSED_OVER = re.compile(r"^(?:(?:part|chapter|title|book|division)\s*[\divxlc]+[a-z]?\s*\.\s*)+")
_CORE = re.compile(
    rf"(?:[a-z]{{1,2}}[\s.*]*)?\d+(?:\s?{LATIN_SUFFIX}\b|er\b|[a-z]{{1,2}}\b)?"
    rf"(?:[-/.:]\d+(?:\s?{LATIN_SUFFIX}\b|[a-z]{{1,2}}\b)?)*(?:\s[a-z]$)?"
)
_LEVELS = re.compile(r"(?:\.?\s*\(\w{1,5}\))*")


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
    if chinese := _CHINESE_ARTICLE.fullmatch(printed.strip()):
        return ArticleNumber(_chinese_core(*chinese.groups()))
    if roman := _ROMAN_ARTICLE.fullmatch(printed.strip()):
        return ArticleNumber(canonical_core(roman[1]))
    text = _plain(printed).strip()
    text = _UNIT.sub("", text)
    division = ""
    if match := _DIVISION.match(text):
        division, text = f"{match[1][:3]} {match[2]}", text[match.end() :]
        if re.match(r"[a-z]\d", text):  # "APP2.A2.1.1" is cited as A2.1.1
            division = ""
    text = _PASSED_OVER.sub("", text)
    if re.fullmatch(r"\d+[a-z]?\)", text):
        return ArticleNumber(text[:-1], (), LISTED_PARAGRAPH)
    core = _CORE.match(text)
    if core is None:
        return None
    levels = _LEVELS.match(text, core.end())
    end = levels.end() if levels else core.end()
    if text[end:].strip(" ."):
        return None
    paragraphs = tuple(re.findall(r"\((\w+)\)", text[core.end() : end]))
    if paragraphs == ("0",):  # "s.24(0)": a section without subsections
        paragraphs = ()
    return ArticleNumber(canonical_core(core[0]), paragraphs, division)


def canonical_core(number: str) -> str:
    """One form for a cited or printed number without its paragraphs.

    >>> canonical_core("L. 1221-1"), canonical_core("R. * 3231-1"), canonical_core("1er")
    ('l1221-1', 'r3231-1', '1')
    >>> canonical_core("203 bis"), canonical_core("第一百二十条"), canonical_core("premier")
    ('203bis', '120', '1')
    >>> canonical_core("XIV")
    '14'
    """
    if chinese := _CHINESE_ARTICLE.fullmatch(number.strip()):
        return _chinese_core(*chinese.groups())
    if re.fullmatch(ROMAN_NUMERAL, number):
        return str(_roman_integer(number))
    text = _plain(number).strip(" .")
    if text == "premier":
        return "1"
    text = re.sub(r"^([a-z]{1,2})[\s.*]+(?=\d)", r"\1", text)
    text = re.sub(r"(?<=\d)er\b", "", text)
    return re.sub(r"\s+", "", text)


def _plain(number: str) -> str:
    text = _INVISIBLE.sub("", unicodedata.normalize("NFKC", number))
    return _HYPHEN.sub("-", text).lower()


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


def _roman_integer(numeral: str) -> int:
    values = [_ROMAN_DIGITS[letter] for letter in numeral]
    return sum(
        -value if value < following else value for value, following in pairwise([*values, 0])
    )


def _chinese_core(article: str, insertion: str | None) -> str:
    core = str(chinese_integer(article))
    return f"{core}-{chinese_integer(insertion)}" if insertion else core
