"""The levels below a cited article: "(2)(a)", "§ 1er, alinéa 3", "Abs. 1 Satz 2", "khoản 2"."""

from __future__ import annotations

import re

from components.statutes.citation_numbers import LATIN_SUFFIX

AND = r"(?:and|or|et|ou|und|oder|sowie|và|hoặc|y|&)"
"""What joins two numbers of a list."""

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
_MORE_BRACKETS = re.compile(
    rf"\s*(?:,\s*{AND}?|{AND}|to|à|bis)\s*(\((?:\w{{1,4}})\)(?:\(\w{{1,4}}\))*)"
)
_MORE_LEVELS = re.compile(
    rf"\s*(?:,\s*{AND}?|{AND}|à|bis)\s*(?:\d+°|\d{{1,2}}(?:/\d{{1,2}}|er)?(?![\d/.-]|\s?{LATIN_SUFFIX}))"
)


def levels_behind(text: str, position: int) -> tuple[str | None, int, list[tuple[int, int, str]]]:
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
