"""The numbers behind one marker, "articles 12, 13-1 and 15 to 18", and their levels, "§ 1er"."""

from __future__ import annotations

import re
from typing import NamedTuple

from components.statutes.citation_markers import NUMBER, Marker, any_language
from components.statutes.citation_numbers import LATIN_SUFFIX, canonical_core
from components.statutes.law_hints import hint_behind

AND = rf"(?:{any_language('and')}|&)"
"""What joins two numbers of a list."""

# Parts of a sentence or of a list: they are read past, since no article's number goes so deep.
_SMALL = rf"(?:{any_language('small')})"
_NOUN_LEVEL = rf"(?:{any_language('level')})"
_ORDINAL_NAMES = (
    ("premier", "première", "first", "erster"),
    ("second", "seconde", "deuxième", "zweiter"),
    ("troisième", "third", "dritter"),
    ("quatrième", "fourth"),
    ("cinquième", "fifth"),
    ("sixième", "sixth"),
    ("septième", "seventh"),
    ("huitième", "eighth"),
    ("neuvième", "ninth"),
    ("dixième", "tenth"),
)
_ORDINALS = {name: str(n) for n, names in enumerate(_ORDINAL_NAMES, 1) for name in names}
_ORDINAL = (
    rf"(?:{'|'.join(sorted(_ORDINALS, key=len, reverse=True))}"
    r"|(?:avant-)?derni(?:er|ère)|last|final|penultimate|\d{1,2}\s?(?:er|[eè]re|[eè]?me|e|st|nd|rd|th))"
)
_ABBREVIATED_LAW = r"(?-i:[A-ZÄÖÜ][a-zäöü]*[A-ZÄÖÜ])"  # BGB, GmbHG
_LETTER = r"(?:[a-z]|(?P<twice>[a-z])(?P=twice)|[ivx]{2,4})"
_LEVEL = re.compile(
    r"(?:\.?| )\(\s?(?P<bracket>\d{1,3}[A-Z]{0,2}|(?<=\w\()\d{4}|[a-z]{1,2}|[ivxl]{1,5}|[A-Z])\s?\)"
    # "1) article 12, 2) article 13" is a list of two.
    rf"|,?[^\S\n]?(?P<closed>\d{{1,3}}|{_LETTER})\)(?!\s(?:the\s|l['’]\s?)?(?:art|sec|rule|§|[LRD]\.))"
    rf"|,?\s?(?:(?P<sign>§§?)|{_NOUN_LEVEL})\s?\(?(?P<noun>\d+|[a-zđ]\b)\)?(?:er\b)?"
    r"|,?\s?(?P<degree>\d+)°"
    rf"|,?\s?(?P<ordinal>{_ORDINAL})(?:\s{AND}\s(?:the\s)?{_ORDINAL})?\s"
    rf"(?:(?P<small>{_SMALL})|alinéas?|paragraphe?s?|sub-?paragraphs?|sub-?sections?|absatz)\b"
    # "..., second paragraph of section 13" is of that one.
    r"(?!\s(?:of|de|du)\s(?:the\s|l['’]\s?|même\s|cet\s)?(?:art|sec|rule))"
    rf"|,?\s?(?P<part>{_SMALL}\s\d{{1,2}}\b|in\sfine\b)"
    # "article 4, I, du Code": but in "Articles I, II" it is an article.
    r"|(?<![IVXLC]),?\s(?P<roman>(?-i:[IVX]{1,4}))(?=\s?(?:,\s?)?(?:du|de|des|of)\b)"
    # "§ 823 II BGB", "Art. 2 I 1 GG": German for Abs. 2, for Abs. 1 Satz 1.
    r"|\s(?P<absatz>(?-i:[IVX]{1,4}))"
    rf"(?=\s(?:\d\s|(?-i:S\.|Nr\.|Alt\.)\s?\d+\s)?{_ABBREVIATED_LAW})"
    rf"|(?<=[IVX])\s(?P<sentence>\d)(?=\s{_ABBREVIATED_LAW})"
    r"|\s(?-i:S\.|HS\.?|Alt\.)\s?(?P<short>\d)\b",
    re.IGNORECASE,
)
_DEEPEST = 8  # levels below an article
_MORE_BRACKETS = re.compile(
    rf"\s*(?:,\s*{AND}?|{AND}|to|à|bis)\s*(\((?:\w{{1,4}})\)(?:\(\w{{1,4}}\))*)"
)
_MORE_LEVELS = re.compile(
    rf"\s*(?:,\s*{AND}?|{AND}|to|à|bis|-|–)\s*(?:\d+°|\d{{1,2}}(?:/\d{{1,2}}|er)?(?![\d/.-]|\s?{LATIN_SUFFIX}))"
)
_PLURAL_LEVEL = re.compile(
    r"§§|alinéas|paragraphe?s\b|paras\b|subs|points|items|nos\b|absätze|lines|lignes|phrases"
    r"|sentences|limbs|indents|tirets",
    re.IGNORECASE,
)
_BRACKET_REACH = 200  # characters in which an open bracket is looked for


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


