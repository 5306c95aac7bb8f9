"""The text of a Word file (.docx), with the numbers that Word counts by itself.

Most laws in Word have no article numbers in their text: they are lists, whose numbers Word
computes from the definitions in numbering.xml as it shows the page.
"""

from __future__ import annotations

import io
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from zipfile import BadZipFile, ZipFile

from components.statutes.extras import needs_extra
from components.statutes.sources.reading import LARGEST, RAISED_DIGITS, Tally, refused

_W = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
# Word writes a text box twice: for itself, and for older programs.
_FALLBACK = "{http://schemas.openxmlformats.org/markup-compatibility/2006}Fallback"
_CHARACTERS = {"tab": " ", "br": "\n", "cr": "\n", "noBreakHyphen": "-"}
_GONE = frozenset({f"{_W}del", f"{_W}moveFrom", f"{_W}instrText", _FALLBACK})
_NOTES = {f"{_W}footnoteReference": "footnote", f"{_W}endnoteReference": "endnote"}


def word_text(path: Path, content: bytes, tally: Tally) -> str:
    """The text of a .docx: a paragraph a block, headings and bold paragraphs marked.

    Raises:
        CorpusError: It is not a Word file.
    """
    with needs_extra("A Word file", "files"):
        from docx import Document
        from docx.opc.exceptions import OpcError
        from lxml.etree import XMLSyntaxError

    try:
        with ZipFile(io.BytesIO(content)) as packed:
            unpacked = sum(part.file_size for part in packed.infolist())
        if unpacked > LARGEST:
            message = f"unpacks to more than {LARGEST // 10**6:,} MB"
            raise refused(path, message, "Save it again without its pictures.")
        document = Document(io.BytesIO(content))
    except (OpcError, BadZipFile, XMLSyntaxError, KeyError, ValueError) as error:
        repair = "Open it in Word or LibreOffice, and save it as .docx."
        raise refused(path, "is not a Word file, or a damaged one", repair) from error
    return _WordText(document, tally).text()


class _WordText:
    def __init__(self, document: Any, tally: Tally) -> None:
        from docx.enum.style import WD_STYLE_TYPE

        self._document, self._tally = document, tally
        self._styles = {style.style_id: style.element for style in document.styles}
        default = document.styles.default(WD_STYLE_TYPE.PARAGRAPH)
        self._default = None if default is None else default.style_id
        self._numbers = _Numbers(document)

    def text(self) -> str:
        blocks = self._blocks(self._document.element.body)
        return "\n\n".join(block for block in blocks if block.strip())

    def _blocks(self, parent: Any) -> Iterator[str]:
        for child in parent:
            if child.tag == f"{_W}p":
                yield self._paragraph(child)
                for box in child.iter(f"{_W}txbxContent"):
                    if next(box.iterancestors(_FALLBACK), None) is None:
                        yield from self._blocks(box)
            elif child.tag == f"{_W}tbl":
                self._tally.add("kept as text", "table")
                for row in child.iter(f"{_W}tr"):
                    cells = [" ".join(self._blocks(cell)) for cell in row.iter(f"{_W}tc")]
                    yield " | ".join(" ".join(cell.split()) for cell in cells)
            elif child.tag not in _GONE:  # insertions, fields, controls
                yield from self._blocks(child)

    def _paragraph(self, paragraph: Any) -> str:
        styles = list(self._chain(_value(paragraph, "pPr/pStyle") or self._default))
        name = (_value(styles[0], "name") or "").lower() if styles else ""
        number = self._numbers.next(paragraph, styles)
        if name.startswith("toc "):
            self._tally.add("left out", "line of the table of contents")
            return ""
        pieces = [each for each in self._runs(paragraph, styles) if each[0]]
        text = re.sub(r"[ \t]+", " ", "".join(piece for piece, _ in pieces))
        text = " ".join(filter(None, (number, text.strip())))
        if not text:
            return ""
        levels = (_value(each, "pPr/outlineLvl") for each in (paragraph, *styles))
        level = next((int(each) for each in levels if each is not None), 9)
        if name == "title" or level < 9:
            return f"{'#' * (1 if name == 'title' else min(level + 1, 6))} {' '.join(text.split())}"
        is_bold = all(bold for piece, bold in pieces if piece.strip())
        if is_bold and "\n" not in text and any(piece.strip() for piece, _ in pieces):
            return f"**{text}**"
        return text

    def _runs(self, element: Any, styles: list[Any]) -> Iterator[tuple[str, bool]]:
        """The pieces of a paragraph that are shown, and whether they are bold."""
        for run in element.iter(f"{_W}r"):
            above = list(run.iterancestors())
            paragraphs = (each for each in above if each.tag == f"{_W}p")
            if next(paragraphs, None) is not element or any(each.tag in _GONE for each in above):
                continue
            if _flag(run, "rPr/vanish"):
                continue
            of_run = self._chain(_value(run, "rPr/rStyle"))
            bold = (_flag(each, "rPr/b") for each in (run, *of_run, *styles))
            raised = _value(run, "rPr/vertAlign") == "superscript"
            text = ""
            for child in run:
                text += (child.text or "") if child.tag == f"{_W}t" else ""
                text += _CHARACTERS.get(str(child.tag).removeprefix(_W), "")
                if child.tag in _NOTES:
                    self._tally.add("left out", _NOTES[child.tag])
            if raised and text.isdigit():
                text = text.translate(RAISED_DIGITS)
            yield text, next((each for each in bold if each is not None), False)

    def _chain(self, style_id: str | None) -> Iterator[Any]:
        """A style and those on which it is based."""
        seen = set()
        while style_id in self._styles and style_id not in seen:
            seen.add(style_id)
            style = self._styles[style_id]
            yield style
            style_id = _value(style, "basedOn")


