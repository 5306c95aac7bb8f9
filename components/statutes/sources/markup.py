"""XML in which law is published: read safely, its text laid out.

A reader of a format goes five steps: `parse` the file; find the units (articles), their divisions
and quoted material with lxml; `take` each unit's number and heading out of the tree; lay out the
units' texts with one `Layout`; return law, units and texts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import TYPE_CHECKING, Any
from xml.sax.saxutils import quoteattr

from components.statutes.extras import needs_extra
from components.statutes.sources import reading

if TYPE_CHECKING:
    from lxml.etree import XSLT

Element = Any
"""An lxml element: its stubs would make every reader test each child for None."""


def xml_format(
    name: str,
    matches: Callable[[bytes], bool],
    units: Callable[[Element, Path, reading.Tally], reading.LawAndUnits],
    kind: str = "article",
) -> reading.PublishedFormat:
    """A format in XML, whose `units` takes the root of a file apart."""
    return reading.PublishedFormat(
        name, matches, lambda path, tally: units(parse(path), path, tally), kind
    )


def parse(path: Path) -> Element:
    """The root of an XML file.

    Entities are not expanded, DTDs and the network are not read. A file that declares entities of
    its own is refused: law is published without them, and they are how XML is made to grow in
    memory or to read other files.

    Raises:
        CorpusError: The file cannot be opened, or is not XML that is read.
    """
    with needs_extra("Law in XML", "files"):
        from lxml import etree

    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    content = reading.read_whole(path)
    if not content:
        raise reading.refused(path, "is empty", "Copy or download it again.")
    try:
        root = etree.fromstring(content, parser, base_url=str(path))
    except etree.XMLSyntaxError as error:
        line, column = error.position
        what = (error.msg or "no XML").split(", line ")[0].strip()
        message = f"is not well-formed XML at line {line}, column {column} ({what})"
        repair = "Download the file again; if it stays so, its publisher must fix it."
        raise reading.refused(path, message, repair, line=line) from error
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and next(subset.iterentities(), None) is not None:
        repair = "Take it from its publisher, or replace each entity by its text."
        raise reading.refused(path, "declares XML entities, which are not read", repair)
    # External DTDs are not read: their entities would vanish from text and attributes.
    undeclared = parser.error_log.filter_types(etree.ErrorTypes.WAR_UNDECLARED_ENTITY)
    if undeclared:
        name = undeclared[0].message.split("'")[1]  # "Entity 'nbsp' not defined"
        message = f"uses the XML entity &{name}; without declaring it"
        repair = "Replace each entity by its character."
        raise reading.refused(path, message, repair, line=undeclared[0].line)
    return root


def root_name(head: bytes) -> str:
    """The local name of the root element of XML that begins so; "" where it begins otherwise.

    >>> root_name(b'<?xml version="1.0"?><!-- Law --><akn:act xmlns:akn="urn:x">')
    'act'
    """
    # From mark to mark: one pattern with a repeated alternative would try every way to cut them.
    rest = head.removeprefix(reading.BOM).lstrip()
    while rest.startswith((b"<?", b"<!")):
        end = b"?>" if rest.startswith(b"<?") else b">"
        if rest.startswith(b"<!--"):
            end = b"-->"
        elif rest[:9].upper() == b"<!DOCTYPE" and b"[" in rest.partition(b">")[0]:
            rest, end = rest.partition(b"]")[2], b">"
        rest = rest.partition(end)[2].lstrip()
    found = re.match(rb"<(?:[\w.-]+:)?([\w.-]+)[\s/>]", rest)
    return found[1].decode() if found else ""


# Elements.


def local_name(element: Element) -> str:
    """An element's name without its namespace; "" for an entity reference."""
    return _local(element.tag)


@lru_cache(maxsize=1024)
def _local(tag: Any) -> str:
    return tag.rpartition("}")[2] if isinstance(tag, str) else ""


def namespace(root: Element) -> str:
    """The namespace of an element, "" where it has none."""
    return str(root.tag).rpartition("}")[0].removeprefix("{")


def named(root: Element, names: Iterable[str]) -> list[str]:
    """Local names as tags of the root's namespace, for `iter` and `find`."""
    space = namespace(root)
    return [f"{{{space}}}{name}" if space else name for name in names]


def child(element: Element, name: str) -> Element | None:
    """The first child with a local name."""
    # Faster than lxml's own search, which compiles the name again for each element.
    for each in element:
        if local_name(each) == name:
            return each
    return None


def is_within(element: Element, tags: Iterable[str]) -> bool:
    """Whether an element stands inside one of these tags (full names, as `named` gives them)."""
    return next(element.iterancestors(*tags), None) is not None


