"""The text of a PDF in reading order: pages, columns, paragraphs, headings.

PDFium gives the characters with their places. The order in which a file draws its lines is not
always that of reading: many draw a line of the left column, then one of the right. So the lines are
put together here. A wide gap ends a line; an empty strip between two filled columns is a gutter;
what crosses it (a title) stands above or below the columns.
"""

from __future__ import annotations

import ctypes
import re
from bisect import bisect
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import groupby, pairwise
from pathlib import Path
from typing import Any, NamedTuple

from components.statutes.extras import needs_extra
from components.statutes.sources.reading import RAISED_DIGITS, refused

_LINE_END_HYPHEN = "\ufffe"  # PDFium's
_BOLD = re.compile(r"bold|black|heavy|semibd", re.IGNORECASE)

# In heights of the type, about 1.2 of its size.
_GAP = 1.0  # wider than a space of justified text
_RAISED = 0.8
_HEADING = 1.15

_APART = 1.3  # times the distance of lines
_FULL_LINE = 0.7  # of the width of the column

_GUTTER = 6  # points
_COLUMN_LINES = 5  # that show a column, not the cells of a table
_COLUMN_SHARE = 0.15  # of the page's text, in width


class _Char(NamedTuple):
    text: str
    place: int  # in the page
    left: float
    right: float
    low: float
    height: float


class _Line(NamedTuple):
    text: str
    left: float
    right: float
    low: float  # from the bottom of the page
    height: float
    is_bold: bool = False


def pdf_text(path: Path, content: bytes) -> str:
    """The text of a PDF: a form feed between pages, the law's name and bold lines marked.

    Raises:
        CorpusError: It is damaged, needs a password, or has no text.
    """
    with needs_extra("A PDF", "files"):
        import pypdfium2

    try:
        document = pypdfium2.PdfDocument(content)
    except pypdfium2.PdfiumError as error:
        if error.err_code == pypdfium2.raw.FPDF_ERR_PASSWORD:
            repair = "Save a copy without it: qpdf --decrypt --password=... in.pdf out.pdf"
            raise refused(path, "needs a password", repair) from error
        repair = "Download it again, or print it to a new PDF."
        raise refused(path, "is a damaged PDF, or not a PDF", repair) from error
    with document:
        pages = [list(_lines(page.get_textpage())) for page in document]
    if not any(pages):
        message = f"has no text on its pages ({len(pages)}): it is empty, or a scan"
        raise refused(path, message, "Recognise the text of a scan: ocrmypdf in.pdf out.pdf")
    heights = Counter[float]()
    for line in (line for lines in pages for line in lines):
        heights[line.height] += len(line.text)
    body = heights.most_common(1)[0][0]
    texts = []
    gutters: list[float] = []
    # The law's name is in the largest type of the first page.
    title = max((line.height for line in pages[0]), default=body)
    for number, lines in enumerate(pages):
        gutters = _gutters(lines, gutters)
        texts.append(_text(_in_order(lines, gutters), body, 0 if number else title))
    return "\f".join(texts)


# Lines of a page.


def _lines(page: Any) -> Iterator[_Line]:
    """The lines in the order of the file; two columns are apart even on one base line."""
    from pypdfium2 import raw

    box = raw.FS_RECTF()
    line: list[_Char] = []
    is_space = False
    for index in range(page.count_chars()):
        char = chr(raw.FPDFText_GetUnicode(page, index))
        if char in "\r\n":
            yield from _line(page, line)
            line = []
        elif char != _LINE_END_HYPHEN and not (char.isprintable() and char.strip()):
            is_space = is_space or char.isspace()
            continue
        else:
            # Unlike the size of the font, the box knows of any scaling.
            raw.FPDFText_GetLooseCharBox(page, index, box)
            height = round(box.top - box.bottom, 1)
            if line and not -height <= box.left - line[-1].right <= _GAP * height:
                yield from _line(page, line)
                line = []
            if is_space and line:
                char = f" {char}"
            char = char.replace(_LINE_END_HYPHEN, "-")
            line.append(_Char(char, index, box.left, box.right, box.bottom, height))
        is_space = False
    yield from _line(page, line)


