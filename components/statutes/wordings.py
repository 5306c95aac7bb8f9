"""Two wordings of an article side by side, and what a repealed one names in its place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from datetime import date
from difflib import SequenceMatcher
from itertools import pairwise
from typing import Literal, NamedTuple

from components.statutes.article import Article
from components.statutes.languages import words_of
from components.statutes.sources.units import unit_pattern

SegmentKind = Literal["same", "deleted", "inserted"]


class Segment(NamedTuple):
    """Words that stand in both wordings, or in one of them only."""

    kind: SegmentKind
    text: str


Row = list[Segment]
"""Lines of two wordings that stand next to each other."""


# A word with the blank before it, or one sign of Chinese and Japanese; a number keeps its points.
_TOKEN = re.compile(
    r"\n|[ ]?(?:[\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]"
    r"|[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+(?:[.,'’/-](?=\w)"
    r"[^\W\u3040-\u30ff\u3400-\u9fff\uf900-\ufaff]+)*|\S)"
)
# From so many words on, difflib leaves out the most frequent ones as starts of a match: exact, it
# takes a second for 10,000 words and four times as long for twice as many.
_MANY = 5_000
_MANY_LINES = 500  # of a table many are the same
# Between two longer changes, so few words in common ("of the") only hinder reading.
_FEW = 2


def changed_rows(before: str, after: str) -> list[Row]:
    """Compare two texts word by word, in rows of lines that belong together.

    All words of each text are there, in order: `before` is what is not inserted, `after` what is
    not deleted. Blanks and empty lines do not count.

    Args:
        before: the earlier text.
        after: the later one.
    """
    old, new = _lines(before), _lines(after)
    rows: list[Row] = []
    is_long = max(len(old), len(new)) > _MANY_LINES
    for tag, i1, i2, j1, j2 in SequenceMatcher(None, old, new, autojunk=is_long).get_opcodes():
        if tag == "equal":
            rows += ([Segment("same", line)] for line in new[j1:j2])
        elif tag == "replace":
            rows += _split(_words("\n".join(old[i1:i2]), "\n".join(new[j1:j2])))
        else:
            rows += ([Segment("deleted", line)] for line in old[i1:i2])
            rows += ([Segment("inserted", line)] for line in new[j1:j2])
    return rows


def is_changed(row: Row) -> bool:
    """Whether anything in a row was deleted or inserted."""
    return any(each.kind != "same" for each in row)


_MARKS = {"same": "{}", "deleted": "[-{}-]", "inserted": "{{+{}+}}"}


def marked(row: Row) -> str:
    """A row as plain text: "within [-30-] {+14+} days"."""
    parts = []
    for kind, text in row:
        words = text.lstrip(" ")
        parts.append(text[: -len(words)] + _MARKS[kind].format(words))
    return "".join(parts)


def _lines(text: str) -> list[str]:
    return [" ".join(line.split()) for line in text.splitlines() if line.strip()]


def _words(before: str, after: str) -> Iterator[Segment]:
    """The words of two texts, compared."""
    old, new = _TOKEN.findall(before), _TOKEN.findall(after)
    before_keys, after_keys = ([each.strip(" ") for each in tokens] for tokens in (old, new))
    is_long = max(len(old), len(new)) > _MANY
    matcher = SequenceMatcher(None, before_keys, after_keys, autojunk=is_long)
    for is_same, i1, i2, j1, j2 in _without_small_matches(matcher, after_keys):
        if is_same:
            yield Segment("same", "".join(new[j1:j2]))
            continue
        if i1 < i2:
            yield Segment("deleted", "".join(old[i1:i2]))
        if j1 < j2:
            yield Segment("inserted", "".join(new[j1:j2]))


class _Run(NamedTuple):
    """Words `i1` to `i2` of one text and `j1` to `j2` of another, which are the same or not."""

    is_same: bool
    i1: int
    i2: int
    j1: int
    j2: int

    @property
    def size(self) -> int:
        return max(self.i2 - self.i1, self.j2 - self.j1)


def _without_small_matches(matcher: SequenceMatcher[str], new: Sequence[str]) -> list[_Run]:
    """The runs of a comparison; changes around a match that is smaller than both become one."""
    runs: list[_Run] = []
    for tag, *places in matcher.get_opcodes():
        run = _Run(tag == "equal", *places)
        if not run.is_same and len(runs) > 1:
            change, match = runs[-2:]
            is_small = match.size <= _FEW and match.size < min(change.size, run.size)
            if is_small and "\n" not in new[match.j1 : match.j2]:
                runs[-2:] = []
                run = _Run(False, change.i1, run.i2, change.j1, run.j2)
        runs.append(run)
    return runs


def _split(segments: Iterator[Segment]) -> list[Row]:
    """Rows that end where both texts have a line's end; whole lines of one text are rows too."""
    rows: list[Row] = [[]]
    for kind, text in segments:
        parts = text.split("\n")
        if kind != "same":  # a line's end inside of it is not the other text's
            within = text.removeprefix("\n").removesuffix("\n")
            parts = [""] * text.startswith("\n") + [within] + [""] * text.endswith("\n")
        for number, part in enumerate(parts):
            if number:
                rows.append([])
            if part:
                rows[-1].append(Segment(kind, part))
    return [row for row in rows if row]


