"""The passages of an article that bear on a question, never without their exceptions.

An article is cut into provisions: a numbered paragraph with the items below it. An excerpt is a
provision with what limits it: the other provisions of the article that refer to it, and those that
except something from the whole article. Where it is shortened, whole sentences are left out, none
of which holds an exception or a time limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from typing import NamedTuple

from stopwordsiso import has_lang, stopwords

from components.statutes.characters import INVISIBLE, JOINT
from components.statutes.languages import known_language
from components.statutes.lexical import analyzer

_MARKER = re.compile(r"\s*(\(?(?:(?P<figure>\d{1,3}[a-z]?)|[a-z]{1,2}|[ivx]{1,5})[.)])\s+")

_WORD = re.compile(rf"[^\W_]+(?:(?:['’-]|[{JOINT}{INVISIBLE}]+)[^\W_]+)*")

# Chinese and Japanese set no blanks between words: there each sign counts as one.
_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WIDE_POINT = re.compile(r"[\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f]")


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


class Line(NamedTuple):
    """A line of an article.

    Attributes:
        kind: "numbered" or "lettered" by its marker; empty without one.
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
        """Its marker without brackets and points."""
        return re.sub(r"\W", "", self.marker)


class Provision(NamedTuple):
    """A numbered paragraph with its items, or a paragraph without a number.

    Attributes:
        number: as printed, without brackets or point: "1"; empty without one.
        lines: at least one.
    """

    number: str
    lines: tuple[Line, ...]

    @property
    def anchor(self) -> str:
        """The name of its place in the article's page; empty without a number."""
        return anchor_of(self.number)

    @property
    def span(self) -> Span:
        """From its first line to its last."""
        return Span(self.lines[0].span.start, self.lines[-1].span.end)


def word_count(text: str) -> int:
    """About how many words a text has, as word processors count them."""
    return len(_SIGN.sub(" x ", _WIDE_POINT.sub(" ", text)).split())


def lines_of(text: str) -> list[Line]:
    """The lines of an article that are not blank, each without the blanks around it."""
    lines, place = [], 0
    for written in text.splitlines(keepends=True):
        stripped = written.strip()
        if stripped:
            start = place + written.index(stripped)
            span = Span(start, start + len(stripped))
            marker = _MARKER.match(stripped)
            kind = "" if not marker else "numbered" if marker["figure"] else "lettered"
            body = start + (marker.end() if marker else 0)
            lines.append(Line(kind, marker[1] if marker else "", span, body))
        place += len(written)
    return lines


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
    rest = _SENTENCE_END.search(text, cuts[-1], end)
    parts = [Line(line.kind, line.marker, _trimmed(text, Span(line.span.start, cuts[0])), start)]
    for place, stop in zip(cuts, [*cuts[1:], rest.end() if rest else end], strict=True):
        marker = _MARKER.match(text, place, end)
        assert marker is not None
        span = _trimmed(text, Span(place, stop))
        parts.append(Line("lettered", marker[1], span, marker.end()))
    if rest:
        parts.append(Line("", "", Span(rest.end(), end), rest.end()))
    return parts


def provisions_of(text: str) -> list[Provision]:
    """The provisions of an article, in order; every line is in one of them."""
    groups: list[list[Line]] = []
    for line in lines_of(text):
        # An item, and the words after a list, belong to the paragraph above them.
        below = groups and (
            line.kind == "lettered" or (not line.kind and groups[-1][-1].kind == "lettered")
        )
        if below:
            groups[-1].append(line)
        else:
            groups.append([line])
    return [
        Provision(group[0].label if group[0].kind == "numbered" else "", tuple(group))
        for group in groups
    ]


class _Language(NamedTuple):
    """How a language of law writes what an excerpt must keep.

    Attributes:
        limits: what makes an exception, a condition or a time limit.
        refers: a reference to another paragraph of the article, by number.
        whole: the beginning of a provision about the whole article.
    """

    limits: re.Pattern[str]
    refers: re.Pattern[str]
    whole: re.Pattern[str]


