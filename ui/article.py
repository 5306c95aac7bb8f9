"""An article on the page: its name, text and state, and its export as JSON, RIS and CSL-JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple

from markupsafe import Markup

from components.retrievers.validity import is_earlier
from components.statutes.article import spoken_number
from ui.frame import TEMPLATES, Collection, in_templates, plain_notice, render
from ui.language import Language, day, number
from ui.texts import ANSWER_TEXTS, ASK_TEXTS, STATE_TEXTS, TAKEAWAY_TEXTS


def article_title(number: object) -> str:
    """An article's number as a heading; the word is the same in English and French."""
    return spoken_number(str(number))


def citation(article: Mapping[str, Any]) -> str:
    """How an article is cited: its law, then its number.

    Args:
        article: `law` and `number`, as in `pipelines.asking.found_article`.
    """
    title = article_title(article["number"])
    if title != str(article["number"]):
        title = title[0].lower() + title[1:]
    return ", ".join(part for part in (str(article["law"]), title) if part)


_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z\d]{1,8})*")
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


class Paragraph(NamedTuple):
    """A paragraph of an article, cut where its marked passage begins and ends.

    Attributes:
        css: "numbered" or "lettered" by its marker; empty without one.
        marker: such as "1." or "(a)".
        before: text in front of the marked passage.
        marked: the marked passage; empty where nothing is marked.
        after: text after it.
    """

    css: str
    marker: str
    before: str
    marked: str
    after: str


def is_language_tag(tag: object) -> bool:
    """Whether a document's `language` can stand in a `lang` attribute."""
    return isinstance(tag, str) and _LANGUAGE.fullmatch(tag) is not None


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


def article_text(text: str, marked: Span | None, language: Language) -> Markup:
    """HTML of every paragraph; a long rest is folded, unless the marked passage is in it.

    Args:
        text: the article's.
        marked: as `marked_passage` gives it.
        language: of the interface.
    """
    spans = _paragraphs(text)
    counts = [word_count(text[start:end]) for start, end in spans]
    shown = count = 0
    while shown < len(spans) and count < _SHOWN_WORDS:
        count += counts[shown]
        shown += 1
    rest = sum(counts[shown:])
    if rest < _FOLDED_WORDS:
        shown = len(spans)
    written = paragraphs(text, marked)
    return render(
        "article_text.html",
        language,
        shown=written[:shown],
        folded=written[shown:],
        summary=ASK_TEXTS[language].rest.format(words=number(rest, language)),
        is_open=marked is not None and shown < len(spans) and marked.end > spans[shown].start,
    )


def paragraphs(text: str, marked: Span | None = None) -> list[Paragraph]:
    """The paragraphs of an article's text.

    Args:
        text: the article's.
        marked: as `marked_passage` gives it.
    """
    cut = []
    for start, end in _paragraphs(text):
        marker = _MARKER.match(text[start:end])
        css = "" if not marker else "numbered" if marker["figure"] else "lettered"
        body = start + (marker.end() if marker else 0)
        first, last = (min(max(place, body), end) for place in marked or (end, end))
        parts = (text[body:first], text[first:last], text[last:end])
        cut.append(Paragraph(css, marker[1] if marker else "", *parts))
    return cut


def _paragraphs(text: str) -> list[Span]:
    """The lines that are not blank, each without the blanks around it."""
    paragraphs, place = [], 0
    for line in text.splitlines(keepends=True):
        if line.strip():
            paragraphs.append(_trimmed(text, Span(place, place + len(line))))
        place += len(line)
    return paragraphs


def _trimmed(text: str, span: Span) -> Span:
    part = text[span.start : span.end]
    start = span.start + len(part) - len(part.lstrip())
    return Span(start, start + len(part.strip())) if part.strip() else Span(0, 0)


_CLASSES = {"in force": "in-force", "repealed": "repealed", "not yet in force": "coming"}


def state_class(state: object) -> str:
    """The CSS class of an article's state."""
    return _CLASSES.get(str(state), "unknown")


def state_word(state: str, language: Language) -> str:
    """A state as printed in brackets after an article's name."""
    return ANSWER_TEXTS[language].states[state]


def wording_name(wording: Mapping[str, Any], article: Mapping[str, Any], language: Language) -> str:
    """What another wording of an article is called: the earlier or the later one, with its day.

    Args:
        wording: one of the article's `wordings`.
        article: as `pipelines.asking.found_article` makes it.
        language: of the interface.
    """
    texts = STATE_TEXTS[language]
    start, end = (day(wording[name], language) for name in ("valid_from", "valid_to"))
    if not start and not end:
        return texts.other
    if is_earlier(wording, article):
        return texts.earlier.format(end=end)
    return texts.later.format(start=start)


