"""Akoma Ntoso / LegalDocML: Italy, Switzerland, Finland, Luxembourg, the UK, Germany and others.

The unit is the `article`, and the `section` in an act whose sections hold no articles. The
divisions above it are the elements that it stands in; where a publisher makes them all siblings of
one kind (Normattiva: Titolo, Capo and Sezione are `chapter`s), the path is rebuilt from their
words.

Articles of a code that an act approves are attachments in Italy, and are read; so is the Swiss
final title, whose numbers start again ("8 SchlT").

Left out, and counted: footnotes, annexes and other attachments, signatures, recitals, tables of
contents, and passages of the body that stand in no unit. Rows of tables become lines of text;
articles quoted in an amendment, and articles inside another, stay text. An article without words
has the footnote of its number for its text, which says that it is repealed, or else its title or
number.

Dates in force are those of an article's own `period`, `start` and `end`; a wording that ended
before or when it began is left out and counted. The day of the whole version, which Switzerland
and Italy give, says of no article since when it reads so: it stands in the ids only, as
"law/language@day:article", so that two versions can stand in one folder.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import date, timedelta
from itertools import takewhile
from pathlib import Path

from babel.core import get_global

from components.statutes.article import Article
from components.statutes.sources.divisions import DivisionPath, division, heading, split_run
from components.statutes.sources.markup import (
    LINE_BREAK,
    RAISED_DIGITS,
    Element,
    Law,
    Layout,
    Tally,
    Unit,
    articles_of,
    child,
    day,
    eu_names,
    headings_above,
    is_within,
    local_name,
    named,
    one_line,
    parse,
    raise_exponents,
    remove,
    root_name,
)
from components.statutes.sources.records import Place, Problem
from components.statutes.sources.units import numbered_heading

NAME = "akoma-ntoso"

LAYOUT = Layout(
    paragraphs=(
        *("p", "content", "paragraph", "subparagraph", "subsection", "clause", "alinea", "list"),
        *("point", "indent", "item", "blockList", "listIntroduction", "listWrapUp", "intro"),
        *("wrapUp", "block", "tblock", "ol", "ul", "li", "br", "table", "quotedStructure"),
        *("article", "section", "heading", "subheading", "rule", "transitional", "crossHeading"),
    ),
    labels=("num",),
    rows=("tr",),
    cells=("td", "th"),
    left_out=("authorialNote", "meta"),
)
_NOTES = Layout(paragraphs=("p",))

_BODIES = ("body", "mainBody", "portionBody", "amendmentBody", "debateBody")
_QUOTING = ("quotedStructure", "quotedText", "embeddedStructure", "embeddedText")
_COUNTED = (
    ("authorialNote", "left out", "footnote"),
    ("signature", "left out", "signature"),
    ("recital", "left out", "recital"),
    ("toc", "left out", "table of contents"),
    ("table", "kept as text", "table"),
)
_LONGEST_SHOWN = 60  # characters of a heading in a notice
# Normattiva's paragraphs hold lists as plain lines.
_PLAIN_ITEM = re.compile(r"\n\s*\n|\n(?=\s*(?:\(\(\s*)?(?:[a-z]{1,2}|\d{1,2})(?:-\w+)?\))")
_VERSION = re.compile(r"/\d{8}$|/\d{4}-\d\d-\d\d$|/!?main(?:-text)?/?$|/$")


def matches(head: bytes, path: Path) -> bool:  # noqa: ARG001 (part of every format's contract)
    """XML whose root is `akomaNtoso`."""
    return root_name(head) == "akomaNtoso"


def read(path: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
    """Yield the articles of one document.

    Raises:
        CorpusError: The file cannot be opened.
    """
    root = parse(path, problems)
    if root is None:
        return
    document = next((each for each in root if child(each, "meta") is not None), None)
    body = None if document is None else next(document.iterchildren(*named(root, _BODIES)), None)
    if document is None or body is None:
        return
    units = _units(body)
    act = _Act.of(document, path)
    tally = Tally()
    tally.count(document, _COUNTED)
    _count_text(body, units, tally)
    attached = _attached_articles(document)
    annexes = sum(1 for _ in document.iter(*named(root, ("attachment",))))
    tally.add("left out", "annex", annexes - len(attached))
    _number_lists(body)
    raise_exponents(document.iter(*named(root, ("sup",))))
    if act.country == "it":
        _break_plain_lists(body, _PLAIN_ITEM)
    for each in attached:
        _break_plain_lists(each, _PLAIN_LINE)
    headings = _headings(body, units, act, tally)
    heads = [_head(unit, act) for unit in units]
    labels = _labels_of_provisos(units, heads)
    texts = LAYOUT.texts(document if attached else body, [*units, *attached])
    law = Law(act.id, act.title, act.language, act.url, act.other_names)
    found: list[tuple[Unit, str]] = []
    for unit, above, head, text in zip(units, headings, heads, texts, strict=False):
        start, end = act.days(unit)
        if start and end and end < start:
            tally.add("left out", "wording that never was in force")
            continue
        if not text:
            text = head.note()
            tally.add("without words but a title or note", "article")
        number = head.number or unit.get("eId") or local_name(unit)
        number += labels.get(unit, "")
        of_unit = Unit(
            unit.get("eId") or unit.get("id") or number,
            number,
            unit.sourceline,
            head.title,
            above,
            since=start,
            valid_from=start,
            valid_to=end,
            printed=head.printed or number,
        )
        found.append((of_unit, text))
    found += _of_attachments(attached, texts[len(units) :])
    yield from articles_of(path, law, found, tally, problems, "article")


def _units(body: Element) -> list[Element]:
    """The act's own articles, and its sections where they are no divisions, in their order."""
    article, section = named(body, ("article", "section"))
    quoting = frozenset(named(body, _QUOTING))
    own = [each for each in body.iter(article, section) if not is_within(each, quoting)]
    holding = {
        above for each in own if each.tag == article for above in each.iterancestors(section)
    }
    found: list[Element] = []
    chosen: set[Element] = set()
    for each in own:
        if each in holding or not chosen.isdisjoint(each.iterancestors()):
            continue
        # In an act whose sections are divisions, one without articles may still hold law.
        if each.tag == section and holding and not any(True for _ in _passages(each, chosen)):
            continue
        found.append(each)
        chosen.add(each)
    return found


