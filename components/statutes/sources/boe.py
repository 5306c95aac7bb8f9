"""Consolidated law of Spain as the API of the Boletín Oficial del Estado gives it.

A flat list of `bloque`: headings (`encabezado`) and articles or provisions (`precepto`), each with
every wording that it ever had (`version`). All wordings are read, with their days in force; of a
heading, the last. Articles are "12" or "12 bis", other provisions "Disposición adicional primera".

The whole document (`.../legislacion-consolidada/id/BOE-A-2015-10565`) names the law; of the text
alone (`.../texto`) only the identifier is known.

Left out and counted: preambles, signatures, opening notes, notes on amendments, images, wordings
that were replaced on the day on which they began.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import timedelta
from pathlib import Path

from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, day, one_line
from components.statutes.sources.units import Division, DivisionPath, division, numbered_heading

_LAYOUT = Layout.of_format("boe")
_SITE = "https://www.boe.es/buscar/act.php?id="
_LEFT_OUT = {"preambulo": "preamble", "firma": "signature", "nota_inicial": "opening note"}
# How the classes of paragraphs begin that print a heading.
_LEVELS = {"libro": 1, "titulo": 2, "capitulo": 3, "seccion": 4, "subseccion": 5}
_PROVISION = re.compile(r"(Disposici[oó]n\s[^.]+|Anexo\b[^.]*)[. ]*(.*)", re.IGNORECASE)


def _matches(head: bytes) -> bool:
    is_root = markup.root_name(head) in ("response", "texto")
    return is_root and (b"<bloque" in head or b"datosabiertos" in head or b"BOE-" in head)


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    law = _law_of(root, path)
    found = list(_preceptos(root, law, tally))
    _LAYOUT.count(root, tally)
    for note in list(root.iter("p")):
        if note.get("class", "").startswith("nota_pie"):
            tally.add("left out", "note")
            markup.remove(note)
    markup.raise_exponents(root.iter("sup"))
    texts = _LAYOUT.texts(root, [version for version, _ in found])
    return law, zip([unit for _, unit in found], texts, strict=True)


FORMAT = markup.xml_format("boe", _matches, _units)


def _law_of(root: Element, path: Path) -> Law:
    about = root.find(".//metadatos")
    key = name = ""
    if about is not None:
        key, name = (one_line(about.findtext(each)) for each in ("identificador", "titulo"))
    if not key:
        first = root.find(".//version[@id_norma]")
        key = path.stem if first is None else first.get("id_norma", "")
    return Law(key, name.rstrip(".") or key, "es", f"{_SITE}{key}")


def _preceptos(root: Element, law: Law, tally: Tally) -> Iterator[tuple[Element, Unit]]:
    """Every wording of every article, with the headings above it."""
    path = DivisionPath()
    for block in root.iter("bloque"):
        kind, versions = block.get("tipo", ""), block.findall("version")
        if not versions:
            continue
        if kind == "encabezado":
            path.enter(_division(versions[-1]))
            continue
        if kind in _LEFT_OUT:
            tally.add("left out", _LEFT_OUT[kind])
            continue
        days = [day(version.get("fecha_vigencia")) for version in versions]
        for version, since, until in zip(versions, days, [*days[1:], None], strict=True):
            if since and until and until <= since:
                tally.add("left out", "wording that never was in force")
                continue
            number, title = _number(version, block)
            above = path.innermost
            if number.startswith("Disposici") and above and not above.label.startswith("DISPOSICI"):
                path = DivisionPath()  # they stand behind the last title, not in it
            unit = Unit(
                block.get("id", number),
                number,
                version.sourceline,
                title,
                path.headings(),
                since=since,
                valid_from=since,
                valid_to=until and until - timedelta(days=1),
                address=f"{law.address}#{block.get('id', '')}",
            )
            yield version, unit


def _division(version: Element) -> Division:
    """A heading: its kind and number in the first paragraph, its title in those behind it."""
    lines = [_LAYOUT.line(each) for each in version.iterchildren("p")]
    first = version.find("p")
    kind = "" if first is None else first.get("class", "").partition("_")[0]
    found = division(" ".join(lines), "es", _LEVELS.get(kind, 1))
    if found.rank is None:
        return Division(lines[0] if lines else "", " ".join(lines[1:]), level=found.level)
    return found


def _number(version: Element, block: Element) -> tuple[str, str]:
    """The number and title of an article, taken out of its text."""
    first = version.find("p")
    if first is None or first.get("class", "").startswith("parrafo"):
        return one_line(block.get("titulo")), ""
    printed = _LAYOUT.take(version, "p")
    if article := numbered_heading(printed, "es"):
        return article.number, article.title.rstrip(".")
    provision = _PROVISION.match(printed)
    return (provision[1].strip(), provision[2].rstrip(".")) if provision else (printed, "")
