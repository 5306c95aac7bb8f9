"""Excerpts of an article that bear on a question, word for word and never without exceptions.

For a reader, an excerpt is a provision (`provisions`) with what limits it: the other provisions of
the article that refer to it, and those that except something from the whole article. Where it is
shortened, whole sentences are left out, none of which holds an exception or a time limit.

For a generator, `bearing_excerpts` takes whole paragraphs or sentences until there is enough.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from itertools import pairwise
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
from components.statutes.replies.text import ArticleSentence, article_sentences, trimmed

_WORD = re.compile(rf"[^\W_]+(?:(?:['’-]|[{JOINT}{INVISIBLE}]+)[^\W_]+)*")


class _Rules(NamedTuple):
    """How a language of law writes what an excerpt must keep; see `excerpts.yaml`."""

    limits: re.Pattern[str]
    refers: re.Pattern[str]
    whole: re.Pattern[str]


@cache
def _rules() -> dict[str, _Rules]:
    with files("components.statutes").joinpath("excerpts.yaml").open(encoding="utf-8") as file:
        written = yaml.safe_load(file)
    rules = {}
    for language, each in written.items():
        limits = rf"\b(?:{'|'.join(each['limits'])})\b"
        patterns = (limits, each["refers"], "|".join(each["whole"]))
        rules[language] = _Rules(*(re.compile(pattern, re.IGNORECASE) for pattern in patterns))
    return rules


def _rules_of(language: str | None) -> _Rules | None:
    """The rules of a BCP 47 tag; None where there are none."""
    return _rules().get(known_language(language) or "")


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
        return tuple(each.span for each in sorted([chosen, *others]))
    worth = _worth(language, terms)
    kept = _shortened(text, chosen, rules, worth, words)
    for each in others:
        kept += _shortened(text, each, rules, worth, 0)
    return tuple(sorted(kept))


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
    ends = [match.end() for match in SENTENCE_END.finditer(text, line.body, line.span.end)]
    starts = [line.span.start, *ends]
    return [
        Span(*trimmed(text, start, end))
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


# Excerpts for a generator.

SHORT_ARTICLE = 500  # characters; a shorter article is shown whole
LONGEST_PARAGRAPH = 1_500  # characters; a longer one is shown in sentences
LEFT_OUT = "[...]"
_ENOUGH = 350  # characters of a longer article


@dataclass(frozen=True, slots=True)
class Excerpt:
    """A part of an article: whole paragraphs, or whole sentences of one.

    Attributes:
        text: Its words, with " [...] " wherever parts of the paragraph are left out.
        start, end: The span from its first word to its last.
    """

    text: str
    start: int
    end: int


def bearing_excerpts(
    question: str,
    article: str,
    language: str | None = None,
    best: tuple[int, int] | None = None,
) -> list[Excerpt]:
    """The excerpts of an article that bear on a question, in the article's order.

    A short article is one excerpt. From a longer one come the paragraphs whose sentences share most
    words with the question (each word counts once, rare ones count more), until there is enough to
    read; if none shares a word, its beginning. A long paragraph gives only those sentences. A
    sentence is always shown with the next one if that may restrict it ("unless", "within"), even
    across paragraphs.

    Args:
        question: In plain words.
        article: The article's text.
        language: BCP 47 tag of the article, where known.
        best: Span of the passage already found best: its sentences are taken.
    """
    if len(article) <= SHORT_ARTICLE:
        start, end = trimmed(article, 0, len(article))
        return [Excerpt(article[start:end], start, end)] if start < end else []
    sentences = article_sentences(article, language)
    if best is None:
        chosen = _sharing_words(question, article, language, sentences)
    else:
        chosen = _within(best, sentences)

    def are_of_one_paragraph(place: int, behind: int) -> bool:
        if place < 0 or behind == len(sentences):
            return False
        return sentences[place].paragraph == sentences[behind].paragraph

    # One excerpt for neighbours, and one for those of a paragraph.
    groups: list[list[int]] = []
    for place in sorted(_with_exceptions(sentences, chosen)):
        last = groups[-1][-1] if groups else -2
        if place == last + 1 or are_of_one_paragraph(last, place):
            groups[-1].append(place)
        else:
            groups.append([place])
    excerpts = []
    for places in groups:
        first, last = places[0], places[-1]
        begin, end = sentences[first].start, sentences[last].end
        parts = [LEFT_OUT] if are_of_one_paragraph(first - 1, first) else []
        for before, place in pairwise(places):
            if place > before + 1:
                parts += [article[begin : sentences[before].end], LEFT_OUT]
                begin = sentences[place].start
        parts.append(article[begin:end])
        if are_of_one_paragraph(last, last + 1):
            parts.append(LEFT_OUT)
        excerpts.append(Excerpt(" ".join(parts), sentences[first].start, end))
    return excerpts


def _sharing_words(
    question: str, article: str, language: str | None, sentences: list[ArticleSentence]
) -> set[int]:
    """The sentences that share most words with a question."""
    terms = analyzer(language)
    wanted = set(terms(question))
    held = [wanted.intersection(terms(article[each.start : each.end])) for each in sentences]
    frequency = {term: sum(term in each for each in held) for term in wanted}
    worth = [sum(1 / frequency[term] for term in each) for each in held]
    chosen: set[int] = set()
    taken: set[int] = set()
    # Equal sentences keep the article's order; the first says what it is about.
    for place in sorted(range(len(sentences)), key=lambda each: (-worth[each], each)):
        length = sum(sentences[each].end - sentences[each].start for each in taken)
        if length >= _ENOUGH or (chosen and not worth[place]):
            break
        if place not in taken:
            chosen.add(place)
            taken = _with_exceptions(sentences, chosen)
    return chosen


def _within(best: tuple[int, int], sentences: list[ArticleSentence]) -> set[int]:
    """The sentences more than half inside a passage, or filling more than half of it."""
    shares = [
        (min(best[1], each.end) - max(best[0], each.start))
        / max(1, min(best[1] - best[0], each.end - each.start))
        for each in sentences
    ]
    most = max(shares, default=0.0)
    return {place for place, share in enumerate(shares) if share > 0.5 or share == most}


def _with_exceptions(sentences: list[ArticleSentence], chosen: set[int]) -> set[int]:
    """The chosen sentences, the rest of their paragraphs if short, and what restricts them."""
    of_paragraph: dict[int, list[int]] = {}
    for place, each in enumerate(sentences):
        of_paragraph.setdefault(each.paragraph, []).append(place)
    taken: set[int] = set()
    waiting = sorted(chosen, reverse=True)
    while waiting:
        place = waiting.pop()
        if place in taken:
            continue
        paragraph = of_paragraph[sentences[place].paragraph]
        if sentences[paragraph[-1]].end - sentences[paragraph[0]].start <= LONGEST_PARAGRAPH:
            taken.update(paragraph)
            place = paragraph[-1]
        else:
            taken.add(place)
        if place + 1 < len(sentences) and sentences[place + 1].qualifies:
            waiting.append(place + 1)
    return taken
