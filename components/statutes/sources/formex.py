"""Acts of the European Union in Formex 4, as the Publications Office gives them out.

A file holds an act, an annex, or both (`COMBINED.FMX`). In a package (`DOC_1.xml`, `DOC_2.xml` ...)
the first file is an index and no law; annexes are files of their own, which take the name of their
act from it. Units are the `ARTICLE`s of an act and its annexes, each annex as a whole: "Annex III".

What becomes of the rest:

- A law is called by its kind and number, and by its short title where it has one: "Regulation (EU)
  2016/679 (General Data Protection Regulation)".
- Articles inside quotations (`QUOT.S`) are text of the article or annex that amends.
- Signs that are elements are put back: quotation marks, dashes of lists, spaces in numbers.
- Left out and counted: recitals, citations, signatures, closing formulas, footnotes, images and
  other files that are included. The format names no date in force.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from components.statutes.languages import words_of
from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.reading import (
    CorpusError,
    Law,
    LawAndUnits,
    Tally,
    Unit,
    eu_names,
    one_line,
)
from components.statutes.sources.units import heading, in_small_letters

_LAYOUT = Layout.of_format("formex")
_QUOTES = frozenset({"QUOT.S"})
_UNITS = frozenset({"ANNEX", "ARTICLE"})
_ROOTS = frozenset({"ACT", "ANNEX", "COMBINED.FMX"})

# What names an act in its title: its kind and number, and a short title at the end.
_CITED = re.compile(r"(.*?\b\d+/\d+(?:/[A-Z]+)?)\b")
_SHORT_TITLE = re.compile(r"\(([A-Z][^()]*)\)$")
_ASIDE = re.compile(r"\([^()]*\)")
_LONGEST_NAME = 100  # characters of a file of a package
_WHOLE_PART = re.compile(r"\d+")

_EUR_LEX = "https://eur-lex.europa.eu/legal-content"


def _matches(head: bytes) -> bool:
    """The index of a package is not matched."""
    is_root = markup.root_name(head) in _ROOTS
    return is_root and (b"formex" in head or b"<BIB.INSTANCE" in head)


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    _LAYOUT.count(root, tally)
    units = list(_own_units(root, tally))
    _print_signs(root)
    texts = _LAYOUT.texts(root, [element for element, _ in units])
    return _law_of(root, path), zip((unit for _, unit in units), texts, strict=True)


FORMAT = markup.xml_format("formex", _matches, _units)


# The act.


def _law_of(root: Element, path: Path) -> Law:
    about = next(root.iter("BIB.INSTANCE"), root)
    file = about.find("DOCUMENT.REF")
    name = "" if file is None else file.get("FILE", "")
    key = re.sub(r"\.(?:doc|xml|fmx|\.)+$", "", name) or path.stem
    act = root if root.tag == "ACT" else root.find("ACT")
    title = None if act is None else act.find("TITLE/TI")
    if title is None and file is not None:
        title = _title_in_package(file, path)
    language = one_line(about.findtext("LG.DOC"))
    name = _name(title)
    names = eu_names(name)
    return Law(key, name or key, language.lower() or None, _address(file), other_names=names)


def _title_in_package(file: Element, path: Path) -> Element | None:
    """The act's title from the index of an annex's package, if that is at hand."""
    for name in (Path(file.get("FILE", "")).name, "DOC_1.xml"):
        index = path.with_name(name) if name else path
        if index == path or len(name) > _LONGEST_NAME or not index.is_file():
            continue
        try:
            root = markup.parse(index)
        except CorpusError:
            continue
        if root.tag != "DOC":
            continue
        issue = root.find("PUBLICATION.REF")
        if issue is not None and all(
            issue.findtext(each) == file.findtext(each) for each in ("COLL", "NO.OJ")
        ):
            return root.find(".//TITLE/TI")
    return None


def _name(title: Element | None) -> str:
    if title is None:
        return ""
    return name_of_act(list(map(_LAYOUT.line, title.iterchildren("P"))) or [_LAYOUT.line(title)])


def name_of_act(lines: Sequence[str]) -> str:
    """What an act is called: "Regulation (EU) 2016/679 (General Data Protection Regulation)".

    Args:
        lines: Of its title.
    """
    # "(Text with EEA relevance)" is a line of its own.
    whole = " ".join(line for line in lines if not _ASIDE.fullmatch(line))
    cited = _CITED.match(whole)
    if cited is None:
        return whole
    short = _SHORT_TITLE.search(whole)
    return f"{cited[1]} ({short[1]})" if short else cited[1]


def _address(file: Element | None) -> str | None:
    """The page of EUR-Lex of an act by its place in the Official Journal."""
    if file is None:
        return None
    series = one_line(file.findtext("COLL"))
    language = one_line(file.findtext("LG.OJ"))
    numbers = [one_line(file.findtext(each)) for each in ("NO.DOC/YEAR", "NO.DOC/NO.CURRENT")]
    if all(numbers):  # since October 2023 every act is an issue of its own
        year, number = numbers
        return f"{_EUR_LEX}/{language}/TXT/?uri=OJ:{series}_{year}{number.zfill(5)}"
    issue = [one_line(file.findtext(each)) for each in ("YEAR", "NO.OJ", "PAGE.FIRST", "PAGE.SEQ")]
    code = words_of("eur-lex").get(language)
    if not all(each.isdigit() for each in issue) or code is None:
        return None
    year, number, page, sequence = issue
    volume = one_line(file.findtext("VOLUME.REF")) or "01"
    place = f"{year}.{number.zfill(3)}.{volume}.{page.zfill(4)}.{sequence.zfill(2)}"
    return f"{_EUR_LEX}/{language}/TXT/?uri=uriserv:OJ.{series}_.{place}.{code}"


# Its articles and annexes.


def _own_units(root: Element, tally: Tally) -> Iterator[tuple[Element, Unit]]:
    headings = headings_from(_heading)
    for each in list(root.iter(*_UNITS)):
        if markup.is_within(each, _QUOTES):
            tally.add("kept as text", f"quoted {each.tag.lower()}")
        elif markup.is_within(each, _UNITS):
            tally.add("kept as text", f"{each.tag.lower()} of an annex")
        elif each.tag == "ANNEX":
            yield each, _annex(each)
        else:
            yield each, _article(each, headings(each.getparent()))


def _article(element: Element, headings: tuple[str, ...]) -> Unit:
    number = _LAYOUT.take(element, "TI.ART")
    title = _LAYOUT.take(element, "STI.ART")
    key = element.get("IDENTIFIER") or number
    return Unit(key, number or key or "Article", element.sourceline, title, headings)


def _annex(element: Element) -> Unit:
    label = title = ""
    block = element.find("TITLE")
    if block is not None:
        label, title = _LAYOUT.line(block.find("TI")), _LAYOUT.line(block.find("STI"))
        markup.remove(block)
    key = one_line(element.findtext("BIB.INSTANCE/NO.SEQ")) or label
    number = in_small_letters(label) or "Annex"
    return Unit(f"annex-{key}", number, element.sourceline, title)


def _heading(element: Element) -> str:
    title = element.find("TITLE") if element.tag == "DIVISION" else None
    if title is None:
        return ""
    label = in_small_letters(_LAYOUT.line(title.find("TI")))
    return heading(label, _LAYOUT.line(title.find("STI")))


def _print_signs(root: Element) -> None:
    """Put back the signs that the format has as elements or attributes."""
    for mark in root.iter("QUOT.START", "QUOT.END"):
        mark.text = _sign(mark.get("CODE", "0022"))
    for number in root.iter("FT"):
        if number.get("TYPE") == "NUMBER" and number.text:
            number.text = _WHOLE_PART.sub(_in_thousands, number.text, count=1)
    markup.raise_exponents(each for each in root.iter("HT") if each.get("TYPE") == "SUP")
    for items in root.iter("LIST"):
        if items.get("TYPE") == "DASH":
            for paragraph in items.iterfind("ITEM/P[1]"):
                paragraph.text = f"— {paragraph.text or ''}"


def _sign(code: str) -> str:
    """The character of a hexadecimal code; a plain quotation mark where there is none."""
    try:
        sign = chr(int(code, 16))
    except (ValueError, OverflowError):
        return '"'
    return sign if sign.isprintable() else '"'


def _in_thousands(digits: re.Match[str]) -> str:
    """The digits of a whole number in groups of three, from the right: "7 500 000"."""
    first = len(digits[0]) % 3
    groups = (digits[0][start : start + 3] for start in range(first, len(digits[0]), 3))
    return " ".join(filter(None, (digits[0][:first], *groups)))