_NO_PASSAGE = (
    {"attachment"}
    | {name for name, action, _ in _COUNTED if action == "left out"}
    | {*("num", "heading", "subheading", "crossHeading", "meta")}
)


def _passages(element: Element, units: set[Element]) -> Iterator[Element]:
    """The elements that have words which stand in no unit, number or heading."""
    waiting = [element]
    while waiting:
        inner = waiting.pop()
        if one_line(inner.text) or any(one_line(each.tail) for each in inner):
            yield inner
            continue
        inside = (each for each in inner if each not in units)
        waiting.extend(each for each in inside if local_name(each) not in _NO_PASSAGE)


def _count_text(body: Element, units: Sequence[Element], tally: Tally) -> None:
    """Count the articles that are text of another, and the passages that stand in no unit."""
    names = {each.tag for each in units}
    quoting = frozenset(named(body, _QUOTING))
    of_units = set(units)
    for each in body.iter(*named(body, ("article", "section"))):
        name = local_name(each)
        if each.tag in names and is_within(each, quoting):
            tally.add("kept as text", f"quoted {name}")
        elif name == "article" and each not in of_units:
            tally.add("kept as text", "article inside another")
    for each in _passages(body, of_units) if units else ():
        titles = map(_division_title, takewhile(lambda above: above is not body, _from(each)))
        title = next(filter(None, titles), "")
        where = f'under "{title[:_LONGEST_SHOWN]}"' if title else "outside the articles"
        tally.add("left out", f"passage {where}")


def _from(element: Element) -> Iterator[Element]:
    yield element
    yield from element.iterancestors()


@dataclass(frozen=True)
class _Head:
    """What stands above an article's text.

    Attributes:
        number: Without the word for "article".
        printed: The number as it stands there.
        title: May be empty.
        element: The number, which is no longer in the tree; None where there is none.
    """

    number: str
    printed: str
    title: str
    element: Element | None

    def note(self) -> str:
        """The footnotes of the number."""
        if self.element is None:
            return ""
        return " ".join(map(_NOTES.line, self.element.iter("{*}authorialNote")))


