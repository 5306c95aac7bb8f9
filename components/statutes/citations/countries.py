"""Citations as single countries write them: `data/countries.ini`, and one reader for all of it.

"형법 제329조의2", "民法第184條第1項", "6:162 BW", "art. 22 § 1 k.p.", "12 kap. 8 § jordabalken",
"§ 12, stk. 2", "7 §:n 2 momentti", "п. 3 ч. 1 ст. 81 ТК РФ", "TBK m. 49", "มาตรา ๑๑๒ วรรคสอง".

`finding.py` reads the words that English, French, German, Spanish, Italian, Portuguese and
Vietnamese share. A form that begins like theirs ("art. 12", "§ 5") is read here only if something
shows its country: a level, the law's name, or how a list is joined.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from functools import cache
from typing import NamedTuple

from components.statutes.citations.laws import bracketed_name
from components.statutes.citations.patterns import (
    CHINESE_NUMERAL,
    Citation,
    LawReference,
    chinese_integer,
    ordinals,
    parse_number,
    read_tables,
    unread_after,
)
from components.statutes.sources.units import UNIT_WORDS, UnitWords

_LETTER = r"(?:[^\W\d_]|(?P<twice>[^\W\d_])(?P=twice)|[ivx]{2,4})"
_NEVER = r"(?!)"
_WITHOUT_BLANKS = frozenset({"ko", "th", "zh"})
# Units of several languages: something else must show whose they are.
_SHARED = re.compile(
    r"(?i)(?:art(?:t?\.?|ikel\w?|ikkel|icles?|icol[oi]|igos?|ículos?)|§§?|m\.|p\.|str\.|l\.)"
)
_RARE_NUMBER = re.compile(r"[\^¹²³⁰⁴-⁹]")
_APART = re.compile(r"\s?(?:[,;).?!]|$)")  # behind a letter that is not a word
_PLURAL = frozenset({"artikelen", "artt", "artt.", "§§"})
_LONGEST_LIST = 30  # numbers behind one unit
_REACH = 100  # characters in front of a citation that are searched for its law
_NEAR = 60  # and for its parts
_DEEPEST = 5  # levels
_RANGE = re.compile(r"(\d+)-(\d+)")
_THOUSANDS = re.compile(r"\d\.\d{3}")
# "第六条 各航空单位…" at the beginning of a line is an article itself, not a citation.
_PRINTED_HEAD = re.compile(r"(?:\n|[。；] ?)\s*$")


class _Enumeration(NamedTuple):
    """The citations of one enumeration and how far it reaches, its law's name included."""

    start: int
    end: int
    citations: list[Citation]


def find_in_forms_of_countries(text: str) -> Iterator[Citation]:
    """Each citation that is written in a form of the table, in order.

    Where two languages read one place, the one that reads more of it wins.
    """
    lowered = text.lower()
    found = [
        enumeration
        for language, row in read_tables("countries").items()
        if any(word in lowered for word in row["words"].split("|"))
        for enumeration in _reader(language).enumerations(text)
    ]
    found.sort(key=lambda each: each.start)  # stable: of equals, the table's first
    chosen: list[_Enumeration] = []
    for each in found:
        if not chosen or each.start >= chosen[-1].end:
            chosen.append(each)
        elif each.end - each.start > chosen[-1].end - chosen[-1].start:
            chosen[-1] = each
    for each in chosen:
        yield from each.citations


@cache
def _reader(language: str) -> CountryReader:
    """The reader of a language, made when a text first holds its words."""
    return CountryReader(language)


@cache
def _generic_names() -> frozenset[str]:
    """What "the Act" is called: whichever law the text is about."""
    return frozenset(
        name for row in read_tables("countries").values() for name in row["the_act"].split()
    )


