"""Excerpts of an article that bear on a question, word for word and never without exceptions.

For a reader, an excerpt is a provision (`provisions`) with what limits it: the other provisions of
the article that refer to it, and those that except something from the whole article. Where it is
shortened, whole sentences are left out, none of which holds an exception or a time limit.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import cache
from itertools import pairwise
from pathlib import Path
from typing import NamedTuple

import yaml

from components.statutes.languages import INVISIBLE, JOINT, known_language
from components.statutes.lexical import analyzer
from components.statutes.provisions import (
    SENTENCE_END,
    Line,
    Provision,
    Span,
    lines_of,
    paragraphs_of,
    provisions_of,
    word_count,
)
from components.statutes.replies.text import joined_spans, trimmed

LEFT_OUT = "[...]"
_WORD = re.compile(rf"[^\W_]+(?:(?:['’-]|[{JOINT}{INVISIBLE}]+)[^\W_]+)*")


class _Rules(NamedTuple):
    """How a language of law writes what an excerpt must keep; see `excerpts.yaml`."""

    limits: re.Pattern[str]
    refers: re.Pattern[str]
    whole: re.Pattern[str]


@cache
def _rules_of(language: str | None) -> _Rules | None:
    """The rules of a BCP 47 tag; None where there are none."""
    written = yaml.safe_load(Path(__file__).with_name("excerpts.yaml").read_text("utf-8"))
    if (rules := written.get(known_language(language))) is None:
        return None
    limits = rf"\b(?:{'|'.join(rules['limits'])})\b"
    patterns = (limits, rules["refers"], "|".join(rules["whole"]))
    return _Rules(*(re.compile(pattern, re.IGNORECASE) for pattern in patterns))


_RANGE = re.compile(r"(\d+)\)?(?:\([a-z]+\))* (?:to|à) \(?(\d+)")
_NUMBER = re.compile(r"(?<![\w])\(?(\d+[a-z]?)\b")


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
    rules = _rules_of(language)
    if rules is None:
        return others

    def limits(each: Provision) -> bool:
        words = text[each.lines[0].body : each.span.end]
        if each.place == chosen.place:  # another part of a long paragraph
            return rules.limits.search(words) is not None
        referred = [match["numbers"] for match in rules.refers.finditer(words)]
        if any(chosen.number in _numbers(numbers) for numbers in referred):
            return bool(rules.limits.search(words))
        return not referred and rules.whole.match(words) is not None

    return [each for each in others if chosen.number and limits(each)]


def references_within(text: str, language: str | None) -> list[tuple[Span, str]]:
    """The references of an article to its own paragraphs, each with the anchor of the first.

    Args:
        text: the article's.
        language: BCP 47 tag of the text.
    """
    rules = _rules_of(language)
    if rules is None:
        return []
    anchors = {paragraph.anchor for paragraph in paragraphs_of(text)} - {""}
    matches = ((each, _NUMBER.search(each["numbers"])) for each in rules.refers.finditer(text))
    found = ((Span(*each.span()), f"p{number[1]}") for each, number in matches if number)
    return [(span, anchor) for span, anchor in found if anchor in anchors]


def _numbers(written: str) -> set[str]:
    """The numbers in a reference such as "(1), (2)(a) or (4) to (6)"."""
    numbers = {match[1] for match in _NUMBER.finditer(written)}
    for first, last in _RANGE.findall(written):
        numbers.update(str(number) for number in range(int(first), int(last) + 1))
    return numbers


def excerpt(
    text: str,
    chosen: Provision,
    language: str | None,
    terms: Collection[str] = (),
    words: int | None = None,
) -> tuple[Span, ...]:
    """The spans of an article to show, in order: a provision with its exceptions.

    Args:
        text: the article's.
        chosen: one of its provisions.
        language: BCP 47 tag of the text.
        terms: those of the question, as `lexical.analyzer` gives them: they decide which sentences
            are kept.
        words: about how many to show. What holds an exception or a time limit is shown all the
            same. None shows whole provisions.
    """
    others, rules = related(text, chosen, language), _rules_of(language)
    if words is None or rules is None:
        return _with_leads([chosen, *others])
    worth = _worth(language, terms)
    kept = _shortened(text, chosen, rules, worth, words)
    for each in others:
        kept += _shortened(text, each, rules, worth, 0)
    return tuple(sorted(kept))


def quotation(text: str, chosen: Provision, language: str | None) -> tuple[Span, ...]:
    """The spans of an article to quote for a program, in order: a provision with its exceptions.

    In a language whose words for exceptions are not known here, it is the provision alone.

    Args:
        text: the article's.
        chosen: one of its provisions.
        language: BCP 47 tag of the text.
    """
    others = related(text, chosen, language) if _rules_of(language) else []
    return _with_leads([chosen, *others])


def _with_leads(provisions: Sequence[Provision]) -> tuple[Span, ...]:
    """The spans of provisions, with the words that lead to those that are items of a list."""
    return merged(span for each in provisions for span in (each.lead, each.span) if span)


def merged(spans: Iterable[Span]) -> tuple[Span, ...]:
    """Spans in order, with those that overlap as one."""
    return tuple(Span(*each) for each in joined_spans(spans))


def joined(text: str, spans: Sequence[Span]) -> str:
    """The words of spans in order, with "[...]" on a line of its own where some are left out."""
    shown = ""
    for before, span in zip([None, *spans], spans, strict=False):
        between = "" if before is None else text[before.end : span.start]
        shown += f"\n{LEFT_OUT}\n" if between.strip() else between
        shown += text[span.start : span.end]
    return shown


def _worth(language: str | None, terms: Collection[str]) -> Callable[[str], int]:
    """How many different terms of the question a text has."""
    analyse, wanted = analyzer(language), set(terms)
    return lambda text: len(wanted.intersection(analyse(text)))


def _shortened(
    text: str, provision: Provision, rules: _Rules, worth: Callable[[str], int], words: int
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
    ends = (match.end() for match in SENTENCE_END.finditer(text, line.body, line.span.end))
    cuts = pairwise([line.span.start, *ends, line.span.end])
    return [Span(*trimmed(text, start, end)) for start, end in cuts]


def sentence_around(text: str, place: int) -> Span:
    """The sentence of an article in which a character stands, without the marker of its line."""
    for line in lines_of(text):
        if line.span.start <= place < line.span.end:
            for start, end in _sentences(text, line):
                if place < end:
                    return Span(max(start, line.body), end)
    return Span(place, place)


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
    from stopwordsiso import has_lang, stopwords

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


# An editor's note, such as "(Inserted with effect from 1 January 2021.)".
_NOTE = re.compile(r"\([^()]*\)|\[[^][]*\]")


def is_note(words: str) -> bool:
    """Whether a text is nothing but an editor's note in brackets."""
    return _NOTE.fullmatch(words.strip()) is not None
