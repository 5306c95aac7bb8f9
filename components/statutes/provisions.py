"""The provisions of an article: what is indexed, ranked, quoted and cited within it.

Law is answered by the paragraph. `paragraphs_of` finds an article's paragraphs from its own
markers: the first kind of marker that stands at a line's beginning ("(1)", "1.", "§ 1", "I. -",
"①", "第一項", "(a)" where nothing is above it) numbers the paragraphs as long as it counts up, and
every other kind numbers the items of a list. Without markers each line is a paragraph.

`provisions_of` cuts long paragraphs: between items, between sentences, and only then within one.
Nothing is lost: the provisions of an article, joined, are its text.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from components.statutes.article import TextRule, indexed_text
from components.statutes.citations.patterns import chinese_integer, roman_integer
from components.statutes.replies.text import sentence_spans, trimmed

MOST_WORDS = 120
"""The longest provision, in words (`word_count`)."""

# Chinese and Japanese set no blanks between words: there each sign counts as one.
_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WIDE_POINT = re.compile(r"[\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f]")
# Other scripts without blanks: so many characters are at least one word.
_LONGEST_WORD = 40
_NAMED = 20  # paragraphs in a message


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


class Line(NamedTuple):
    """A line of an article, or a point of a list within one.

    Attributes:
        kind: "numbered" where its marker begins a paragraph, "lettered" where it begins an item of
            a list; empty without a marker.
        marker: such as "1." or "(a)".
        span: of the whole line, with the marker.
        body: where the text after the marker begins.
    """

    kind: str
    marker: str
    span: Span
    body: int

    @property
    def label(self) -> str:
        """Its marker without brackets, points and signs."""
        return re.sub(r"[\W_]", "", self.marker)


class Provision(NamedTuple):
    """A paragraph with its items, or a part of a long one.

    Attributes:
        number: of the paragraph as printed, without brackets or point: "1"; empty without one.
        place: of the paragraph in the article, from 1.
        lines: at least one.
        lead: the words before a list, where this part holds only items of it.
        is_whole: whether it is the whole paragraph.
    """

    number: str
    place: int
    lines: tuple[Line, ...]
    lead: Span | None = None
    is_whole: bool = True

    @property
    def name(self) -> str:
        """What labels call its paragraph: "1", or "#2" for the second where it has no number."""
        return self.number or f"#{self.place}"

    @property
    def anchor(self) -> str:
        """The name of its place in the article's page; empty without a number."""
        first = self.lines[0]
        return anchor_of(self.number + (first.label if first.kind == "lettered" else ""))

    @property
    def span(self) -> Span:
        """From its first line to its last."""
        return Span(self.lines[0].span.start, self.lines[-1].span.end)

    @property
    def labels(self) -> frozenset[str]:
        """Everything that a label may call it: its name, and its items' ("a", or "3(a)")."""
        items = (each.label for each in self.lines if each.kind == "lettered")
        return frozenset({self.name, *(f"{self.number}({i})" if self.number else i for i in items)})


def word_count(text: str) -> int:
    """About how many words a text has, as word processors count them."""
    return len(_SIGN.sub(" x ", _WIDE_POINT.sub(" ", text)).split())


LONG_ARTICLE = 200
"""Words above which an article is also found by its provisions. Shorter articles gain nothing, or
lose (docs/results/findings.md)."""


def is_long(text: str) -> bool:
    """Whether an article is found by its provisions too."""
    return word_count(text) > LONG_ARTICLE and len(provisions_of(text)) > 1


def anchor_of(paragraph: str) -> str:
    """The name of a paragraph's place in its article's page: "p3a" of "(3)(a)"; "" for none."""
    label = re.sub(r"\W", "", paragraph)
    return f"p{label}" if label else ""


# Markers

