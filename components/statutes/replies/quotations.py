"""Find the quotations in a reply; every quotation mark is accounted for.

Each of them opens or closes a quotation that is returned, is an apostrophe, or lies within a
quotation that is returned as one without an end. Text quoted without marks (in italics, say) is not
recognised.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

from components.statutes.replies.text import MARK

# What opens a quotation, and what closes it; writers mix straight and curved marks.
_PAIRS = {
    mark[0]: mark[1:]
    for mark in re.findall(
        r"\S+",
        # ” is Swedish and Finnish; , and < count only doubled: ,,so'' and <<so>>
        '""”“ “”" ”” „“”" ‟”" «» »«» ‹› ›‹› 「」 『』 ｢｣ ﹁﹂ ﹃﹄'
        " ❮❯ ❯❮ ⌜⌝⌟ ⌞⌟ 〔〕 ˮˮ ⟪⟫ ⹂“”"
        " ″″ ʺʺ ,'\"“”’‘ <> ＂＂ ❝❞ 〝〞〟 ״״ `` ‘’' ‚‘’' ‛’' ´´’' ❛❜ ''’ ＇＇ ’’",
    )
}
_SINGLE = "‘‚‛'’＇´❛"
_SINGLE_CLOSERS = f"{_SINGLE}❜"
_ONLY_DOUBLED = ",<"
_NESTING = "“«‹「『„❝｢﹁﹃⟪⌜⌞〔"
_MOST_UNPAIRED = 100  # each costs a search to the end of its paragraph
_LONGEST_SINGLE = 5_000  # characters; text full of apostrophes is not searched to its end at each
_SINGLE_CLOSING = re.compile(rf"[{_SINGLE_CLOSERS}](?![^\W_])")
_ALONE = "”」』›»❞〞〟｣﹂﹄⟫❯⌝⌟〕"  # may close a quotation that was never opened
_PARAGRAPH = re.compile(r"(?:[^\n]|\n(?!\s*\n))+")
_ITEM = r"[ \t]*(?:[-*+•]|\d{1,3}[.)])?[ \t]*"
# As in Markdown, a block continues with the next lines, until an empty one or a list item.
_LIST_ITEM = r"[ \t]*(?:[-*+•–—]|\d{1,9}[.)])[ \t]"
_LINES = rf"[^\n]*(?:\n(?![ \t]*(?:\n|>)|{_LIST_ITEM})[^\n]+)*(?:\n|\Z)"
_BLOCK = re.compile(rf"^{_ITEM}>{_LINES}(?:^[ \t]*>{_LINES})*", re.MULTILINE)
# Four blanks or a tab after an empty line; within a list they continue its item.
_INDENTED = re.compile(
    rf"(?:\A|\n[ \t]*\n)(?!{_LIST_ITEM})(?P<block>(?:(?: {{4}}|\t)[ \t]*[^\s>][^\n]*(?:\n|\Z))+)"
)
_LIST_REACH = 2_000  # characters before an indented block in which its list may begin
_IN_A_LIST = re.compile(rf"(?:{_LIST_ITEM}|[ \t]+\S)")
_FIRST_SIGNS = re.compile(rf"{_ITEM}(?:>[ \t]?)+[ \t]*")
_SIGNS = re.compile(r"[ \t]*(?:>[ \t]?)*[ \t]*")
# Text after a fence's first signs is quoted too, unless it is an info string.
_FENCE = re.compile(
    r"^[ \t]*(```+|~~~+)(?:[ \t]*(?:te?xt|plaintext|quote|law|markdown|md)?[ \t]*\n)?"
    r"(?P<inner>.*?)(?:^[ \t]*\1[^\n]*$|\Z)",
    re.M | re.S,
)
_DOUBLED = re.compile(r"([\"'`“”«»,<>])\1+")
_ELISION = re.compile(r"['‘’](?:\d0s|tis|twas|em|til|cause|n)\b", re.IGNORECASE)
_ATTRIBUTION = re.compile(r"^[-–—]\s*\S.{0,120}$")
_LABEL = re.compile(r"^(\*\*|__)[^*_\n]{1,60}\1\s*")


@dataclass(frozen=True, slots=True)
class Quotation:
    """A quotation in a reply.

    Attributes:
        start, end: Its span with its marks; a block quotation's lines, without a label in bold
            before it and a line with a dash after it, which are the writer's own words.
        text: What is quoted, without marks, and without reference marks at its end.
        closed: Whether it ends.
        source_end: Where the line with a dash after a block quotation ends, if there is one.
    """

    start: int
    end: int
    text: str
    closed: bool = True
    source_end: int | None = None


def find_quotations(reply: str) -> list[Quotation]:
    """What a reply puts between quotation marks, into a block or a fence, in its order.

    A block is a block quotation, or indented by four blanks.

    A quotation within a quotation is part of it. Marks pair within a paragraph. One that is not
    closed extends to the paragraph's end or, if its closing mark differs from the opening one, to
    the closing mark in a later paragraph. After 100 unpaired marks the rest of a paragraph is one
    quotation without an end.
    """
    blocks = [_of_block(reply, *block.span()) for block in _BLOCK.finditer(reply)]
    blocks += [
        Quotation(fence.start(), fence.end(), _inner(fence["inner"]))
        for fence in _FENCE.finditer(reply)
        if not any(each.start < fence.end() and fence.start() < each.end for each in blocks)
    ]
    blocks += [
        _of_block(reply, *block.span("block"))
        for block in _INDENTED.finditer(reply)
        if not any(each.start < block.end() and block.start("block") < each.end for each in blocks)
        and not _continues_list(reply, block.start())
    ]
    found = [each for each in blocks if each.text]
    position = 0
    for paragraph in _PARAGRAPH.finditer(reply):
        for start, end in _outside(max(position, paragraph.start()), paragraph.end(), found):
            for quotation in _marked(reply, start, end):
                if quotation.start >= position:
                    found.append(quotation)
                    position = quotation.end
    return sorted(found, key=lambda each: each.start)


def _continues_list(reply: str, end: int) -> bool:
    """Whether the paragraph before a place has a list item in it, or is indented itself."""
    before = reply[max(0, end - _LIST_REACH) : end].rstrip()
    return any(map(_IN_A_LIST.match, re.split(r"\n[ \t]*\n", before)[-1].split("\n")))


def _outside(start: int, end: int, taken: list[Quotation]) -> list[tuple[int, int]]:
    """Spans of a paragraph between what is taken already."""
    spans = []
    for each in sorted(taken, key=lambda each: each.start):
        if each.end <= start or each.start >= end:
            continue
        spans.append((start, each.start))
        start = each.end
    return [span for span in [*spans, (start, end)] if span[0] < span[1]]


def _marked(reply: str, start: int, end: int) -> list[Quotation]:
    found: list[Quotation] = []
    place = begun = start
    unpaired = 0
    while place < end:
        mark = reply[place]
        if mark not in _PAIRS and mark not in _ALONE:
            place += 1
            continue
        if mark in _SINGLE and not _opens(reply, place):
            place += 1
            continue
        if mark in _ONLY_DOUBLED and not (
            reply.startswith(mark * 2, place) and _opens(reply, place, width=2)
        ):
            place += 1
            continue
        if mark in '"″ʺ' and reply[place - 1 : place].isdigit() and _closes(reply, place):
            place += 1  # inches
            continue
        run = _DOUBLED.match(reply, place)
        width = len(run[0]) if run else 1
        only_closes = mark in _ALONE and (mark not in _PAIRS or _ends_something(reply, place))
        closing = None if only_closes else _closing(reply, place + width, mark, end)
        if closing and mark in _ALONE and not _inner(reply[place + width : closing[0]]):
            closing, only_closes = None, True  # both are closing marks, with nothing quoted between
        unpaired += closing is None and not only_closes
        if unpaired > _MOST_UNPAIRED:
            found.append(Quotation(place, end, _inner(reply[place + width : end]), closed=False))
            place = end
        elif closing is not None:
            text = _inner(reply[place + width : closing[0]])
            if text:
                found.append(Quotation(place, closing[1], text))
            place = begun = closing[1]
        elif (mark in _SINGLE and mark != "‘") or mark in _ONLY_DOUBLED:
            place += width  # apostrophes are not a quotation without an end
        elif _closes(reply, place) and reply[begun:place].strip():
            # The quotation that it closes was never opened: where it began is unknown.
            found.append(Quotation(begun, place + width, _inner(reply[begun:place]), closed=False))
            place = begun = place + width
        else:
            found.append(Quotation(place, end, _inner(reply[place + width : end]), closed=False))
            place = end
    return found


def _closing(reply: str, position: int, mark: str, end: int) -> tuple[int, int] | None:
    """Span of the mark that closes a quotation opened by `mark` before `position`."""
    if mark in _SINGLE:
        return _single_closing(reply, position, mark, end)
    closers, depth = _PAIRS[mark], 0
    if reply[position - 2 : position] == "``":
        closers = "`'"  # ``as TeX has it''
    place = position
    while place < end:
        character = reply[place]
        run = _DOUBLED.match(reply, place)
        width = len(run[0]) if run else 1
        if mark in _ONLY_DOUBLED and (
            (character in "'’‘>" and width == 1)
            or (character in closers and reply[place - 1].isspace())
        ):
            pass  # an apostrophe, or what opens another one
        elif character in closers and not (character == mark and character in _NESTING):
            if depth == 0:
                return place, place + width
            depth -= 1
        elif character == mark and mark in _NESTING:
            depth += 1
        place += width
    return None


def _single_closing(reply: str, position: int, mark: str, end: int) -> tuple[int, int] | None:
    """As `_closing` for single marks, which are apostrophes too.

    The last one that can close it does, before the next one that can open: "'the tenants' right'"
        is one quotation. If the opening mark is followed by a blank, it is the first such mark.
    """
    within_blanks = reply[position : position + 1].isspace()
    stop = min(end, position + _LONGEST_SINGLE)
    if not _SINGLE_CLOSING.search(reply, position, stop):
        return None  # as nearly everywhere in text full of apostrophes
    last = spaced = None
    straight = depth = 0
    for place in range(position, stop):
        character = reply[place]
        straight += character == '"'
        depth += (character in "“«「") - (character in "”»」")
        # It may hold quotations within, but none that goes on after it.
        if character not in _SINGLE_CLOSERS or straight % 2 or depth:
            continue
        if character in _PAIRS[mark] and _closes(reply, place):
            if not reply[place - 1].isspace():
                last = place, place + 1
            elif within_blanks:
                return place, place + 1
            elif spaced is None:
                spaced = place, place + 1
        elif last is not None and _opens(reply, place):
            break
    if within_blanks:
        return None
    return last or (spaced if mark == "‘" else None)


def _opens(reply: str, place: int, width: int = 1) -> bool:
    """Whether a single mark can open: it stands after no letter, and before something.

    After a colon or a comma it opens before a letter, and between two blanks.
    """
    if _ELISION.match(reply, place):
        return False
    before, after = reply[max(0, place - 1) : place], reply[place + width : place + width + 1]
    if reply[place] == "‘":
        return not (before.isalnum() and after.isalnum())
    if not after or before.isalnum() or before in tuple(".!?)"):
        return False
    if before in tuple(",;:"):
        return after.isalnum()
    return not after.isspace() or (after != "\n" and before.isspace())


def _ends_something(reply: str, place: int) -> bool:
    """Whether a mark stands right after something, and before no letter."""
    return place > 0 and not reply[place - 1].isspace() and _closes(reply, place)


def _closes(reply: str, place: int) -> bool:
    """Whether a mark stands before no letter."""
    return not reply[place + 1 : place + 2].isalnum()


def _of_block(reply: str, start: int, end: int) -> Quotation:
    """What a block quotation quotes: without its signs, its label, its source, and marks around."""
    lines: list[tuple[int, int]] = []
    place = start
    while place < end:
        stop = reply.find("\n", place, end)
        stop = end if stop < 0 else stop
        signs = (_SIGNS if lines else _FIRST_SIGNS).match(reply, place, stop)
        first = signs.end() if signs else place
        lines.append((first, first + len(reply[first:stop].rstrip())))
        place = stop + 1
    while len(lines) > 1 and lines[-1][0] >= lines[-1][1]:
        lines.pop()
    quoted = [reply[slice(*line)] for line in lines]
    source_end = None
    # An attribution is outside the quotation; a list of the law, with a dash in each line, is not.
    if len(lines) > 1 and _ATTRIBUTION.match(quoted[-1]) and not _ATTRIBUTION.match(quoted[-2]):
        source_end = lines.pop()[1]
        quoted.pop()
    label = _LABEL.match(quoted[0])
    if label and (len(lines) > 1 or label.end() < len(quoted[0])):
        start = lines[0][0] + label.end()
        quoted[0] = quoted[0][label.end() :]
    text = _inner("\n".join(quoted))
    if text and text[0] in _PAIRS and text[-1] in _PAIRS[text[0]]:
        inner = text[1:-1]
        if not any(character in _PAIRS and character not in _SINGLE for character in inner):
            text = _inner(inner)
    return Quotation(start, max(start, lines[-1][1]), text, source_end=source_end)


def _inner(text: str) -> str:
    while marker := re.search(rf"(?:{MARK.pattern})\s*[.,;:]?\s*\Z", text[-80:]):
        text = text[: len(text) - len(text[-80:]) + marker.start()]
    return text.strip()
