"""Law and bills of Brazil in LexML, as XML or as the JSON of its editor.

Units are the `Artigo`s outside `Alteracao`; those inside are quoted by the article that amends, and
are its text. Divisions have a number (`Rotulo`) and a title (`NomeAgrupador`).

The format dates no article. Left out and counted: preambles; the signatures and annexes that a
file may hold.
"""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from components.statutes.extras import needs_extra
from components.statutes.sources import markup, reading
from components.statutes.sources.markup import Element, Layout, headings_from
from components.statutes.sources.units import heading, numbered_heading

_LAYOUT = Layout.of_format("lexml")
_NAMESPACE = "http://www.lexml.gov.br/1.0"
_DOTS = "......"
_CODE = re.compile(r"\bInstitui (?:o|a) ((?:Código|Consolidação|Estatuto|Lei)\b[^.;,(]{3,80})")
_DIVISIONS = frozenset(
    {"Parte", "Livro", "Titulo", "Subtitulo", "Capitulo", "Secao", "Subsecao"}
    | {"AgrupamentoHierarquico"}
)


def _matches(head: bytes) -> bool:
    is_json = head.lstrip().startswith(b"{") and b'"LexML"' in head
    return _NAMESPACE.encode() in head and (is_json or markup.root_name(head) == "LexML")


def _read(path: Path, tally: reading.Tally) -> reading.LawAndUnits:
    if not reading.read_whole(path, 64).lstrip().startswith(b"{"):
        root = markup.parse(path)
    else:
        try:
            root = _element(json.loads(reading.read_whole(path)))
            root.base = str(path)
        except (ValueError, LookupError, TypeError, AttributeError, RecursionError) as error:
            raise reading.refused(
                path, f"is not LexML in JSON ({error})", "Export it again."
            ) from error
    law = _law_of(root, path)
    _LAYOUT.count(root, tally)
    _print_signs(root)
    articles = markup.outermost(root, "Artigo", apart=("Alteracao",))
    quoted = sum(1 for _ in root.iter(*markup.named(root, ("Artigo",)))) - len(articles)
    tally.add("kept as text", "quoted article", quoted)
    headings = headings_from(_heading)
    units = [_unit(article, headings(article.getparent())) for article in articles]
    return law, zip(units, _LAYOUT.texts(root, articles), strict=True)


FORMAT = reading.PublishedFormat("lexml", _matches, _read)


def _law_of(root: Element, path: Path) -> reading.Law:
    """The law by its heading ("LEI Nº 10.406, DE 10 DE JANEIRO DE 2002"), and a code's own name."""
    about, head, purpose = (
        next(root.iter(f"{{{_NAMESPACE}}}{name}"), None)
        for name in ("Identificacao", "Epigrafe", "Ementa")
    )
    urn = "" if about is None else about.get("URN", "")
    name, key = _LAYOUT.line(head).rstrip("."), urn.removeprefix("urn:lex:")
    address = f"https://www.lexml.gov.br/urn/{urn}" if urn else None
    codes = tuple(_CODE.findall(_LAYOUT.line(purpose)))
    return reading.Law(key or path.stem, name or path.stem, "pt-BR", address, other_names=codes)


def _unit(article: Element, headings: tuple[str, ...]) -> reading.Unit:
    label = _LAYOUT.take(article, "Rotulo")
    printed = numbered_heading(label, "pt")
    number = printed.number if printed else label
    title = _LAYOUT.take(article, "TituloDispositivo")
    return reading.Unit(article.get("id", number), number, article.sourceline, title, headings)


def _heading(element: Element) -> str:
    if markup.local_name(element) not in _DIVISIONS:
        return ""
    label = _LAYOUT.line(markup.child(element, "Rotulo"))
    return heading(label, _LAYOUT.line(markup.child(element, "NomeAgrupador")))


def _print_signs(root: Element) -> None:
    """Print what the file names in attributes: quotation marks, "(NR)", omitted words."""
    for each in root.iter(*markup.named(root, ("Omissis",))):
        each.text = _DOTS
    for each in root.iter(f"{{{_NAMESPACE}}}*"):
        label, omitted = markup.child(each, "Rotulo"), markup.child(each, "Omissis")
        if each.get("textoOmitido") and omitted is None:
            if label is None:
                each.text = f"{_DOTS} {each.text or ''}"
            else:
                label.tail = f"{_DOTS} {label.tail or ''}"
        if each.get("abreAspas"):
            first = each if label is None else label
            first.text = f"“{(first.text or '').lstrip()}"
        if each.get("fechaAspas"):
            note = each.get("notaAlteracao")
            lines = list(each.iter(*markup.named(root, ("p", "Omissis"))))
            markup.append(lines[-1] if lines else each, f"” ({note})" if note else "”")


def _element(node: dict[str, Any]) -> Element:
    """The element of XML that a node of the JSON stands for: `{"name": ..., "value": ...}`."""
    with needs_extra("Law in XML", "files"):
        from lxml import etree

    def built(name: str, value: Any) -> Element:
        element = etree.Element(f"{{{_NAMESPACE}}}{name}")
        if isinstance(value, str):
            element.text = value
            return element
        for field, content in value.items():
            if field == "urn":
                element.set("URN", content)
            elif field in ("id", "abreAspas", "fechaAspas", "notaAlteracao", "textoOmitido"):
                element.set(field, str(content))
            elif field != "TYPE_NAME":
                for part in content if isinstance(content, list) else [content]:
                    if isinstance(part, str) and field == "content":
                        markup.append(element, part)
                    elif isinstance(part, dict) and "name" in part:
                        element.append(_element(part))
                    else:
                        element.append(built(field[0].upper() + field[1:], part))
        return element

    return built(node["name"]["localPart"], node["value"])