class CountryReader:
    """Reads the citations of one language.

    Attributes:
        head: A unit with its numbers, or numbers with their unit.
        number: A further number of a list.
        join: What stands between two numbers; group "to" if it makes a range of them.
        level: A part of an article with its number; "value", "ordinal" or "bracket" holds it.
        after, before: The law's name behind a citation ("law", "own" or "same") or in front of it.
    """

    def __init__(self, language: str) -> None:
        """Compile the row of a language."""
        self._language = language
        self._row = row = read_tables("countries")[language]
        self._values = ordinals(row["ordinals"])
        level, level_after, law, joins, ends = (
            row[key] or _NEVER for key in ("level", "level_after", "law", "joins", "to")
        )
        units = UNIT_WORDS.get(language, UnitWords())
        before = _alternatives(row["before"], units.before)
        after = _alternatives(row["after"], units.after)
        dense = language in _WITHOUT_BLANKS
        edge, end, blank = ("", "", r"\s?") if dense else (r"(?<!\w)", r"(?!\w)", r"\s")
        # Polish "i", but not "I"
        to = rf"\s?[–—]\s?|{blank}(?:{ends}){blank}"
        join = rf"\s?[,;、，]\s?(?:(?-i:{joins}){blank})?|{blank}(?-i:{joins}){blank}"
        also = rf"(?:{join}|{to})"
        letter = rf"(?:{row['letter']})?" if row["letter"] else ""
        number = rf"(?:{row['number']}{letter})" + ("" if dense else r"(?!\w|[.:^-]\d)")
        counted = rf"(?!\s?(?:{row['counted']}))" if row["counted"] else ""
        digits = CHINESE_NUMERAL if language == "zh" else r"\d{1,3}"
        ordinal = "|".join([digits, *(rf"{stem}\w*" for stem in self._values)])
        mark = rf"(?:{row['mark']}\s?)?" if row["mark"] else ""
        numbered = rf"{mark}[(（]?(?:{ordinal})[.)）]?"
        if dense:
            further = rf"{numbered}\s?(?:{level_after})?"
        else:  # "ust. 2 i 3", "lid 1 en lid 2"; but in "3 § 2 st. och 4 §" an article follows
            unit = "|".join(filter(None, (after, row["chapter"], row["counted"]))) or _NEVER
            further = (
                rf"(?:(?P=word)\s?)?(?:\(?\d{{1,3}}\)?|[^\W\d_]\))(?!\w|[.:/]\d|\.?\s?(?:{unit}))"
            )
        of = rf"(?:(?:{row['of']}){blank})?" if row["of"] else ""
        named = (
            rf"(?:(?P<own>{row['own'] or _NEVER})|(?P<same>{row['same'] or _NEVER})|(?P<law>{law}))"
        )
        apart = "" if dense else r"(?:(?<=[.-])|(?![^\W\d_]))"  # not "lõike" of "lõikes 1"
        heads = []
        if before:
            heads.append(rf"{edge}(?P<unit>{before})\s?(?:(?:nr\.?|№)\s)?(?P<number>{number})")
        if after:
            chapter = row["chapter"] or _NEVER
            heads.append(
                rf"(?<![\w.:/-])(?:(?P<chapter>\d{{1,2}}(?:\s?[a-z])?)\s?(?:{chapter})\s?)?"
                rf"(?P<numbers>{number}(?:(?:{also}|-){number}){{0,8}})"
                # In "Title 29 § 825" the sign belongs to the number behind it.
                rf"\.?\s?(?P<unit_after>{after})(?!\w)(?!\s?\d(?!\d?\.?\s?(?:{level_after})))"
            )
        if row["bare"]:
            heads.append(row["bare"])
        self.head = _compiled("|".join(heads))
        self.number = _compiled(rf"(?!(?:19|20)\d\d(?!\w)){number}{counted}")
        self.join = _compiled(rf"(?P<to>{to})|{join}")
        self.level = _compiled(
            rf"[.,]?\s?(?<![^\W\d_])(?P<word>{level}){apart}\s?[(«„\"']?"
            rf"(?P<value>\d{{1,3}}(?:[a-z](?!\w))?|{ordinal}|{_LETTER}){end}[)»”\"'΄´]?"
            rf"(?:(?:{also}|-){further})*"
            rf"|[.,]?\s?{mark}[(（]?(?P<ordinal>{ordinal}|[^\W\d_](?=\)|목))[.)）]?"
            rf"(?:{also}{numbered})*\s?(?:{level_after}){end}"
            rf"(?:{also}{numbered}\s?(?:{level_after}){end})*"
            rf"|\.?\s?{mark}[(（](?P<bracket>{digits}[a-z]?|[a-z]{{1,2}})[)）](?:{also}\(\w{{1,3}}\))*"
            rf"|[.,]?\s?(?P<small>{row['small'] or _NEVER}){end}"
        )
        self.after = _compiled(rf"\.?\s?,?\s?\(?{of}{named}")
        self.before = _compiled(rf"{edge}{named}(?:(?<![sz])['’]?s)?(?:상|의)?[\s,:(]*$")

    def enumerations(self, text: str) -> Iterator[_Enumeration]:
        """What the language's forms read in a text."""
        position = taken = 0  # where to search on, and what belongs to the last citation
        while head := self.head.search(text, position):
            bare_law = _group(head, "bare_law")
            start = head.start("bare") if bare_law else head.end() - len(head[0].lstrip())
            leading: list[re.Match[str]] = []
            if self._row["leading"]:
                leading, start = self._levels_before(text, max(taken, start - _NEAR), start)
            items, position, certain = self._items(text, head)
            if not items or (self._language == "zh" and _is_printed_head(text, start, position)):
                continue
            items[0] = items[0]._replace(start=start)  # with the levels in front of it
            if leading:
                items[0] = items[0]._replace(paragraph=self._paragraph(leading))
            hint, reference, reach = self._law(text, taken, start, position)
            if not certain and not bare_law and reach == (start, position):
                continue
            if bare_law:
                hint, reference, reach = bare_law, "named", (head.start(), reach[1])
            taken = max(position, reach[1])
            is_apart = _group(head, "unit") and self._language not in _WITHOUT_BLANKS
            for n, item in enumerate(items):
                levels = item.paragraph is not None
                items[n] = item._replace(
                    text=text[item.start : item.end],
                    law_hint=hint,
                    reference=reference,
                    group=(start, position),
                    unread=unread_after(text, item.end, levels=levels) if is_apart else "",
                )
            yield _Enumeration(min(start, reach[0]), taken, items)

    def _items(self, text: str, head: re.Match[str]) -> tuple[list[Citation], int, bool]:
        """The numbers behind a unit, where they end, and whether they are of this language."""
        items: list[Citation] = []
        certain = _is_certain(text, head)
        plural = _unit(head) in _PLURAL
        following: re.Match[str] | None = head
        join: re.Match[str] | None = None
        position = head.end()
        while following and len(items) < _LONGEST_LIST:
            position = following.end()
            for item in self._numbers(text, following):
                if join and join["to"]:
                    items[-1] = items[-1]._replace(through=item.number, end=item.end)
                else:
                    items.append(item)
                join = None
            if not items:
                break
            levels, position = self._levels_after(text, position, plural)
            items[-1] = items[-1]._replace(paragraph=self._paragraph(levels), end=position)
            # "(2)", "§ 2" and "nr. 2" are of several languages.
            certain = certain or any(
                not level["bracket"] and level["word"] not in ("§", "/", "nr", "nr.", "Nr.")
                for level in levels
            )
            join = self.join.match(text, position)
            following = join and self.head.match(text, join.end())
            if following and _unit(following)[:1] != _unit(head)[:1]:
                following = None  # Portuguese "§ 1º do art. 5"
            ends = bool(items[-1].paragraph) and not (self._row["mark"] or plural)
            if join and not following and not ends and head.groupdict().get("unit") is not None:
                following = self.number.match(text, join.end())
            if join and following:
                certain = certain or join[0].strip(" –—,;") != ""
        return items, position, certain

    def _numbers(self, text: str, match: re.Match[str]) -> Iterator[Citation]:
        """The numbers of a head, or one further number of a list; ranges with their ends."""
        if _group(match, "numbers"):
            span = match.span("numbers")
            printed = [(each.start(), each[0]) for each in self.number.finditer(text, *span)]
        else:
            number = _group(match, "number") or _group(match, "bare") or match[0]
            printed = [(match.start(), number)]
        unit, chapter, letter = (_group(match, name) for name in ("unit", "chapter", "letter"))
        front = f"{unit} " if unit.lower().endswith(" madde") else ""
        front += f"{chapter} kap. " if chapter else ""
        item: Citation | None = None
        for start, number in printed:
            parsed = parse_number(f"{front}{number}{letter and f' {letter}'}")
            if parsed is None:
                break
            core = parsed.core
            end = start + len(number) if len(printed) > 1 else match.end()
            if item and self._is_range(text[item.end : start]):
                item = item._replace(through=core, end=end)
                continue
            if item:
                yield item
            otherwise: tuple[str, str | None] | None = None
            # "제3조의22" is not a range, though its canonical form has a hyphen.
            ends = _RANGE.search(number)
            if ends and not self._row["dashed"] and core == ends[0] and int(ends[1]) < int(ends[2]):
                otherwise = (ends[1], ends[2])
            elif self._language == "ro" and _THOUSANDS.fullmatch(core):
                otherwise = (core.replace(".", ""), None)
            item = Citation(start, end, "", core, None, None, "article", otherwise=otherwise)
            item = item._replace(division=parsed.division or None)
        if item:
            yield item

    def _is_range(self, between: str) -> bool:
        """Whether what stands between two numbers makes them the ends of a range."""
        join = self.join.fullmatch(between)
        return between.strip() == "-" or (join is not None and join["to"] is not None)

    def _levels_after(
        self, text: str, position: int, plural: bool
    ) -> tuple[list[re.Match[str]], int]:
        """The parts named behind a number, from the outside in, and where they end.

        Behind a plural unit the numbers that follow are articles: "artikelen 5 lid 1, 7 en 9".
        """
        levels: list[re.Match[str]] = []
        while len(levels) < _DEEPEST and (level := self.level.match(text, position)):
            if level["word"] and any(level["word"] == outer["word"] for outer in levels):
                break  # "ust. 2, ust. 3"
            levels.append(level)
            one = plural and level["value"] and not level["word"].lower().endswith(("en", "s"))
            position = level.end("value") if one else level.end()
        return levels, position

    def _levels_before(self, text: str, since: int, start: int) -> tuple[list[re.Match[str]], int]:
        """The parts named in front of an article, from the outside in, and where they begin."""
        levels: list[re.Match[str]] = []
        end = since
        for level in self.level.finditer(text, since, start):
            if text[end : level.start()].strip(" ,"):
                levels = []
            levels.append(level)
            end = level.end()
        if not levels or text[end:start].strip(" ,"):
            return [], start
        return levels[::-1], levels[0].end() - len(levels[0][0].lstrip(" ,."))

    def _paragraph(self, levels: Iterable[re.Match[str]]) -> str | None:
        return "".join(f"({value})" for value in map(self._value, levels) if value) or None

    def _value(self, level: re.Match[str]) -> str:
        """The number of a part of an article; "" for one that is too small."""
        value = (level["value"] or level["ordinal"] or level["bracket"] or "").lower()
        if re.fullmatch(CHINESE_NUMERAL, value):
            return str(chinese_integer(value))
        return next((n for stem, n in self._values.items() if value.startswith(stem)), value)

    def _law(
        self, text: str, since: int, start: int, end: int
    ) -> tuple[str | None, LawReference, tuple[int, int]]:
        """The law of a citation text[start:end], how it is named, and the span of its name."""
        if self._language == "zh":
            return *_chinese_law(text, start), (start, end)
        opening = max(since, start - _REACH)
        match = self.after.match(text, end) or self.before.search(text, opening, start)
        if match is None:
            return None, "none", (start, end)
        if law := match["law"]:
            if law.lower() in _generic_names():
                return None, "none", match.span()
            return law.strip(" 「」"), "named", match.span()
        return None, "own" if match["own"] else "same", match.span()


