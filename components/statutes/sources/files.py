"""The text of documents that people have at hand: HTML, Word and PDF.

`text_of` gives one text in the form that `plain.py` splits into articles: a form feed begins a
page, "#" at the start of a line marks a heading of the source, a line in `**` is bold, and an
empty line ends a paragraph.
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Literal

from components.statutes.extras import needs_extra
from components.statutes.sources.markup import Element
from components.statutes.sources.pdf import pdf_text
from components.statutes.sources.reading import (
    RAISED_DIGITS,
    CorpusError,
    Place,
    Tally,
    decoded,
    not_utf8,
    read_whole,
    refused,
)
from components.statutes.sources.word import numeral, word_text

LARGEST_DOCUMENT = 50 * 10**6
"""Bytes that a document may hold: a larger one is pictures, or many laws."""

Kind = Literal["html", "docx", "pdf"]

_OLD_WORD = b"\xd0\xcf\x11\xe0"
_OPEN_DOCUMENT = b"mimetypeapplication/vnd.oasis.opendocument"  # first in the archive
_HTML = re.compile(
    rb"\s*(?:<\?xml[^>]*>\s*|<!--.*?-->\s*)*<(?:!doctype\s+html|html)\b", re.I | re.S
)
_KINDS: dict[str, Kind] = {
    ".html": "html",
    ".htm": "html",
    ".xhtml": "html",
    ".docx": "docx",
    ".pdf": "pdf",
    ".doc": "docx",
    ".rtf": "docx",
    ".odt": "docx",
}
DOCUMENT_SUFFIXES = tuple(_KINDS)


def kind_of(path: Path, head: bytes) -> Kind | None:
    """What a file is, by its first bytes, unpacked, else by its name; None for all others."""
    if b"%PDF-" in head[:1024]:
        return "pdf"
    if _HTML.match(head.removeprefix(b"\xef\xbb\xbf")):
        return "html"
    return _KINDS.get(suffix_of(path))


def suffix_of(path: Path) -> str:
    """The end of a file's name, without that of its packing, in small letters."""
    return Path(path.name.lower().removesuffix(".gz")).suffix


def text_of(path: Path, tally: Tally) -> str:
    """The text of an HTML page, a Word file, a PDF, or else of a file of text; plain or gzipped.

    Args:
        path: The file.
        tally: Counts what is left out.

    Raises:
        CorpusError: It cannot be read, or holds no text; says what to do.
    """
    content = read_whole(path)
    kind = kind_of(path, content[:4096])
    if kind is None:
        return decoded_text(path, content, tally)
    if len(content) > LARGEST_DOCUMENT:
        message = f"holds more than {LARGEST_DOCUMENT // 10**6} MB"
        raise refused(path, message, "Split it into files of one law each.")
    if not content.strip():
        raise refused(path, "is empty", "Download or save the file again.")
    if content.startswith((_OLD_WORD, rb"{\rtf")) or _OPEN_DOCUMENT in content[:256]:
        message = "is in an old format of Word, or one of LibreOffice, which is not read"
        raise refused(path, message, "Save it as .docx: soffice --convert-to docx FILE")
    if kind == "pdf":
        return pdf_text(path, content)
    read = word_text if kind == "docx" else _html_text
    text = read(path, content, tally)
    if not text.strip():
        raise refused(path, "holds no text", "Check that it is the file you meant.")
    return text


def decoded_text(file: object, content: bytes, tally: Tally) -> str:
    """The text of a file; that it is in Windows-1252 without saying so goes to the tally.

    Raises:
        CorpusError: It is not text.
    """
    try:
        text, encoding = decoded(content)
    except UnicodeDecodeError as error:
        place = Place(str(file), content.count(b"\n", 0, error.start) + 1)
        raise CorpusError([not_utf8(place, content[error.start])]) from error
    tally.add("read as Windows-1252", "file that is not UTF-8", int(encoding == "cp1252"))
    return text


# HTML.

_DROPPED = frozenset(
    {"script", "style", "noscript", "template", "head", "nav", "aside", "footer", "dialog"}
    | {"button", "select", "option", "input", "textarea"}
    | {"svg", "math", "iframe", "object", "audio", "video", "rp", "rt"}
)
_INLINE = frozenset(
    {"a", "abbr", "b", "bdi", "bdo", "big", "cite", "code", "data", "del", "dfn", "em", "font"}
    | {"i", "ins", "label", "mark", "q", "ruby", "s", "small", "span", "strike", "strong", "sub"}
    | {"sup", "time", "tt", "u", "var", "wbr"}
)
_HEADINGS = {f"h{level}": "#" * level for level in range(1, 7)}
_IS_HIDDEN = re.compile(r"display:\s*none|visibility:\s*hidden", re.IGNORECASE)
_IS_BOLD = re.compile(r"font-weight:\s*(?:bold|[6-9]00)", re.IGNORECASE)
_NO_MARKER = re.compile(r"list-style(?:-type)?:\s*none", re.IGNORECASE)
_MARKER = re.compile(r"[(\[]?\w{1,5}[.)\]°º]{1,2}|[-–—•]")
_NUMERALS = {"a": "lowerLetter", "A": "upperLetter", "i": "lowerRoman", "I": "upperRoman"}
_LOGIN_WORDS = 300  # a page with a password's field that holds more is a page with a login


