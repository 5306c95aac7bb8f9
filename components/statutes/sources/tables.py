"""CSV tables as records, for the sources that come as CSV."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import BinaryIO, cast

from components.statutes.problems import Place, Problem
from components.statutes.sources.lines import (
    GZIP_ERRORS,
    LONGEST_LINE,
    MOST_UNREAD,
    cut_short,
    not_utf8,
    open_unpacked,
    too_long,
    too_many_unread,
)
from components.statutes.sources.record import Record

# The csv module's words for a file that ends within a quoted field; it has no other sign of it.
_OPEN_QUOTE = "unexpected end of data"


def read_table(path: Path, columns: Sequence[str], problems: list[Problem]) -> Iterator[Record]:
    """Yield the rows of a CSV file with a header, placed at the line where each starts.

    Args:
        path: The file.
        columns: Those that the header must have; others may stand beside them.
        problems: Gets rows that cannot be read.

    Raises:
        CorpusError: The file cannot be opened.
    """
    name = str(path)
    # Python's own limit, 131,072 characters, is shorter than the longest articles of real law.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * LONGEST_LINE))
    blank = 0
    faults_before = len(problems)
    with open_unpacked(path) as stream:
        counted = _Counted(stream)
        text = io.TextIOWrapper(
            cast(BinaryIO, counted), "utf-8-sig", errors="surrogateescape", newline=""
        )
        rows = csv.reader(text, strict=True)
        header: list[str] | None = None
        while True:
            place = Place(name, rows.line_num + 1)
            if blank + len(problems) - faults_before > MOST_UNREAD:
                problems.append(too_many_unread(place))
                return
            counted.of_row = 0
            try:
                row = next(rows, None)
            except csv.Error as error:
                problem = _bad_row(place, f"is no CSV row ({error})")
                # A quote that nothing closes takes all rows that follow with it.
                breaks_off = str(error) == _OPEN_QUOTE
                problems.append(replace(problem, breaks_off=breaks_off))
                continue
            except GZIP_ERRORS as error:
                problems.append(cut_short(place, error))
                return
            except _RowTooLongError:
                repair = "Close the quote that opens in this row, or split the row."
                problems.append(too_long(place, "row", repair))
                return
            if row is None:
                return
            if not row:
                blank += 1
                continue
            if header is None:
                header = row
                faults = list(_header_faults(place, header, columns))
                problems.extend(faults)
                if faults:
                    return
            elif (byte := _first_bad_byte(row)) is not None:
                problems.append(not_utf8(place, byte))
            elif len(row) != len(header):
                message = f"has {len(row)} columns, where the header has {len(header)}"
                problems.append(_bad_row(place, message))
            else:
                yield Record(place, dict(zip(header, row, strict=True)), problems)


class _RowTooLongError(Exception):
    """A row, over all of its lines, is longer than `LONGEST_LINE`."""


class _Counted(io.BufferedIOBase):
    """A file that is not read on without end for one row, as the csv module would.

    Attributes:
        of_row: Bytes read since it was last set to 0; text is read some kilobytes ahead.
    """

    def __init__(self, stream: BinaryIO) -> None:
        self._read1 = cast(io.BufferedReader, stream).read1
        self.of_row = 0

    def readable(self) -> bool:
        return True

    def read1(self, size: int = -1, /) -> bytes:
        part = self._read1(size)
        self.of_row += len(part)
        if self.of_row > LONGEST_LINE + io.DEFAULT_BUFFER_SIZE:
            raise _RowTooLongError
        return part


def _header_faults(
    place: Place, header: Sequence[str], columns: Sequence[str]
) -> Iterator[Problem]:
    """What keeps a table from being read under this header; of one cause, one fault."""
    line = "".join(header)
    if (byte := _first_bad_byte(header)) is not None:
        yield not_utf8(place, byte)
    elif "\0" in line:
        message = "holds the character U+0000, as UTF-16 text read byte by byte does"
        yield Problem(place.file, place.line, None, message, "Save the file as UTF-8.")
    elif len(header) == 1 and (mark := next((each for each in ";\t|" if each in line), None)):
        message = f"has its columns separated by {mark!r}, not by commas"
        repair = "Save the table with commas, and with quotes around fields that hold one."
        yield Problem(place.file, place.line, None, message, repair)
    else:
        for column in columns:
            if column not in header:
                yield _absent_column(place, column)
        for column in dict.fromkeys(header):
            if column and header.count(column) > 1:
                message = f"stands {header.count(column)} times in the header"
                repair = "Give each column a name of its own, or take the others out."
                yield Problem(place.file, place.line, column, message, repair)


def _first_bad_byte(row: Sequence[str]) -> int | None:
    """The first byte that was not UTF-8: surrogateescape keeps it as U+DC80 to U+DCFF."""
    for cell in row:
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError as error:
            return ord(cell[error.start]) - 0xDC00
    return None


def _bad_row(place: Place, message: str) -> Problem:
    repair = "Write the table again with every field that holds a quote or a comma in quotes."
    return Problem(place.file, place.line, None, message, repair)


def _absent_column(place: Place, column: str) -> Problem:
    message = "is no column of the header"
    return Problem(place.file, place.line, column, message, "Take the file as it was published.")