def _compiled(pattern: str) -> re.Pattern[str]:
    return re.compile(pattern, re.IGNORECASE)


def _alternatives(pattern: str, words: str) -> str:
    """A pattern and some words in one expression, longer ones first; "" if there are none."""
    escaped = [re.escape(word) for word in sorted(words.split(), key=len, reverse=True)]
    return "|".join(filter(None, (pattern, *escaped)))


def _group(match: re.Match[str], name: str) -> str:
    """A group of a match; "" for one that the language's pattern lacks."""
    return match.groupdict().get(name) or ""


def _unit(head: re.Match[str]) -> str:
    return (_group(head, "unit") or _group(head, "unit_after")).lower()


def _is_certain(text: str, head: re.Match[str]) -> bool:
    """Whether a unit or a number is of no language but this one: "стаття 5", "§ 19 b"."""
    if unit_after := _group(head, "unit_after"):
        return unit_after.lower() not in ("str.", "p.")
    if _SHARED.fullmatch(_unit(head)) is None or _RARE_NUMBER.search(head[0]):
        return True
    letter_apart = head[0][-1].isalpha() and head[0][-2].isspace()
    return letter_apart and _APART.match(text, head.end()) is not None


def _is_printed_head(text: str, start: int, end: int) -> bool:
    """Whether 第六条 begins a line, with a blank behind it: it is an article, not a citation."""
    return text[end : end + 1].isspace() and (
        _PRINTED_HEAD.search(text, max(0, start - 4), start) is not None
    )


