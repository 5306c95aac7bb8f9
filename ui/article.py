"""An article on the page: its name, text and state, and its export as JSON, RIS and CSL-JSON."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from datetime import date, timedelta
from io import BytesIO
from typing import Any, Literal

from components.retrievers.validity import is_earlier
from components.statutes.article import spoken_number
from ui.frame import INVENTED, TEMPLATES, Collection, in_templates, plain_notice
from ui.language import ANSWER_TEXTS, STATE_TEXTS, TAKEAWAY_TEXTS, Language, article_link, day


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


def cited_as(article: Mapping[str, Any], anchor: str = "") -> str:
    """An article's number with that of a paragraph, as on its own page: "Article 12(3)".

    Args:
        article: `number`, as in `pipelines.asking.found_article`.
        anchor: of a paragraph, as in `ui.annotations.ShownLine`; "" for the whole article.
    """
    parts = re.findall(r"\d+[a-z]?|[a-z]+", anchor.removeprefix("p"))
    paragraph = "".join(f"({part})" for part in parts)
    return article_title(article["number"]) + paragraph


# The divisions' kinds and numbers: "Section 2. ", "Titre IV : ", "Part 3 - ".
_NUMBERED_HEADING = re.compile(
    r"(?:book|title|part|chapter|section|subsection|division|schedule|livre|titre|partie|chapitre"
    r"|sous-section|paragraphe)\s+[\divxlc]+(?:er|[a-z]|(?:-\d+))?\s*[.:–—-]\s*(?=\S)",
    re.IGNORECASE,
)


# Words of a heading that needs no other.
_TELLING = 3


def heading_title(heading: str) -> str:
    """The words of a division's heading: "Return of the deposit" of "Section 2. Return of…"."""
    return _NUMBERED_HEADING.sub("", heading, count=1) or heading


def result_title(article: Mapping[str, Any]) -> str:
    """What an article is about, as far as its divisions say; its number without one.

    A short heading, such as "Return", says little without the one above it.
    """
    titles = [heading_title(each) for each in article["headings"][-2:]]
    if not titles:
        return article_title(article["number"])
    is_short = len(titles) == 2 and len(titles[-1].split()) < _TELLING
    return f"{titles[-1]} ({titles[0]})" if is_short else titles[-1]


def plain_law(law: str) -> str:
    """A law's name without "(invented)", which the page says once."""
    return law.removesuffix(f" {INVENTED}")


def short_law(law: str) -> str:
    """A law's name as in a list: of the demo's without the country too."""
    return law.removesuffix(f" of Aldermere {INVENTED}").removesuffix(f" {INVENTED}")


_LANGUAGE = re.compile(r"[A-Za-z]{2,8}(?:-[A-Za-z\d]{1,8})*")


def is_language_tag(tag: object) -> bool:
    """Whether a document's `language` can stand in a `lang` attribute."""
    return isinstance(tag, str) and _LANGUAGE.fullmatch(tag) is not None


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


def span_of(wording: Mapping[str, Any], language: Language) -> str:
    """The days from which and until which a wording holds."""
    texts = STATE_TEXTS[language]
    start, end = (day(wording.get(name), language) for name in ("valid_from", "valid_to"))
    since, to = start and texts.since.format(start=start), end and texts.to.format(end=end)
    return " ".join(filter(None, (since, to))) or texts.unknown