def _line(page: Any, chars: Sequence[_Char]) -> Iterator[_Line]:
    if chars:
        height = max(char.height for char in chars)
        full = [char for char in chars if char.height >= _RAISED * height]
        text = "".join(
            char.text if char.height >= _RAISED * height else char.text.translate(RAISED_DIGITS)
            for char in chars
        )
        is_bold = all(_is_bold(page, full[each].place) for each in (0, len(full) // 2, -1))
        yield _Line(text, chars[0].left, chars[-1].right, full[0].low, height, is_bold)


def _is_bold(page: Any, index: int) -> bool:
    from pypdfium2 import raw

    name = ctypes.create_string_buffer(128)
    raw.FPDFText_GetFontInfo(page, index, name, len(name), None)
    return _BOLD.search(name.value.decode("latin-1")) is not None


# Their order.


def _gutters(lines: Sequence[_Line], of_last_page: list[float]) -> list[float]:
    """Where the columns of a page are apart; none where it has one column."""
    if not lines:
        return of_last_page
    start, end = (int(each) for each in (min(x.left for x in lines), max(x.right for x in lines)))
    covered = [0] * (end - start + 2)
    for line in lines:
        for place in range(int(line.left) - start, min(int(line.right) - start, end - start) + 1):
            covered[place] += 1
    # Titles, running headers and a table may cross a gutter.
    most = len(lines) * 0.1
    strips: list[float] = []
    for is_empty, places in groupby(range(len(covered)), lambda place: covered[place] <= most):
        strip = list(places)
        if is_empty and len(strip) >= _GUTTER:
            strips.append(start + (strip[0] + strip[-1]) / 2)
    found: list[float] = []
    for middle in strips:
        last = found[-1] if found else start
        left = [line for line in lines if last <= line.left and line.right < middle]
        right = [line for line in lines if middle < line.left]
        if _is_column(left, end - start) and _is_column(right, end - start):
            found.append(middle)
    if not found and of_last_page and not any(_crosses(line, of_last_page) for line in lines):
        return of_last_page  # the last page of a law may fill a column and two lines
    return found


def _is_column(lines: Sequence[_Line], page_width: float) -> bool:
    """Whether lines fill a column: numbers in a margin are narrow, the cells of a table ragged."""
    # Justified lines of long words have gaps that are wider than those between cells.
    widths = [row.right - row.left for row in _rows(lines)]
    widest = max(widths, default=0)
    full = sum(width > _FULL_LINE * widest for width in widths)
    return widest > _COLUMN_SHARE * page_width and full >= max(_COLUMN_LINES, len(widths) / 4)


def _crosses(line: _Line, gutters: Sequence[float]) -> bool:
    return bisect(gutters, line.left) != bisect(gutters, line.right)


def _in_order(lines: Sequence[_Line], gutters: list[float]) -> Iterator[list[_Line]]:
    """Columns of lines in the order of reading; a line across a gutter ends those above it."""
    downwards = sorted(lines, key=lambda line: -line.low)
    for crosses, band in groupby(downwards, lambda line: _crosses(line, gutters)):
        if crosses:
            yield _rows(list(band))
            continue
        columns: dict[int, list[_Line]] = {}
        for line in band:
            columns.setdefault(bisect(gutters, line.left), []).append(line)
        for _, column in sorted(columns.items()):
            yield _rows(column)


def _rows(lines: Sequence[_Line]) -> list[_Line]:
    """Lines from the top, with what stands on one base line as one line."""
    rows: list[list[_Line]] = []
    for line in sorted(lines, key=lambda line: -line.low):
        if rows and rows[-1][0].low - line.low < line.height / 3:
            rows[-1].append(line)
        else:
            rows.append([line])
    joined = []
    for row in rows:
        row.sort(key=lambda line: line.left)
        joined.append(
            _Line(
                " ".join(line.text for line in row),
                row[0].left,
                row[-1].right,
                row[0].low,
                max(line.height for line in row),
                all(line.is_bold for line in row),
            )
        )
    return joined


def _text(columns: Iterator[list[_Line]], body: float, title: float) -> str:
    """The text of a page's columns; `title` is the height of the law's name, if it is here.

    Larger type marks a heading but not its depth, so all but the name are written as bold lines.
    """
    written: list[str] = []
    for lines in columns:
        gaps = sorted(above.low - below.low for above, below in pairwise(lines))
        leading = gaps[len(gaps) // 4] if gaps else 0
        widest = max(line.right - line.left for line in lines)
        before: _Line | None = None
        for line in lines:
            if before and before.low - line.low > _APART * leading * line.height / body:
                written.append("")
                before = None
            is_large = line.height >= _HEADING * body
            is_name = is_large and line.height == title
            text = f"**{line.text}**" if line.is_bold or is_large else line.text
            if not (is_large and before and before.height == line.height):
                written.append(f"# {line.text}" if is_name else text)
            elif is_name:  # over several lines
                written[-1] += f" {line.text}"
            elif not _would_fit(line, before, widest):
                written[-1] = f"{written[-1].removesuffix('**')} {line.text}**"
            else:
                written.append(text)
            before = line
    return "\n".join(written)


def _would_fit(line: _Line, above: _Line, widest: float) -> bool:
    """Whether a line's first word would have had room above: then it begins something new."""
    word = (line.right - line.left) * (len(line.text.split(" ")[0]) + 1) / len(line.text)
    return above.right - above.left + word < widest
