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
from datetime import date, timedelta
from itertools import takewhile
from pathlib import Path

from babel.core import get_global

from components.statutes.sources import markup, reading
from components.statutes.sources.markup import LANG, LINE_BREAK, Element, Layout, headings_from
from components.statutes.sources.units import (
    LATIN_SUFFIX,
    DivisionPath,
    division,
    heading,
    numbered_heading,
    split_run,
)

_LAYOUT = Layout.of_format("akoma-ntoso")
_NOTES = Layout(paragraphs=("p",))

_BODIES = ("body", "mainBody", "portionBody", "amendmentBody", "debateBody")
_QUOTING = ("quotedStructure", "quotedText", "embeddedStructure", "embeddedText")
# Normattiva's paragraphs hold lists as plain lines.
_PLAIN_ITEM = re.compile(r"\n\s*\n|\n(?=\s*(?:\(\(\s*)?(?:[a-z]{1,2}|\d{1,2})(?:-\w+)?\))")
_VERSION = re.compile(r"/\d{8}$|/\d{4}-\d\d-\d\d$|/!?main(?:-text)?/?$|/$")


def _matches(head: bytes) -> bool:
    return markup.root_name(head) == "akomaNtoso"


def _units(root: Element, path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    document = next((each for each in root if markup.child(each, "meta") is not None), None)
    parts = () if document is None else document.iterchildren(*markup.named(root, _BODIES))
    body = next(iter(parts), None)
    if document is None or body is None:
        return reading.NO_LAW
    units = _own_units(body)
    act = _Act(document, path)
    _LAYOUT.count(document, tally)
    _count_text(body, units, tally)
    attached = _attached_articles(document)
    annexes = sum(1 for _ in document.iter(*markup.named(root, ("attachment",))))
    tally.add("left out", "annex", annexes - len(attached))
    _number_lists(body)
    markup.raise_exponents(document.iter(*markup.named(root, ("sup",))))
    if act.country == "it":
        _break_plain_lists(body, _PLAIN_ITEM)
    for each in attached:
        _break_plain_lists(each, _PLAIN_LINE)
    headings = _headings(body, units, act.language, tally)
    heads = [_Head(unit, act.language) for unit in units]
    labels = _labels_of_provisos(units, heads)
    texts = _LAYOUT.texts(document if attached else body, [*units, *attached])
    found: list[tuple[reading.Unit, str]] = []
    for unit, above, head, text in zip(units, headings, heads, texts, strict=False):
        start, end = act.days(unit)
        if start and end and end < start:
            tally.add("left out", "wording that never was in force")
            continue
        if not text:
            text = head.note
            tally.add("without words but a title or note", "article")
        number = head.number or unit.get("eId") or markup.local_name(unit)
        number += labels.get(unit, "")
        of_unit = reading.Unit(
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
    return act.law, found


FORMAT = markup.xml_format("akoma-ntoso", _matches, _units)


def _own_units(body: Element) -> list[Element]:
    """The act's own articles, and its sections where they are no divisions, in their order."""
    article, section = markup.named(body, ("article", "section"))
    quoting = frozenset(markup.named(body, _QUOTING))
    own = [each for each in body.iter(article, section) if not markup.is_within(each, quoting)]
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


_NO_PASSAGE = {"attachment", "num", "heading", "subheading", "crossHeading", "meta"}
_NO_PASSAGE |= {name for name, action, _ in _LAYOUT.counted if action == "left out"}


def _passages(element: Element, units: set[Element]) -> Iterator[Element]:
    """The elements that have words which stand in no unit, number or heading."""
    waiting = [element]
    while waiting:
        inner = waiting.pop()
        if reading.one_line(inner.text) or any(reading.one_line(each.tail) for each in inner):
            yield inner
            continue
        inside = (each for each in inner if each not in units)
        waiting.extend(each for each in inside if markup.local_name(each) not in _NO_PASSAGE)


def _count_text(body: Element, units: Sequence[Element], tally: reading.Tally) -> None:
    """Count the articles that are text of another, and the passages that stand in no unit."""
    names = {each.tag for each in units}
    quoting = frozenset(markup.named(body, _QUOTING))
    of_units = set(units)
    for each in body.iter(*markup.named(body, ("article", "section"))):
        name = markup.local_name(each)
        if each.tag in names and markup.is_within(each, quoting):
            tally.add("kept as text", f"quoted {name}")
        elif name == "article" and each not in of_units:
            tally.add("kept as text", "article inside another")
    passages = sum(1 for _ in _passages(body, of_units)) if units else 0
    tally.add("left out", "passage outside the articles", passages)


class _Head:
    """What stands above an article's text, which it takes out of the article.

    Attributes:
        number: Without the word for "article".
        printed: The number as it stands there.
        note: The footnotes of the number.
        title: May be empty.
    """

    def __init__(self, unit: Element, language: str | None) -> None:
        self.printed = self.note = ""
        if (found := markup.child(unit, "num")) is not None:
            for raised in found.iterchildren("{*}sup"):
                raised.text = (raised.text or "").translate(reading.RAISED_DIGITS)
            self.printed = _LAYOUT.line(found)
            self.note = " ".join(map(_NOTES.line, found.iter("{*}authorialNote")))
            markup.remove(found)
        # A second number is the EU's way to print a title.
        second = markup.local_name(unit[0]) if len(unit) else ""
        self.title = _LAYOUT.take(unit, second) if second in ("num", "heading") else ""
        label = numbered_heading(self.printed, language)
        number = self.printed.rstrip(". ") or self.printed
        if label is not None and label.unit and label.unit[0] != "§" and not label.title:
            number = label.number
        if language == "en" and markup.local_name(unit) == "section" and number[:1].isdigit():
            number = f"Section {number}"  # a bare number is an article's
        self.number = number


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
            name = _LAYOUT.line(markup.child(proviso, "heading")).partition(":")[0]
            labels[unit] = f" {_FINAL_TITLES.get(name.lower(), name)}".rstrip()
    return labels


# Articles that are attachments.

_ATTACHED = re.compile(
    rf"(?P<annex>[^-].*?)-\s*art\.? ?(?P<article>\d+(?:[- ]?{LATIN_SUFFIX})?(?:[-. ]\d+)?)",
    re.IGNORECASE,
)
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
        and (body := markup.child(each, "mainBody")) is not None
    ]


def _of_attachments(
    articles: Sequence[Element], texts: Sequence[str]
) -> Iterator[tuple[reading.Unit, str]]:
    for body, text in zip(articles, texts, strict=True):
        named = _ATTACHED.fullmatch(body.getparent().get("name"))
        assert named is not None  # as they were chosen
        annex, number = named["annex"], named["article"]
        lines = text.split("\n")
        # The number stands below the name of the annex, as a line.
        heads = (
            index
            for index, line in enumerate(lines[:_MOST_LINES_ABOVE], start=1)
            if (head := numbered_heading(line, "it")) and head.unit and head.is_set_off
        )
        words = "\n".join(lines[next(heads, 0) :])
        key = f"{annex}/art_{number}"
        yield reading.Unit(key, number, body.sourceline, headings=(annex.strip(),)), words


# Divisions.


def _headings(
    body: Element, units: Sequence[Element], language: str | None, tally: reading.Tally
) -> list[tuple[str, ...]]:
    """The headings above each unit."""
    if _is_flattened(body, language):
        return _rebuilt(body, units, language, tally)
    headings = headings_from(_division_title, body)
    return [headings(unit.getparent()) for unit in units]


def _division_title(element: Element) -> str:
    return heading(*_labels(element))


def _labels(element: Element) -> list[str]:
    """Number and title of a division."""
    return [_LAYOUT.line(markup.child(element, name)) for name in ("num", "heading")]


def _is_flattened(body: Element, language: str | None) -> bool:
    """Whether divisions that stand in one another by their words are siblings of one name."""
    ranks: dict[str, set[int]] = {}
    for element in body:
        number = markup.child(element, "num")
        rank = None if number is None else division(_LAYOUT.line(number), language).rank
        if rank is not None:
            ranks.setdefault(markup.local_name(element), set()).add(rank)
    return any(len(of_name) > 1 for of_name in ranks.values())


def _rebuilt(
    body: Element, units: Sequence[Element], language: str | None, tally: reading.Tally
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
            printed = " ".join(_labels(element)).strip()
            for part in split_run(printed, language) if printed else ():
                path.enter(division(part, language))
    tally.add("repaired", "division", path.repaired)
    tally.add("unknown", "division", path.unknown)
    return found


# Lists whose marks are no text.


def _number_lists(body: Element) -> None:
    """Give the items of Luxembourg's lists the marks that its style sheet prints."""
    for each in body.iter(*markup.named(body, ("ol",))):
        symbol = next((value for name, value in each.items() if name.endswith("symbol")), "")
        start, mark = symbol[:1], symbol[1:]
        if start not in ("a", "1") or not mark:
            continue
        for index, item in enumerate(each.iterchildren()):
            label = str(index + 1) if start == "1" else chr(ord("a") + index % 26)
            item.text = f"{label}{mark} {item.text or ''}"


def _break_plain_lists(body: Element, lines: re.Pattern[str]) -> None:
    for element in body.iter(*markup.named(body, ("p", "ins", "del", "ref", "i", "b"))):
        element.text = lines.sub(LINE_BREAK, element.text or "")
        if markup.local_name(element) != "p":
            element.tail = lines.sub(LINE_BREAK, element.tail or "")


# The act.

_IN_PREFACE = ("docType", "docDate", "docNumber", "docTitle", "shortTitle", "longTitle")


class _Act:
    """What the metadata and the preface say of an act.

    Attributes:
        law: The act, whose key has its language and version where they are known:
            "act/1990/7/it@2001-02-03".
        language: BCP 47 tag.
        country: In small letters.
    """

    def __init__(self, document: Element, path: Path) -> None:
        meta: Element = markup.child(document, "meta")
        nothing = document.makeelement("nothing")
        levels = (next(meta.iter(f"{{*}}FRBR{name}"), nothing) for name in ("Work", "Expression"))
        self._work, self._expression = levels
        self._aliases = {
            each.get("name"): each.get("value") or ""
            for level in (self._work, self._expression)
            for each in level.iterchildren("{*}FRBRalias")
        }
        preface = markup.child(document, "preface")
        self._preface = nothing if preface is None else preface
        self._printed = {name: self._line(name) for name in _IN_PREFACE}
        self.country = _value(self._work, "FRBRcountry").rpartition("/")[2].lower()[:2]
        tag = _value(self._expression, "FRBRlanguage", "language").rpartition("/")[2]
        tag = tag.split("-")[0].lower()
        self.language = get_global("language_aliases").get(tag, tag) or None
        names = self._work.iterchildren("{*}FRBRname")
        self._names = [each for each in names if each.get(LANG) == self.language]
        uri = _value(self._work, "FRBRuri") or _value(self._work, "FRBRthis")
        key = re.sub(r"^https?://[^/]+/|^/?akn/|^/", "", uri)
        while (shorter := _VERSION.sub("", key)) != key:
            key = shorter
        key = key or path.name.split(".")[0]
        title = self._title() or key
        key += f"/{self.language}" if self.language else ""
        # The first day of the version, from the publishers that give it.
        days = {
            each.get("name") or "": reading.day(each.get("date"))
            for each in self._expression.iterchildren("{*}FRBRdate")
        }
        of_italy = days.get("") if self.country == "it" else None
        if (version := days.get("jolux:dateApplicability") or of_italy) is not None:
            key += f"@{version}"
        self.law = reading.Law(key, title, self.language, self._url(), tuple(self._other_names()))
        events = ((_id(each), reading.day(each.get("date"))) for each in meta.iter("{*}eventRef"))
        self._events = {event: on for event, on in events if event and on}
        self._periods = {
            _id(group): (interval.get("start"), interval.get("end"))
            for group in meta.iter("{*}temporalGroup")
            if (interval := markup.child(group, "timeInterval")) is not None
        }

    def days(self, unit: Element) -> tuple[date | None, date | None]:
        """First and last day of a unit in force; None where the act does not say."""
        period = (unit.get("period") or "").lstrip("#")
        start, end = self._periods.get(period, (unit.get("start"), unit.get("end")))
        first = self._events.get((start or "").lstrip("#"))
        after = self._events.get((end or "").lstrip("#"))
        return first, after - timedelta(days=1) if after else None

    def _line(self, name: str) -> str:
        return _LAYOUT.line(next(self._preface.iter(f"{{*}}{name}"), None))

    def _url(self) -> str | None:
        if urn := self._aliases.get("urn:nir"):
            return f"https://www.normattiva.it/uri-res/N2Ls?{urn}"
        if celex := self._aliases.get("CELEX"):
            return f"https://eur-lex.europa.eu/legal-content/EN/TXT/?uri=CELEX:{celex}"
        uris = [self._aliases.get("eli", "")]
        for level in (self._expression, self._work):
            uris += [_value(level, name) for name in ("FRBRuri", "FRBRthis")]
        if found := next((uri for uri in uris if uri.startswith("http")), None):
            return found.rstrip("/")
        if self.country == "de" and (uri := _value(self._work, "FRBRuri")).startswith("eli/"):
            return f"https://www.recht.bund.de/{uri}"
        return None

    def _title(self) -> str:
        """What a citation calls the act, where the document says it."""
        printed = self._printed
        short, title = printed["shortTitle"], printed["docTitle"]
        if self.country == "it" and printed["docDate"]:
            act = f"{printed['docType'].capitalize()} {printed['docDate']}"
            return f"{act}, n. {printed['docNumber']}. {_unabbreviated(title)}".rstrip(". ")
        if short and not short.startswith("("):
            return short
        if title:
            return title.replace(f" {short}", "") if short else title
        name = next((reading.one_line(each.get("value")) for each in self._names), "")
        return printed["longTitle"] or name or self._aliases.get("title", "") or self._line("p")

    def _other_names(self) -> Iterator[str]:
        """Its short title and abbreviation, or its kind and number."""
        printed = self._printed
        for each in self._names:
            yield from (each.get("shortForm") or "", reading.one_line(each.get("value")))
        yield from (self._aliases.get(name, "") for name in ("titleShort", "short", "abbreviation"))
        # "(Bootsverordnung – BootV)"
        yield from re.split(r"\s+[–-]\s+", printed["shortTitle"].strip("() "))
        yield _unabbreviated(printed["docTitle"]).rstrip(". ")
        year = printed["docDate"][-4:]
        if self.country == "it" and year.isdigit():
            yield f"{printed['docType'].capitalize()} {printed['docNumber']}/{year}"
        if self.country == "eu":
            yield from reading.eu_names(printed["docTitle"] or self._line("p"))


def _value(level: Element, name: str, attribute: str = "value") -> str:
    found = markup.child(level, name)
    return "" if found is None else (found.get(attribute) or "").strip()


def _id(element: Element) -> str:
    return element.get("eId") or element.get("id") or ""


def _unabbreviated(title: str) -> str:
    """A title without the abbreviation in brackets behind it."""
    return re.sub(r"\s*\(\w+\)$", "", title)
