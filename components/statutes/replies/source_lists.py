"""The sources that a reply itself gives for its reference marks.

A reply may end with a list of sources ("[^1]: Criminal Code, section 99"), or make a link of a mark
("[1](https://example.org)"). The reader takes [1] for that, whatever was given under the number.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from components.statutes.article import Article
from components.statutes.citations.finding import NAME_OF_A_LAW
from components.statutes.citations.laws import LawNames
from components.statutes.citations.patterns import canonical_core, parse_number
from components.statutes.replies.checked import CheckedCitation, CheckState
from components.statutes.replies.text import ReferenceMark

_HEAD = re.compile(
    r"(?:^|(?<=[.!?\])])[ \t]+(?=\w+[*_]*[:：]))[ \t#>*_]*"
    r"(?:sources?|references?|citations?|(?:foot|end)?notes?|bibliography|quellen?(?:angaben)?"
    r"|nachweise?|fu(?:ß|ss)noten?|références?|bronnen|fuentes|referencias|fonti|riferimenti|fontes"
    r"|referências|nguồn|tài liệu tham khảo|来源|资料来源|参考(?:资料|文献)|出典|参照)"
    r"[ \t*_]*(?:[:：][ \t*_]*|$|(?=[\[［【]))",
    re.IGNORECASE | re.MULTILINE,
)
_LINE_START = re.compile(r"(?:^|\n)[ \t>*+•-]*\Z")
_MEANS = re.compile(r"[ \t*_]*(?:[:：=]|[–—-](?=\s))[ \t]*")
_NUMBERED = re.compile(r"[ \t>*_]*(\d{1,3})[.):：][ \t]+(?=\S)")
_NUMBERED_ON = re.compile(r"(?:(?<=[;,.])|\A)[ \t]*(\d{1,3})[.)][ \t]+(?=\S)")
_LINK = re.compile(r"\((?P<meaning>[^()\s#][^()\n]*)\)|[ \t]\((?P<url>https?:[^()\s]+)\)")
_URL = re.compile(r"\bhttps?://[^\s<>()\[\]\"'”»]+", re.IGNORECASE)
_NUMBER = re.compile(r"\d[\w./-]*")
_BETWEEN = 3  # characters between the name of a law and the citation of its article
_REACH = 8  # characters before a mark in which its line may begin


@dataclass(frozen=True, slots=True)
class StatedSource:
    """What a reply says that a reference mark stands for.

    Attributes:
        number: The mark's.
        start, end: The span of its meaning in the reply.
    """

    number: int
    start: int
    end: int


def stated_sources(
    reply: str, marks: Sequence[ReferenceMark], cited: Sequence[tuple[int, int]]
) -> list[StatedSource]:
    """What a reply says its marks stand for, in order.

    That is a link behind a mark; what follows a mark at the beginning of a line after a colon or a
    dash; a citation that follows one there at once; and every entry after "Sources:".

    Args:
        reply: What was written.
        marks: Its reference marks.
        cited: Spans of its citations in words, in order.
    """
    lists = list(_lists(reply))
    found = []
    single = [mark for mark in marks if len(mark.numbers) == 1]
    starts = [mark.start for mark in single]
    for place, mark in enumerate(single):
        number = mark.numbers[0]
        if link := _LINK.match(reply, mark.end):
            start, end = link.span("meaning" if link["meaning"] else "url")
            found.append(StatedSource(number, start, end))
            continue
        line_end = reply.find("\n", mark.end)
        line_end = len(reply) if line_end < 0 else line_end
        behind = starts[place + 1] if place + 1 < len(starts) else len(reply)
        means = _MEANS.match(reply, mark.end)
        start = means.end() if means else mark.end
        start += len(reply[start:line_end]) - len(reply[start:line_end].lstrip(" \t*_"))
        begins_line = _LINE_START.search(reply[max(0, mark.start - _REACH) : mark.start])
        at_start = begins_line and (mark.start <= _REACH or "\n" in begins_line[0])
        listed = any(first <= mark.start < last for first, last in lists)
        end = min(line_end, behind) if listed else line_end
        if not listed and not (at_start and means):
            end = _citation_end(reply, start, cited) if at_start else start
        if reply[start:end].strip(" \t.,;*_|"):
            found.append(StatedSource(number, start, end))
    for first, last in lists:
        found.extend(_numbered(reply, first, last))
    return sorted(found, key=lambda each: each.start)


def _citation_end(reply: str, start: int, cited: Sequence[tuple[int, int]]) -> int:
    """Where the citation ends that begins at a place, with or without its law's name in front.

    The place itself where none does: "[1] The landlord must" is a sentence.
    """
    name = NAME_OF_A_LAW.match(reply, start)
    first = name.end() if name else start
    end = next((last for begin, last in cited if start <= begin <= first + _BETWEEN), first)
    return end if name or any(begin == start for begin, _ in cited) else start


def _lists(reply: str) -> Iterator[tuple[int, int]]:
    """The spans of the lists below or behind "Sources:"."""
    for head in _HEAD.finditer(reply):
        end = head.end()
        line_end = reply.find("\n", end)
        end = len(reply) if line_end < 0 else line_end
        while end < len(reply):
            following = reply.find("\n", end + 1)
            following = len(reply) if following < 0 else following
            line = reply[end + 1 : following]
            if line.strip() and not re.match(r"[ \t>*_+•-]*(?:[\[［【^]|\d|[⁰¹²³⁴-⁹])", line):
                break
            end = following
        yield head.end(), end


def _numbered(reply: str, first: int, last: int) -> Iterator[StatedSource]:
    """The entries "1. Housing Code, section 13" of a list, one a line or all in one."""
    begin = first
    for line in reply[first:last].split("\n"):
        if item := _NUMBERED.match(line):
            items = [item]
            if begin == first and item[1] == "1":
                items = list(_NUMBERED_ON.finditer(line))
            ends = [each.start() for each in items[1:]] + [len(line)]
            for each, end in zip(items, ends, strict=True):
                yield StatedSource(int(each[1]), begin + each.end(), begin + end)
        begin += len(line) + 1


def contradiction(
    stated: StatedSource,
    reply: str,
    source: Article,
    names: LawNames,
    named: Sequence[CheckedCitation],
) -> tuple[CheckState, str]:
    """Whether what a reply says of a mark contradicts the article given under its number.

    Args:
        stated: What it says.
        reply: The reply.
        source: The article with that number.
        names: The names of the laws given.
        named: The reply's citations in words.

    Returns:
        "verified" with "" where it names that article or its law; else a state and what is wrong.
    """
    words = reply[stated.start : stated.end].strip()
    links = [link.rstrip(".,;:!?*_") for link in _URL.findall(words)]
    if any(link != source.source_url for link in links):
        return "not found", f"the reply links it to {links[0]}"
    inside = [each for each in named if stated.start <= each.start < stated.end]
    if any(source.id not in each.ids for each in inside):
        return "not found", f"the reply says that it is {words}"
    if inside:
        doubtful = next((each for each in inside if each.state != "verified"), None)
        return ("not checked", doubtful.why) if doubtful else ("verified", "")
    if links and words in links:
        return "verified", ""
    laws = names.anywhere(words)
    others = [name[0] for name in NAME_OF_A_LAW.finditer(words) if not names.anywhere(name[0])]
    if others or (laws and source.law not in laws):
        return "not found", f"the reply says that it is {words}"
    number = parse_number(source.number)
    given = {canonical_core(each.rstrip(".-/")) for each in _NUMBER.findall(words)}
    known = {canonical_core(each) for each in _NUMBER.findall(source.law)}
    if not laws:
        return "not checked", "what the reply says of its source was not understood"
    if number is not None and given - known and number.core not in given:
        return "not found", f"the reply says that it is {words}"
    return "verified", ""
