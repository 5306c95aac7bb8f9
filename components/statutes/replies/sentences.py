"""A reply's sentences."""

from __future__ import annotations

import re
from collections.abc import Iterable

from components.statutes.replies.reference_marks import MARK

# A full stop behind these ends nothing: before a number, and anywhere.
_BEFORE_NUMBER = re.compile(
    r"\b(?:arts?|secs?|sects?|ss?|paras?|pars?|regs?|nos?|nr|ch|chap|abs|al|pp?|[LRD])\.\Z",
    re.IGNORECASE,
)
_ANYWHERE = re.compile(
    r"\b(?:cf|e\.g|i\.e|approx|ca|vs?|bzw|d\.\s?h|z\.\s?b|c\.\s?civ|c\.\s?trav|mrs?|ms|dr)\.\Z",
    re.IGNORECASE,
)
_LIST_NUMBER = re.compile(r"[\s\-*]*\d{1,2}\.")
_NUMBER = re.compile(r"\s*[*\d]")
_SMALL = re.compile(r"\s+[a-zß-ÿ]")
_END = re.compile(
    rf"(?P<stop>(?<![.!?])[.!?]++|(?<![。！？])[。！？]++)(?P<after>[\"'”’»)\]]*(?:\s*{MARK.pattern})*[.]?)"
    r"(?P<gap>\s+|\Z|(?<=[。！？])|(?<=[。！？]”))"
    r"|(?P<line>\n\s*)"
)

_RULE = re.compile(r"[-=*_\s|:]+\Z")
_BELOW_TABLE_HEAD = re.compile(r"\s*\|?[ \t]*:?-++[-:| \t]*+(?:\n|\Z)")
# A heading tells what follows; one with a verb of the law, or a full stop, tells the law.
_TELLS_LAW = re.compile(
    r"\b(?:must|shall|may|can|cannot|is|are|has|have|needs?|doit|doivent|peut|peuvent|est|sont"
    r"|muss|müssen|kann|können|darf|dürfen|ist|sind|hat|haben|debe|deben|puede|pueden|es|son|phải"
    r"|được)\b|应当|必须|可以|不得|[.!。！][\s#*_]*\Z"
)


def sentence_spans(
    reply: str,
    whole: Iterable[tuple[int, int]] = (),
    citations: Iterable[tuple[int, int]] = (),
) -> list[tuple[int, int]]:
    """Spans of the sentences of a reply, without the blanks around them.

    A line's end ends a sentence, but behind a colon. Citations behind a full stop, and by
    themselves in a sentence, belong to the sentence before.

    Args:
        reply: the text.
        whole: spans in which no sentence ends, such as quotations.
        citations: spans of citations.
    """
    kept = sorted(whole)
    spans: list[tuple[int, int]] = []
    start = 0
    for end in _END.finditer(reply):
        cut = end.start() if end["line"] is not None else end.end("after")
        if cut <= start or any(first < cut < last for first, last in kept):
            continue
        if end["line"] is not None and reply[start:cut].rstrip("*_ ").endswith((":", "：")):
            continue
        if end["line"] is None and end["stop"] == "." and not end["after"].strip():
            head = reply[start : end.end("stop")].strip()
            if _ANYWHERE.search(head[-12:]) or _LIST_NUMBER.fullmatch(head.rsplit("\n", 1)[-1]):
                continue
            if _BEFORE_NUMBER.search(head[-12:]) and _NUMBER.match(reply, cut):
                continue
            if _SMALL.match(reply, cut):
                continue
        spans.append((start, cut))
        start = cut
    spans.append((start, len(reply)))
    merged: list[tuple[int, int]] = []
    cited = sorted(citations)
    for first, last in (trimmed(reply, *span) for span in spans):
        if merged and first < last and _only_cites(reply, first, last, cited):
            merged[-1] = (merged[-1][0], last)
        elif first < last:
            merged.append((first, last))
    return merged


def _only_cites(reply: str, start: int, end: int, cited: list[tuple[int, int]]) -> bool:
    """Whether a sentence is nothing but citations, and the name of their law."""
    rest, position = "", start
    for first, last in cited:
        if start <= first < end:
            rest += reply[position:first]
            position = max(position, last)
    if position == start:
        return False
    rest += reply[position:end]
    bracketed = reply[start] in "([（" and reply[end - 1 : end] in ")].）"
    return bracketed or not any(character.isalnum() for character in rest)


def trimmed(text: str, start: int, end: int) -> tuple[int, int]:
    """A span without the white space at its ends."""
    part = text[start:end]
    return start + len(part) - len(part.lstrip()), end - (len(part) - len(part.rstrip()))


def says_something(sentence: str, behind: str) -> bool:
    """Whether a sentence can assert law: no rule, no mere lead to what follows, no bare heading.

    Args:
        sentence: Of a reply.
        behind: The reply's text behind it.
    """
    lines = sentence.splitlines()
    return any(
        _asserts(line, "\n".join(lines[place + 1 :]) or behind) for place, line in enumerate(lines)
    )


def _asserts(line: str, behind: str) -> bool:
    line = line.strip()
    if _RULE.match(line) or not any(each.isalpha() for each in line):
        return False
    if line.rstrip("*_ ").endswith((":", "：")):
        return False
    if line.startswith("#"):
        return _TELLS_LAW.search(line) is not None and not line.rstrip("#*_ ").endswith(("?", "？"))
    return not (line.startswith("|") and _BELOW_TABLE_HEAD.match(behind))