def state_sentence(article: Mapping[str, Any], language: Language) -> str:
    """The state in words, without a full stop.

    Args:
        article: `state`, `valid_from`, `valid_to` and `earlier_text`, as in
            `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = STATE_TEXTS[language]
    start, end = (day(article.get(name), language) for name in ("valid_from", "valid_to"))
    if article["state"] == "repealed" and not end:
        return state_word("repealed", language).capitalize()
    in_force = texts.in_force_since.format(start=start) if start else texts.in_force
    return {
        "in force": in_force + (texts.until.format(end=end) if end else ""),
        "repealed": texts.repealed.format(day=_day_after(article.get("valid_to"), language)),
        "not yet in force": texts.coming[article.get("earlier_text", "unknown")].format(
            start=start
        ),
    }.get(str(article["state"]), texts.unknown)


def short_state(article: Mapping[str, Any], language: Language) -> str:
    """The state as a list shows it: a date only where the article does not bind."""
    if article["state"] == "in force":
        return STATE_TEXTS[language].in_force
    return state_sentence(article, language)


def _day_after(value: object, language: Language) -> str:
    try:
        return day(date.fromisoformat(str(value)) + timedelta(days=1), language)
    except (ValueError, OverflowError):
        return day(value, language)


Kind = Literal["json", "ris", "csl", "txt", "docx"]

MEDIA_TYPES: Mapping[Kind, str] = {
    "json": "application/json",
    "ris": "application/x-research-info-systems",
    "csl": "application/vnd.citationstyles.csl+json",
    "txt": "text/plain",
    "docx": "application/vnd.openxmlformats-officedocument.wordprocessingml.document",
}
# The others are text, which a page can carry.
BINARY: frozenset[Kind] = frozenset({"docx"})
FILE_SUFFIX: Mapping[Kind, str] = {
    "json": ".json",
    "ris": ".ris",
    "csl": ".csl.json",
    "txt": ".txt",
    "docx": ".docx",
}


def export(
    kind: Kind,
    articles: Sequence[Mapping[str, Any]],
    language: Language,
    collection: Collection,
    on: date,
    today: date,
    question: str | None = None,
    site: str = "",
) -> bytes:
    """Articles as a file.

    Args:
        kind: "json" has everything that is known, "ris" and "csl" (CSL-JSON) are read by programs
            that keep references, "txt" and "docx" (Word) by people.
        articles: as `pipelines.asking.found_article` makes them.
        language: of the disclaimer.
        collection: what they are from.
        on: the day of their states.
        today: the day on which they are taken.
        question: what they were found for.
        site: scheme and host of the page, for the address of an article that has no official one.
    """
    texts = TAKEAWAY_TEXTS[language]
    disclaimer = plain_notice(collection, language)
    retrieved = texts.retrieved.format(day=day(today, language))

    def note(article: Mapping[str, Any]) -> str:
        state = state_sentence(article, language)
        stated = texts.state.format(day=day(on, language), state=state)
        return f"{retrieved} {disclaimer} {stated}"

    def address_of(article: Mapping[str, Any]) -> str | None:
        own = f"{site}{article_link(str(article['id']), language)}" if site else None
        return web_address(article.get("source_url")) or own

    if kind in ("txt", "docx"):
        readable = [
            (citation(each), state_sentence(each, language), str(each["content"]), address_of(each))
            for each in articles
        ]
        foot = f"{retrieved} {disclaimer}"
        return (_word if kind == "docx" else _plain)(readable, question, foot)
    if kind == "ris":
        fields = (_ris(each, note(each), today, address_of(each)) for each in articles)
        return "".join(fields).encode()
    if kind == "csl":
        content: Any = [_csl(each, note(each), today, address_of(each)) for each in articles]
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
    return (json.dumps(content, ensure_ascii=False, indent=2) + "\n").encode("utf-8", "replace")


# An article for people: its citation, state, text and address.
_Readable = tuple[str, str, str, str | None]


def _plain(articles: Sequence[_Readable], question: str | None, foot: str) -> bytes:
    lines = ((cited, state, "", text, url) for cited, state, text, url in articles)
    written = ("\n".join(line for line in each if line is not None) for each in lines)
    parts = [*([question] if question else []), *written, foot]
    return ("\n\n\n".join(parts) + "\n").encode("utf-8", "replace")


# Characters that XML cannot hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _word(articles: Sequence[_Readable], question: str | None, foot: str) -> bytes:
    from docx import Document

    def written(text: str) -> str:
        return _NOT_XML.sub("\ufffd", text)

    document = Document()
    if question:
        document.add_heading(written(question), 1)
    for cited, state, text, url in articles:
        document.add_heading(written(cited), 2)
        document.add_paragraph(written(state)).runs[0].italic = True
        for line in text.splitlines():
            if line.strip():
                document.add_paragraph(written(line.strip()))
        if url:
            document.add_paragraph(written(url))
    document.add_paragraph(written(foot))
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _csl(article: Mapping[str, Any], note: str, today: date, url: str | None) -> dict[str, Any]:
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
        "URL": url,
        "accessed": {"date-parts": [[today.year, today.month, today.day]]},
        "note": note,
    }
    return {name: value for name, value in item.items() if value}


def _ris(article: Mapping[str, Any], note: str, today: date, url: str | None) -> str:
    """One reference of RIS, type STAT; without a date, for the same reason."""
    fields = [
        ("TY", "STAT"),
        ("ID", article["id"]),
        ("TI", article["law"]),
        ("SE", article["number"]),
        *(("KW", heading) for heading in article["headings"]),
        ("LA", article.get("language")),
        ("UR", url),
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
    each.__name__: each
    for each in (
        article_title,
        citation,
        cited_as,
        plain_law,
        result_title,
        short_law,
        state_class,
        web_address,
    )
}
TEMPLATES.tests["language_tag"] = is_language_tag
in_templates(short_state, span_of, state_sentence, state_word, wording_name)
