"""The paragraphs that an article has, as laws print them: "(5)", "5.", "5)", "5°", "§ 5", "a)".

A figure alone is no paragraph: "5 %", "thirty (30) days" and "subsection (7) of section 12" number
nothing of the article. What cannot be told is taken for no paragraph, which leaves a doubt.
"""

from __future__ import annotations

import re
from functools import lru_cache

from components.statutes.citation_numbers import CHINESE_NUMERAL, chinese_integer, parse_number
from components.statutes.citations import PLAIN_CHARACTERS

_AND = r"(?:and|or|to|et|ou|à|und|oder|bis|và|hoặc)"
_BRACKETS = r"\(\w{1,6}\)"
# Paragraphs that the article speaks of: "48K(1), (3) and (4)", "subsections (1) and (7)".
_REFERENCE = re.compile(
    r"(?:\b(?:(?:sub-?)?(?:section|paragraph)s?|(?:article|rule|regulation|point|clause|item|part"
    r"|alinéa|paragraphe)s?|abs(?:atz|ätzen?)|nummern?|satz|buchstaben?|khoản|điểm)\b\s?"
    r"|\b(?:paras?|secs?|arts?|subs|abs|nr|buchst|lit|al)\b\.? ?|(?<=\w)|(?<=\d) )"
    rf"{_BRACKETS}(?:[ ,]{{0,2}}(?:{_AND} )?{_BRACKETS})*",
    re.IGNORECASE,
)
# "Paragraph 7 of", "L'alinéa 7 de l'", "Abs. 7 des", "Les §§ 2 et 3 de l'": in front of an article.
_UNIT = (
    r"(?:(?:\b(?:(?:sub-?)?(?:section|paragraph)s?|paragraphes?|paras?|subs|points?|alinéas?|al"
    r"|abs(?:atz)?|buchst(?:abe)?|lit)\b\.?|§§?) ?)"
)
_LEVEL = r"\(?\w{1,4}\)?(?:\(\w{1,4}\))*"
_LIST = rf"(?P<list>{_LEVEL}(?:(?:, ?| {_AND} ){_LEVEL}){{0,8}})"
_OF = r",? (?:of|in|de|du|des|von|vom) ?(?:the |cet |même |l['’])?"
_IN_FRONT = re.compile(rf"{_UNIT}{_LIST}(?:{_OF}|, )$", re.IGNORECASE)
_REACH_IN_FRONT = 64  # characters
_MARK = re.compile(
    r"\((?P<bracket>\d{1,4}[a-z]{0,2}|[a-zđ]{1,2}|[ivxlc]{1,5})\)"
    rf"|[(（](?P<chinese>{CHINESE_NUMERAL})[)）]"
    r"|(?<!\S)§ ?(?P<sign>\d{1,4}(?:er|[a-z]{1,3})?)\b"
    r"|(?<!\S)(?P<figure>\d{1,3}[a-z]{0,3})(?:[.)](?=\s)|°(?! ?[CF]\b))"
    r"|(?<!\S)(?P<letter>[a-zđ]|[ivxl]{1,5})\)(?=\s)"
    r"|(?m:^)[ \t]*(?P<lettered>[a-zđ])\.(?=\s)"
    r"|(?m:^)[ \t]*(?P<bare>\d{1,3}) (?-i:(?=[A-ZÀ-ÝĐ]))",  # "1 Der Vermieter", in Swiss laws
    re.IGNORECASE,
)
_WINDOW = 16  # characters in front of a mark
_LISTED = re.compile(rf",(?: {_AND})?$|; {_AND}$", re.IGNORECASE)
_LAST_WORD = re.compile(r"(\w+)\.$")
# A full stop behind these ends no sentence: "under Art. 5. The".
_ABBREVIATED = frozenset(
    re.findall(
        r"\w+",
        "abs al alin approx art arts buchst ca cap cf ch cl no nos nr num para paras pp pt"
        " reg sched sec secs sub subs subsec vgl ziff lit",
    )
)


def has_paragraph(number: str, text: str, named: str) -> bool:
    """Whether an article prints the paragraphs that a citation names, one behind the other.

    Args:
        number: The article's, as printed; "s.2(1)" has its paragraph in it.
        text: The article's.
        named: From the outside in: "(2)(a)".
    """
    printed = parse_number(number)
    own = [level.lower() for level in printed.paragraphs] if printed else []
    marks = iter([*own, *_marks(text)])
    return all(level in marks for level in re.findall(r"\w+", named.lower()))


def paragraphs_in_front(text: str, start: int) -> list[str]:
    """The paragraphs in front of an article whose citation starts there: ["(2)", "(3)"].

    "§ 1er, alinéa 2, de l'" names two, each of which the article must have.
    """
    named: list[str] = []
    begin = max(0, start - _REACH_IN_FRONT)
    while unit := _IN_FRONT.search(text, begin, start):
        if not named and unit[0].endswith(", "):
            break  # "paragraph 2, article 5" is a list
        for level in re.split(rf", ?| {_AND} ", unit["list"], flags=re.IGNORECASE):
            words = (re.sub(r"(?<=\d)er$", "", word) for word in re.findall(r"\w+", level))
            named.append("".join(f"({word})" for word in words))
        start = unit.start()
    return named


@lru_cache(maxsize=64)
def _marks(text: str) -> tuple[str, ...]:
    """The marks of an article's paragraphs and points, in their order."""
    plain = text.translate(PLAIN_CHARACTERS)
    plain = _REFERENCE.sub(lambda match: " " * len(match[0]), plain)
    marks: list[str] = []
    last = bare = 0
    for match in _MARK.finditer(plain):
        before = plain[max(0, match.start() - _WINDOW) : match.start()]
        behind_another = bool(marks) and not plain[last : match.start()].strip(" ")
        if match["bare"]:
            begins = int(match["bare"]) == bare + 1  # else a line that begins with a sum
            bare += begins
        elif match["lettered"]:
            begins = True
        else:
            begins = behind_another or _begins(before)
            if match["letter"] or match["bracket"]:
                begins = begins or _LISTED.search(before.rstrip()) is not None
            if match["bracket"] and not match["bracket"][0].isdigit():
                begins = begins or before[-1:].isspace()  # "the tenant (a) pays"
        if begins:
            last = match.end()
            value = match[match.lastgroup or 0].lower()
            value = str(chinese_integer(value)) if match["chinese"] else value
            marks.append(re.sub(r"(?<=\d)er$", "", value))
    # Whoever has a second has a first: "shall (1) pay and", or one printed without its number.
    if "2" in marks and "1" not in marks[: marks.index("2")]:
        marks.insert(0, "1")
    return tuple(marks)


def _begins(before: str) -> bool:
    """Whether a line or a sentence begins behind these characters."""
    if not before.strip(" \t") or before.rstrip(" \t").endswith("\n"):
        return True
    before = before.rstrip()
    word = _LAST_WORD.search(before)
    if word and (len(word[1]) == 1 or word[1].isdigit() or word[1].lower() in _ABBREVIATED):
        return False
    return before.endswith((".", ":", ";", "。", "：", "；"))
