"""The Electronic Code of Federal Regulations (eCFR): bulk XML (`DLPSTEXTCLASS`), or the API's.

The API gives a part of a title: its root is a `DIV`, and the number of the title is in the
citation of an attribute, `hierarchy_metadata`.

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
    Element,
    Law,
    Layout,
    Tally,
    Unit,
    articles_of,
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
_CITATION = re.compile(r"\b(\d+) C\.?F\.?R\b")
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
    root = root_name(head)
    return root == "DLPSTEXTCLASS" or (root in (*_DIVISIONS, *_UNITS) and b" TYPE=" in head)


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
    number = one_line(root.findtext("HEADER//IDNO")) or _title_cited(root)
    if not number:
        message = "does not say which title of the Code it is part of"
        repair = "Take it from the eCFR's API with its hierarchy_metadata, or take the whole title."
        problems.append(Problem(str(path), root.sourceline, None, message, repair))
        return
    law = Law(
        f"us/cfr/t{number}",
        f"Title {number}, Code of Federal Regulations",
        "en",
        other_names=(f"{number} CFR", f"{number} C.F.R."),
    )
    elements = [each for each in root.iter(*_UNITS) if not is_within(each, frozenset(_UNITS))]
    raise_exponents(root.iter("SU"))
    above: dict[Element, tuple[str, ...]] = {}
    units = [_unit(each, f"{_SITE}/title-{number}", above) for each in elements]
    found = zip(units, _LAYOUT.texts(root, elements), strict=True)
    yield from articles_of(path, law, found, tally, problems, "section")


def _title_cited(root: Element) -> str:
    """The title of the Code from the first citation: "40" of "40 CFR Part 50"."""
    if root.tag == "DIV1":
        return one_line(root.get("N"))
    cited = (_CITATION.search(each.get("hierarchy_metadata", "")) for each in root.iter())
    return next((found[1] for found in cited if found), "")


def _unit(element: Element, page: str, above: dict[Element, tuple[str, ...]]) -> Unit:
    """A section or appendix of the title that stands on a page of the site."""
    printed = _LAYOUT.line(child(element, "HEAD"))
    name = one_line(element.get("N"))
    key = name.lstrip("§ ")
    label = (_SECTION if element.tag == "DIV8" else _APPENDIX).match(printed)
    number, title = label.groups() if label else (name, printed)
    return Unit(
        f"s{key}" if element.tag == "DIV8" else key,
        number.rstrip(".") or "Section",
        element.sourceline,
        title,
        headings_above(element.getparent(), _heading, above),
        address=page + (f"/section-{key}" if key[:1].isdigit() else ""),
        printed=printed,
    )


def _heading(element: Element) -> str:
    if element.tag not in _DIVISIONS:
        return ""
    printed = _LAYOUT.line(child(element, "HEAD"))
    label = _DIVISION.match(printed)
    return heading(in_small_letters(label[1]), label[2]) if label else printed