def _head(unit: Element, act: _Act) -> _Head:
    """Takes number and title out of the unit."""
    found = child(unit, "num")
    if found is not None:
        for raised in found:
            if local_name(raised) == "sup":
                raised.text = (raised.text or "").translate(RAISED_DIGITS)
    printed = LAYOUT.line(found)
    if found is not None:
        remove(found)
    following = unit[0] if len(unit) else None
    # A second number is the EU's way to print a title.
    second = "" if following is None else local_name(following)
    title = LAYOUT.take(unit, second) if second in ("num", "heading") else ""
    label = numbered_heading(printed, act.language)
    number = printed.rstrip(". ") or printed
    if label is not None and label.unit and label.unit[0] != "§" and not label.title:
        number = label.number
    if act.language == "en" and local_name(unit) == "section" and number[:1].isdigit():
        number = f"Section {number}"  # a bare number is an article's
    return _Head(number, printed, title, found)


_FINAL_TITLES = {"schlusstitel": "SchlT", "titre final": "Tit. fin.", "titolo finale": "Tit. fin."}


def _labels_of_provisos(units: Sequence[Element], heads: Sequence[_Head]) -> dict[Element, str]:
    """What follows the numbers of a final title that starts again: " SchlT".

    Without it, article 8 of the Swiss code's final title would be the code's own.
    """
    provisos = [next(unit.iterancestors("{*}proviso"), None) for unit in units]
    own = {head.number for head, proviso in zip(heads, provisos, strict=True) if proviso is None}
    again = {proviso for head, proviso in zip(heads, provisos, strict=True) if head.number in own}
    labels: dict[Element, str] = {}
    for unit, proviso in zip(units, provisos, strict=True):
        if proviso is not None and proviso in again:
            name = LAYOUT.line(child(proviso, "heading")).partition(":")[0]
            labels[unit] = f" {_FINAL_TITLES.get(name.lower(), name)}".rstrip()
    return labels


# Articles that are attachments.

_ATTACHED = re.compile(r"[^-].*-\s*art\. [^-]+")
_TREATY = re.compile(r"accordo|convenzione|trattato|protocollo|scambio", re.IGNORECASE)
_MOST_LINES_ABOVE = 12
# They are plain text: number, title and paragraphs are lines.
_PLAIN_LINE = re.compile(r"\n\s*\n|\n(?=\s*(?:\(\(\s*)?(?:[a-z]{1,2}\)|\d{1,2}(?:-\w+)?[.)]))")


def _attached_articles(document: Element) -> list[Element]:
    """The articles of a code that an act approves: Normattiva makes each an attachment.

    Those of a treaty are not the law that ratifies it.
    """
    return [
        body
        for each in document.iterfind("{*}attachments/{*}attachment/{*}doc")
        if _ATTACHED.fullmatch(each.get("name", ""))
        and not _TREATY.match(each.get("name"))
        and (body := child(each, "mainBody")) is not None
    ]


def _of_attachments(
    articles: Sequence[Element], texts: Sequence[str]
) -> Iterator[tuple[Unit, str]]:
    for body, text in zip(articles, texts, strict=True):
        annex, _, article = body.getparent().get("name").rpartition("-")
        heading = numbered_heading(article, "it")
        number = heading.number if heading else article
        lines = text.split("\n")
        # The number stands below the name of the annex, as a line.
        heads = (
            index
            for index, line in enumerate(lines[:_MOST_LINES_ABOVE], start=1)
            if (head := numbered_heading(line, "it")) and head.unit and head.is_set_off
        )
        words = "\n".join(lines[next(heads, 0) :])
        key = f"{annex}/art_{number}"
        yield Unit(key, number, body.sourceline, headings=(annex.strip(),)), words


# Divisions.


def _headings(
    body: Element, units: Sequence[Element], act: _Act, tally: Tally
) -> list[tuple[str, ...]]:
    """The headings above each unit."""
    if _is_flattened(body, act):
        return _rebuilt(body, units, act, tally)
    known: dict[Element, tuple[str, ...]] = {body: ()}
    return [headings_above(unit.getparent(), _division_title, known) for unit in units]


def _division_title(element: Element) -> str:
    return heading(LAYOUT.line(child(element, "num")), LAYOUT.line(child(element, "heading")))


def _is_flattened(body: Element, act: _Act) -> bool:
    """Whether divisions that stand in one another by their words are siblings of one name."""
    ranks: dict[str, set[int]] = {}
    for element in body:
        number = child(element, "num")
        rank = None if number is None else division(LAYOUT.line(number), act.language).rank
        if rank is not None:
            ranks.setdefault(local_name(element), set()).add(rank)
    return any(len(of_name) > 1 for of_name in ranks.values())