def outermost(root: Element, *names: str, apart: Sequence[str] = ()) -> list[Element]:
    """Elements of some local names that stand in none of these, nor in one of `apart`."""
    tags = frozenset(named(root, names))
    around = tags | frozenset(named(root, apart))
    return [each for each in root.iter(*tags) if not is_within(each, around)]


def headings_from(
    name: Callable[[Element], str], top: Element | None = None
) -> Callable[[Element | None], tuple[str, ...]]:
    """A function that gives the headings of a division and of those above it, from the top.

    Args:
        name: Gives an element's heading, "" for one that is not a division.
        top: Where the divisions end; None for the root.
    """

    @cache
    def headings(division: Element | None) -> tuple[str, ...]:
        if division is None or division is top:
            return ()
        own = name(division)
        above = headings(division.getparent())
        return (*above, own) if own else above

    return headings


# Text.

# Unicode noncharacters, which no published text holds: they mark the places that decide about
# lines until white space has been collapsed.
_UNIT, _UNIT_END, _BREAK, _JOIN, _CELL = "\ufdd0", "\ufdd1", "\ufdd2", "\ufdd3", "\ufdd4"

_NO_MARKS = dict.fromkeys(map(ord, (_UNIT, _UNIT_END)))

LINE_BREAK = _BREAK
"""Written into an element's text by a reader whose format separates lines by white space alone."""

# White space other than the blank that is found in published texts.
_SPACES = "\t\n\r\u00a0\u2002\u2003\u2009\u202f\u3000"

_XHTML = "http://www.w3.org/1999/xhtml"
LANG = "{http://www.w3.org/XML/1998/namespace}lang"
_XSLT = "http://www.w3.org/1999/XSL/Transform"


_LAYOUTS = Path(__file__).with_name("layouts.tsv")


@dataclass(frozen=True)
class Layout:
    """How the elements of a format become lines of text; all by local name.

    The whole tree goes through one XSLT sheet made of these names, because walking it in Python
    costs more than parsing it.

    Attributes:
        paragraphs: Begin and end a line.
        labels: Begin a line, which the next paragraph continues: "(1)" and its words.
        rows: Of tables, a line each.
        cells: Of rows, with " | " between them.
        spaced: Stay in their line, with a space on either side.
        left_out: Neither they nor their content are text.
        counted: Elements that are counted, each with what is done with it and what it is called.
    """

    paragraphs: tuple[str, ...]
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    spaced: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()
    counted: tuple[tuple[str, str, str], ...] = ()

    @classmethod
    def of_format(cls, name: str) -> Layout:
        """The layout of a format in `layouts.tsv`."""
        lines = _LAYOUTS.read_text("utf-8").splitlines()
        rows = [line.split("\t") for line in lines if line.startswith(f"{name}\t")]
        roles = {role: tuple(elements.split()) for _, role, elements, thing in rows if not thing}
        roles["left_out"] = roles.pop("not text", ())
        counted = ((element, action, thing) for _, action, element, thing in rows if thing)
        return cls(**roles, counted=tuple(counted))

    def count(self, root: Element, tally: reading.Tally) -> None:
        """Count the elements of a tree that are counted, in one pass."""
        names = (name for name, *_ in self.counted)
        tags = dict(zip(named(root, names), self.counted, strict=True))
        found = Counter(element.tag for element in root.iter(*tags))
        for tag, (_, action, thing) in tags.items():
            tally.add(action, thing, found[tag])

    def texts(self, root: Element, units: Sequence[Element]) -> list[str]:
        """The texts of units, in the order given; paragraphs are separated by line ends.

        Args:
            root: The tree; its units are marked in it, so it is good for no second call.
            units: Elements of the tree in document order, none inside another.
        """
        sheet = _sheet(self, namespace(root))
        _mark(units)
        everything = str(sheet(root))
        if not everything.count(_UNIT) == everything.count(_UNIT_END) == len(units):
            # The text itself holds these characters, against Unicode's rule.
            for element in root.iter():
                element.text = element.text and element.text.translate(_NO_MARKS)
                element.tail = element.tail and element.tail.translate(_NO_MARKS)
            _mark(units)
            everything = str(sheet(root))
        for space in _SPACES:
            everything = everything.replace(space, " ")
        texts = everything.split(_UNIT)[1:]
        # A damaged file: of the outer one the words behind the inner would be lost.
        if len(texts) != len(units) or not all(_UNIT_END in text for text in texts):
            message = "holds an article within another, or within what is not text"
            raise reading.refused(root.base or "the file", message, "Download it again.")
        return [laid_out(text.partition(_UNIT_END)[0]) for text in texts]

    def line(self, element: Element | None) -> str:
        """A number or heading in one line, without what the layout leaves out."""
        if element is None:
            return ""
        if not len(element):
            return reading.one_line(element.text)
        return reading.one_line("".join(self._pieces(element)))

    def take(self, element: Element, name: str) -> str:
        """The line of an element's first child of a name, which is removed from the tree."""
        found = child(element, name)
        if found is None:
            return ""
        line = self.line(found)
        remove(found)
        return line

    def _pieces(self, element: Element) -> Iterator[str]:
        yield element.text or ""
        for each in element:
            name = local_name(each)
            apart = " " if name in self.paragraphs or name in self.spaced else ""
            if name and name not in self.left_out:
                yield apart
                yield from self._pieces(each)
                yield apart
            yield each.tail or ""