class _Numbers:
    """Counts the paragraphs of a document's lists."""

    def __init__(self, document: Any) -> None:
        from docx.opc.constants import RELATIONSHIP_TYPE

        parts = document.part.rels.values()
        found = [each for each in parts if each.reltype == RELATIONSHIP_TYPE.NUMBERING]
        root = found[0].target_part.element if found else ()
        self._abstract = {
            e.get(f"{_W}abstractNumId"): e for e in root if e.tag == f"{_W}abstractNum"
        }
        self._lists = {e.get(f"{_W}numId"): e for e in root if e.tag == f"{_W}num"}
        # What a list of styles names is defined in the list that carries the style.
        self._of_style = {_value(each, "styleLink"): id_ for id_, each in self._abstract.items()}
        self._counts: dict[str, dict[int, int]] = {}
        self._started: set[tuple[str, int]] = set()

    def next(self, paragraph: Any, styles: list[Any]) -> str:
        """The number that Word shows before a paragraph; "" where it shows none."""
        owners = [each for each in (paragraph, *styles) if _find(each, "pPr/numPr") is not None]
        list_id = next(filter(None, (_value(each, "pPr/numPr/numId") for each in owners)), None)
        if list_id is None or list_id not in self._lists:
            return ""
        abstract_id = _value(self._lists[list_id], "abstractNumId")
        definition = self._abstract.get(abstract_id)
        linked = definition is not None and _value(definition, "numStyleLink")
        if linked:
            abstract_id = self._of_style.get(linked)
            definition = self._abstract.get(abstract_id)
        if abstract_id is None or definition is None:
            return ""
        levels = {int(e.get(f"{_W}ilvl")): e for e in definition if e.tag == f"{_W}lvl"}
        level = self._level(owners, styles, levels)
        for override in self._lists[list_id].iter(f"{_W}lvlOverride"):
            of = int(override.get(f"{_W}ilvl"))
            own = _find(override, "lvl")
            if own is not None:
                levels[of] = own
            restart = _value(override, "startOverride")
            if restart is not None and (list_id, of) not in self._started and of == level:
                self._started.add((list_id, of))
                self._counts.setdefault(abstract_id, {})[of] = int(restart) - 1
        if level not in levels:
            return ""
        counts = self._counts.setdefault(abstract_id, {})
        for above in range(level):
            counts.setdefault(above, self._start(levels, above))
        counts[level] = counts.get(level, self._start(levels, level) - 1) + 1
        for below in [each for each in counts if each > level]:
            if _value(levels[below], "lvlRestart") != "0":
                del counts[below]
        if _value(levels[level], "numFmt") in ("bullet", "none"):
            return ""
        is_legal = _find(levels[level], "isLgl") is not None

        def counted(match: re.Match[str]) -> str:
            of = int(match[1]) - 1
            form = "decimal" if is_legal and of < level else _value(levels.get(of), "numFmt")
            return numeral(counts.get(of, 1), form or "decimal")

        pattern = _value(levels[level], "lvlText") or ""
        return re.sub(r"%([1-9])", counted, pattern).strip()

    @staticmethod
    def _start(levels: dict[int, Any], level: int) -> int:
        return int(_value(levels.get(level), "start") or 1)

    @staticmethod
    def _level(owners: list[Any], styles: list[Any], levels: dict[int, Any]) -> int:
        own = _value(owners[0], "pPr/numPr/ilvl")
        if own is not None:
            return int(own)
        ids = {style.get(f"{_W}styleId") for style in styles}
        return next((n for n, each in levels.items() if _value(each, "pStyle") in ids), 0)


def numeral(count: int, form: str) -> str:
    """A count as Word writes it in one of its numeral forms; unknown ones in digits.

    >>> numeral(4, "upperRoman"), numeral(28, "lowerLetter"), numeral(7, "decimalZero")
    ('IV', 'bb', '07')
    """
    if form.endswith("Roman"):
        written = ""
        for value, sign in _ROMAN:
            written += sign * (count // value)
            count %= value
    elif form.endswith("Letter"):
        written = chr(ord("A") + (count - 1) % 26) * ((count - 1) // 26 + 1) if count > 0 else ""
    elif form == "decimalZero":
        written = f"{count:02}"
    else:
        written = str(count)
    return written.lower() if form.startswith("lower") else written


_ROMAN = (
    *((1000, "M"), (900, "CM"), (500, "D"), (400, "CD"), (100, "C"), (90, "XC"), (50, "L")),
    *((40, "XL"), (10, "X"), (9, "IX"), (5, "V"), (4, "IV"), (1, "I")),
)


def _find(element: Any, steps: str) -> Any:
    return None if element is None else element.find("/".join(f"{_W}{s}" for s in steps.split("/")))


def _value(element: Any, steps: str) -> str | None:
    found = _find(element, steps)
    return None if found is None else found.get(f"{_W}val")


def _flag(element: Any, steps: str) -> bool | None:
    """An on-off property; None where it is not set."""
    found = _find(element, steps)
    return None if found is None else found.get(f"{_W}val") not in ("0", "false", "off")