_LANGUAGES = {
    "en": _Language(
        limits=re.compile(
            r"\b(?:unless|except\w*|save|but|however|only|otherwise|notwithstanding|nothing"
            r"|provided that|subject to|other than|apart from|without prejudice|in any case"
            r"|(?:does|do|is|are|may|need) not|no (?:more|less|later) than|at (?:the )?latest"
            r"|within|lapses?|expires?)\b",
            re.IGNORECASE,
        ),
        refers=re.compile(
            r"\b(?:sub)?paragraphs? (?P<numbers>\(?\d+[a-z]?\)?(?:\([a-z]+\))*"
            r"(?:(?:,| and| or| to|, and) \(?\d+[a-z]?\)?(?:\([a-z]+\))*)*)",
            re.IGNORECASE,
        ),
        whole=re.compile(
            r"(?:this (?:article|section|title)|it|they)\b (?:\w+ ){0,2}?"
            r"(?:does|do|is|are|may) not\b"
            r"|(?:however|but|except|unless|nothing|only)\b"
            r"|no (?:\w+ ){1,4}(?:is|are|may|takes?|runs?|lies)\b",
            re.IGNORECASE,
        ),
    ),
    "fr": _Language(
        limits=re.compile(
            r"\b(?:sauf|hormis|excepté|exception\w*|toutefois|cependant|néanmoins|nonobstant"
            r"|à moins|sous réserve|sans préjudice|à condition|pourvu|seulement|uniquement"
            r"|ne s'appli\w+ pas|ne peu\w+|n'est pas|au plus tard|dans (?:les?|un délai)|délai)\b",
            re.IGNORECASE,
        ),
        refers=re.compile(
            r"\b(?:paragraphes?|alinéas?) "
            r"(?P<numbers>\(?\d+[a-z]?\)?(?:(?:,| et| ou| à) \(?\d+\)?)*)",
            re.IGNORECASE,
        ),
        whole=re.compile(
            r"(?:le présent article|il|elle|ils|elles|cette règle)\b[^.]{0,20}\bne s'appli"
            r"|(?:toutefois|cependant|sauf|par exception|par dérogation)\b",
            re.IGNORECASE,
        ),
    ),
}

_RANGE = re.compile(r"(\d+)\)?(?:\([a-z]+\))* (?:to|à) \(?(\d+)")
_NUMBER = re.compile(r"(?<![\w])\(?(\d+[a-z]?)\b")

# A sentence ends before a blank and a capital, but not after "Art.", "No." or an initial.
_SENTENCE_END = re.compile(
    r"(?<=[.!?])(?<!\b[^\W\d_]\.)(?<!\b[Aa]rt\.)(?<!\b[Nn]o\.)(?<!\b[Nn]os\.)(?<!\b[Ss]ec\.)"
    r"\s+(?=[«\"“]?[A-ZÀ-Þ])"
)


def related(text: str, chosen: Provision, language: str | None) -> list[Provision]:
    """The other provisions of an article that limit one of them, in order.

    These are what refers to it by its number, and what excepts something from the whole article. In
    a language whose words for that are not known here: all others.

    Args:
        text: the article's.
        chosen: one of its provisions.
        language: BCP 47 tag of the text.
    """
    others = [each for each in provisions_of(text) if each != chosen]
    rules = _LANGUAGES.get(known_language(language) or "")
    if rules is None:
        return others

    def limits(each: Provision) -> bool:
        words = text[each.lines[0].body : each.span.end]
        referred = [match["numbers"] for match in rules.refers.finditer(words)]
        if any(chosen.number in _numbers(numbers) for numbers in referred):
            return bool(rules.limits.search(words))
        return not referred and rules.whole.match(words) is not None

    return [each for each in others if chosen.number and limits(each)]


def anchor_of(paragraph: str) -> str:
    """The name of a paragraph's place in its article's page: "p3a" of "(3)(a)"; "" for none."""
    label = re.sub(r"\W", "", paragraph)
    return f"p{label}" if label else ""


def references_within(text: str, language: str | None) -> list[tuple[Span, str]]:
    """The references of an article to its own paragraphs, each with the anchor of the first.

    Args:
        text: the article's.
        language: BCP 47 tag of the text.
    """
    rules = _LANGUAGES.get(known_language(language) or "")
    if rules is None:
        return []
    anchors = {provision.anchor for provision in provisions_of(text)} - {""}
    found = []
    for match in rules.refers.finditer(text):
        number = _NUMBER.search(match["numbers"])
        if number is not None and (anchor := f"p{number[1]}") in anchors:
            found.append((Span(*match.span()), anchor))
    return found


def _numbers(written: str) -> set[str]:
    """The numbers in a reference such as "(1), (2)(a) or (4) to (6)"."""
    numbers = {match[1] for match in _NUMBER.finditer(written)}
    for first, last in _RANGE.findall(written):
        numbers.update(str(number) for number in range(int(first), int(last) + 1))
    return numbers


class Excerpt(NamedTuple):
    """Parts of an article's text, in order.

    Attributes:
        provision: what it was chosen for.
        spans: what is shown.
    """

    provision: Provision
    spans: tuple[Span, ...]


def excerpt(
    text: str,
    chosen: Provision,
    language: str | None,
    terms: Collection[str] = (),
    words: int | None = None,
) -> Excerpt:
    """A provision with its exceptions.

    Args:
        text: the article's.
        chosen: one of its provisions.
        language: BCP 47 tag of the text.
        terms: those of the question, as `lexical.analyzer` gives them: they decide which sentences
            are kept.
        words: about how many to show. What holds an exception or a time limit is shown all the
            same. None shows whole provisions.
    """
    parts = sorted([chosen, *related(text, chosen, language)])
    rules = _LANGUAGES.get(known_language(language) or "")
    if words is None or rules is None:
        return Excerpt(chosen, tuple(each.span for each in parts))
    kept = _shortened(text, chosen, rules, _worth(language, terms), words)
    for each in parts:
        if each != chosen:
            kept += _shortened(text, each, rules, _worth(language, terms), 0)
    return Excerpt(chosen, tuple(sorted(kept)))


