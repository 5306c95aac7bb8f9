"""Takeaway: found articles as JSON, RIS and CSL-JSON, with the date and the disclaimer inside."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any, Literal, NamedTuple

from components.retrievers.validity import is_earlier
from components.statutes.article import spoken_number
from ui.frame import Collection, plain_notice
from ui.language import Language, article_link, day, number
from ui.texts.ask import ANSWER_TEXTS, ASK_TEXTS, STATE_TEXTS, TAKEAWAY_TEXTS

# What an article is called: in a heading, and where it is cited.


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


# An article's text as HTML: its paragraphs, folded where it is long, the passage that fits marked.
#
# As all of the page's HTML (see `ui.results`) it stands on one line.


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
    told = words(ASK_TEXTS[language].rest.format(words=number(rest, language)))
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


# An article's state (in force since when, repealed, not yet in force) and its other wordings.


_CLASSES = {"in force": "in-force", "repealed": "repealed", "not yet in force": "coming"}
_NOT_BINDING = ("repealed", "not yet in force")


def state_line(article: Mapping[str, Any], language: Language) -> str:
    """HTML of the state, one paragraph on one line; see `state_said`."""
    kind = _CLASSES.get(str(article["state"]), "unknown")
    return f'<p class="state {kind}">{words(state_said(article, language))}</p>'


def state_mark(state: object, language: Language) -> str:
    """HTML of what stands behind an article's name in a list; empty where it may bind.

    Args:
        state: on the day of the list.
        language: of the interface.
    """
    if state not in _NOT_BINDING:
        return ""
    said = ANSWER_TEXTS[language].states[str(state)]
    return f' <span class="not-binding">({words(said)})</span>'


def wordings_list(article: Mapping[str, Any], language: Language, on: date | None) -> str:
    """HTML of an article's other wordings, a link each; empty where there are none.

    Args:
        article: as `pipelines.asking.found_article` makes it.
        language: of the interface.
        on: the day on which they are shown; None for today.
    """
    items = "".join(
        f'<li><a href="{words(article_link(str(each["id"]), language, on))}">'
        f"{words(_wording_said(each, article, language))}</a></li>"
        for each in article.get("wordings", [])
    )
    return f'<ul class="wordings">{items}</ul>' if items else ""


def _wording_said(
    wording: Mapping[str, Any], article: Mapping[str, Any], language: Language
) -> str:
    texts = STATE_TEXTS[language]
    start, end = (day(wording[name], language) for name in ("valid_from", "valid_to"))
    if not start and not end:
        return texts.other
    if is_earlier(wording, article):
        return texts.earlier.format(end=end)
    return texts.later.format(start=start)


def state_said(article: Mapping[str, Any], language: Language) -> str:
    """The state in words, without a full stop.

    Args:
        article: `state`, `valid_from`, `valid_to` and `wordings`, as in
            `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = STATE_TEXTS[language]
    said = state_named(article, language)
    alone = article["state"] == "not yet in force" and not article.get("wordings")
    return f"{said}. {texts.no_earlier}" if alone else said


def state_named(article: Mapping[str, Any], language: Language) -> str:
    """The state in words alone; see `state_said`."""
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
        on: the day of which their states are.
        today: the day on which they are taken.
        question: what they were found for.
    """
    texts = TAKEAWAY_TEXTS[language]
    told = (
        f"{texts.retrieved.format(day=day(today, language))} {plain_notice(collection, language)}"
    )

    def note(article: Mapping[str, Any]) -> str:
        state = state_said(article, language)
        return f"{told} {texts.state.format(day=day(on, language), state=state)}"

    if kind == "ris":
        return "".join(_ris(article, note(article), today) for article in articles)
    if kind == "csl":
        content: Any = [_csl(article, note(article), today) for article in articles]
    else:
        content = {
            "disclaimer": plain_notice(collection, language),
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

    It has no date of issue: that is of the law, and known is when this text came into force.
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