def _rebuilt(
    body: Element, units: Sequence[Element], act: _Act, tally: Tally
) -> list[tuple[str, ...]]:
    path = DivisionPath()
    found: list[tuple[str, ...]] = []
    of_unit = set(units)
    for element in body.iter(*{each.tag for each in (*body, *units)}):
        if element in of_unit:
            between = takewhile(lambda above: above is not body, element.iterancestors())
            titles = map(_division_title, [*between][-2::-1])
            found.append((*path.headings(), *filter(None, titles)))
        elif element.getparent() is body:
            printed = " ".join(LAYOUT.line(child(element, name)) for name in ("num", "heading"))
            for part in split_run(printed.strip(), act.language) if printed.strip() else ():
                path.enter(division(part, act.language))
    tally.add("repaired", "division", path.repaired)
    tally.add("unknown", "division", path.unknown)
    return found


# Lists whose marks are no text.


def _number_lists(body: Element) -> None:
    """Give the items of Luxembourg's lists the marks that its style sheet prints."""
    for each in body.iter(*named(body, ("ol",))):
        symbol = next((value for name, value in each.items() if name.endswith("symbol")), "")
        start, mark = symbol[:1], symbol[1:]
        if start not in ("a", "1") or not mark:
            continue
        for index, item in enumerate(each.iterchildren()):
            label = str(index + 1) if start == "1" else chr(ord("a") + index % 26)
            item.text = f"{label}{mark} {item.text or ''}"


def _break_plain_lists(body: Element, lines: re.Pattern[str]) -> None:
    for element in body.iter(*named(body, ("p", "ins", "del", "ref", "i", "b"))):
        if element.text and "\n" in element.text:
            element.text = lines.sub(LINE_BREAK, element.text)
        if element.tail and "\n" in element.tail and local_name(element) != "p":
            element.tail = lines.sub(LINE_BREAK, element.tail)


# The act.


@dataclass(frozen=True)
class _Act:
    """What the metadata and the preface say of an act.

    Attributes:
        id: Its key, with its language and version where they are known: "act/1990/7/it@2001-02-03".
        title: What a citation calls it, where the document says it.
        language: BCP 47 tag.
        country: In small letters.
        url: Its official address.
        events: Days of its life, by id.
        periods: First and last event of its periods, by id.
        other_names: Its short title and abbreviation, or its kind and number.
    """

    id: str
    title: str
    language: str | None
    country: str
    url: str | None
    events: dict[str, date]
    periods: dict[str, tuple[str | None, str | None]]
    other_names: tuple[str, ...]

    @classmethod
    def of(cls, document: Element, path: Path) -> _Act:
        """Read from the document's `meta` and `preface`."""
        meta: Element = child(document, "meta")
        work, expression = (next(meta.iter(f"{{*}}FRBR{name}"), None) for name in _LEVELS)
        country = _value(work, "FRBRcountry").rpartition("/")[2].lower()[:2]
        language = _language(expression)
        aliases = {
            each.get("name"): each.get("value") or ""
            for level in (work, expression)
            if level is not None
            for each in level.iterchildren("{*}FRBRalias")
        }
        uri = _value(work, "FRBRuri") or _value(work, "FRBRthis")
        key = re.sub(r"^https?://[^/]+/|^/?akn/|^/", "", uri)
        while (shorter := _VERSION.sub("", key)) != key:
            key = shorter
        key = key or path.name.split(".")[0]
        version = _version(expression, country)
        days = (
            (each.get("eId") or each.get("id"), day(each.get("date")))
            for each in meta.iter("{*}eventRef")
        )
        return cls(
            id=(f"{key}/{language}" if language else key) + (f"@{version}" if version else ""),
            title=_title(document, work, language, country, aliases) or key,
            language=language,
            country=country,
            url=_url(work, expression, aliases, country),
            events={event: on for event, on in days if event and on},
            periods=_periods(meta),
            other_names=_other_names(document, work, language, country, aliases),
        )

    def days(self, unit: Element) -> tuple[date | None, date | None]:
        """First and last day of a unit in force; None where the act does not say."""
        start, end = unit.get("start"), unit.get("end")
        if (period := (unit.get("period") or "").lstrip("#")) in self.periods:
            start, end = self.periods[period]
        first = self.events.get((start or "").lstrip("#"))
        after = self.events.get((end or "").lstrip("#"))
        return first, after - timedelta(days=1) if after else None


_LEVELS = ("Work", "Expression")


def _value(level: Element | None, name: str) -> str:
    found = None if level is None else child(level, name)
    return "" if found is None else (found.get("value") or "").strip()


