"""An article on the page: its name and state, its annotated text, and the files taken away.

Marks, links, defined words and the steps that a text names are found by rule, in the text as it
stands.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from datetime import date, timedelta
from functools import cache
from importlib.resources import files
from io import BytesIO
from itertools import chain
from typing import Any, Literal, NamedTuple

import yaml

from components.retrievers.validity import is_earlier
from components.statutes import excerpts, provisions
from components.statutes.article import Article, spoken_number
from components.statutes.definitions import Glossary
from components.statutes.languages import known_language
from components.statutes.lexical import analyzer
from components.statutes.provisions import Provision, Span
from ui.frame import INVENTED, Collection, in_templates, plain_notice
from ui.language import TEXTS, Language, article_link, day


def article_title(number: object, language: Language) -> str:
    """An article's number as a heading."""
    return spoken_number(str(number), TEXTS[language].article.numbered)


def citation(article: Mapping[str, Any], language: Language) -> str:
    """How an article is cited: its law, then its number.

    Args:
        article: `law` and `number`, as in `pipelines.asking.found_article`.
        language: of the interface.
    """
    title = spoken_number(str(article["number"]), TEXTS[language].article.cited)
    return ", ".join(part for part in (str(article["law"]), title) if part)


def cited_as(article: Mapping[str, Any], anchor: str, language: Language) -> str:
    """An article's number with that of a paragraph, as on its own page: "Article 12(3)".

    Args:
        article: `number`, as in `pipelines.asking.found_article`.
        anchor: of a paragraph, as in `ShownLine`; "" for the whole article.
        language: of the interface.
    """
    parts = re.findall(r"\d+[a-z]?|[a-z]+", anchor.removeprefix("p"))
    paragraph = "".join(f"({part})" for part in parts)
    return article_title(article["number"], language) + paragraph


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


def result_title(article: Mapping[str, Any], language: Language) -> str:
    """What an article is about, as far as its divisions say; its number without one.

    A short heading, such as "Return", says little without the one above it.
    """
    titles = [heading_title(each) for each in article["headings"][-2:]]
    if not titles:
        return article_title(article["number"], language)
    is_short = len(titles) == 2 and len(titles[-1].split()) < _TELLING
    return f"{titles[-1]} ({titles[0]})" if is_short else titles[-1]


def plain_law(law: str) -> str:
    """A law's name without "(invented)", which the page says once."""
    return law.removesuffix(f" {INVENTED}")


def short_law(law: str) -> str:
    """A law's name as in a list: of the demo's without the country too."""
    return law.removesuffix(f" of Aldermere {INVENTED}").removesuffix(f" {INVENTED}")


