"""An article's text as HTML: its paragraphs, folded where it is long, the passage that fits marked.

As all of the page's HTML (see `ui.results`) it stands on one line.
"""

from __future__ import annotations

import html
import re
from collections.abc import Mapping
from typing import NamedTuple

from ui.language import Language, number
from ui.texts.asking import TEXTS

_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z\d]{1,8})*")
_BREAKS = re.compile("[\t\n\v\f\r\x1c-\x1f\x85\u2028\u2029]+")
_MARKER = re.compile(r"\s*(\(?(?:(?P<figure>\d{1,3}[a-z]?)|[a-z]{1,2}|[ivx]{1,5})[.)])\s+")

# Chinese and Japanese set no blanks between words: there each sign counts as one.
_SIGN = re.compile(r"[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]")
_WIDE_POINT = re.compile(r"[\u3001-\u303f\uff01-\uff0f\uff1a-\uff1f]")

_SHOWN_WORDS = 180
_FOLDED_WORDS = 60


class Span(NamedTuple):
    """Characters `start` to `end` of a text."""

    start: int
    end: int


def words(text: object) -> str:
    """Any value as escaped text on one line."""
    return html.escape(_BREAKS.sub(" ", str(text)))


def law_attributes(tag: object) -> str:
    """The attributes of an element that holds words of the law, whatever way they are written.

    Law may run the other way than the page does; so its direction is its own, and never that of
    what stands beside it.

    Args:
        tag: of the law's language; whatever is none is left out.
    """
    known = isinstance(tag, str) and _LANGUAGE.fullmatch(tag)
    spoken = f' lang="{tag}"' if known else ""
    return f'{spoken} dir="auto"'


def word_count(text: str) -> int:
    """About how many words a text has, as word processors count them."""
    return len(_SIGN.sub(" x ", _WIDE_POINT.sub(" ", text)).split())


def marked_passage(text: str, passage: Mapping[str, int] | None) -> Span | None:
    """The passage that is worth marking, without the blanks around it.

    Passages are cut by length. One that runs over several paragraphs is marked as those of them
    that are in it by half or more, so that no mark breaks off after a few words.

    Args:
        text: the article's.
        passage: what a ranker found best, as characters `start` to `end`.

    Returns:
        None where there is none, or where it is all of the text.
    """
    if passage is None:
        return None
    start, end = passage["start"], min(passage["end"], len(text))
    shares = {
        paragraph: (min(end, paragraph.end) - max(start, paragraph.start))
        / (paragraph.end - paragraph.start)
        for paragraph in _paragraphs(text)
    }
    touched = [paragraph for paragraph, share in shares.items() if share > 0]
    kept = [paragraph for paragraph in touched if shares[paragraph] >= 0.5]
    if len(touched) > 1 and kept:
        start, end = kept[0].start, kept[-1].end
    span = _trimmed(text, Span(start, end))
    return None if span in (_trimmed(text, Span(0, len(text))), Span(0, 0)) else span


def article_text(text: str, marked: Span | None, language: Language) -> str:
    """Paragraph after paragraph; a long rest is folded, but not over what is marked.

    Args:
        text: the article's.
        marked: as `marked_passage` gives it.
        language: of the interface.
    """
    paragraphs = _paragraphs(text)
    counts = [word_count(text[start:end]) for start, end in paragraphs]
    shown = count = 0
    while shown < len(paragraphs) and count < _SHOWN_WORDS:
        count += counts[shown]
        shown += 1
    rest = sum(counts[shown:])
    written = [_paragraph(text, each, marked) for each in paragraphs]
    if rest < _FOLDED_WORDS:
        return "".join(written)
    seen = marked is not None and marked.end > paragraphs[shown].start
    told = words(TEXTS[language].rest.format(words=number(rest, language)))
    return (
        "".join(written[:shown]) + f"<details{' open' if seen else ''}>"
        f'<summary dir="auto">{told}</summary>' + "".join(written[shown:]) + "</details>"
    )


def whole_text(text: str) -> str:
    """Paragraph after paragraph, none folded.

    Args:
        text: the article's.
    """
    return "".join(_paragraph(text, each, None) for each in _paragraphs(text))


def _paragraphs(text: str) -> list[Span]:
    """The lines that are not blank, each without the blanks around it."""
    paragraphs, place = [], 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            paragraphs.append(_trimmed(text, Span(place, place + len(line))))
        place += len(line)
    return paragraphs


def _paragraph(text: str, paragraph: Span, marked: Span | None) -> str:
    line = text[paragraph.start : paragraph.end]
    marker = _MARKER.match(line)
    if not marker:
        return f"<p>{_marking(text, paragraph, marked)}</p>"
    level = "numbered" if marker["figure"] else "lettered"
    body = Span(paragraph.start + marker.end(), paragraph.end)
    return f'<p class="{level}"><span>{words(marker[1])}</span> {_marking(text, body, marked)}</p>'


def _marking(text: str, part: Span, marked: Span | None) -> str:
    """A part of the text, what is marked of it in `<mark>`."""
    start, end = part
    first, last = (min(max(place, start), end) for place in marked or (end, end))
    if first == last:
        return words(text[start:end])
    inside = f"<mark>{words(text[first:last])}</mark>"
    return words(text[start:first]) + inside + words(text[last:end])


def _trimmed(text: str, span: Span) -> Span:
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    return Span(start, start + len(part.strip())) if part.strip() else Span(0, 0)