def state_sentence(article: Mapping[str, Any], language: Language) -> str:
    """The state in words, without a full stop.

    Args:
        article: `state`, `valid_from`, `valid_to` and `wordings`, as in
            `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = STATE_TEXTS[language]
    state = state_named(article, language)
    alone = article["state"] == "not yet in force" and not article.get("wordings")
    return f"{state}. {texts.no_earlier}" if alone else state


def state_named(article: Mapping[str, Any], language: Language) -> str:
    """The state in words alone; see `state_sentence`."""
    texts = STATE_TEXTS[language]
    start, end = (day(article.get(name), language) for name in ("valid_from", "valid_to"))
    in_force = texts.in_force_since.format(start=start) if start else texts.in_force
    return {
        "in force": in_force + (texts.until.format(end=end) if end else ""),
        "repealed": texts.repealed.format(end=end),
        "not yet in force": texts.coming.format(start=start),
    }.get(str(article["state"]), texts.unknown)


Kind = Literal["json", "ris", "csl"]

MEDIA_TYPES: Mapping[Kind, str] = {
    "json": "application/json",
    "ris": "application/x-research-info-systems",
    "csl": "application/vnd.citationstyles.csl+json",
}
FILE_SUFFIX: Mapping[Kind, str] = {"json": ".json", "ris": ".ris", "csl": ".csl.json"}


def export(
    kind: Kind,
    articles: Sequence[Mapping[str, Any]],
    language: Language,
    collection: Collection,
    on: date,
    today: date,
    question: str | None = None,
) -> str:
    """Articles as a file.

    Args:
        kind: "json" has everything that is known, "ris" and "csl" (CSL-JSON) are read by programs
            that keep references.
        articles: as `pipelines.asking.found_article` makes them.
        language: of the disclaimer.
        collection: what they are from.
        on: the day of their states.
        today: the day on which they are taken.
        question: what they were found for.
    """
    texts = TAKEAWAY_TEXTS[language]
    disclaimer = plain_notice(collection, language)
    retrieved = texts.retrieved.format(day=day(today, language))

    def note(article: Mapping[str, Any]) -> str:
        state = state_sentence(article, language)
        stated = texts.state.format(day=day(on, language), state=state)
        return f"{retrieved} {disclaimer} {stated}"

    if kind == "ris":
        return "".join(_ris(article, note(article), today) for article in articles)
    if kind == "csl":
        content: Any = [_csl(article, note(article), today) for article in articles]
    else:
        content = {
            "disclaimer": disclaimer,
            "date": today.isoformat(),
            "states_on": on.isoformat(),
            "snapshot": collection.snapshot,
            "indexed": collection.indexed,
            "question": question,
            "articles": list(articles),
        }
    return json.dumps(content, ensure_ascii=False, indent=2) + "\n"


def _csl(article: Mapping[str, Any], note: str, today: date) -> dict[str, Any]:
    """One item of CSL-JSON, type "legislation": the law is its title, the article its section.

    It has no date of issue: that belongs to the law, and only this text's day in force is known.
    """
    item = {
        "id": article["id"],
        "type": "legislation",
        "title": article["law"],
        "section": article["number"],
        "abstract": article["content"],
        "language": article.get("language"),
        "URL": web_address(article.get("source_url")),
        "accessed": {"date-parts": [[today.year, today.month, today.day]]},
        "note": note,
    }
    return {name: value for name, value in item.items() if value}


def _ris(article: Mapping[str, Any], note: str, today: date) -> str:
    """One reference of RIS, type STAT; without a date, for the same reason."""
    fields = [
        ("TY", "STAT"),
        ("ID", article["id"]),
        ("TI", article["law"]),
        ("SE", article["number"]),
        *(("KW", heading) for heading in article["headings"]),
        ("LA", article.get("language")),
        ("UR", web_address(article.get("source_url"))),
        ("AB", article["content"]),
        ("N1", note),
        ("Y2", today.isoformat().replace("-", "/")),
        ("ER", ""),
    ]
    # A line break would begin another field.
    return "".join(
        f"{tag}  - {' '.join(str(value or '').split())}\r\n"
        for tag, value in fields
        if value or tag == "ER"
    )


def web_address(url: object) -> str | None:
    """An address on the web; None for anything else: a corpus could hold javascript: or file:."""
    known = isinstance(url, str) and url.lower().startswith(("https://", "http://"))
    return str(url) if known else None


TEMPLATES.globals |= {
    each.__name__: each for each in (article_title, citation, paragraphs, state_class, web_address)
}
TEMPLATES.tests["language_tag"] = is_language_tag
in_templates(article_text, state_named, state_sentence, state_word, wording_name)
