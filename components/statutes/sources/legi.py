"""French law from the LEGI base of the DILA: a code as one JSON tree, or single XML files.

The JSON form (`type`: code, section, article; `data`, `children`) holds a code with the wording of
each article that was current. It lists the days of all other wordings, but not their words.

The XML form is a file an article, with its divisions in `CONTEXTE`; each wording is a file of its
own. Files of a text's structure (`SECTION_TA`, `TEXTELR`, `TEXTE_VERSION`) hold no article and are
not read: a folder's reader passes over them.

What both give:

- `dateFin` is the first day on which a wording is no longer in force: the last day is the one
  before. 2999-01-01 means none.
- A wording in the state `MODIFIE_MORT_NE`, or whose days run backwards, never was in force: left
  out and counted.
- A law that changed its name goes by the newest one.
- Left out and counted: notes ("nota").
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from datetime import UTC, date, datetime, timedelta
from pathlib import Path
from typing import Any

from components.statutes.extras import needs_extra
from components.statutes.sources import markup, reading
from components.statutes.sources.markup import Element, Layout
from components.statutes.sources.units import heading

_LAYOUT = Layout.of_format("legi")
_BORN_DEAD = "MORT_NE"
# A character outside the 16 bits, or half of one.
_SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
_SITE = "https://www.legifrance.gouv.fr"


def _matches(head: bytes) -> bool:
    """A JSON tree of the LEGI base, or one of its XML files of an article."""
    if _is_json(head):
        return b'"LEGITEXT' in head and b'"data"' in head
    return markup.root_name(head) == "ARTICLE" and b"<META_COMMUN>" in head


def _units(path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    with needs_extra("Law of LEGI", "files"):
        from lxml import etree

    is_json = _is_json(reading.read_whole(path, 64))
    law, wordings = (_in_tree if is_json else _in_fragment)(path, tally)
    whole = etree.Element("whole")
    whole.extend(text for _, text in wordings)
    texts = _LAYOUT.texts(whole, list(whole))
    return law, zip((unit for unit, _ in wordings), texts, strict=True)


FORMAT = reading.PublishedFormat("legi", _matches, _units)

_Wording = tuple[reading.Unit, Element]  # one wording of an article, and the element that holds it
_Wordings = tuple[reading.Law, list[_Wording]]
_NOTHING: _Wordings = (reading.Law("", ""), [])


def _is_json(content: bytes) -> bool:
    return content[:64].lstrip()[:1] == b"{"


def _was_in_force(state: str, since: date | None, until: date | None, tally: reading.Tally) -> bool:
    """Whether a wording had a day in force; one without is counted."""
    never = since is not None and until is not None and until <= since
    never = never or state.endswith(_BORN_DEAD)
    tally.add("left out", "wording that never was in force", int(never))
    return not never


def _unit(
    id_: str,
    number: str,
    headings: tuple[str, ...],
    since: date | None,
    until: date | None,
    shelf: str,
) -> reading.Unit:
    """An article on a shelf of the site; `until` is the first day on which it is not in force."""
    return reading.Unit(
        id_,
        number or id_ or "-",
        1,
        headings=headings,
        valid_from=since,
        valid_to=until and until - timedelta(days=1),
        address=f"{_SITE}/{shelf}/article_lc/{id_}",
    )


def _heading(title: str) -> str:
    """A title as a heading: "Livre Ier : Les demandes" is "Livre Ier. Les demandes"."""
    label, colon, name = reading.one_line(title).partition(" : ")
    return heading(label, name) if colon else label


# The tree of a code, in JSON.


def _in_tree(path: Path, tally: reading.Tally) -> _Wordings:
    try:
        text = reading.read_whole(path).decode("utf-8-sig")
        tree = json.loads(text)
        if _SURROGATE.search(text):
            json.dumps(tree, ensure_ascii=False).encode()
    except (ValueError, RecursionError) as error:
        message, line = f"is not JSON that can be read ({error})", getattr(error, "lineno", None)
        raise reading.refused(path, message, "Download the file again.", line=line) from error
    code = _data(tree)
    key = reading.one_line(str(code.get("cid") or code.get("id") or path.name.partition(".")[0]))
    law = reading.Law(key, reading.one_line(str(code.get("title") or key)), "fr")
    wordings: list[_Wording] = []
    waiting: list[tuple[Any, tuple[str, ...]]] = [(tree, ())]
    while waiting:
        node, headings = waiting.pop()
        data = _data(node)
        if node.get("type") == "article":
            wordings.extend(_in_node(data, headings, tally))
            continue
        if node.get("type") == "section":
            title = _heading(str(data.get("title") or ""))
            headings = (*headings, title) if title else headings
        children = node.get("children")
        if isinstance(children, list):
            inner = (each for each in reversed(children) if isinstance(each, dict))
            waiting.extend((each, headings) for each in inner)
    return law, wordings


def _data(node: Mapping[str, Any]) -> Mapping[str, Any]:
    data = node.get("data")
    return data if isinstance(data, dict) else {}


def _in_node(
    data: Mapping[str, Any], headings: tuple[str, ...], tally: reading.Tally
) -> Iterator[_Wording]:
    since, until = _json_day(data.get("dateDebut")), _json_day(data.get("dateFin"))
    tally.add("left out", "note", int(bool(data.get("nota"))))
    listed = data.get("articleVersions")
    others = len(listed) - 1 if isinstance(listed, list) else 0
    tally.add("left out", "other wording without words", max(0, others))
    if _was_in_force(str(data.get("etat")), since, until, tally):
        id_ = str(data.get("id", ""))
        unit = _unit(
            id_, reading.one_line(str(data.get("num") or "")), headings, since, until, "codes"
        )
        yield unit, _html(str(data.get("texteHtml") or data.get("texte") or ""))


def _json_day(value: object) -> date | None:
    """A day of the JSON form: milliseconds in articles, ISO elsewhere."""
    if isinstance(value, int):
        try:
            value = datetime.fromtimestamp(value / 1000, UTC).date().isoformat()
        except (OverflowError, OSError, ValueError):
            return None
    return reading.day(value if isinstance(value, str) else None)


def _html(fragment: str) -> Element:
    """A fragment of HTML as one element."""
    from lxml import etree

    parser = etree.HTMLParser(encoding="utf-8", no_network=True)
    found = etree.fromstring(f"<div>{fragment}</div>".encode(), parser)
    # All of the body: what follows a stray "</div>" is no longer in ours.
    body = found.find("body")
    return found if body is None else body


# One article, in XML.


def _in_fragment(path: Path, tally: reading.Tally) -> _Wordings:
    root = markup.parse(path)
    words = root.find("BLOC_TEXTUEL/CONTENU")
    about = root.find("META/META_SPEC/META_ARTICLE")
    if words is None or about is None:
        return _NOTHING
    since, until = (reading.day(about.findtext(f"DATE_{end}")) for end in ("DEBUT", "FIN"))
    tally.add("left out", "note", int(bool(reading.one_line(root.findtext("NOTA/CONTENU")))))
    law = root.find("CONTEXTE/TEXTE")
    state = reading.one_line(about.findtext("ETAT"))
    if law is None or not _was_in_force(state, since, until, tally):
        return _NOTHING
    title = _newest(law.findall("TITRE_TXT"))
    key = law.get("cid") or ("" if title is None else title.get("id_txt", ""))
    key = key or path.name.partition(".")[0]
    name = "" if title is None else title.get("c_titre_court") or title.text
    id_ = reading.one_line(root.findtext("META/META_COMMUN/ID"))
    place = "codes" if law.get("nature") == "CODE" else "loda"
    number = reading.one_line(about.findtext("NUM"))
    unit = _unit(id_, number, tuple(_headings(law)), since, until, place)
    wording = unit._replace(line=words.sourceline), words
    return reading.Law(key, reading.one_line(name) or key, "fr"), [wording]


def _headings(law: Element) -> Iterator[str]:
    """The divisions above an article, from the top, as they are called now."""
    level = law.find("TM")
    while level is not None:
        title = _newest(level.findall("TITRE_TM"))
        if title is not None and (named := _heading(title.text)):
            yield named
        level = level.find("TM")


def _newest(titles: list[Element]) -> Element | None:
    """The title that began last; of several the last one."""
    latest = reversed(titles)  # of equal ones `max` gives the first
    return max(latest, key=lambda title: reading.day(title.get("debut")) or date.min, default=None)