def _periods(meta: Element) -> dict[str, tuple[str | None, str | None]]:
    found: dict[str, tuple[str | None, str | None]] = {}
    for group in meta.iter("{*}temporalGroup"):
        interval = child(group, "timeInterval")
        if interval is not None:
            name = group.get("eId") or group.get("id") or ""
            found[name] = interval.get("start"), interval.get("end")
    return found


def _version(expression: Element | None, country: str) -> date | None:
    """The first day of the version, from the publishers that give it."""
    if expression is None:
        return None
    dates = {
        each.get("name") or "": day(each.get("date"))
        for each in expression.iterchildren("{*}FRBRdate")
    }
    return dates.get("jolux:dateApplicability") or (dates.get("") if country == "it" else None)


def _language(expression: Element | None) -> str | None:
    found: Element | None = None if expression is None else child(expression, "FRBRlanguage")
    tag = "" if found is None else (found.get("language") or "")
    tag = tag.rpartition("/")[2].split("-")[0].lower()
    return get_global("language_aliases").get(tag, tag) or None


def _url(
    work: Element | None, expression: Element | None, aliases: dict[str, str], country: str
) -> str | None:
    if urn := aliases.get("urn:nir"):
        return f"https://www.normattiva.it/uri-res/N2Ls?{urn}"
    if celex := aliases.get("CELEX"):
        return f"https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:{celex}"
    uris = (_value(level, name) for level in (expression, work) for name in _URIS)
    named_uris = [aliases.get("eli", ""), *uris]
    if found := next((uri for uri in named_uris if uri.startswith("http")), None):
        return found.rstrip("/")
    if country == "de" and (uri := _value(work, "FRBRuri")).startswith("eli/"):
        return f"https://www.recht.bund.de/{uri}"
    return None


_URIS = ("FRBRuri", "FRBRthis")


def _title(
    document: Element,
    work: Element | None,
    language: str | None,
    country: str,
    aliases: dict[str, str],
) -> str:
    preface = child(document, "preface")
    parts: dict[str, str] = {}
    if preface is not None:
        for name in ("docType", "docDate", "docNumber", "docTitle", "shortTitle", "longTitle"):
            parts[name] = LAYOUT.line(next(preface.iter(f"{{*}}{name}"), None))
    if country == "it" and parts.get("docDate"):
        title = re.sub(r"\s*\(\w+\)$", "", parts["docTitle"])
        act = f"{parts['docType'].capitalize()} {parts['docDate']}, n. {parts['docNumber']}"
        return f"{act}. {title}".rstrip(". ")
    short = parts.get("shortTitle", "")
    if short and not short.startswith("("):
        return short
    if parts.get("docTitle"):
        return parts["docTitle"].replace(f" {short}", "") if short else parts["docTitle"]
    names = [] if work is None else list(work.iterchildren("{*}FRBRname"))
    of_language = [each for each in names if each.get(_LANG) in (language, None)]
    name = next((one_line(each.get("value")) for each in of_language if each.get(_LANG)), "")
    first = None if preface is None else next(preface.iter("{*}p"), None)
    return parts.get("longTitle") or name or aliases.get("title", "") or LAYOUT.line(first)


def _other_names(
    document: Element,
    work: Element | None,
    language: str | None,
    country: str,
    aliases: dict[str, str],
) -> tuple[str, ...]:
    names: list[str] = []
    for each in () if work is None else work.iterchildren("{*}FRBRname"):
        if each.get(_LANG) == language:
            names += [each.get("shortForm") or "", one_line(each.get("value"))]
    names += [aliases.get(name, "") for name in ("titleShort", "short", "abbreviation")]
    preface = child(document, "preface")
    if preface is not None:
        fields = {
            name: LAYOUT.line(next(preface.iter(f"{{*}}{name}"), None))
            for name in ("docTitle", "shortTitle", "docType", "docDate", "docNumber")
        }
        # "(Bootsverordnung – BootV)"
        names += re.split(r"\s+[–-]\s+", fields["shortTitle"].strip("() "))
        names.append(re.sub(r"\s*\(\w+\)$", "", fields["docTitle"]).rstrip(". "))
        year = fields["docDate"][-4:]
        if country == "it" and year.isdigit():
            names.append(f"{fields['docType'].capitalize()} {fields['docNumber']}/{year}")
        if country == "eu":
            names += eu_names(fields["docTitle"])
    return tuple(names)


_LANG = "{http://www.w3.org/XML/1998/namespace}lang"
