"""The Electronic Code of Federal Regulations as bulk XML (eCFR, `DLPSTEXTCLASS`).

Levels are `DIV1` to `DIV9`, told apart by their `TYPE`; some are skipped. A heading and its number
are one text, `HEAD`: "§ 1.1 Definitions.". Units are the sections (`DIV8`), a reserved one ("§ 12.5
[Reserved]", also "§§ 457.104-457.109") included, and appendixes (`DIV9`).

Left out and counted: statements of authority, sources, citations of amendments, footnotes, tables
of contents, images. The format names no dates.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from components.statutes.article import Article
from components.statutes.sources.divisions import heading, in_small_letters
from components.statutes.sources.markup import (
    ArticleIds,
    Element,
    Layout,
    Tally,
    child,
    headings_above,
    is_within,
    one_line,
    parse,
    raise_exponents,
    root_name,
)
from components.statutes.sources.records import Place, Problem

NAME = "ecfr"

_LAYOUT = Layout(
    paragraphs=(
        *("P", "FP", "FP-1", "FP-2", "FP-DASH", "FRP", "PSPACE", "HD1", "HD2", "HD3", "NOTE"),
        *("EXTRACT", "EXAMPLE", "TABLE", "CAPTION", "DIV"),
    ),
    labels=("HED",),
    rows=("TR",),
    cells=("TD", "TH"),
    left_out=("HEAD", "AUTH", "SOURCE", "CITA", "FTNT", "FTREF", "CFRTOC", "HEADER", "EDNOTE"),
)
_COUNTED = (
    ("AUTH", "left out", "statement of authority"),
    ("SOURCE", "left out", "source"),
    ("CITA", "left out", "citation of amendments"),
    ("FTNT", "left out", "footnote"),
    ("CFRTOC", "left out", "table of contents"),
    ("EDNOTE", "left out", "editorial note"),
    ("img", "left out", "image"),
    ("TABLE", "kept as text", "table"),
)
_DIVISIONS = tuple(f"DIV{level}" for level in range(1, 8))
_UNITS = ("DIV8", "DIV9")
_SITE = "https://www.ecfr.gov/current"

_SECTION = re.compile(r"(§§? ?[\w.–-]+(?: (?:and|through) [\w.–-]+)?)[. ]*(.*)")
_APPENDIX = re.compile(
    r"(Appendix(?: \S+)? to (?:Part|Subpart) \S+?)(?:[—–-]+| )(.*)", re.IGNORECASE
)
# A hyphen is part of a number before digits or a single letter: "PART 101-6—LOANS".
_DIVISION = re.compile(
    r"([A-Z][A-Za-z]+ [\w.]+(?:-(?:\d[\w.]*|[A-Z])(?=$| ?[—–-]))*+)"
    r" ?[—–-]+ ?(.*?)(?:--Volume \d+)?$"
)


def matches(head: bytes, path: Path) -> bool:
    """XML whose root is that of the eCFR."""
    del path
    return root_name(head) == "DLPSTEXTCLASS"


def read(path: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
    """Yield the sections and appendixes of one title in the file's order.

    Raises:
        CorpusError: The file cannot be opened.
    """
    root = parse(path, problems)
    if root is None:
        return
    tally = Tally()
    tally.count(root, _COUNTED)
    number = one_line(root.findtext("HEADER//IDNO"))
    law = f"Title {number}, Code of Federal Regulations"
    ids = ArticleIds(f"us/cfr/t{number}")
    units = [each for each in root.iter(*_UNITS) if not is_within(each, frozenset(_UNITS))]
    raise_exponents(root.iter("SU"))
    texts = _LAYOUT.texts(root, units)
    above: dict[Element, tuple[str, ...]] = {}
    for unit, words in zip(units, texts, strict=True):
        printed = _LAYOUT.line(child(unit, "HEAD"))
        form = _SECTION if unit.tag == "DIV8" else _APPENDIX
        label = form.match(printed)
        named, title = label.groups() if label else (one_line(unit.get("N")), printed)
        text = "\n".join(filter(None, (title, words))) or printed
        key = one_line(unit.get("N")).lstrip("§ ")
        if not text or not named:
            tally.add("left out", "section without words")
            continue
        article = Article(
            id=ids.of(f"s{key}" if unit.tag == "DIV8" else key),
            law=law,
            number=named.rstrip("."),
            headings=headings_above(unit.getparent(), _heading, above),
            text=text,
            language="en",
            source_url=f"{_SITE}/title-{number}" + (f"/section-{key}" if key[:1].isdigit() else ""),
        )
        yield Place(str(path), unit.sourceline or 1), article
    problems.extend(tally.notices(str(path)))


def _heading(element: Element) -> str:
    if element.tag not in _DIVISIONS:
        return ""
    printed = _LAYOUT.line(child(element, "HEAD"))
    label = _DIVISION.match(printed)
    return heading(in_small_letters(label[1]), label[2]) if label else printed