def _worth(language: str | None, terms: Collection[str]) -> Callable[[str], int]:
    """How many different terms of the question a text has."""
    analyse, wanted = analyzer(language), set(terms)
    return lambda text: len(wanted.intersection(analyse(text)))


def _shortened(
    text: str, provision: Provision, rules: _Language, worth: Callable[[str], int], words: int
) -> list[Span]:
    """The sentences of a provision to show: the best, what limits, and others up to a length."""
    pieces: list[tuple[Span, int | None]] = []  # and the place of the words before its list
    lead: int | None = None
    for line in provision.lines:
        spans = _sentences(text, line)
        pieces += [(span, lead if line.kind == "lettered" else None) for span in spans]
        if line.kind != "lettered":
            lead = len(pieces) - 1
    texts = [text[start:end] for (start, end), _ in pieces]
    best = max(range(len(pieces)), key=lambda each: (worth(texts[each]), -each))
    kept = {best} | {each for each, piece in enumerate(texts) if rules.limits.search(piece)}
    left = words - sum(word_count(texts[each]) for each in kept)
    for each in sorted(range(len(pieces)), key=lambda each: (abs(each - best), each)):
        left -= 0 if each in kept else word_count(texts[each])
        if left < 0:
            break
        kept.add(each)
    kept |= {above for each in kept if (above := pieces[each][1]) is not None}
    return [pieces[each][0] for each in sorted(kept)]


def _sentences(text: str, line: Line) -> list[Span]:
    ends = [match.end() for match in _SENTENCE_END.finditer(text, line.body, line.span.end)]
    starts = [line.span.start, *ends]
    return [
        _trimmed(text, Span(start, end))
        for start, end in zip(starts, [*ends, line.span.end], strict=True)
    ]


def sentence_around(text: str, place: int) -> Span:
    """The sentence of an article in which a character stands, without the marker of its line."""
    for line in lines_of(text):
        if line.span.start <= place < line.span.end:
            for start, end in _sentences(text, line):
                if place < end:
                    return Span(max(start, line.body), end)
    return Span(place, place)


def _trimmed(text: str, span: Span) -> Span:
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    return Span(start, start + len(part.strip())) if part.strip() else Span(span.start, span.start)


def matched_words(
    text: str, spans: Sequence[Span], terms: Collection[str], language: str | None
) -> list[Span]:
    """The words of a text that a question has too, in any form.

    Args:
        text: the article's.
        spans: where to look, in order.
        terms: those of the question, as `lexical.analyzer` gives them.
        language: BCP 47 tag of the text.
    """
    analyse, wanted = analyzer(language), set(terms)
    # "not" and "give" decide a search, but a reader does not see them as a match.
    known = known_language(language) or ""
    common = stopwords(known) if has_lang(known) else frozenset()
    return [
        Span(start + word.start(), start + word.end())
        for start, end in spans
        for word in _WORD.finditer(text[start:end])
        if word[0].casefold() not in common and wanted.intersection(analyse(word[0]))
    ]


def provision_at(text: str, passage: Mapping[str, int] | None) -> Provision | None:
    """The provision that has the most of a passage; None where there is no passage.

    Args:
        text: the article's.
        passage: characters `start` to `end`.
    """
    if passage is None:
        return None

    def shared(provision: Provision) -> int:
        start, end = provision.span
        return min(end, passage["end"]) - max(start, passage["start"])

    return max(provisions_of(text), key=shared, default=None)


def best_provision(
    text: str, terms: Collection[str], language: str | None, nearness: Sequence[float] | None = None
) -> Provision | None:
    """The provision of an article that answers a question best; None where it has no text.

    A note in brackets counts only where there is nothing else.

    Args:
        text: the article's.
        terms: those of the question.
        language: BCP 47 tag of the text.
        nearness: of each provision to the question in meaning (a cosine); None where nothing
            measured it, and words alone decide.
    """
    provisions = provisions_of(text)
    if not provisions:
        return None
    worth = _worth(language, terms)
    shares = [
        worth(text[each.span.start : each.span.end]) / max(1, len(set(terms)))
        for each in provisions
    ]
    near = [0.0] * len(provisions) if nearness is None else nearness
    scores = [meaning + _WORDS * share for meaning, share in zip(near, shares, strict=True)]
    rules = [
        place
        for place, each in enumerate(provisions)
        if not _NOTE.fullmatch(text[each.span.start : each.span.end].strip())
    ]
    places = rules or range(len(provisions))
    return provisions[max(places, key=lambda each: (scores[each], -each))]


# An editor's note, such as "(Inserted with effect from 1 January 2021.)".
_NOTE = re.compile(r"\([^()]*\)|\[[^][]*\]")

# What a question's words count next to a cosine.
_WORDS = 0.25
