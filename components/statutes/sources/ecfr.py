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
from pathlib import Path

from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, one_line, refused
from components.statutes.sources.units import heading, in_small_letters

_LAYOUT = Layout.of_format("ecfr")
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


def _matches(head: bytes) -> bool:
    root = markup.root_name(head)
    return root == "DLPSTEXTCLASS" or (root in (*_DIVISIONS, *_UNITS) and b" TYPE=" in head)


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    _LAYOUT.count(root, tally)
    number = one_line(root.findtext("HEADER//IDNO")) or _title_cited(root)
    if not number:
        message = "does not say which title of the Code it is part of"
        repair = "Take it from the eCFR's API with its hierarchy_metadata, or take the whole title."
        raise refused(path, message, repair, line=root.sourceline)
    law = Law(
        f"us/cfr/t{number}",
        f"Title {number}, Code of Federal Regulations",
        "en",
        other_names=(f"{number} CFR", f"{number} C.F.R."),
    )
    elements = markup.outermost(root, *_UNITS)
    markup.raise_exponents(root.iter("SU"))
    headings = headings_from(_heading)
    page = f"{_SITE}/title-{number}"
    units = [_unit(each, page, headings(each.getparent())) for each in elements]
    return law, zip(units, _LAYOUT.texts(root, elements), strict=True)


FORMAT = markup.xml_format("ecfr", _matches, _units, "section")


def _title_cited(root: Element) -> str:
    """The title of the Code from the first citation: "40" of "40 CFR Part 50"."""
    if root.tag == "DIV1":
        return one_line(root.get("N"))
    cited = (_CITATION.search(each.get("hierarchy_metadata", "")) for each in root.iter())
    return next((found[1] for found in cited if found), "")


def _unit(element: Element, page: str, headings: tuple[str, ...]) -> Unit:
    """A section or appendix of the title that stands on a page of the site."""
    printed = _LAYOUT.line(markup.child(element, "HEAD"))
    name = one_line(element.get("N"))
    key = name.lstrip("§ ")
    label = (_SECTION if element.tag == "DIV8" else _APPENDIX).match(printed)
    number, title = label.groups() if label else (name, printed)
    return Unit(
        f"s{key}" if element.tag == "DIV8" else key,
        number.rstrip(".") or "Section",
        element.sourceline,
        title,
        headings,
        address=page + (f"/section-{key}" if key[:1].isdigit() else ""),
        printed=printed,
    )


def _heading(element: Element) -> str:
    if element.tag not in _DIVISIONS:
        return ""
    printed = _LAYOUT.line(markup.child(element, "HEAD"))
    label = _DIVISION.match(printed)
    return heading(in_small_letters(label[1]), label[2]) if label else printed