class WordingError(ValueError):
    """There are no two wordings to compare; says why in one line."""


def span_text(first: date | str | None, last: date | str | None) -> str:
    """The days of a wording: "from 2009-01-01 until 2018-12-31"."""
    days = (("from", first), ("until", last))
    return " ".join(f"{word} {day}" for word, day in days if day) or "without dates"


def _days(article: Article) -> str:
    return span_text(article.valid_from, article.valid_to)


def in_time(article: Article) -> tuple[date, date]:
    """What wordings are sorted by, oldest first; of one without dates nothing is known."""
    first, last = article.valid_from, article.valid_to
    return first or date.min, last or (date.max if first else date.min)


def two_wordings(
    wordings: Sequence[Article], since: date | None, to: date | None
) -> tuple[Article, Article]:
    """The two wordings of an article to compare, the earlier first.

    Args:
        wordings: at least two, sorted by `in_time`.
        since: day of the first; None for the one before the second.
        to: day of the second; None for the newest.

    Raises:
        WordingError: none is held for a day, or the same one for both days.
    """
    if since is not None and to is not None and since > to:
        raise WordingError(f"{since} is after {to}: give the earlier day first.")
    after = wordings[-1] if to is None else _on(wordings, to)
    if since is not None:
        before = _on(wordings, since)
    elif after is wordings[0]:
        raise WordingError(f"No wording before the one {_days(after)} is held.")
    else:
        before = next(one for one, two in pairwise(wordings) if two is after)
    if before is after:
        raise WordingError(f"One wording, {_days(after)}, is held for both days.")
    return before, after


def _on(wordings: Sequence[Article], day: date) -> Article:
    """The wording in force on a day: of several that may have been, the latest."""
    for each in reversed(wordings):
        if (each.valid_from or date.min) <= day <= (each.valid_to or date.max):
            return each
    held = "; ".join(map(_days, wordings))
    raise WordingError(f"No wording that was in force on {day} is held. Held: {held}.")


# What stands in an article's place.

_NOTE = re.compile(r"^[ \t]*[(\[]([^()\[\]]+)[)\]][ \t]*$", re.MULTILINE)
_REPLACED_BY = re.compile(
    rf"(?<!\w)(?:{words_of('replaced by')['*']})"
    r"(?:\s+in\s+\d{4})?(?:\s+(?:as|to|by|in|is))?\s+",
    re.IGNORECASE,
)
_UNIT = re.compile(rf"(?:{unit_pattern('before')})(?![^\W\d_])", re.IGNORECASE)
_BEGINS_WITH_NUMBER = re.compile(r"[A-Z]{0,2}\d")
# A year, or part of an act that amended the law: "1999 c.59", "section 12, chapter 45, Laws 1999".
_OF_AN_ACT = re.compile(
    r"(?:1[89]|20)\d\d\b(?![.-]\d)|[^,;]*, ?(?:chapter|ch\.|c\.) ?\d", re.IGNORECASE
)
_FAR = 12  # characters between "replaced by" and the article: "the new "


def editors_notes(text: str) -> list[str]:
    """The lines of an article that are notes: "(Inserted with effect from 1 January 2021.)"."""
    return [match[1] for match in _NOTE.finditer(text)]


def successor_citation(article: Article) -> str | None:
    """The words with which a repealed article names what stands in its place, from the unit on.

    >>> note = "[1993 c.369 Section 3; renumbered 90.220 in 2005]"
    >>> successor_citation(Article("1", "ORS", "90.240", (), note))
    'section 90.220 in 2005'
    """
    for note in [article.text] if article.is_stub else editors_notes(article.text):
        for match in _REPLACED_BY.finditer(note):
            rest = note[match.end() :].rstrip(" )]\n")
            if _OF_AN_ACT.match(rest):
                continue
            if _BEGINS_WITH_NUMBER.match(rest):
                return f"section {rest}"
            unit = _UNIT.search(rest, 0, _FAR + 12)
            if unit and unit.start() <= _FAR:
                return rest[unit.start() :]
    return None
