"""Citations in Chinese text: 民法典第12条, 本法第三条第二款, 《…法》第十七条之一."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from components.statutes.citation_numbers import CHINESE_NUMERAL, canonical_core, chinese_integer
from components.statutes.law_hints import chinese_law_hint

# Behind the name of a law 第 may be left out, "民法典1079条"; not behind 依法 or 办法.
_ARTICLE = re.compile(
    rf"(?:第\s?{CHINESE_NUMERAL}|(?:(?<=[^依合非违执司方做办]法)|(?<=法典)|(?<=条例)|(?<=》))\d{{1,4}})\s?条"
    rf"(?:之{CHINESE_NUMERAL})?"
)
_LEVEL = re.compile(rf"第?[（(]?({CHINESE_NUMERAL})[）)]?[款项]|第[（(]({CHINESE_NUMERAL})[）)]")
_SEPARATOR = r"(?:或者|以及|[、，,和及与或])"
# A further paragraph of the article just named: "第一款、第二款", "第（二）、（三）项".
_MORE_LEVELS = re.compile(
    rf"{_SEPARATOR}(?:第?[（(]?{CHINESE_NUMERAL}[）)]?[款项]|[（(]{CHINESE_NUMERAL}[）)])"
    rf"(?:第?[（(]?{CHINESE_NUMERAL}[）)]?项)?|项"
)
_NEXT = re.compile(rf"(?:{_SEPARATOR}|(?P<range>[至到]))(?=第\s?{CHINESE_NUMERAL}\s?条)")
# "第六条 各航空单位…" at the head of a line prints an article; it cites none.
_PRINTED_HEAD = re.compile(r"(?:\n|[。；] ?)\s*$")


def found(text: str) -> Iterator[dict[str, Any]]:
    """The fields of each `Citation` in a text, in order."""
    position = 0
    while article := _ARTICLE.search(text, position):
        start = article.start()
        items: list[dict[str, Any]] = []
        following: re.Match[str] | None = None
        head: re.Match[str] | None = article
        while head:
            paragraph, position = _levels(text, head.end())
            number = canonical_core(re.sub(r"\s", "", head[0]))
            if following and following["range"]:
                items[-1] |= {"through": number, "end": position}
                items[-1]["text"] = text[items[-1]["start"] : position]
            else:
                items.append(
                    {
                        "start": head.start(),
                        "end": position,
                        "text": text[head.start() : position],
                        "number": number,
                        "paragraph": paragraph,
                        "kind": "article",
                    }
                )
            following = _NEXT.match(text, position)
            head = _ARTICLE.match(text, following.end()) if following else None
        if text[position : position + 1].isspace() and _PRINTED_HEAD.search(
            text, max(0, start - 4), start
        ):
            continue
        hint, reference = chinese_law_hint(text, start)
        for item in items:
            yield item | {
                "law_hint": hint,
                "reference": reference,
                "group": (start, position),
            }


def _levels(text: str, position: int) -> tuple[str | None, int]:
    levels: list[str] = []
    while level := _LEVEL.match(text, position):
        levels.append(str(chinese_integer(level[1] or level[2])))
        position = level.end()
    while levels and (more := _MORE_LEVELS.match(text, position)):
        position = more.end()
    return "".join(f"({level})" for level in levels) or None, position
