"""The passages of an article that bear on a question, word for word."""

from __future__ import annotations

import re

from components.statutes.lexical import analyzer
from components.statutes.replies.sentences import sentence_spans, trimmed

SHORT_ARTICLE = 500  # characters; such an article is shown whole
_ENOUGH = 350  # characters of a longer one
_LINE = re.compile(r"[^\n]*\S[^\n]*")
_LONGEST = 700  # a sentence of law can run over pages


def bearing_passages(
    question: str, article: str, language: str | None = None
) -> list[tuple[int, int]]:
    """Spans of the passages of an article that bear on a question, in the article's order.

    A short article is one passage. Of a longer one those sentences are taken that share most words
    with the question (each word once, those that few sentences have count more), until there is
    enough to read; where none shares a word, its beginning.

    Args:
        question: In plain words.
        article: The article's text.
        language: BCP 47 tag of the article, where known.
    """
    if len(article) <= SHORT_ARTICLE:
        span = trimmed(article, 0, len(article))
        return [span] if span[0] < span[1] else []
    terms = analyzer(language)
    wanted = set(terms(question))
    spans = _pieces(article)
    held = [wanted.intersection(terms(article[start:end])) for start, end in spans]
    frequency = {term: sum(term in each for each in held) for term in wanted}
    worth = [sum(1 / frequency[term] for term in each) for each in held]
    chosen: list[int] = []
    length = 0
    # Equal sentences stand in the article's order; its first says what it is about.
    for place in sorted(range(len(spans)), key=lambda each: (-worth[each], each)):
        if length >= _ENOUGH or (chosen and not worth[place]):
            break
        chosen.append(place)
        length += spans[place][1] - spans[place][0]
    merged: list[tuple[int, int]] = []
    last = -2
    for place in sorted(chosen):
        start, end = spans[place]
        if place == last + 1:
            merged[-1] = (merged[-1][0], end)
        else:
            merged.append((start, end))
        last = place
    return merged


def _pieces(article: str) -> list[tuple[int, int]]:
    """Spans of the article's sentences; of longer ones, parts between words."""
    pieces = []
    for line in _LINE.finditer(article):
        for first, last in sentence_spans(line[0]):
            start, end = line.start() + first, line.start() + last
            while end - start > _LONGEST:
                cut = article.rfind(" ", start + 1, start + _LONGEST)
                cut = cut if cut > 0 else start + _LONGEST
                pieces.append(trimmed(article, start, cut))
                start = trimmed(article, cut, end)[0]
            pieces.append((start, end))
    return pieces