_CJK = "一二三四五六七八九十"
_MARKER = re.compile(
    rf"""(?:
    (?P<section>§\s?\d{{1,3}}(?:er)?[a-z]{{0,6}}\.?)
    |[(（](?P<bracketed>\d{{1,3}}[a-zA-Z]{{0,2}})[)）]
    |(?P<pointed>\d{{1,3}}(?:[a-z]{{0,2}}|[-\s]?(?:bis|ter|quater|quinquies|sexies))\.)(?=\s|$)
    |(?P<closed>\d{{1,3}}[a-z]?[)）])
    |(?P<degree>\d{{1,3}}\s?[°º])
    |(?P<circled>[①-⑳])
    |(?P<counted>第[{_CJK}\d]{{1,4}}[項款])
    |(?P<wide>[０-９]{{1,2}})(?=\s)
    |(?P<bare>\d{{1,2}}[a-zA-Z]?)(?=\s[^\W\d_])
    |(?P<roman>[IVX]{{1,5}}\s?(?:\.\s?[-–—]|\.(?=\s)|[-–—](?=\s)))
    |[(（](?P<small>[a-z]{{1,4}})[)）]
    |[(（](?P<capital>[A-Z]{{1,2}})[)）]
    |(?P<letter>[a-z]{{1,2}})\)
    |(?P<dotted>[a-z])\.(?=\s)
    |[(（](?P<cjk>[{_CJK}]{{1,3}})[)）]
    |(?P<listed>[{_CJK}]{{1,3}})[、\s]
    |(?P<dash>[-–—•·*])(?=\s)
    )\s*""",
    re.VERBOSE,
)
_LISTS = ("degree", "letter", "dotted", "cjk", "listed", "dash")
"""Kinds of marker that never number paragraphs below words of the article."""
# In a text of one line, paragraphs begin behind a full stop.
_WITHIN = re.compile(r"(?<=[.;:。»”)])\s+(?=§\s?\d|[(（]\d{1,3}[a-z]?[)）]\s*[^\W\d_])")
_CLOSED = re.compile(r"[.!?。！？][\"'”’»)\]）」』*_]*\Z")

_ANNOUNCES = re.compile(r"[:：,;—–―-]\s*\Z")


class _Marker(NamedTuple):
    kind: str
    text: str
    value: int
    end: int


def _marker_at(text: str, start: int, end: int) -> _Marker | None:
    """The marker that a line begins with."""
    match = _MARKER.match(text, start, end)
    if match is None or match.lastgroup is None:
        return None
    kind, printed = match.lastgroup, match[match.lastgroup]
    return _Marker(kind, match[0].strip(), _value(kind, printed), match.end())


def _value(kind: str, printed: str) -> int:
    """A marker's place in its series, from 1."""
    if figures := re.search(r"\d+", printed):
        return int(figures[0])
    if kind == "circled":
        return int(unicodedata.numeric(printed))
    if kind == "roman":
        return roman_integer("".join(re.findall("[IVX]", printed)))
    if kind in ("counted", "listed", "cjk"):
        return chinese_integer(printed.strip("第項款"))
    if kind == "dash":
        return 1
    letters = printed.lower()
    # "(aa)" follows "(z)" in some laws and "(a)" in others; both are behind "(a)".
    return ord(letters[0]) - 96 + 26 * (len(letters) - 1)


def _continues(marker: _Marker, last: int) -> bool:
    """Whether a marker of the paragraphs' kind begins the next of them."""
    if marker.kind in ("small", "letter") and re.search(r"[ivxlcdm]", marker.text):
        return marker.value == last + 1  # else a Roman number in a list below
    if marker.kind in ("bare", "wide", "section"):
        return last <= marker.value <= last + 5  # "30 days after" begins no paragraph
    return marker.value >= last


def _lines(text: str) -> Iterator[Span]:
    """The lines that are not blank, cut where a paragraph begins within one."""
    place = 0
    for written in text.splitlines(keepends=True):
        start, end = trimmed(text, place, place + len(written))
        place += len(written)
        if start >= end:
            continue
        first = _marker_at(text, start, end)
        begins = first is not None and first.kind in ("section", "bracketed")
        last = first.value if first is not None else 0
        for cut in _WITHIN.finditer(text, start, end) if begins or "§" in written else ():
            inner = _marker_at(text, cut.end(), end)
            if inner is not None and inner.value == last + 1:
                yield Span(start, cut.start())
                start, last = cut.end(), inner.value
        yield Span(start, end)


