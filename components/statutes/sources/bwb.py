"""Law of the Netherlands as wetten.overheid.nl publishes it (BWB, a `toestand` of a regulation).

Units are the articles and the annexes (`bijlage`), and of circulars the divisions. Each has the day
on which its wording came into force (`inwerking`). A repealed one says "Vervallen", as printed; its
last day in force is the one before.

Left out and counted: preambles, closing formulas, editorial notes, images, and text that stands
in a division but in no article.
"""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path

from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, day
from components.statutes.sources.units import heading

_LAYOUT = Layout.of_format("bwb")
_SITE = "https://wetten.overheid.nl"
_UNITS = ("artikel", "bijlage", "circulaire.divisie")


def _matches(head: bytes) -> bool:
    return markup.root_name(head) == "toestand" and b"bwb-id=" in head


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    titles = [_LAYOUT.line(root.find(f".//{name}")) for name in ("citeertitel", "intitule")]
    key, since = root.get("bwb-id", path.stem), root.get("inwerkingtreding", "")
    language = next(root.iter("wetgeving"), root).get(markup.LANG, "nl")
    page = f"{_SITE}/{key}/{since}"
    name = titles[0] or titles[1] or path.stem
    law = Law(key, name, language, page, (titles[1],))
    _LAYOUT.count(root, tally)
    elements = markup.outermost(root, *_UNITS)
    headings = headings_from(_heading)
    units = [_unit(each, page, headings(each.getparent())) for each in elements]
    return law, zip(units, _LAYOUT.texts(root, elements), strict=True)


FORMAT = markup.xml_format("bwb", _matches, _units)


def _unit(element: Element, page: str, headings: tuple[str, ...]) -> Unit:
    head = element.find("kop")
    label = number = title = ""
    if head is not None:
        label, number, title = (_LAYOUT.line(head.find(name)) for name in ("label", "nr", "titel"))
        markup.remove(head)
    if element.tag != "artikel":
        number = f"{label} {number}".strip()
    if not number:
        number, title = title or element.tag.capitalize(), ""
    place = element.get("bwb-ng-variabel-deel", "").strip("/")
    since = day(element.get("inwerking"))
    is_repealed = element.get("status") == "vervallen"
    return Unit(
        place or number,
        number,
        element.sourceline,
        title,
        headings,
        since=since,
        valid_from=None if is_repealed else since,
        valid_to=since - timedelta(days=1) if since and is_repealed else None,
        address=f"{page}#{place.replace('/', '_')}" if place else None,
    )


def _heading(element: Element) -> str:
    head = element.find("kop")
    if head is None or element.tag in _UNITS:
        return ""
    label, number, title = (_LAYOUT.line(head.find(name)) for name in ("label", "nr", "titel"))
    return heading(f"{label} {number}".strip(), title)