def state_sentence(article: Mapping[str, Any], language: Language) -> str:
    """The state in words, without a full stop.

    Args:
        article: `state`, `valid_from`, `valid_to` and `earlier_text`, as in
            `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = TEXTS[language].states
    start, end = (day(article.get(name), language) for name in ("valid_from", "valid_to"))
    if article["state"] == "repealed" and not end:
        return str(TEXTS[language].answer.states["repealed"]).capitalize()
    coming = texts.coming[article.get("earlier_text", "unknown")]
    in_force = texts.in_force_since.format(start=start) if start else texts.in_force
    return {
        "in force": in_force + (texts.until.format(end=end) if end else ""),
        "repealed": texts.repealed.format(day=_day_after(article.get("valid_to"), language)),
        "not yet in force": coming.format(start=start),
    }.get(str(article["state"]), texts.unknown)


def _day_after(value: object, language: Language) -> str:
    try:
        return day(date.fromisoformat(str(value)) + timedelta(days=1), language)
    except (ValueError, OverflowError):
        return day(value, language)


# What the page adds to the text of law.

SegmentKind = Literal["text", "mark", "term", "link", "gap"]


class Note(NamedTuple):
    """Something to add to a span: a mark, a link to an article, or the definition of a term."""

    span: Span
    kind: SegmentKind
    value: Any = None


class Segment(NamedTuple):
    """A part of a line; `value` is the address of a link, or the `Definition` of a term."""

    kind: SegmentKind
    text: str = ""
    value: Any = None


class ShownLine(NamedTuple):
    """A line of an article as templates show it.

    Attributes:
        css: "numbered" or "lettered" by its marker; empty without one.
        marker: such as "1." or "(a)".
        anchor: the name of its place in the page; empty without a marker.
        segments: its text.
    """

    css: str
    marker: str
    anchor: str
    segments: list[Segment]


def shown_lines(
    text: str,
    spans: Sequence[Span] | None = None,
    notes: Iterable[Note] = (),
    *,
    run_on: bool = False,
) -> list[ShownLine]:
    """The lines of an article, or of an excerpt of it, whose gaps are shown.

    Args:
        text: the article's.
        spans: what is shown, in order, without overlaps; None for all of it.
        notes: of several that overlap, the first stands.
        run_on: whether the points of a list within a line stay on it, to save room.
    """
    bounds = [0, *chain.from_iterable(spans or ()), len(text)]
    hidden = () if spans is None else tuple(zip(bounds[::2], bounds[1::2], strict=True))
    kept = _without_overlaps([*(Note(Span(*each), "gap") for each in hidden), *notes])
    shown: list[ShownLine] = []
    for provision in provisions.paragraphs_of(text):
        first, lines = len(shown), provision.lines
        for line in (
            lines if run_on else chain(*(provisions.points_of(text, each) for each in lines))
        ):
            segments = list(_segments(text, Span(line.body, line.span.end), kept))
            if spans is not None and all(each.kind == "gap" for each in segments):
                if len(shown) > first and shown[-1].segments[-1].kind != "gap":
                    shown[-1].segments.append(Segment("gap"))
                continue
            above = "" if line.kind == "numbered" else provision.number
            anchor = provisions.anchor_of(above + line.label) if line.label else ""
            shown.append(ShownLine(line.kind, line.marker, anchor, segments))
    return shown


def _without_overlaps(notes: Iterable[Note]) -> list[Note]:
    kept: list[Note] = []
    for note in notes:
        (start, end), others = note.span, [each.span for each in kept]
        if all(end <= other.start or other.end <= start for other in others):
            kept.append(note)
    return sorted(kept, key=lambda each: each.span)


def _segments(text: str, line: Span, notes: Sequence[Note]) -> Iterator[Segment]:
    place = line.start
    for span, kind, value in notes:
        start, end = max(span.start, line.start), min(span.end, line.end)
        # Only a gap goes on in the next line.
        if start >= end or (kind != "gap" and (start, end) != span):
            continue
        if start > place:
            yield Segment("text", text[place:start])
        if text[start:end].strip():
            yield Segment(kind, "" if kind == "gap" else text[start:end], value)
        elif end < line.end:
            yield Segment("text", text[start:end])
        place = end
    if place < line.end:
        yield Segment("text", text[place : line.end])


@cache
def _patterns() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    """By language, what is found in its texts: "deadline", "body" and "form"."""
    written = yaml.safe_load(files("ui").joinpath("steps.yaml").read_text("utf-8"))
    count = written.pop("count")
    return {
        language: {name: re.compile(each.replace("COUNT", count)) for name, each in known.items()}
        for language, known in written.items()
    }


# Words that a law defines.


class Glossaries:
    """The words that each law defines.

    Args:
        by_law: those of each law.
    """

    def __init__(self, by_law: Mapping[str, Glossary]) -> None:
        self._by_law = by_law

    def notes(self, article: Article, spans: Sequence[Span] | None = None) -> list[Note]:
        """The first use of each defined word in an article, but for those that it defines itself.

        Args:
            article: with its text.
            spans: where to look, in order; None for all of it.
        """
        glossary = self._by_law.get(article.law)
        uses = glossary.uses(article, spans) if glossary else []
        return [Note(each.span, "term", each.definition) for each in uses]

    def full_name(self, name: str, law: str) -> str:
        """The full name of a body, where a law defines a short one; else the name."""
        glossary = self._by_law.get(law)
        definition = glossary.definition(name) if glossary else None
        if definition is None:
            return name
        after = _MEANS.split(definition.text, maxsplit=1)[-1]
        found = (each["body"].search(after) for each in _patterns().values())
        return next((match[0].removeprefix("the ") for match in found if match), name)


NO_GLOSSARIES = Glossaries({})


# What a reader may have to do next: deadlines, bodies and forms that the text names.

_MOST_NAMED = {"body": 3, "form": 2}
# About how many words of a paragraph stand around its periods.
_DEADLINE_WORDS = 60
_LEADING_ARTICLE = re.compile(r"(?:The|A|An) ")
_MEANS = re.compile(r"\b(?:means?|désigne|s['’]entend)\b")


class Step(NamedTuple):
    """A deadline, a body or a form.

    Attributes:
        kind: which of them.
        name: of a body or form; of a body, its full name where the law defines a short one.
        lines: of a deadline or form, the sentence that it stands in; of a deadline with all that
            limits it, and the periods marked.
        anchor: of the paragraph.
    """

    kind: str
    name: str
    lines: list[ShownLine]
    anchor: str


def steps_in(
    article: Mapping[str, Any],
    deciding: Sequence[Provision],
    terms: frozenset[str],
    glossaries: Glossaries,
) -> list[Step]:
    """What the provisions that decide a question name, by kind, each body and form once.

    Args:
        article: as `pipelines.asking.found_article` makes it.
        deciding: provisions of it.
        terms: those of the question, as `lexical.analyzer` gives them.
        glossaries: give a body its full name.
    """
    text, language = str(article["content"]), article.get("language")
    patterns = _patterns().get(known_language(language) or "")
    if patterns is None:
        return []
    periods = [Span(*each.span()) for each in patterns["deadline"].finditer(text)]
    marks = [Note(each, "mark") for each in periods]
    deadlines: list[Step] = []
    named: dict[str, dict[str, Step]] = {kind: {} for kind in _MOST_NAMED}
    for provision in deciding:
        if spans := _around_periods(text, provision, periods, terms, language):
            lines = shown_lines(text, spans, marks)
            deadlines.append(Step("deadline", "", lines, provision.anchor))
        for kind, found in named.items():
            for match in patterns[kind].finditer(text, *provision.span):
                name = match[0]
                if kind == "body":
                    name = glossaries.full_name(_LEADING_ARTICLE.sub("", name), article["law"])
                lines = shown_lines(text, [excerpts.sentence_around(text, match.start())])
                found.setdefault(name.casefold(), Step(kind, name, lines, provision.anchor))
    # "the Board" next to "the Legal Aid Board" is the same one.
    bodies = tuple(named["body"])
    for name in bodies:
        if any(other.endswith(f" {name}") for other in bodies):
            del named["body"][name]
    kept = (list(found.values())[: _MOST_NAMED[kind]] for kind, found in named.items())
    return [*deadlines, *chain.from_iterable(kept)]


def _around_periods(
    text: str,
    provision: Provision,
    periods: Sequence[Span],
    terms: frozenset[str],
    language: str | None,
) -> list[Span]:
    """The sentences to show of a provision that sets a period; none if it seems unrelated.

    The sentence of a period must share two words with the question, or a quarter of its words. A
    period is never shown without the sentence that changes it.
    """

    def has_period(span: Span) -> bool:
        return any(span.start <= each.start < span.end for each in periods)

    own = [each for each in periods if provision.span.start <= each.start < provision.span.end]
    sentences = [text[slice(*excerpts.sentence_around(text, each.start))] for each in own]
    analyse, enough = analyzer(language), min(2, len(terms) / 4)
    if not any(len(terms.intersection(analyse(each))) >= enough for each in sentences):
        return []
    shown = excerpts.excerpt(text, provision, language, terms, _DEADLINE_WORDS)
    start, end = provision.span
    # Other paragraphs that limit this one are shown only where they set a period too.
    return [each for each in shown if start <= each.start < end or has_period(each)]


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


def file_suffix(kind: Kind) -> str:
    """The end of the name of a file of a kind."""
    return ".csl.json" if kind == "csl" else f".{kind}"


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
    texts, disclaimer = TEXTS[language].takeaway, plain_notice(collection, language)
    foot = f"{texts.retrieved.format(day=day(today, language))} {disclaimer}"
    entries = []
    for article in articles:
        state = state_sentence(article, language)
        note = f"{foot} {texts.state.format(day=day(on, language), state=state)}"
        own = f"{site}{article_link(str(article['id']), language)}" if site else None
        entries.append((article, state, note, web_address(article.get("source_url")) or own))
    if kind == "docx":
        return _word(entries, question, foot, language)
    if kind == "txt":
        written = (
            f"{citation(article, language)}\n{state}\n\n{article['content']}"
            + (f"\n{url}" if url else "")
            for article, state, _, url in entries
        )
        text = "\n\n\n".join([*([question] if question else []), *written, foot]) + "\n"
    elif kind == "ris":
        text = "".join(_ris(article, note, url, today) for article, _, note, url in entries)
    else:
        content: Any = [_csl(article, note, url, today) for article, _, note, url in entries]
        if kind == "json":
            content = {
                "disclaimer": disclaimer,
                "date": today.isoformat(),
                "states_on": on.isoformat(),
                "snapshot": collection.snapshot,
                "indexed": collection.indexed,
                "question": question,
                "articles": list(articles),
            }
        text = json.dumps(content, ensure_ascii=False, indent=2) + "\n"
    return text.encode("utf-8", "replace")


# Characters that XML cannot hold.
_NOT_XML = re.compile("[^\t\n\r\u0020-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def _word(entries: Iterable[Any], question: str | None, foot: str, language: Language) -> bytes:
    from docx import Document

    def written(text: str) -> str:
        return _NOT_XML.sub("\ufffd", text)

    document = Document()
    if question:
        document.add_heading(written(question), 1)
    for article, state, _, url in entries:
        document.add_heading(written(citation(article, language)), 2)
        document.add_paragraph(written(state)).runs[0].italic = True
        for line in [*str(article["content"]).splitlines(), url or ""]:
            if line.strip():
                document.add_paragraph(written(line.strip()))
    document.add_paragraph(written(foot))
    file = BytesIO()
    document.save(file)
    return file.getvalue()


def _csl(article: Mapping[str, Any], note: str, url: str | None, today: date) -> dict[str, Any]:
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


def _ris(article: Mapping[str, Any], note: str, url: str | None, today: date) -> str:
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
    ]
    # A line break would begin another field.
    lines = (f"{tag}  - {' '.join(str(value).split())}\r\n" for tag, value in fields if value)
    return "".join([*lines, "ER  - \r\n"])


def web_address(url: object) -> str | None:
    """An address on the web; None for anything else: a corpus could hold javascript: or file:."""
    known = isinstance(url, str) and url.lower().startswith(("https://", "http://"))
    return str(url) if known else None


in_templates(article_title, citation, cited_as, is_earlier, plain_law, result_title, short_law)
in_templates(state_sentence, web_address)