@lru_cache(maxsize=4096)
def paragraphs_of(text: str) -> tuple[Provision, ...]:
    """The paragraphs of an article, each with its items, in order; every line is in one of them.

    Args:
        text: the article's.
    """
    groups: list[list[Line]] = []
    numbers: list[str] = []
    kind = ""  # of the marker that numbers the paragraphs
    last = 0
    items: set[str] = set()
    for span in _lines(text):
        marker = _marker_at(text, *span)
        above = groups[-1][-1] if groups else None
        end = text[max(0, above.span.end - 4) : above.span.end] if above else ""
        closed = above is None or _CLOSED.search(end) is not None
        if marker is not None and marker.kind == "bare" and kind != "bare":
            # A figure alone numbers paragraphs only from the first line on.
            marker = marker if above is None and marker.value == 1 else None
        if marker is None:
            in_list = above is not None and above.kind == "lettered"
            begins = closed and not (in_list and kind)
        elif kind:
            begins = marker.kind == kind and _continues(marker, last)
        else:
            # Above stands nothing, a sentence, or a title; behind "In this Act:" a list begins.
            begins = above is None or (
                not _ANNOUNCES.search(end) and marker.kind not in (*items, *_LISTS)
            )
        if marker is not None and begins:
            kind, last = marker.kind, marker.value
        elif marker is not None:
            items.add(marker.kind)
        line_kind = "" if marker is None else "numbered" if begins else "lettered"
        body = span.start if marker is None else min(marker.end, span.end)
        line = Line(line_kind, "" if marker is None else marker.text, span, body)
        if begins:
            groups.append([line])
            numbers.append(line.label if marker is not None else "")
        else:
            groups[-1].append(line)
    numbered = enumerate(zip(numbers, groups, strict=True), 1)
    return tuple(Provision(number, place, tuple(group)) for place, (number, group) in numbered)


def lines_of(text: str) -> list[Line]:
    """The lines of an article that are not blank, each without the blanks around it."""
    return [line for paragraph in paragraphs_of(text) for line in paragraph.lines]


# A sentence ends before a blank and a capital, but not after "Art.", "No." or an initial.
SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\b[^\W\d_]\.)(?<!\b[Aa]rt\.)(?<!\b[Nn]o\.)(?<!\b[Nn]os\.)(?<!\b[Ss]ec\.)"
    r"\s+(?=[«\"“]?[A-ZÀ-Þ])"
)


# A list within a line begins with "(a)"; its points end with semicolons, or with commas where a
# colon announces it: "points (a), (b) and (c)" is not a list.
_FIRST_POINT = re.compile(r"(?P<colon>:)?\s(?=\(?a\)\s)")


def points_of(text: str, line: Line) -> list[Line]:
    """Split a line: the points of a list within it ("(a) ...; (b) ...") become lines.

    Args:
        text: the article's.
        line: one of its lines.
    """
    start, end = line.body, line.span.end
    cuts: list[int] = []
    if first := _FIRST_POINT.search(text, start, end):
        cuts.append(first.end())
        ends = ";," if first["colon"] else ";"
        for letter in "bcdefghijklmnopqrstuvwxyz":
            after = rf"[{ends}](?:\s(?:and|or|et|ou))?\s(?=\(?{letter}\)\s)"
            if (point := re.compile(after).search(text, cuts[-1], end)) is None:
                break
            cuts.append(point.end())
    if len(cuts) < 2:
        return [line]
    # What follows the last point's sentence belongs to the list's paragraph again.
    rest = SENTENCE_END.search(text, cuts[-1], end)
    parts = [Line(line.kind, line.marker, Span(*trimmed(text, line.span.start, cuts[0])), start)]
    for place, stop in zip(cuts, [*cuts[1:], rest.end() if rest else end], strict=True):
        marker = _marker_at(text, place, end)
        assert marker is not None
        span = Span(*trimmed(text, place, stop))
        parts.append(Line("lettered", marker.text, span, marker.end))
    if rest:
        parts.append(Line("", "", Span(rest.end(), end), rest.end()))
    return parts


@lru_cache(maxsize=4096)
def provisions_of(text: str) -> tuple[Provision, ...]:
    """The provisions of an article: its paragraphs, long ones in parts of at most `MOST_WORDS`.

    Args:
        text: the article's.
    """
    return tuple(part for each in paragraphs_of(text) for part in _parts(text, each))


