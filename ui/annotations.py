"""What the page adds to the text of law: marks, links, defined words, and the steps that it names.

All of it is found by rule, in the text as it stands.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import cache
from importlib.resources import files
from itertools import chain
from typing import Any, Literal, NamedTuple

import yaml

from components.statutes.excerpts import (
    Line,
    Span,
    anchor_of,
    lines_of,
    points_of,
    provisions_of,
    sentence_around,
)
from components.statutes.languages import known_language

Kind = Literal["text", "mark", "term", "link", "gap"]


class Note(NamedTuple):
    """Something to add to a span: a mark, a link to an article, or the definition of a term."""

    span: Span
    kind: Kind
    value: Any = None


class Segment(NamedTuple):
    """A part of a line; `value` is the address of a link, or the `Definition` of a term."""

    kind: Kind
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
    kept = _without_overlaps(notes)
    shown: list[ShownLine] = []
    for provision in provisions_of(text):
        gap = None  # whether the last line shown of this provision ends in one
        lines = provision.lines
        for line in lines if run_on else chain(*(points_of(text, each) for each in lines)):
            parts = _parts_of(line, spans)
            if not parts:
                if gap is False:
                    shown[-1].segments.append(Segment("gap"))
                    gap = True
                continue
            segments: list[Segment] = []
            place = line.body
            for part in parts:
                between = text[place : part.start]
                if between.strip():
                    segments.append(Segment("gap"))
                elif between:
                    segments.append(Segment("text", between))
                segments += _segments(text, part, kept)
                place = part.end
            gap = bool(text[place : line.span.end].strip())
            if gap:
                segments.append(Segment("gap"))
            above = "" if line.kind == "numbered" else provision.number
            anchor = anchor_of(above + line.label) if line.label else ""
            shown.append(ShownLine(line.kind, line.marker, anchor, segments))
    return shown


def _parts_of(line: Line, spans: Sequence[Span] | None) -> list[Span]:
    """What is shown of a line; all of it, which may be empty, where nothing is cut."""
    if spans is None:
        return [Span(line.body, line.span.end)]
    cut = (Span(max(start, line.body), min(end, line.span.end)) for start, end in spans)
    return [span for span in cut if span.start < span.end]


def _without_overlaps(notes: Iterable[Note]) -> list[Note]:
    kept: list[Note] = []
    for note in notes:
        if all(
            note.span.end <= other.span.start or other.span.end <= note.span.start for other in kept
        ):
            kept.append(note)
    return sorted(kept, key=lambda each: each.span)


def _segments(text: str, part: Span, notes: Sequence[Note]) -> Iterator[Segment]:
    place = part.start
    for span, kind, value in notes:
        if span.start < place or span.end > part.end:
            continue
        if span.start > place:
            yield Segment("text", text[place : span.start])
        yield Segment(kind, text[span.start : span.end], value)
        place = span.end
    if place < part.end:
        yield Segment("text", text[place : part.end])


# Words that a law defines.


@cache
def _patterns() -> Mapping[str, Mapping[str, re.Pattern[str]]]:
    """By language, what is found in its texts: "defining", "deadline", "body" and "form"."""
    with files("ui").joinpath("steps.yaml").open(encoding="utf-8") as file:
        written = yaml.safe_load(file)
    count = written.pop("count")
    return {
        language: {name: re.compile(each.replace("COUNT", count)) for name, each in known.items()}
        for language, known in written.items()
    }


_ARTICLE_WORD = re.compile(r"^(?:the|an?|le|la|les|l['’]|une?)\s+", re.IGNORECASE)


class Definition(NamedTuple):
    """A word's definition: the law's own sentence, and the article and paragraph that has it."""

    term: str
    sentence: str
    id: str


class Glossary:
    """The words that each law defines.

    Args:
        definitions: of each law, as `definitions_in` finds them.
    """

    def __init__(self, definitions: Mapping[str, Sequence[Definition]]) -> None:
        self._defined = {
            law: {each.term.casefold(): each for each in reversed(found)}
            for law, found in definitions.items()
            if found
        }
        self._patterns = {law: _any_of(defined) for law, defined in self._defined.items()}

    def notes(
        self, text: str, law: str, id: str, spans: Sequence[Span] | None = None
    ) -> list[Note]:
        """The first use of each defined word in an article, but for those that it defines itself.

        Args:
            text: the article's.
            law: its law.
            id: its id.
            spans: where to look, in order; None for all of it.
        """
        if law not in self._patterns:
            return []
        notes: dict[str, Note] = {}
        for start, end in [Span(0, len(text))] if spans is None else spans:
            for match in self._patterns[law].finditer(text, start, end):
                definition = self._defined[law][match["term"].casefold()]
                if definition.id != id:
                    span = Span(*match.span())
                    notes.setdefault(definition.term, Note(span, "term", definition))
        return list(notes.values())

    def meaning(self, name: str, law: str) -> Definition | None:
        """The definition of a word in a law."""
        return self._defined.get(law, {}).get(name.casefold())


NO_GLOSSARY = Glossary({})


def _any_of(terms: Iterable[str]) -> re.Pattern[str]:
    longest_first = "|".join(re.escape(each) for each in sorted(terms, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?P<term>{longest_first})(?:s|es)?(?!\w)", re.IGNORECASE)


def definitions_in(text: str, language: str | None, id: str) -> list[Definition]:
    """The definitions in an article.

    Args:
        text: the article's.
        language: BCP 47 tag; one whose words for "means" are not known here has no definitions.
        id: of the article.
    """
    patterns = _patterns().get(known_language(language) or "")
    if patterns is None:
        return []
    return [
        Definition(_ARTICLE_WORD.sub("", match["term"]), match[0].strip(" ,."), id)
        for match in patterns["defining"].finditer(text)
    ]


# What a reader may have to do next: deadlines, bodies and forms that the text names.

_MOST_STEPS = {"deadline": 3, "body": 3, "form": 2}
STEP_KINDS = tuple(_MOST_STEPS)
_LEADING_ARTICLE = re.compile(r"(?:The|A|An) ")


class Step(NamedTuple):
    """A deadline, a body or a form.

    Attributes:
        kind: which of them.
        name: its words in the text; of a body, its full name where the law defines a short one.
        sentence: that it stands in.
        article: the article that names it.
        anchor: of the paragraph.
    """

    kind: str
    name: str
    sentence: str
    article: Mapping[str, Any]
    anchor: str


def steps_in(
    read: Sequence[tuple[Mapping[str, Any], Sequence[Span]]], glossary: Glossary
) -> list[Step]:
    """What the passages that were read name, by kind, each body and form once.

    Args:
        read: articles as `pipelines.asking.found_article` makes them, with the spans to look in.
        glossary: gives a body its full name.
    """
    steps: dict[tuple[str, str], Step] = {}
    for article, spans in read:
        text = str(article["content"])
        patterns = _patterns().get(known_language(article.get("language")) or "", {})
        anchors = _anchors(text)
        for kind in STEP_KINDS if patterns else ():
            pattern = patterns[kind]
            for start, end in spans:
                for match in pattern.finditer(text, start, end):
                    name = match[0]
                    if kind == "body":
                        name = _full_name(_LEADING_ARTICLE.sub("", name), article["law"], glossary)
                    sentence = sentence_around(text, match.start())
                    known = name if kind != "deadline" else text[sentence.start : sentence.end]
                    anchor = next(
                        (each for place, each in reversed(anchors) if place <= match.start()), ""
                    )
                    words = text[sentence.start : sentence.end]
                    step = Step(kind, name, words, article, anchor)
                    steps.setdefault((kind, known.casefold()), step)
    bodies = [step.name for step in steps.values() if step.kind == "body"]
    kept = [
        step
        for step in steps.values()
        # "the Board" next to "the Legal Aid Board" is the same one.
        if step.kind != "body" or not any(name.endswith(f" {step.name}") for name in bodies)
    ]
    return [
        step
        for kind, most in _MOST_STEPS.items()
        for step in [each for each in kept if each.kind == kind][:most]
    ]


def _anchors(text: str) -> list[tuple[int, str]]:
    """Where each numbered paragraph begins, and its anchor."""
    numbered = (line for line in lines_of(text) if line.kind == "numbered")
    return [(line.span.start, anchor_of(line.label)) for line in numbered]


def _full_name(name: str, law: str, glossary: Glossary) -> str:
    """The full name of a body, where the law defines a short one; else the name."""
    definition = glossary.meaning(name, law)
    if definition is None:
        return name
    patterns = (each["body"] for each in _patterns().values())
    after = re.split(r"\b(?:means?|désigne|s['’]entend)\b", definition.sentence, maxsplit=1)[-1]
    found = (pattern.search(after) for pattern in patterns)
    return next((match[0].removeprefix("the ") for match in found if match), name)