_SOURCE = (
    r"(?:法典|(?<![依合非违违執执方做办])(?<!(?<!公)司)法|条例|條例|办法|辦法|规定|規定|解释|[细规通准总]则"
    r"|[細規通準總]則|施行令|章程|规程|公约|协定|决定)"  # not 依法, 合法 …
)
_CHINESE_OWN = re.compile(r"本(?!国|人|单位|公司|合同|协议)[\u4e00-\u9fff]{1,6}[的之中]?\s*$")
_CHINESE_SAME = re.compile(rf"(?:(?<!合)同一?|[该該]){_SOURCE}\s*$")
_BRACKETED = re.compile(r"[》〉](?:[（(][^（）()]{1,20}[）)])?\s*[的之中]?\s*$")
_CHINESE_NAMED = re.compile(
    r"(?:依照?|按照?|根[据據])?"
    r"((?:[\u4e00-\u9fff・]|の|における|及び){1,40}に関する法律"
    rf"|[\u4e00-\u9fff]{{0,20}}(?:{_SOURCE}|合同|协议))"
    r"(?:[（(]?[一二三四五六七八九十]{1,3}[）)]?)?[的之中]?\s*$"  # 解释（一）
)


def _chinese_law(text: str, start: int) -> tuple[str | None, LawReference]:
    """The law of a Chinese citation, which precedes it, and how it is named."""
    opening = max(0, start - 80)
    if closing := _BRACKETED.search(text, opening, start):
        return bracketed_name(text[: closing.start() + 1]), "named"
    if _CHINESE_OWN.search(text, opening, start):
        return None, "own"
    if _CHINESE_SAME.search(text, opening, start):
        return None, "same"
    named = _CHINESE_NAMED.search(text, opening, start)
    # 法 alone is "the Act", in a regulation.
    return (named[1], "named") if named and named[1] != "法" else (None, "none")
