"""German federal law as gesetze-im-internet.de publishes it (gii-norm.dtd): a flat list of `norm`.

The first norm describes the law. One with a `gliederungseinheit` and no number is a division: its
`gliederungskennzahl` has three digits a level. One with a number (`enbez`) is an article, an annex
or a frame of the law; it stands in the division before it, unless it names its own.

What becomes of the rest:

- Annexes ("Anlage 1", "Anhang") are articles by their names. So is a division that has text of
  its own ("Art 1" of an act whose §§ stand in "Art 2").
- "(XXXX) §§ 29 und 30" stands for several repealed sections and is one article, "§§ 29 und 30".
- A repealed article says "(weggefallen)", as printed; the format names no date for it.
- Sentence numbers stay in the text as small digits, with a space: "¹ Der Antrag ...".
- Left out and counted: tables of contents, enacting and closing formulas, footnotes (they report
  amendments), notes on where an annex was printed, images, divisions that only say that they are
  repealed.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from components.statutes.sources import markup, reading
from components.statutes.sources.markup import Element, Layout
from components.statutes.sources.units import heading

_LAYOUT = Layout.of_format("gii")
_SITE = "https://www.gesetze-im-internet.de"
_DIGITS_A_LEVEL = 3

# Norms with a number that are not rules: what they are, by the beginning of their `enbez`.
_FRAMES = {
    "inhalt": "table of contents",
    "eingangsformel": "enacting formula",
    "schlussformel": "closing formula",
    "schlußformel": "closing formula",
}
_FRAME = re.compile("|".join(_FRAMES), re.IGNORECASE)
_RANGE_MARK = re.compile(r"^\(XXXX\)\s*")
_EMPTY = {"", "-", "(weggefallen)"}
_PAGES = ((re.compile(r"§ (\w+)"), "__{}.html"), (re.compile(r"Art\.? (\w+)"), "art_{}.html"))


def _matches(head: bytes) -> bool:
    is_root = markup.root_name(head) == "dokumente"
    return is_root and (b"gii-norm.dtd" in head or b"<norm" in head)


def _units(root: Element, path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    law, folder = _law_of(root, path)
    norms = list(_norms(root, law.key, tally))
    # Sentence numbers must not be read as part of a word or a quantity.
    for mark in root.iter("SUP"):
        if mark.get("class") == "Rec" and mark.text:
            mark.text = f" {mark.text.translate(reading.RAISED_DIGITS)} "
    markup.raise_exponents(root.iter("SUP"))
    texts = _LAYOUT.texts(root, [text for _, text in norms])
    # A law whose sections start again in each of its articles has other pages, by other rules.
    numbers = Counter(unit.number for unit, _ in norms)
    found: list[tuple[reading.Unit, str]] = []
    for (unit, _), text in zip(norms, texts, strict=True):
        page = _page(folder, "" if numbers[unit.number] > 1 else unit.number)
        found.append((unit._replace(address=page), "" if text == "-" else text))
    return law, found


FORMAT = markup.xml_format("gii", _matches, _units)


def _law_of(root: Element, path: Path) -> tuple[reading.Law, str]:
    """The law by its short title, or else its long one, and its folder on the site."""
    data = root.find("norm/metadaten")
    if data is None:
        key = root.get("doknr", path.stem)
        return reading.Law(key, key, "de"), ""
    index = reading.one_line(data.findtext("jurabk"))
    short = reading.one_line(data.findtext("amtabk")) or index
    titles = [reading.one_line(data.findtext(each)) for each in ("kurzue", "langue")]
    title = titles[0] or titles[1] or short
    name = title if not short or short in title else f"{title} ({short})"
    name = name or path.stem
    # The site names its folders by the index, letters and digits of ASCII only.
    law = reading.Law(root.get("doknr", name), name, "de", other_names=(short, index, *titles))
    return law, re.sub(r"[^a-z0-9]", "_", index.lower())


def _norms(root: Element, key: str, tally: reading.Tally) -> Iterator[tuple[reading.Unit, Element]]:
    """The norms that hold rules, each with the divisions above it; others are counted."""
    divisions: dict[str, str] = {}  # by gliederungskennzahl
    current = ""
    for norm in root.iterchildren("norm"):
        tally.add("left out", "footnote", int(norm.find("textdaten/fussnoten/*") is not None))
        number = _RANGE_MARK.sub("", reading.one_line(norm.findtext("metadaten/enbez")))
        own = title = ""
        if (place := norm.find("metadaten/gliederungseinheit")) is not None:
            current, own, title = (
                reading.one_line(place.findtext(f"gliederungs{name}"))
                for name in ("kennzahl", "bez", "titel")
            )
            divisions[current] = heading("" if own == "-" else own, title)
        frame = _FRAME.match(number)
        if frame:
            tally.add("left out", _FRAMES[frame[0].lower()])
            continue
        # Ranges of repealed sections may have no text at all, only their title.
        text = norm.find("textdaten/text")
        if text is None and number:
            text = norm
        # An official note on a division, which is a footnote, is not text of its own.
        inner = () if text is None else text.xpath(".//text()[not(ancestor::Footnotes)]")
        words = "".join(inner).strip().lower()
        if text is None or not (number or words):
            continue
        if not number and words in _EMPTY:
            tally.add("left out", "division without words", int(title.lower() in _EMPTY))
            continue
        _LAYOUT.count(text, tally)
        headings = _path(divisions, current)
        if number:
            title = _LAYOUT.line(norm.find("metadaten/titel"))
        else:
            headings = headings[:-1]
        unit = reading.Unit(
            norm.get("doknr", "").removeprefix(key),
            number or own or title or "Vorbemerkung",
            norm.sourceline,
            "" if title == "-" else title,
            headings,
        )
        yield unit, text


def _path(divisions: dict[str, str], place: str) -> tuple[str, ...]:
    """The headings of a division and of those above it, from the top."""
    ends = range(_DIGITS_A_LEVEL, len(place) + 1, _DIGITS_A_LEVEL)
    return tuple(filter(None, (divisions.get(place[:end]) for end in ends)))


def _page(folder: str, number: str) -> str | None:
    """The address of an article, or of its law where an article has no page of its own."""
    if not folder:
        return None
    for pattern, page in _PAGES:
        if named := pattern.fullmatch(number):
            return f"{_SITE}/{folder}/{page.format(named[1].lower())}"
    return f"{_SITE}/{folder}/"
