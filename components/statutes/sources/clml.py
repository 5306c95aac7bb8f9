"""Legislation of the United Kingdom in CLML, the XML of legislation.gov.uk.

Units are the `P1` of the body: sections of acts, regulations, articles or rules of instruments. In
old instruments they are `P2` without a `P1`. The word is in their ids ("section-82A")
and in front of their numbers: "Section 82A".

What becomes of the rest:

- Paragraphs of schedules are articles too: "Schedule 1, paragraph 2". Where the numbers start
  again in a part of a schedule, the part stands between: "Schedule 1, Part I, Article 2,
  paragraph 1". A part without numbered paragraphs is one article: "Schedule 1, Part I, Article 3".
- `RestrictStartDate` and `RestrictEndDate` are the days on which this wording began and on which
  the next one did. A repealed provision is a row of dots that began on the day of the repeal: its
  last day in force is the one before. The site's base dates (`_BASE_DATE`), from which on it has
  wordings at all, are not the beginning of any. A wording that ended on the day on which it began,
  or before, is left out and counted.
- Provisions quoted in amendments (`BlockAmendment`) are text of the section that amends.
- Left out and counted: commentaries and footnotes, explanatory notes, signatures, images,
  paragraphs and lists that stand between the numbered ones.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path
from typing import NamedTuple

from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, day, one_line
from components.statutes.sources.units import heading, in_small_letters

_LAYOUT = Layout.of_format("clml")
_NAMESPACE = b"http://www.legislation.gov.uk/namespaces/legislation"

# Divisions with a number of their own, and headings between provisions.
_NUMBERED = ("Part", "Chapter", "EUPart", "EUTitle", "EUChapter", "EUSection", "Division")
# What stands at the head of a division.
_LABELS = frozenset({"Number", "TitleBlock", "Title", "Subtitle", "Reference", "CommentaryRef"})
_UNNUMBERED = ("Pblock", "PsubBlock", "ScheduleBody")
_QUOTES = ("BlockAmendment", "InlineAmendment")
_WORD_OF_KEY = re.compile(r"(?:section|regulation|article|rule)-\w+$")
_WORDS = {"section": "Section", "regulation": "Regulation", "article": "Article", "rule": "Rule"}
_PASSED_OVER = _LABELS | {name for name, *_ in _LAYOUT.counted if name != "Tabular"}
_ORIGINAL = re.compile(r"/(?:enacted|made|created|adopted)$")
# Of the editors' first versions of the law that was in force then.
_BASE_DATE, _NORTHERN_IRISH_BASE_DATE = date(1991, 2, 1), date(2006, 1, 1)
_NORTHERN_IRISH = re.compile(r"(?:nia|nisi|nisr|nisro|nidsr|apni|mnia)/")
_PARTS = re.compile(r"/(?:part|chapter)/")
# What remains of a repealed provision: its title, its labels and dots.
_DOTS = re.compile(r"(?:\(\w+\) )?(?:\. ?){4,}")


def _matches(head: bytes) -> bool:
    return markup.root_name(head) == "Legislation" and _NAMESPACE in head


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    name = one_line(root.findtext("{*}Metadata/{*}title") or root.get("IdURI")) or path.stem
    language = one_line(root.findtext("{*}Metadata/{*}language")) or None
    _LAYOUT.count(root, tally)
    # The rest is half of a file: laying it out would take as long as the law.
    parts = (each for each in root if markup.local_name(each) not in _LAYOUT.left_out)
    law_itself = next(parts, root)
    address = root.get("DocumentURI", "")
    key = re.sub(r"^.*?legislation\.gov\.uk/(?:id/)?", "", root.get("IdURI", name))
    bases = {_BASE_DATE}
    if _NORTHERN_IRISH.match(key):
        bases.add(_NORTHERN_IRISH_BASE_DATE)
    if language and language.partition("-")[0] != "en":
        key += f"/{language}"  # both languages of Wales share one address
    # The law as it was made has no dates that would tell it from later versions.
    original = _ORIGINAL.search(address)
    law = Law(key + (original[0] if original else ""), name, language, address or None, id=key)
    units = list(_provisions(law_itself, tally))
    _print_labels(law_itself)
    markup.raise_exponents(_every(law_itself, "Superior"))
    _print_quotation_marks(law_itself)
    texts = _LAYOUT.texts(law_itself, [element for element, _ in units])
    found: list[tuple[Unit, str]] = []
    for (_, unit), words in zip(units, texts, strict=True):
        since, until = unit.valid_from, unit.valid_to
        if since and until and until <= since:
            tally.add("left out", "wording that never was in force")
            continue
        since = None if since in bases else since
        # Nothing is left of a repealed provision but dots.
        if ". . . ." in words and all(map(_DOTS.fullmatch, words.splitlines())):
            first, last = None, since and since - timedelta(days=1)
        else:
            first, last = since, until and until - timedelta(days=1)
        found.append((unit._replace(since=since, valid_from=first, valid_to=last), words))
    return law, found


FORMAT = markup.xml_format("clml", _matches, _units, "provision")


# A provision, with the first days of its wording and of the next one.
_Provision = tuple[Element, Unit]


class _Above(NamedTuple):
    """What stands above a provision.

    Attributes:
        headings: The divisions, from the top.
        places: In a schedule, its number and those of its parts, from the top.
        is_schedule: Whether it is part of a schedule.
        title: Of the group of provisions.
        dates: Of the group, or of the block of provisions under one heading.
    """

    headings: tuple[str, ...] = ()
    places: tuple[str, ...] = ()
    is_schedule: bool = False
    title: str = ""
    dates: tuple[date | None, date | None] = (None, None)


def _every(root: Element, *names: str) -> Iterator[Element]:
    """The elements of a tree that have one of some names."""
    found: Iterator[Element] = root.iter(*markup.named(root, names))
    return found


def _provisions(root: Element, tally: Tally) -> Iterator[_Provision]:
    quotes = frozenset(markup.named(root, _QUOTES))
    quoted = sum(1 for quote in _every(root, *_QUOTES) for _ in _every(quote, "P1"))
    tally.add("kept as text", "quoted provision", quoted)
    for body in _every(root, "Body", "EUBody"):
        yield from _inside(body, _Above(), tally)
    for schedule in _every(root, "Schedule"):
        if not markup.is_within(schedule, quotes):
            yield from _numbered(schedule, _Above(is_schedule=True), tally)


def _inside(division: Element, above: _Above, tally: Tally) -> Iterator[_Provision]:
    """The provisions of a division and of those in it."""
    for each in division:
        name = markup.local_name(each)
        if name in _PASSED_OVER:
            continue
        if name == "P1" or (name == "P2" and _WORD_OF_KEY.match(each.get("id", ""))):
            yield _provision(each, above)
        elif name == "P1group":
            _, title = _labels(each)
            group = above._replace(title=title, dates=_dates(each, above))
            yield from _inside(each, group, tally)
        elif name in _NUMBERED:
            yield from _numbered(each, above, tally)
        elif name in _UNNUMBERED:
            _, title = _labels(each)
            headings = (*above.headings, title) if title else above.headings
            block = above._replace(headings=headings, dates=_dates(each, above))
            yield from _inside(each, block, tally)
        elif name == "P" and any(markup.local_name(inner) in ("P1", "P2") for inner in each):
            yield from _inside(each, above, tally)
        elif name != "Text" or len(each) or one_line(each.text):
            tally.add("left out", "unnumbered paragraph")


def _numbered(division: Element, above: _Above, tally: Tally) -> Iterator[_Provision]:
    """The provisions of a schedule, part or chapter; of one without any, the whole."""
    number, title = _labels(division)
    places = (*above.places, number) if above.is_schedule else ()
    quotes = frozenset(markup.named(division, _QUOTES))
    below = (each for each in _every(division, "P1", *_NUMBERED) if each is not division)
    if not above.is_schedule or any(not markup.is_within(each, quotes) for each in below):
        named_so = heading(number, title)
        headings = (*above.headings, named_so) if named_so else above.headings
        yield from _inside(division, _Above(headings, places, above.is_schedule), tally)
        return
    for each in list(division):
        if markup.local_name(each) in _LABELS:
            markup.remove(each)
    key = division.get("id") or number
    whole = above._replace(title=title, dates=(None, None))
    yield _unit(division, key, ", ".join(places), whole)


def _provision(element: Element, above: _Above) -> _Provision:
    key = element.get("id", "")
    number = _LAYOUT.take(element, "Pnumber")
    if above.is_schedule:
        # An address names the parts of a schedule only where its numbers start again in each.
        again = _PARTS.search(element.get("DocumentURI", ""))
        places = above.places if again else above.places[:1]
        number = ", ".join((*places, f"paragraph {number}".rstrip()))
    elif word := _WORDS.get(key.partition("-")[0]):
        number = f"{word} {number}".rstrip()
    return _unit(element, key or number, number, above)


def _unit(element: Element, key: str, number: str, above: _Above) -> _Provision:
    since, until = _dates(element, above)
    return element, Unit(
        key,
        number,
        element.sourceline,
        above.title,
        above.headings,
        valid_from=since,
        valid_to=until,
        address=element.get("DocumentURI"),
    )


def _dates(element: Element, above: _Above) -> tuple[date | None, date | None]:
    """The days of a wording; those of its group or block, where it has none of its own."""
    if element.get("Status") == "Prospective":
        return None, None
    own = day(element.get("RestrictStartDate")), day(element.get("RestrictEndDate"))
    return above.dates if own == (None, None) else own


def _labels(division: Element) -> tuple[str, str]:
    """A division's number and title; the number's word in small letters: "PART 2" is "Part 2"."""
    number = ""
    titles: list[str] = []
    for each in division:
        name = markup.local_name(each)
        if name == "Number":
            number = _LAYOUT.line(each)
            if " " in number and number.partition(" ")[0].isupper():
                number = in_small_letters(number)
        elif name == "Title":
            titles.append(_LAYOUT.line(each))
        elif name == "TitleBlock":
            titles.append(_labels(each)[1])
        elif name not in _LABELS:
            break
    return number, " ".join(filter(None, titles))


# Signs that the site prints and the file does not hold.


def _print_labels(root: Element) -> None:
    """Put the numbers below a section in brackets: "(1)", "(a)"."""
    for label in _every(root, "Pnumber"):
        above = label.getparent()
        is_unit = above is not None and markup.local_name(above) == "P1"
        if is_unit or not {"PuncBefore", "PuncAfter"}.isdisjoint(label.keys()):
            continue
        if len(label):
            label.text = f"({label.text or ''}"
            markup.append(label, ")")
        elif (label.text or "").strip():
            label.text = f"({label.text})"


def _print_quotation_marks(root: Element) -> None:
    """Put quoted provisions in quotation marks, on their first line and their last."""
    for quote in _every(root, "BlockAmendment"):
        first = next((each for each in quote.iter() if (each.text or "").strip()), None)
        if first is None or quote.get("Format") == "none":
            continue
        first.text = f"“{first.text.lstrip()}"
        last = quote
        while len(last) and not (last[-1].tail or "").strip():
            if markup.local_name(last[-1]) in _LAYOUT.left_out:
                break
            last = last[-1]
        markup.append(last, "”")
        behind = quote.getnext()
        if behind is not None and markup.local_name(behind) == "AppendText":
            # A full stop or "and" that belongs to the line on which the quotation ends.
            markup.append(last, _LAYOUT.line(behind))
            markup.remove(behind)