def _html_text(path: Path, content: bytes, tally: Tally) -> str:
    with needs_extra("An HTML page", "files"):
        from lxml import etree, html

    text = decoded_text(path, content, tally)
    try:
        # lxml refuses a declared encoding in what is decoded already.
        root = html.document_fromstring(re.sub(r"^\s*<\?xml[^>]*\?>", "", text))
    except (etree.ParserError, ValueError) as error:
        raise refused(path, "holds no text", "Check that it is the file you meant.") from error
    main = _main_content(root)
    written = _Page(tally).text(main)
    if root.xpath("//input[@type='password']") and len(written.split()) < _LOGIN_WORDS:
        message = "is a page that asks for a login, not a law"
        raise refused(path, message, "Log in with a browser, and save the page of the law.")
    title = " ".join((root.findtext(".//title") or "").split())
    if title and not re.search(r"^# ", written, re.MULTILINE):
        written = f"# {title}\n\n{written}"
    return written


def _main_content(root: Element) -> Element:
    """The part of a page that holds its content: <main>, else its only <article>, else the body."""
    for path in ("//main | //*[@role='main']", "//article"):
        found = root.xpath(path)
        if len(found) == 1 and found[0].text_content().strip():
            return found[0]
    return next(iter(root.xpath("//body")), root)


class _Page:
    """Lays out the blocks of a page as lines."""

    def __init__(self, tally: Tally) -> None:
        self._tally = tally
        self._blocks: list[str] = []
        self._pieces: list[tuple[str, bool]] = []  # of the line at hand, and whether they are bold

    def text(self, element: Element) -> str:
        self._add(element.text, is_bold=False)
        self._walk(element, is_bold=False)
        self._line()
        return re.sub(r"\n{3,}", "\n\n", "\n".join(self._blocks)).strip("\n")

    def _walk(self, element: Element, *, is_bold: bool) -> None:
        for child in element:
            if isinstance(child.tag, str):
                self._enter(child, is_bold=is_bold)
            self._add(child.tail, is_bold=is_bold)

    def _enter(self, element: Element, *, is_bold: bool) -> None:
        tag, style = element.tag.lower(), element.get("style", "")
        if tag == "br":
            self._line()
        elif tag in _DROPPED or "hidden" in element.attrib or _IS_HIDDEN.search(style):
            pass
        elif tag == "header" and not element.xpath("ancestor::main | ancestor::article"):
            pass  # of the site; that of an article holds its title
        elif tag in _HEADINGS:
            self._line()
            if heading := " ".join(element.text_content().split()):
                self._blocks += ["", f"{_HEADINGS[tag]} {heading}", ""]
        elif tag == "pre":
            self._line()
            self._blocks += ["", *element.text_content().strip("\n").split("\n"), ""]
        elif tag == "table":
            self._line()
            self._table(element)
        else:
            is_bold = tag in ("b", "strong", "th") or bool(_IS_BOLD.search(style)) or is_bold
            if tag not in _INLINE:
                self._end()
            if tag == "li":
                self._add(_list_number(element), is_bold=is_bold)
            own = element.text
            if tag == "sup" and own and own.strip().isdigit():
                own = own.strip().translate(RAISED_DIGITS)
            self._add(own, is_bold=is_bold)
            self._walk(element, is_bold=is_bold)
            if tag not in _INLINE:
                self._end()

    def _table(self, table: Element) -> None:
        """Rows as lines; a marker in a cell of its own begins the text of the next one."""
        rows = table.xpath("./tr | ./thead/tr | ./tbody/tr | ./tfoot/tr")
        is_counted = False
        for row in rows:
            cells = [_Page(self._tally).text(cell) for cell in row.xpath("./td | ./th")]
            cells = [cell for cell in cells if cell]
            if len(cells) > 1 and _MARKER.fullmatch(cells[0]):
                cells[:2] = [" ".join(cells[:2])]
            if any("\n" in cell for cell in cells) or len(cells) == 1:  # it lays out the page
                for cell in cells:
                    self._blocks += ["", cell, ""]
            elif cells:
                is_counted = True
                self._blocks.append(" | ".join(cells))
        self._blocks.append("")
        self._tally.add("kept as text", "table", int(is_counted))

    def _add(self, text: str | None, *, is_bold: bool) -> None:
        if text:
            self._pieces.append((re.sub(r"\s+", " ", text), is_bold))

    def _line(self) -> None:
        line = " ".join("".join(piece for piece, _ in self._pieces).split())
        if line:
            is_bold = all(bold for piece, bold in self._pieces if piece.strip())
            self._blocks.append(f"**{line}**" if is_bold else line)
        self._pieces = []

    def _end(self) -> None:
        """End a block, unless it is a marker that stands in a block of its own."""
        if _MARKER.fullmatch("".join(piece for piece, _ in self._pieces).strip()):
            self._pieces.append((" ", False))
            return
        self._line()
        if self._blocks and self._blocks[-1]:
            self._blocks.append("")


def _list_number(item: Element) -> str:
    """The number that a browser shows before an item of a numbered list."""
    above = item.getparent()
    if above is None or above.tag != "ol" or _NO_MARKER.search(above.get("style", "")):
        return ""
    given = item.get("value") or above.get("start") or "1"
    count = int(given) if given.lstrip("-").isdigit() else 1
    if item.get("value") is None:
        count += sum(1 for each in item.itersiblings("li", preceding=True))
    return f"{numeral(count, _NUMERALS.get(above.get('type', '1'), 'decimal'))}. "
