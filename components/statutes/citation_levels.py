"""The levels below a cited article: "(2)(a)", "§ 1er, alinéa 3", "Abs. 1 Satz 2", "khoản 2"."""

from __future__ import annotations

import re

from components.statutes.citation_markers import any_language
from components.statutes.citation_numbers import LATIN_SUFFIX, canonical_core

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
