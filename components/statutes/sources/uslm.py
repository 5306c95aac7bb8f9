"""Law of the United States in USLM: the Code, public laws, compilations of statutes, the CFR.

Units are `section`s, by the number printed: "§ 112a", "Sec. 101". The two namespaces (of the House
and of the GPO) are read alike. A section inside `quotedContent` is text of the section that quotes
it; one inside a note is another act's and goes with the note.

What becomes of the rest:

- A heading runs into the words that follow it, as in print: "(a) In general.—The Secretary ...".
- Repealed and reserved sections keep what is printed of them: "[Reserved]". No date is named.
- Notes that are part of a regulation ("Note to paragraph (a)") are text.
- Left out and counted: source credits, statutory and editorial notes, statements of authority,
  side notes, footnotes, tables of contents, indexes, images.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, one_line
from components.statutes.sources.units import heading, in_small_letters

_LAYOUT = Layout.of_format("uslm")
_NAMESPACES = (b"http://xml.house.gov/schemas/uslm/1.0", b"http://schemas.gpo.gov/xml/uslm")
# Tables of compilations keep the namespace of the format that they were converted from.
_TABLES = "http://schemas.gpo.gov/xml/comps-dtd"

_DIVISIONS = frozenset(
    {"title", "subtitle", "division", "subdivision", "chapter", "subchapter", "part", "subpart"}
    | {"level"}
)
_QUOTES = ("quotedContent", "quotedText")
_OTHERS = ("note", "notes", "toc")
_ROOTS = frozenset(
    {"lawDoc", "bill", "resolution", "amendment", "uscDoc", "pLaw", "statutesAtLarge"}
    | {"statuteCompilation", "cfrDoc", "presidentialDoc", "document"}
)
_END_OF_LABEL = re.compile(r"[\s.—–-]+$")


def _matches(head: bytes) -> bool:
    return markup.root_name(head) in _ROOTS and any(each in head for each in _NAMESPACES)


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    law = _law_of(root)
    sections = list(_sections(root, tally))
    _tidy(root, tally)
    key, headings = law.key or path.name.partition(".")[0], headings_from(_heading)
    units = [_unit(section, headings(section.getparent()), key) for section in sections]
    name, language = law.name or path.stem, root.get(markup.LANG)
    law = law._replace(key="us", name=name, language=language)
    return law, zip(units, _LAYOUT.texts(root, sections), strict=True)


FORMAT = markup.xml_format("uslm", _matches, _units, "section")


def _law_of(root: Element) -> Law:
    """The law as the metadata name it: "Title 1, United States Code", or an act's short title.

    Its key is the citation, "Public Law 118-1"; it may be empty.
    """
    meta = markup.child(root, "meta")
    fields: dict[str, str] = {}
    for each in () if meta is None else meta:
        name = markup.local_name(each)
        name = each.get("role") if name == "property" else name
        fields.setdefault(name or "", one_line(each.text))
    number, kind = fields.get("docNumber", ""), markup.local_name(root)
    names: list[str]
    if kind == "uscDoc":
        names = [f"{number} U.S.C.", f"{number} USC", f"U.S.C. title {number}"]
        key, name, id_ = "", f"Title {number}, United States Code", f"us/usc/t{number}"
    elif kind == "cfrDoc":
        names = [f"{number} CFR", f"{number} C.F.R."]
        key, name, id_ = "", f"Title {number}, Code of Federal Regulations", f"us/cfr/t{number}"
    elif kind == "statuteCompilation":
        name, short = fields.get("title", ""), fields.get("containsShortTitle", "")
        if name.isupper():
            name = fields.get("containsShortTitle", name)
        key = fields.get("citableAs", "")
        names, id_ = [short, *_public_law(key)], f"us/{key or name}"
    else:
        short_title = (e for e in root.iter("{*}shortTitle") if e.get("role") == "act")
        short = _LAYOUT.line(next(short_title, None))
        key, cited = fields.get("citableAs", ""), fields.get("citableAs", fields.get("title", ""))
        name = f"{short} ({cited})" if short else cited
        names, id_ = [short, *_public_law(cited)], f"us/{cited}"
    file = fields.get("fileId") if kind == "statuteCompilation" else None
    address = file and f"https://www.govinfo.gov/app/details/COMPS-{file}"
    return Law(key, name, address=address, other_names=tuple(names), id=id_)


def _public_law(cited: str) -> tuple[str, ...]:
    """The names of a public law: "Public Law 91-596", "Pub. L. 91-596"."""
    name = cited.removesuffix(", as amended").replace("–", "-")
    return (name, name.replace("Public Law", "Pub. L."))


def _address(key: str) -> str | None:
    """The official page of a section, or of its law."""
    match key.strip("/").split("/"):
        case ["us", "usc", title, section, *_] if section.startswith("s"):
            granule = f"USC-prelim-title{title[1:]}-section{section[1:]}"
            return f"https://uscode.house.gov/view.xhtml?req=granuleid:{granule}"
        case ["us", "cfr", title, section, *_] if section.startswith("s"):
            return f"https://www.ecfr.gov/current/title-{title[1:]}/section-{section[1:]}"
        case ["us", "pl", congress, number, *_]:
            return f"https://www.govinfo.gov/link/plaw/{congress}/public/{number}"
    return None


def _sections(root: Element, tally: Tally) -> Iterator[Element]:
    """The law's own sections; those that it quotes are counted."""
    quotes, others, units = (
        frozenset(markup.named(root, each)) for each in (_QUOTES, _OTHERS, ("section",))
    )
    for section in root.iter(*units):
        if markup.is_within(section, others):
            continue
        if markup.is_within(section, quotes):
            tally.add("kept as text", "quoted section")
        elif not markup.is_within(section, units):
            yield section


def _tidy(root: Element, tally: Tally) -> None:
    """Count what the layout leaves out, and take out what it cannot tell by its name."""
    for note in list(root.iter(*markup.named(root, ("note",)))):
        # Without a topic it is a note that the regulation itself prints.
        if note.get("topic"):
            tally.add("left out", "note")
            if markup.local_name(note.getparent()) != "notes":
                markup.remove(note)
    for mark in list(root.iter(*markup.named(root, ("ref",)))):
        if mark.get("class") == "footnoteRef":
            markup.remove(mark)
    _LAYOUT.count(root, tally)
    markup.raise_exponents(root.iter(*markup.named(root, ("sup",))))
    space = markup.namespace(root)
    for each in root.iter(f"{{{_TABLES}}}*"):
        each.tag = f"{{{space}}}{markup.local_name(each)}"


def _unit(section: Element, headings: tuple[str, ...], law: str) -> Unit:
    # "[§ 304. Repealed ...]" is in brackets as a whole, "Sec. (2)" is called section 2.
    number = _END_OF_LABEL.sub("", _LAYOUT.take(section, "num")).lstrip("[")
    number = re.sub(r"\((\w+)\)$", r"\1", number)
    if number.isupper() and number[:1].isalpha():
        number = number.capitalize()
    title = _LAYOUT.take(section, "heading")
    key = section.get("identifier") or f"{law}/{section.get('id') or number}"
    return Unit(
        key.removeprefix("/us/"),
        number or "Section",
        section.sourceline,
        title,
        headings,
        address=_address(key),
    )


def _heading(element: Element) -> str:
    if markup.local_name(element) not in _DIVISIONS:
        return ""
    label = _END_OF_LABEL.sub("", _LAYOUT.line(markup.child(element, "num")))
    return heading(in_small_letters(label), _LAYOUT.line(markup.child(element, "heading")))