def unknown_label(text: str, labels: Iterable[str]) -> tuple[str, str] | None:
    """The first of some labels that an article does not have, and how to correct it.

    Args:
        text: the article's.
        labels: names of its paragraphs.
    """
    own = (each for provision in provisions_of(text) for each in sorted(provision.labels))
    known = list(dict.fromkeys(own))
    unknown = next((each for each in labels if each not in known), None)
    if unknown is None:
        return None
    more = ", ..." if len(known) > _NAMED else ""
    return unknown, f"Name one of {', '.join(known[:_NAMED])}{more}."


def piece_end(text: str, start: int, most: int) -> int:
    """Where a piece of an article ends that can be read alone: before a paragraph.

    Within a paragraph it ends only if the paragraph alone is too long, and then before the next of
    its provisions.

    Args:
        text: the article's.
        start: where the piece begins: 0, or where another one ended.
        most: its longest length, in characters; at least that of any provision.
    """
    if len(text) - start <= most:
        return len(text)
    for cut in (paragraphs_of, provisions_of):
        begins = [each.span.start for each in cut(text) if each.span.start > start]
        if fitting := [place for place in begins if place <= start + most]:
            return fitting[-1]
    return begins[0] if begins else len(text)  # over a long gap


def provision_texts(headings: Sequence[str], text: str, rule: TextRule) -> list[str]:
    """The text of each provision of an article as a bi-encoder reads it.

    In front stand the last heading and the words that lead to the provision. The only provision of
    an article is encoded as the article is, so that the two share one vector.

    Args:
        headings: of the divisions above the article, outermost first.
        text: the article's.
        rule: which parts of an article the model encodes.
    """
    provisions = provisions_of(text)
    if len(provisions) < 2:
        return [indexed_text(headings, text, rule)] * len(provisions)
    parts = (
        "\n".join(text[slice(*span)] for span in (each.lead, each.span) if span)
        for each in provisions
    )
    return [indexed_text(headings[-1:], part, rule) for part in parts]


def _parts(text: str, paragraph: Provision) -> list[Provision]:
    if _size(text, paragraph.span) <= MOST_WORDS:
        return [paragraph]
    parts: list[list[Line]] = [[]]
    room = MOST_WORDS
    for line in paragraph.lines:
        for place, span in enumerate(_pieces(text, line.span)):
            size = _size(text, span)
            if parts[-1] and size > room:
                parts.append([])
                room = MOST_WORDS
            room -= size
            if place and parts[-1]:
                begun = parts[-1].pop()
                parts[-1].append(begun._replace(span=Span(begun.span.start, span.end)))
            else:
                piece = line._replace(span=span) if place == 0 else Line("", "", span, span.start)
                parts[-1].append(piece)
    # The words before a list stand in front of each part that holds only items.
    first = paragraph.lines[0].span
    lead = first if len(paragraph.lines) > 1 and _size(text, first) <= MOST_WORDS else None
    return [
        paragraph._replace(lines=tuple(part), lead=lead if place else None, is_whole=False)
        for place, part in enumerate(parts)
    ]


def _size(text: str, span: Span) -> int:
    return max(word_count(text[slice(*span)]), (span.end - span.start) // _LONGEST_WORD)


_CLAUSE = re.compile(r"(?<=[;:,；：，、])\s*|\s+(?=[(（][a-z0-9]{1,3}[)）])")
_WORD = re.compile(rf"\S{{1,{_LONGEST_WORD}}}")


def _pieces(text: str, span: Span) -> Iterator[Span]:
    """A line in parts that are not too long: sentences, else clauses, else words."""
    if _size(text, span) <= MOST_WORDS:
        yield span
        return
    start, line = span.start, text[slice(*span)]
    cuts = [0, *(each.end() for each in _CLAUSE.finditer(line)), len(line)]
    clauses = [trimmed(line, *each) for each in pairwise(cuts)]
    words = (each.span() for each in _WORD.finditer(line))
    for parts in (sentence_spans(line), [each for each in clauses if each[0] < each[1]], words):
        pieces = [Span(start + begin, start + end) for begin, end in parts]
        if len(pieces) > 1:
            break
    for piece in pieces:
        yield from _pieces(text, piece)
