"""Federal law of Canada as the Department of Justice publishes it (laws-lois-xml).

Acts (`Statute`) and regulations (`Regulation`), in English or French. Units are the `Section`s of
the body: "Section 12" in English, "12" in French, where it is an article. Headings stand between
them, with a `level`.

What becomes of the rest:

- Schedules are articles. A treaty in a schedule is cut into its own: "Schedule, Article 3".
- A section's wording began on the day of its last amendment (`lastAmendedDate`). The days on which
  the consolidation itself began (`_FIRST_DAYS`) are not the beginning of any. Of a repealed section
  that day follows its last day in force.
- Marginal notes of subsections stay in the text, on lines of their own.
- Left out and counted: historical notes, footnotes, the preamble and enacting clause, images,
  related provisions and amendments that are not in force (printed behind the law).
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta
from pathlib import Path

from components.statutes.article import is_repeal_note
from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, day, one_line
from components.statutes.sources.units import heading, in_small_letters, numbered_heading

_LAYOUT = Layout.of_format("justice-canada")
_NAMESPACE = "http://justice.gc.ca/lims"
_FOLDERS = {"en": ("eng/acts", "eng/regulations"), "fr": ("fra/lois", "fra/reglements")}
_FIRST_DAYS = {date(2002, 12, 31), date(2003, 1, 1), date(2006, 3, 22)}
# Of a heading ("2") or of its form ("group2-division").
_LEVEL = re.compile(r"\d{1,3}")
# What the Department prints behind the law, in the form of schedules.
_BEHIND = {"RelatedProvs": "related provision", "NifProvs": "amendment not in force"}


def _matches(head: bytes) -> bool:
    return markup.root_name(head) in ("Statute", "Regulation") and _NAMESPACE.encode() in head


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    law = _law_of(root, path)
    for each in root.findall("Schedule"):
        if others := each.findall("BillPiece/RelatedOrNotInForce"):
            thing = _BEHIND.get(each.get("id"), "provision of another act")
            tally.add("left out", thing, len(others))
            root.remove(each)
    _LAYOUT.count(root, tally)
    found = [*_sections(root, law, tally), *_schedules(root, law)]
    markup.raise_exponents(root.iter("Sup"))
    texts = _LAYOUT.texts(root, [element for element, _ in found])
    return law, [
        (_dated(element, unit, text), text)
        for (element, unit), text in zip(found, texts, strict=True)
    ]


FORMAT = markup.xml_format("justice-canada", _matches, _units, "section")


def _law_of(root: Element, path: Path) -> Law:
    """The law by its short title, with the chapter or instrument by which it is cited."""
    language = root.get(markup.LANG, "en")
    about = root.find("Identification")
    titles, cited = ["", ""], ""
    if about is not None:
        titles = [_LAYOUT.line(about.find(each)) for each in ("ShortTitle", "LongTitle")]
        cited = one_line(about.findtext("InstrumentNumber"))
        cited = cited or one_line(about.findtext("Chapter/ConsolidatedNumber"))
    number = (cited or path.name.partition(".xml")[0]).replace("/", "-").replace(" ", "_")
    folder = _FOLDERS.get(language, _FOLDERS["en"])[root.tag == "Regulation"]
    return Law(
        f"ca/{number}/{language}",
        titles[0] or titles[1] or cited or path.stem,
        language,
        f"https://laws-lois.justice.gc.ca/{folder}/{number}/",
        other_names=(titles[1], cited),
    )


def _sections(root: Element, law: Law, tally: Tally) -> Iterator[tuple[Element, Unit]]:
    """The sections of the body, each with the headings above it."""
    above: list[tuple[int, str]] = []
    for each in root.findall("Body/*"):
        if each.tag == "Heading":
            _enter(above, each.get("level", ""), each)
        elif each.tag == "Section":
            title, label = (_LAYOUT.take(each, name) for name in ("MarginalNote", "Label"))
            label = label.rstrip(".")
            number, page = label or "Section", None
            if label[:1].isdigit():
                is_english = law.language == "en"
                number = f"Section {label}" if is_english else label
                if " " not in label and law.address:
                    page = f"{law.address}{'section' if is_english else 'article'}-{label}.html"
            headings = tuple(printed for _, printed in above)
            yield each, Unit(label, number, each.sourceline, title, headings, address=page)
        else:
            tally.add("left out", "unnumbered paragraph")


def _enter(above: list[tuple[int, str]], form: str, element: Element) -> None:
    """Go into the division that a heading opens, out of those of its level and below."""
    digits = _LEVEL.search(form)
    level = int(digits[0]) if digits else 1
    while above and above[-1][0] >= level:
        above.pop()
    label, title = (_LAYOUT.line(element.find(name)) for name in ("Label", "TitleText"))
    if printed := heading(in_small_letters(label), title):
        above.append((level, printed))


def _schedules(root: Element, law: Law) -> Iterator[tuple[Element, Unit]]:
    for schedule in root.findall("Schedule"):
        unit = _schedule(schedule, "Schedule" if law.language == "en" else "Annexe")
        yield schedule, unit
        printed = heading(unit.number, unit.title)
        for part, inner in _parts_of_treaty(schedule, law.language):
            key = f"{unit.number}, {inner.number}"
            yield part, inner._replace(key=key, number=key, headings=(printed, *inner.headings))


def _schedule(schedule: Element, unnamed: str) -> Unit:
    head = schedule.find("ScheduleFormHeading")
    label = title = ""
    if head is not None:
        label, title = (_LAYOUT.take(head, name) for name in ("Label", "TitleText"))
    number = in_small_letters(label) or unnamed
    return Unit(number, number, schedule.sourceline, title)


def _parts_of_treaty(schedule: Element, language: str | None) -> Iterator[tuple[Element, Unit]]:
    """The articles and annexes of a treaty, moved out of its schedule one after the other."""
    last = schedule
    for treaty in schedule.findall("DocumentInternal"):
        above: list[tuple[int, str]] = []
        article = None
        for each in list(treaty):
            label = in_small_letters(_LAYOUT.line(each.find("Label")))
            is_heading = each.tag == "GroupHeading"
            unit = None
            if each.tag == "Schedule":
                unit, article = _schedule(each, each.tag), each
            elif is_heading and numbered_heading(label, language):
                headings = tuple(printed for _, printed in above)
                title = _LAYOUT.line(each.find("TitleText"))
                unit = Unit(label, label, each.sourceline, title, headings)
                article = treaty.makeelement("Section", schedule.attrib)
                treaty.remove(each)
            elif is_heading and label:
                _enter(above, each.get("format-ref", ""), each)
                article = None
                treaty.remove(each)
            elif article is not None:
                article.append(each)
            if unit is not None:
                last.addnext(article)
                last = article
                yield article, unit


def _dated(element: Element, unit: Unit, text: str) -> Unit:
    since = None
    for name in ("lastAmendedDate", "inforce-start-date"):
        since = since or day(element.get(f"{{{_NAMESPACE}}}{name}"))
    if since is None or since in _FIRST_DAYS:
        return unit
    if is_repeal_note(text):
        return unit._replace(since=since, valid_to=since - timedelta(days=1))
    return unit._replace(since=since, valid_from=since)