def _mark(units: Sequence[Element]) -> None:
    for unit in units:
        unit.text = _UNIT + (unit.text or "")
        unit.tail = _UNIT_END + (unit.tail or "")


def laid_out(marked: str) -> str:
    """The lines of a text in which `Layout` marked where they begin."""
    lines: list[str] = []
    label = ""
    # Splitting at every mark is several times faster than patterns over the whole text, and most
    # lines need no white space collapsed.
    for part in marked.split(_BREAK):
        if not part or not (line := part.strip()):
            continue
        if "  " in line:
            line = reading.one_line(line)
        if _JOIN in line:
            ends = line.endswith(_JOIN)
            line = reading.one_line(line.replace(_JOIN, " "))
            if ends:
                label += f"{line} " if line else ""
                continue
        lines.append(label + line if label else line)
        label = ""
    if label:
        lines.append(label.rstrip())
    return "\n".join(lines).replace(_CELL, "|")


def remove(element: Element) -> None:
    """Take an element out of the tree and leave the text that follows it."""
    parent = element.getparent()
    if element.tail:
        before = element.getprevious()
        if before is None:
            parent.text = (parent.text or "") + element.tail
        else:
            before.tail = (before.tail or "") + element.tail
    parent.remove(element)


def append(element: Element, sign: str) -> None:
    """Print a sign right behind the last word of an element."""
    if len(element):
        element[-1].tail = f"{(element[-1].tail or '').rstrip()}{sign}"
    else:
        element.text = f"{(element.text or '').rstrip()}{sign}"


_EXPONENT = re.compile(r"\s*[+−-]?\d{1,9}\s*")


def raise_exponents(superscripts: Iterable[Element]) -> None:
    """Write superscript digits that follow a digit as such: "10<sup>6</sup>" is 10⁶, not 106."""
    for each in superscripts:
        if len(each) or not _EXPONENT.fullmatch(each.text or ""):
            continue
        sibling = each.getprevious()
        if sibling is None:
            before = each.getparent().text
        else:
            before = sibling.tail or (sibling[-1].tail if len(sibling) else sibling.text)
        if before and before[-1].isdecimal():
            each.text = each.text.strip().translate(reading.RAISED_DIGITS)


@lru_cache(maxsize=32)
def _sheet(layout: Layout, space: str) -> XSLT:
    """The XSLT sheet of a layout, for elements of a namespace, of XHTML or of none.

    Patterns by local name would be tried one after the other; full names are looked up.
    """
    from lxml import etree

    def template(names: Iterable[str], content: str, mode: str = "") -> str:
        patterns = [f"{prefix}{name}" for name in names for prefix in prefixes]
        if not patterns:
            return ""
        chosen = f' mode="{mode}"' if mode else ""
        return f'<xsl:template match="{"|".join(patterns)}"{chosen}>{content}</xsl:template>'

    spaces = {"l": space, "h": _XHTML} if space else {"h": _XHTML}
    prefixes = ["", *(f"{prefix}:" for prefix in spaces)]
    declared = " ".join(f"xmlns:{prefix}={quoteattr(uri)}" for prefix, uri in spaces.items())
    inside, in_cell = "<xsl:apply-templates/>", '<xsl:apply-templates mode="cell"/>'
    before = f'<xsl:if test="preceding-sibling::*[1]">&#32;{_CELL}&#32;</xsl:if>'
    blank = "<xsl:text> </xsl:text>"
    whole_lines = (*layout.paragraphs, *layout.rows)
    in_one_line = (*layout.paragraphs, *layout.labels, *layout.rows, *layout.cells, *layout.spaced)
    sheet = [
        f'<xsl:stylesheet version="1.0" xmlns:xsl="{_XSLT}" {declared}>'
        '<xsl:output method="text" encoding="UTF-8"/>',
        template(whole_lines, _BREAK + inside + _BREAK),
        template(layout.labels, _BREAK + inside + _JOIN),
        template(layout.cells, before + in_cell),
        template(layout.spaced, blank + inside + blank),
        template(layout.left_out, ""),
        template(in_one_line, blank + in_cell + blank, "cell"),
        template(layout.left_out, "", "cell"),
        "</xsl:stylesheet>",
    ]
    return etree.XSLT(etree.fromstring("".join(sheet).encode()))
