"""Law of Japan as e-Gov publishes it (法令標準XML): a file, or an answer of its API.

Units are the articles (条) of the main provisions, and those of each supplementary provision
(附則), whose numbers start again: "附則第三条", or with the amending law
"附則（令和五年法律第六三号）第一条". A supplementary provision of paragraphs alone is one article,
as are main provisions without articles ("本則") and each annex ("別表第一"). What an amendment
quotes is text of the article that amends.

The day on which a version came into force is in the name of the file and stands in the ids; the
format dates no article. Several deleted articles are one: "第三十八条から第八十四条まで".

Left out and counted: tables of contents, enacting statements, preambles, images. Readings of
characters (`Rt`) are not text.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from components.statutes.sources import markup
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.reading import Law, LawAndUnits, Tally, Unit, one_line
from components.statutes.sources.units import division

_LAYOUT = Layout.of_format("egov")
_ROOTS = ("Law", "DataRoot", "law_data_response")
_DIVISIONS = ("Part", "Chapter", "Section", "Subsection", "Division")
_QUOTES = ("NewProvision",)
_MARKS = (b"<LawNum", b"<LawBody", b"LawType", b"<law_info", b"<LawFullText", b"<LawId")
# "129AC0000000089_20230614_505AC0000000053.xml": the law, the day of this version, its amendment.
_FILE_NAME = re.compile(r"(\d{3}[A-Z0-9]{12})(?:_(\d{4})(\d\d)(\d\d)_)?")


def _matches(head: bytes) -> bool:
    return markup.root_name(head) in _ROOTS and any(mark in head for mark in _MARKS)


def _units(root: Element, path: Path, tally: Tally) -> LawAndUnits:
    law = _law_of(root, path)
    for each in root.iter():
        # Japanese has no blanks between sentences, but a file may have them between elements.
        is_in_cell = each.tag == "Sentence" and each.getparent().tag == "TableColumn"
        each.tail = (each.tail or "").strip() or (" " if is_in_cell else "")
    _LAYOUT.count(root, tally)
    found = list(_articles(root, tally))
    texts = _LAYOUT.texts(root, [element for element, _ in found])
    return law, zip([unit for _, unit in found], texts, strict=True)


FORMAT = markup.xml_format("egov", _matches, _units)


def _law_of(root: Element, path: Path) -> Law:
    title = root.find(".//LawTitle")
    name, number = _LAYOUT.line(title), one_line(root.findtext(".//LawNum"))
    short = "" if title is None else title.get("Abbrev", "")
    file = _FILE_NAME.match(path.name)
    key = one_line(root.findtext(".//law_id") or root.findtext(".//LawId"))
    key = key or (file[1] if file else "")
    address = f"https://laws.e-gov.go.jp/law/{key}" if key else None
    if file and file[2] and file[1] == key:
        key += f"@{'-'.join(file.groups()[1:])}"
    names = (number, *re.split("[,、]", short))
    return Law(key or number, name or number or path.stem, "ja", address, other_names=names)


def _articles(root: Element, tally: Tally) -> Iterator[tuple[Element, Unit]]:
    headings = headings_from(_heading)
    for provision in markup.outermost(root, "MainProvision", "SupplProvision", apart=_QUOTES):
        place = _place(provision)
        articles = markup.outermost(provision, "Article", apart=_QUOTES)
        quoted = sum(1 for _ in provision.iter("Article")) - len(articles)
        tally.add("kept as text", "quoted article", quoted)
        for article in articles:
            title = _LAYOUT.take(article, "ArticleCaption").removeprefix("（").removesuffix("）")
            number = _LAYOUT.take(article, "ArticleTitle")
            key = f"{place}{number}"
            yield article, Unit(key, key, article.sourceline, title, headings(article.getparent()))
        if not articles:
            name = place or "本則"
            yield provision, Unit(name, name, provision.sourceline)
        elif place:
            yield from _annexes(provision, place)
    for body in root.iter("LawBody"):
        yield from _annexes(body, "")


def _place(provision: Element) -> str:
    """What stands before the number of an article: nothing in the main provisions."""
    label = _LAYOUT.take(provision, "SupplProvisionLabel").replace(" ", "")
    if provision.tag == "MainProvision":
        return ""
    law = provision.get("AmendLawNum")
    return f"{label or '附則'}（{law}）" if law else label or "附則"


def _annexes(parent: Element, place: str) -> Iterator[tuple[Element, Unit]]:
    for each in parent:
        if "Appdx" in each.tag:
            number = _LAYOUT.take(each, f"{each.tag}Title")
            related = _LAYOUT.take(each, "RelatedArticleNum")
            key = f"{place}{number or '別表'}"
            yield each, Unit(key, key, each.sourceline, related)


def _heading(element: Element) -> str:
    if element.tag == "SupplProvision":
        law = element.get("AmendLawNum")
        return f"附則（{law}）" if law else "附則"
    if element.tag not in _DIVISIONS:
        return ""
    return division(_LAYOUT.line(markup.child(element, f"{element.tag}Title")), "ja").heading