def levels_behind(
    text: str, position: int, *, sign: bool = False, plural: bool = False
) -> tuple[str | None, int, list[tuple[int, int, str]]]:
    """The levels named behind a number, where they end, and further ones of the same article.

    "48K(1)(b), (2)" gives "(1)(b)" and the further "(2)".

    Args:
        text: The text.
        position: Where the number ends.
        sign: Whether the number's unit is "§": another one behind is then an article of its own.
        plural: Whether the unit is of several articles: "§§ 5 Abs. 1 und 7" names § 7.
    """
    levels: list[str] = []
    others: list[tuple[int, int, str]] = []
    while not others and len(levels) < _DEEPEST and (level := _LEVEL.match(text, position)):
        if (level["sign"] and sign) or (level["closed"] and not _is_level(level, text)):
            break
        position = level.end()
        ordinal = level["ordinal"]
        value = level["bracket"] or level["closed"] or level["noun"] or level["degree"]
        value = value or level["roman"] or level["sentence"] or level["short"]
        value = value or (level["absatz"] and canonical_core(level["absatz"]))
        value = value or _ordinal_value(level)
        if value:
            levels.append(value.lower())
        if level["bracket"]:
            behind = position
            while more := _MORE_BRACKETS.match(text, behind):
                others.append((more.start(1), more.end(), _replaced(levels, more[1])))
                behind = more.end()
        elif not (ordinal or level["closed"]):
            while more := _MORE_LEVELS.match(text, position):
                if ("°" in more[0]) != bool(level["degree"]) or not _many(level, plural):
                    break
                position = more.end()
    named = "".join(f"({level})" for level in levels)
    return named or None, position, others


def in_brackets(text: str, position: int) -> bool:
    """Whether a bracket stands open there: "(see Articles 12, 13)" closes none of its numbers."""
    depth = 0
    line = text.rfind("\n", max(0, position - _BRACKET_REACH), position) + 1
    for character in reversed(text[max(line, position - _BRACKET_REACH) : position]):
        depth += (character == ")") - (character == "(")
        if depth < 0:
            return True
    return False


def _is_level(level: re.Match[str], text: str) -> bool:
    """Whether the bracket behind a number or a letter makes it a level, and closes no other."""
    return not (level["closed"][0].isdigit() and in_brackets(text, level.start("closed")))


def _ordinal_value(level: re.Match[str]) -> str:
    """The number of "deuxième alinéa"; "" for "last" and for the part of a sentence."""
    ordinal = (level["ordinal"] or "").lower()
    if level["small"]:
        return ""
    digits = re.match(r"\d+", ordinal)
    return digits[0] if digits else _ORDINALS.get(ordinal, "")


def _many(level: re.Match[str], plural: bool) -> bool:
    """Whether the level may be followed by others of its sort: "§§ 4 et 5", "Abs. 1 und 2"."""
    if level["degree"] or _PLURAL_LEVEL.search(level[0]):
        return True
    return not plural and bool(level["noun"] or level["part"]) and not level["sign"]


def _replaced(levels: list[str], other: str) -> str:
    """The levels with those of `other` put where the first one of its sort stands."""
    further = re.findall(r"\w+", other.lower())
    for index, level in enumerate(levels):
        if level[0].isdigit() == further[0][0].isdigit():
            return "".join(f"({x})" for x in [*levels[:index], *further])
    return "".join(f"({x})" for x in [*levels, *further])
