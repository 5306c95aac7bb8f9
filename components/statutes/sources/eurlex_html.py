"""Law of the European Union as a page of EUR-Lex: consolidated, or of the Official Journal.

Units are the blocks with the ids `art_25a` and `anx_I`: articles and annexes. Pages made before
there were such ids hold none and are not read. What a paragraph is stands in its class; the classes
of consolidated acts and of the Official Journal differ.

No article is dated. The day of a consolidated version stands in the ids:
"32014R0596/en@2024-12-04:art_4".

Left out and counted: recitals, citations, footnotes, signatures, images, marks of the amending act
(▼M1).
"""

from __future__ import annotations

import re
from pathlib import Path

from components.statutes.sources import markup
from components.statutes.sources.formex import name_of_act
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, eu_names
from components.statutes.sources.units import heading, in_small_letters

_LAYOUT = Layout.of_format("eurlex-html")
_PAGE = "https://eur-lex.europa.eu/legal-content"
_SHEETS = (b"presentation-style-sheet/clg", b"oj-convex.css", b"fmx2xhtml", b"CONVEX")
_UNIT_ID = re.compile(r"(?:art|anx)_\w+")
# What says which version it is: "02014R0596 — EN — 04.12.2024 — 004.001" on a consolidated act's
# page, "L_2014173EN.01000101.xml" in the title of an Official Journal's.
_VERSION = re.compile(r"0(\w+)\W+([A-Z]{2})\W+(\d\d)\.(\d\d)\.(\d{4})")
_ISSUE = re.compile(r"(\w+?([A-Z]{2})\.\d+)\.xml")
_COUNTED = {"footnote": "footnote", "oj-note": "footnote", "oj-signatory": "signature"}
_COUNTED |= {"modref": "mark of an amendment"}
_COUNTED_IDS = {"rct": "recital", "cit": "citation"}
_LABELS = {"no-parag", "grid-list-column-1"}
_NUMBERS = frozenset({"title-article-norm", "oj-ti-art", "title-annex-1", "oj-doc-ti"})
_TITLES = frozenset({"stitle-article-norm", "oj-sti-art", "title-annex-2"})
_REFERENCES = ("src.", "ntc")  # of footnotes
_DIVISION_ID = re.compile(r"(?:prt|tis|cpt|sct|sbs)_")
_LONG_WORD = re.compile(r"\b[^\W\d_]{4,}\b")
_LONGEST_LABEL = 8  # characters; Official Journals set lists as tables
# What is left of a footnote's number, and marks of the amending act within a line.
_MARKS = re.compile(r" ?\(\s*\)|►[A-Z]\d* ?| ?◄")


def _matches(head: bytes) -> bool:
    return markup.root_name(head) == "html" and any(sheet in head for sheet in _SHEETS)


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    law = _law_of(root, path)
    _tidy(root, tally)
    blocks = [each for each in root.iter("{*}div") if _UNIT_ID.fullmatch(each.get("id", ""))]
    articles = [each for each in blocks if not set(each.iterancestors()) & set(blocks)]
    headings = headings_from(_heading)
    units = [_unit(each, law, headings(each.getparent())) for each in articles]
    _LAYOUT.count(root, tally)
    texts = _LAYOUT.texts(root, articles)
    return law, zip(units, (_MARKS.sub("", text) for text in texts), strict=True)


FORMAT = markup.xml_format("eurlex-html", _matches, _units)


def _law_of(root: Element, path: Path) -> Law:
    """The act by its title; its key is that of the version."""
    titles = (each for each in root.iter("{*}div") if each.get("class") == "eli-main-title")
    title = next(titles, None)
    name = "" if title is None else name_of_act([_LAYOUT.line(each) for each in title])
    name = _LONG_WORD.sub(lambda word: word[0].capitalize() if word[0].isupper() else word[0], name)
    names = eu_names(name)
    shown = _LAYOUT.line(next(root.iter("{*}p"), None))
    if version := _VERSION.match(shown):
        celex, language, day, month, year = version.groups()
        key = f"3{celex}/{language.lower()}@{year}-{month}-{day}"
        page = f"0{celex}-{year}{month}{day}"
    else:
        issue = _ISSUE.match(_LAYOUT.line(next(root.iter("{*}title"), None)))
        key, language = issue.groups() if issue else (path.name.partition(".")[0], "")
        page = next((each for each in names if each.isalnum()), "")
    address = f"{_PAGE}/{language or 'EN'}/TXT/?uri=CELEX:{page}" if page else None
    return Law(key, name or key, language.lower() or None, address, names)


def _tidy(root: Element, tally: Tally) -> None:
    """Give the elements names that say what they are, and take out what is not the act's text."""
    label = f"{{{markup.namespace(root)}}}label"
    for each in list(root.iter("{*}*")):
        thing = _COUNTED_IDS.get(each.get("id", "").partition("_")[0])
        for kind in each.get("class", "").split():
            thing = _COUNTED.get(kind, thing)
            if kind in _LABELS:
                each.tag = label
        if thing:
            tally.add("left out", thing)
        is_reference = each.get("id", "").startswith(_REFERENCES)
        if (thing or is_reference) and each.getparent() is not None:
            markup.remove(each)
        elif markup.local_name(each) == "table":
            rows = [list(row) for row in each.iter("{*}tr")]
            if all(len(row) == 2 and len(_LAYOUT.line(row[0])) <= _LONGEST_LABEL for row in rows):
                each.tag = label.replace("label", "div")
                for term, words in rows:
                    printed = _LAYOUT.line(term)
                    term.getparent().tag = words.tag = each.tag
                    term.clear()
                    term.tag, term.text = label, printed
    superscripts = (each for each in root.iter("{*}span") if "super" in each.get("class", ""))
    markup.raise_exponents(superscripts)


def _unit(block: Element, law: Law, headings: tuple[str, ...]) -> Unit:
    number, title = (_taken(block, kinds) for kinds in (_NUMBERS, _TITLES))
    key = block.get("id")
    number = in_small_letters(number) or key
    address = law.address and f"{law.address}#{key}"
    return Unit(key, number, block.sourceline, title, headings, address=address)


def _taken(block: Element, kinds: frozenset[str]) -> str:
    """The first paragraph of a class, taken out of the text; "" where there is none."""
    for each in block.iter("{*}p"):
        if each.get("class") in kinds:
            line = _LAYOUT.line(each)
            markup.remove(each)
            return line
    return ""


def _heading(element: Element) -> str:
    """A division's number and title, paragraphs of a block of its own."""
    if not _DIVISION_ID.match(element.get("id", "")):
        return ""
    own = [*element.iterfind("{*}p"), *element.iterfind("{*}div/{*}p")]
    lines = {each.get("class", "")[-2:]: _LAYOUT.line(each) for each in reversed(own)}
    return heading(in_small_letters(lines.get("-1", "")), lines.get("-2", ""))
