"""XML in which law is published: read safely, its text laid out, what is left out counted.

Every format in which law is published is one module of this package, with three names:

    NAME: str                                   what --format calls it
    matches(head: bytes, path: Path) -> bool    by content: `head` is the first 4 KB, unpacked
    read(path: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]    ONE file

`read` yields the articles in the file's order, each with the line at which it starts. It never
raises for what a file holds: a fault of the whole file goes to `problems` and ends the reading;
what was left out, kept as text or repaired goes there once, as the notices of a `Tally`. An act
without articles yields nothing: `opening.py` reports it.

An XML reader goes five steps: `parse` the file; find the units (articles), their divisions and
quoted material with lxml; `take` each unit's number and heading out of the tree; lay out the
units' texts with one `Layout`; hand law, units and texts to `articles_of`.

The ids of articles are `ArticleIds`: law, article, and the first day in force where the format
says it, so that two wordings of one article never have the same id.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple
from xml.sax.saxutils import quoteattr

from lxml import etree

from components.statutes.article import Article
from components.statutes.sources.records import (
    GZIP_ERRORS,
    Place,
    Problem,
    cut_short,
    open_unpacked,
)

LARGEST = 200 * 10**6
"""Bytes that one file of law may hold when unpacked: a parsed tree takes several times as much."""

# How formats write a day that is not known or never comes.
_ABSENT_DATES = frozenset({date(1001, 1, 1), date(2999, 1, 1), date(9999, 12, 31)})

_FIRST_YEAR = 1000

Element = Any
"""An lxml element: its stubs would make every reader test each child for None."""


# Files, whole.


def read_whole(path: Path, problems: list[Problem]) -> bytes | None:
    """A file's content, unpacked; None after reporting why it cannot be had.

    Raises:
        CorpusError: The file cannot be opened.
    """
    with open_unpacked(path) as stream:
        try:
            content = stream.read(LARGEST + 1)
        except GZIP_ERRORS as error:
            problems.append(cut_short(Place(str(path), 1), error))
            return None
    if len(content) <= LARGEST:
        return content
    message = f"holds more than {LARGEST // 10**6:,} MB"
    problems.append(Problem(str(path), None, None, message, "Split it into files of one law each."))
    return None


def parse(path: Path, problems: list[Problem]) -> Element | None:
    """The root of an XML file; None after reporting why it cannot be read.

    Entities are not expanded, DTDs and the network are not read. A file that declares entities of
    its own is refused: law is published without them, and they are how XML is made to grow in
    memory or to read other files.

    Raises:
        CorpusError: The file cannot be opened.
    """
    parser = etree.XMLParser(
        resolve_entities=False,
        no_network=True,
        load_dtd=False,
        dtd_validation=False,
        huge_tree=False,
        remove_comments=True,
        remove_pis=True,
    )
    content = read_whole(path, problems)
    if content is None:
        return None
    if not content:
        problems.append(Problem(str(path), None, None, "is empty", "Copy or download it again."))
        return None
    try:
        root = etree.fromstring(content, parser)
    except etree.XMLSyntaxError as error:
        line, column = error.position
        what = (error.msg or "no XML").split(", line ")[0].strip()
        message = f"is not well-formed XML at line {line}, column {column} ({what})"
        repair = "Download the file again; if it stays so, its publisher must fix it."
        problems.append(Problem(str(path), line, None, message, repair))
        return None
    subset = root.getroottree().docinfo.internalDTD
    if subset is not None and next(subset.iterentities(), None) is not None:
        message = "declares XML entities, which are not read"
        repair = "Take it from its publisher, or replace each entity by its text."
        problems.append(Problem(str(path), None, None, message, repair))
        return None
    # External DTDs are not read: their entities would vanish from text and attributes.
    undeclared = parser.error_log.filter_types(etree.ErrorTypes.WAR_UNDECLARED_ENTITY)
    if undeclared:
        name = undeclared[0].message.split("'")[1]  # "Entity 'nbsp' not defined"
        message = f"uses the XML entity &{name}; without declaring it"
        repair = "Replace each entity by its character."
        problems.append(Problem(str(path), undeclared[0].line, None, message, repair))
        return None
    return root


_BOM = b"\xef\xbb\xbf"


def root_name(head: bytes) -> str:
    """The local name of the root element of XML that begins so; "" where it begins otherwise.

    >>> root_name(b'<?xml version="1.0"?><!-- Law --><akn:act xmlns:akn="urn:x">')
    'act'
    """
    # From mark to mark: one pattern with a repeated alternative would try every way to cut them.
    rest = head.removeprefix(_BOM).lstrip()
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
    return str(etree.QName(root).namespace or "")


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


def is_within(element: Element, tags: frozenset[str]) -> bool:
    """Whether an element stands inside one of these tags (full names, as `named` gives them)."""
    return next(element.iterancestors(*tags), None) is not None


def one_line(text: str | None) -> str:
    """A text with every run of white space as one space."""
    return " ".join((text or "").split())


def day(text: str | None) -> date | None:
    """The day of an ISO date, with or without a time or zone; None for one that means "never".

    >>> day("2018-05-25+01:00"), day("2999-01-01"), day("")
    (datetime.date(2018, 5, 25), None, None)
    """
    if not text:
        return None
    try:
        found = date.fromisoformat(text.strip()[:10])
    except ValueError:
        return None
    # No law in force has a day of the first centuries: it stands for one that is missing.
    return None if found in _ABSENT_DATES or found.year < _FIRST_YEAR else found


def headings_above(
    division: Element | None, name: Callable[[Element], str], known: dict[Element, tuple[str, ...]]
) -> tuple[str, ...]:
    """The headings of a division and of those above it, from the top.

    Args:
        division: The parent of an article, as a rule.
        name: Gives an element's heading, "" for one that is not a division.
        known: Filled with what has been found; share it between the articles of a file.
    """
    if division is None:
        return ()
    if division not in known:
        own = name(division)
        above = headings_above(division.getparent(), name, known)
        known[division] = (*above, own) if own else above
    return known[division]


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
_XSLT = "http://www.w3.org/1999/XSL/Transform"


@dataclass(frozen=True)
class Layout:
    """How the elements of a format become lines of text; all by local name.

    ```python
    LAYOUT = Layout(
        paragraphs=("p", "blockList"), labels=("num",), rows=("tr",), cells=("td", "th"),
        left_out=("authorialNote",),
    )
    number, heading = LAYOUT.take(article, "num"), LAYOUT.take(article, "heading")
    texts = LAYOUT.texts(root, articles)
    ```

    The whole tree goes through one XSLT sheet made of these names, because walking it in Python
    costs more than parsing it.

    Attributes:
        paragraphs: Begin and end a line.
        labels: Begin a line, which the next paragraph continues: "(1)" and its words.
        rows: Of tables, a line each.
        cells: Of rows, with " | " between them.
        spaced: Stay in their line, with a space on either side.
        left_out: Neither they nor their content are text.
    """

    paragraphs: tuple[str, ...]
    labels: tuple[str, ...] = ()
    rows: tuple[str, ...] = ()
    cells: tuple[str, ...] = ()
    spaced: tuple[str, ...] = ()
    left_out: tuple[str, ...] = ()

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
        return [laid_out(text.partition(_UNIT_END)[0]) for text in everything.split(_UNIT)[1:]]

    def line(self, element: Element | None) -> str:
        """A number or heading in one line, without what the layout leaves out."""
        if element is None:
            return ""
        if not len(element):
            return one_line(element.text)
        if len(element) == 1 and not len(only := element[0]):  # as fast for "<b>Art. 1</b>"
            name = local_name(only)
            if name and name not in (*self.left_out, *self.paragraphs, *self.spaced):
                return one_line(f"{element.text or ''}{only.text or ''}{only.tail or ''}")
        return one_line("".join(self._pieces(element)))

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
            line = one_line(line)
        if _JOIN in line:
            ends = line.endswith(_JOIN)
            line = one_line(line.replace(_JOIN, " "))
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


RAISED_DIGITS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
"""Superscripts of digits and signs, for `str.translate`."""

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
            each.text = each.text.strip().translate(RAISED_DIGITS)


@lru_cache(maxsize=32)
def _sheet(layout: Layout, space: str) -> etree.XSLT:
    """The XSLT sheet of a layout, for elements of a namespace, of XHTML or of none.

    Patterns by local name would be tried one after the other; full names are looked up.
    """

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
    sheet = [
        f'<xsl:stylesheet version="1.0" xmlns:xsl="{_XSLT}" {declared}>'
        '<xsl:output method="text" encoding="UTF-8"/>',
        template(layout.paragraphs, _BREAK + inside + _BREAK),
        template(layout.labels, _BREAK + inside + _JOIN),
        template(layout.rows, _BREAK + inside + _BREAK),
        template(layout.cells, before + in_cell),
        template(layout.spaced, blank + inside + blank),
        template(layout.left_out, ""),
        template((*layout.paragraphs, *layout.labels), blank + in_cell + blank, "cell"),
        template((*layout.rows, *layout.cells), blank + in_cell + blank, "cell"),
        template(layout.spaced, blank + in_cell + blank, "cell"),
        template(layout.left_out, "", "cell"),
        "</xsl:stylesheet>",
    ]
    return etree.XSLT(etree.fromstring("".join(sheet).encode()))


# Ids.


class ArticleIds:
    """Ids of the articles of one file: unique in it, and the same on every reading.

    >>> ids = ArticleIds("ukpga/2018/12")
    >>> ids.of("section-1"), ids.of("section-2", date(2018, 5, 25)), ids.of("section-1")
    ('ukpga/2018/12:section-1', 'ukpga/2018/12:section-2@2018-05-25', 'ukpga/2018/12:section-1~2')
    """

    def __init__(self, law: str) -> None:
        self._law = one_line(law)
        self._given: Counter[str] = Counter()

    def of(self, article: str, valid_from: date | None = None) -> str:
        """The id of an article by its own key: the format's, or else its number.

        Args:
            article: Unique in the law, as a rule; a repeat gets "~2", "~3" ...
            valid_from: First day of this wording in force, where the format says it.
        """
        found = f"{self._law}:{one_line(article)}"
        if valid_from is not None:
            found += f"@{valid_from}"
        self._given[found] += 1
        again = self._given[found]
        return found if again == 1 else f"{found}~{again}"


# Articles.


_LONGEST_NAME = 200  # characters; what is longer tells what an act does


class Law(NamedTuple):
    """What a file says about its law.

    Attributes:
        key: What the ids of its articles begin with.
        name: What a citation calls it.
        language: BCP 47 tag, where known.
        address: The official text, for articles without a page of their own.
        other_names: Its short title and abbreviation, where the file gives them.
        id: What tells it apart from other laws, where that is not its key.
    """

    key: str
    name: str
    language: str | None = None
    address: str | None = None
    other_names: tuple[str, ...] = ()
    id: str | None = None


# What marks the key of one version of a law, which is not another law.
_VERSION = re.compile(r"@.*|/(?:enacted|made|created|adopted)(?=[/@]|$)")


class Unit(NamedTuple):
    """A part of a law that becomes an article if it has words.

    Attributes:
        key: As for `ArticleIds.of`.
        number: As printed.
        line: Where it starts in the file.
        title: Its own, which begins its text; may be empty.
        headings: The divisions above it, from the top.
        since: The first day of this wording, which stands in the id.
        valid_from: First day in force.
        valid_to: Last day in force.
        address: Its page.
        printed: Its text where it has neither a title nor words.
    """

    key: str
    number: str
    line: int | None
    title: str = ""
    headings: tuple[str, ...] = ()
    since: date | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    address: str | None = None
    printed: str = ""


_EU_ACT = re.compile(
    r"(?P<kind>\w+) (?:\([A-Z, ]{2,20}\) )?(?P<no>[Nn][o°ºr]\.? )?"
    r"(?P<a>\d+)/(?P<b>\d+)(?:/[A-Z]+)?\b"
)
_EU_KINDS = {
    "R": re.compile(r"r[eè]g|verord|f[oö]rord|rozporz", re.IGNORECASE),
    "L": re.compile(r"dire|richtli|dyrekt", re.IGNORECASE),
    "D": re.compile(r"d[eé]ci|beschlu|entscheid|beslu|decyz", re.IGNORECASE),
}
_EU_SHORT_TITLE = re.compile(r"\(([^()]+)\)\s*(?:\(Text with[^()]*\))?$")


def eu_names(title: str) -> tuple[str, ...]:
    """The names of an act of the European Union: kind and number, CELEX, short title.

    >>> eu_names("Commission Regulation (EC) No 73/2009 of 19 January 2009 (Boats Regulation)")
    ('Regulation (EC) No 73/2009', '32009R0073', 'Boats Regulation')
    """
    act = _EU_ACT.search(title)
    kind = act and next((key for key, words in _EU_KINDS.items() if words.match(act["kind"])), None)
    if act is None or kind is None:
        return ()
    # "No 73/2009" ends with the year, "2016/679" and "95/46/EC" begin with it.
    year, number = (act["b"], act["a"]) if act["no"] else (act["a"], act["b"])
    names = [act[0], f"3{year if len(year) == 4 else '19' + year}{kind}{number.zfill(4)}"]
    short = _EU_SHORT_TITLE.search(title)
    if short is not None and not short[1].startswith("Text with"):
        names.append(short[1])
    return tuple(names)


def articles_of(
    path: Path,
    law: Law,
    units: Iterable[tuple[Unit, str]],
    tally: Tally,
    problems: list[Problem],
    kind: str,
) -> Iterator[tuple[Place, Article]]:
    """Yield the articles of one law; then put what the tally counted into `problems`.

    Args:
        path: The file.
        law: Its law.
        units: Each with the words below its number and title.
        tally: Also counts the units without words, which are left out.
        problems: Gets the tally's notices.
        kind: What the format calls a unit.
    """
    ids = ArticleIds(law.key)
    short = (name for name in law.other_names if len(name) <= _LONGEST_NAME)
    names = tuple(name for name in dict.fromkeys(short) if name and name != law.name)
    for unit, words in units:
        text = "\n".join(filter(None, (unit.title, words))) or unit.printed
        if not text:
            tally.add("left out", f"{kind} without words")
            continue
        article = Article(
            id=ids.of(unit.key, unit.since),
            law=law.name,
            number=unit.number,
            headings=unit.headings,
            text=text,
            language=law.language,
            valid_from=unit.valid_from,
            valid_to=unit.valid_to,
            source_url=unit.address or law.address,
            law_id=_VERSION.sub("", law.id or law.key) or None,
            law_names=names,
        )
        yield Place(str(path), unit.line or 1), article
    problems.extend(tally.notices(str(path)))


# What is not in the articles as it was in the file.

_MOST_THINGS = 12  # in a notice
_PLURALS = {"annex": "annexes", "index": "indexes"}


@dataclass(frozen=True, slots=True)
class TallyNotice(Problem):
    """One notice of a `Tally`; those of many files add up to one.

    Attributes:
        action: What was done with it: "left out", "kept as text", "repaired" ...
        counts: How many of each thing.
    """

    action: str = ""
    counts: Mapping[str, int] | None = None


class Tally:
    """Counts what a reader left out or changed, by action and thing.

    ```python
    tally = Tally()
    tally.add("left out", "footnote", 12)
    tally.add("kept as text", "quoted article")
    problems.extend(tally.notices(str(path)))
    ```

    Actions in use: "left out" (footnote, annex, signature, recital, table of contents, note),
    "kept as text" (table, quoted article), "repaired" and "unknown" (division).
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}

    def add(self, action: str, thing: str, count: int = 1) -> None:
        """Count things (in the singular) with which the same was done."""
        if count:
            self._counts.setdefault(action, Counter())[thing] += count

    def count(self, root: Element, counted: Sequence[tuple[str, str, str]]) -> None:
        """Count elements by local name, in one pass: each is a name, an action and a thing."""
        tags = dict(zip(named(root, (name for name, *_ in counted)), counted, strict=True))
        found = Counter(element.tag for element in root.iter(*tags))
        for tag, (_, action, thing) in tags.items():
            self.add(action, thing, found[tag])

    def add_notice(self, notice: TallyNotice) -> None:
        """Count what another file's notice says."""
        for thing, count in (notice.counts or {}).items():
            self.add(notice.action, thing, count)

    def notices(self, file: str) -> list[Problem]:
        """One notice per action; none of them is a fault."""
        found: list[Problem] = []
        for action, counts in self._counts.items():
            things = [_things(thing, count) for thing, count in counts.items()]
            if len(things) > _MOST_THINGS:
                others = sum(list(counts.values())[_MOST_THINGS:])
                things[_MOST_THINGS:] = [f"{others:,} more"]
            message = f"{action}: {', '.join(things)}"
            found.append(
                TallyNotice(
                    file,
                    None,
                    None,
                    message,
                    _REPAIRS.get(action, "Nothing to fix."),
                    left_out=0,
                    notice=True,
                    action=action,
                    counts=dict(counts),
                )
            )
        return found


def _things(thing: str, count: int) -> str:
    if count == 1:
        return f"1 {thing}"
    noun, *rest = re.split(r"(?= (?:of|without|inside|outside|under|before) )", thing, maxsplit=1)
    plural = noun.removesuffix("y") + "ies" if noun.endswith("ry") else noun + "s"
    return f"{count:,} {_PLURALS.get(noun, plural)}{''.join(rest)}"


_REPAIRS = {
    "left out": "They are not part of the articles.",
    "kept as text": "They stand in the articles' text.",
    "repaired": "Check a few of them against the official text.",
    "unknown": "Their articles stand under the nearest division that is known.",
}
