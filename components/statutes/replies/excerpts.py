"""Excerpts of an article that bear on a question, word for word."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import pairwise

from components.statutes.lexical import analyzer
from components.statutes.replies.text import ArticleSentence, article_sentences, trimmed

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
    return _excerpts(article, sentences, _with_exceptions(sentences, chosen))


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


def _excerpts(article: str, sentences: list[ArticleSentence], taken: set[int]) -> list[Excerpt]:
    """The taken sentences as excerpts: one for neighbours, and one for those of a paragraph."""
    groups: list[list[int]] = []
    for place in sorted(taken):
        last = groups[-1][-1] if groups else -2
        if place == last + 1 or (groups and _are_of_one_paragraph(sentences, last, place)):
            groups[-1].append(place)
        else:
            groups.append([place])
    return [_excerpt(article, sentences, group) for group in groups]


def _excerpt(article: str, sentences: list[ArticleSentence], places: list[int]) -> Excerpt:
    first, last = places[0], places[-1]
    start, end = sentences[first].start, sentences[last].end
    text = f"{LEFT_OUT} " if _are_of_one_paragraph(sentences, first - 1, first) else ""
    begin = start
    for before, place in pairwise(places):
        if place > before + 1:
            text += f"{article[begin : sentences[before].end]} {LEFT_OUT} "
            begin = sentences[place].start
    text += article[begin:end]
    text += f" {LEFT_OUT}" if _are_of_one_paragraph(sentences, last, last + 1) else ""
    return Excerpt(text, start, end)


def _are_of_one_paragraph(sentences: list[ArticleSentence], place: int, behind: int) -> bool:
    if place < 0 or behind == len(sentences):
        return False
    return sentences[place].paragraph == sentences[behind].paragraph
