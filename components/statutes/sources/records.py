"""Files of law as lines and tables of records, with everything wrong in them named."""

from __future__ import annotations

import csv
import gzip
import io
import re
import unicodedata
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from components.statutes.article import iso_day

SHOWN_PROBLEMS = 20

# A file's own words in a message (an id, the name of a field) can be as long as a line.
_LONGEST_WORDS = 400


class Place(NamedTuple):
    """Where a record starts: the file as the user named it, and its 1-based line when unpacked."""

    file: str
    line: int

    def problem(self, message: str, repair: str, field: str | None = None, **more: Any) -> Problem:
        """What is wrong here; `more` are further fields of the `Problem`."""
        return Problem(self.file, self.line, field, message, repair, **more)


@dataclass(frozen=True, slots=True)
class Problem:
    """One thing wrong in a file.

    Attributes:
        file: The file as the user named it.
        line: 1-based line where the record starts; `None` for the whole file.
        field: The field at fault; `None` when the whole line is.
        message: What is wrong, without a full stop; cut in the middle where it is very long.
        repair: How to fix it, as sentences.
        left_out: How many records were not read because of it; 0 when all are there.
        notice: True when nothing needs fixing: reading does not fail because of it.
        breaks_off: True when the file ends here before its own end: how much is missing nobody
            knows, so it is refused also where faulty records are left out.
    """

    file: str
    line: int | None
    field: str | None
    message: str
    repair: str
    left_out: int = 1
    notice: bool = False
    breaks_off: bool = False

    def __post_init__(self) -> None:
        for name in ("field", "message"):
            words = getattr(self, name)
            if words is not None and len(words) > _LONGEST_WORDS:
                cut = f"{words[: _LONGEST_WORDS // 2]} [...] {words[-_LONGEST_WORDS // 2 :]}"
                object.__setattr__(self, name, cut)

    def __str__(self) -> str:
        place = self.file if self.line is None else f"{self.file}:{self.line}"
        field = "" if self.field is None else f"field '{self.field}': "
        return f"{place}: {field}{self.message}. {self.repair}"


class CorpusError(ValueError):
    """A file of law, or of questions, cannot be read as it is.

    Attributes:
        problems: Everything wrong, in the order of the file.
    """

    def __init__(self, problems: Iterable[Problem]) -> None:
        self.problems = list(problems)
        super().__init__(self.problems)

    def __str__(self) -> str:
        shown = [str(problem) for problem in self.problems[:SHOWN_PROBLEMS]]
        if len(self.problems) == 1:
            return shown[0]
        hidden = len(self.problems) - len(shown)
        if hidden:
            shown.append(f"... and {hidden:,} more.")
        return "\n  ".join([f"{len(self.problems):,} problems:", *shown])


_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

LONGEST_LINE = 16 * 2**20
"""Bytes of UTF-8 that one line, or one row of a table, may hold when unpacked."""

MOST_UNREAD = 1_000_000
"""Blank lines and faults in a file before reading gives up: a few kilobytes of gzip can hold
millions of them, and every fault is kept to be reported."""


def name_of(source: str | Path | BinaryIO) -> str:
    """What messages call a source: the path as given, or an open file's own name."""
    if isinstance(source, str | Path):
        return str(source)
    return str(getattr(source, "name", "") or "<stream>")


@contextmanager
def open_unpacked(source: Path | BinaryIO) -> Iterator[BinaryIO]:
    """Open a file, unpacking it when its first bytes (not its name) say gzip.

    A stream that is open already stays open.

    Raises:
        CorpusError: The file cannot be opened, or the stream is open as text.
    """
    with ExitStack() as stack:
        if isinstance(source, Path):
            try:
                stream: Any = stack.enter_context(source.open("rb"))
            except OSError as error:
                reason = (error.strerror or str(error)).lower()
                message, repair = f"cannot be read ({reason})", "Check path and rights."
                raise CorpusError([Problem(str(source), None, None, message, repair)]) from error
        else:
            if isinstance(source.read(0), str):
                repair = "Open it in binary mode: open(path, 'rb')."
                problem = Problem(name_of(source), None, None, "is open as text", repair)
                raise CorpusError([problem])
            stream = io.BufferedReader(cast("io.RawIOBase", source))
            # Else the reader closes the caller's file when it goes.
            stack.callback(_detach, stream)
        if stream.peek(2)[:2] == _GZIP_MAGIC:
            stream = stack.enter_context(gzip.open(stream, "rb"))
        yield stream


def is_packed(source: Path | BinaryIO) -> bool | None:
    """Whether a file's first bytes say gzip; None where they cannot be looked at again."""
    if not isinstance(source, Path) or not source.is_file():
        return None
    with source.open("rb") as stream:
        return stream.read(2) == _GZIP_MAGIC


def _detach(reader: io.BufferedReader) -> None:
    with suppress(ValueError):  # the caller has closed the file meanwhile
        reader.detach()


def absent(folder: Path, wanted: Sequence[str]) -> Problem:
    """The problem that stands for a folder without the file that it should hold."""
    message = f"the folder holds no {' or '.join(wanted)}"
    return Problem(str(folder), None, None, message, "Put the file there, or give another folder.")


def cut_short(place: Place, error: Exception) -> Problem:
    """A gzip file that does not unpack to its end."""
    detail = "it ends too early" if isinstance(error, EOFError) else str(error)
    message = f"the gzip data breaks off here ({detail}); what follows cannot be read"
    return place.problem(message, "Copy or download the file again.", breaks_off=True)


def too_long(place: Place, what: str, repair: str) -> Problem:
    """A line or row of more than `LONGEST_LINE` bytes."""
    message = f"the {what} is longer than {LONGEST_LINE // 2**20} MB; reading stops here"
    return place.problem(message, repair, breaks_off=True)


def too_many_unread(place: Place) -> Problem:
    """The rest of a file with more than `MOST_UNREAD` blank or faulty lines."""
    message = f"more than {MOST_UNREAD:,} lines are blank or faulty; reading stops here"
    return place.problem(message, "Check that it is the file you meant.", breaks_off=True)


def not_utf8(place: Place, byte: int, *, breaks_off: bool = False) -> Problem:
    """Bytes that are not UTF-8 text."""
    message = f"is not UTF-8 text (it holds the byte 0x{byte:02x})"
    return place.problem(message, "Save the file as UTF-8.", breaks_off=breaks_off)


GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)


def read_lines(source: Path | BinaryIO, problems: list[Problem]) -> Iterator[tuple[Place, str]]:
    """Yield the lines that are not blank, decoded, with their places.

    A line that is not UTF-8 or too long, and gzip data that breaks off, are added to `problems`; a
    file of UTF-16 once.

    Raises:
        CorpusError: The file cannot be opened.
    """
    name = name_of(source)
    number = blank = 0
    faults_before = len(problems)
    with open_unpacked(source) as stream:
        # One byte more than a line may have, so that a longer one shows without being held whole.
        lines = iter(partial(stream.readline, LONGEST_LINE + 1), b"")
        try:
            for number, raw in enumerate(lines, start=1):
                place = Place(name, number)
                if number == 1 and _is_utf16(raw):
                    # What follows are pieces of it, each of which would be a fault of its own.
                    message, repair = "is UTF-16, not UTF-8 text", "Save the file as UTF-8."
                    problems.append(place.problem(message, repair, breaks_off=True))
                    return
                if len(raw) > LONGEST_LINE:
                    problems.append(too_long(place, "line", "Write one record a line."))
                    return
                if blank + len(problems) - faults_before > MOST_UNREAD:
                    problems.append(too_many_unread(place))
                    return
                line = raw.removeprefix(_BOM) if number == 1 else raw
                if line.isspace() or not line:
                    blank += 1
                    continue
                try:
                    yield place, line.decode("utf-8")
                except UnicodeDecodeError as error:
                    ends = line.endswith(b"\n")
                    problems.append(not_utf8(place, line[error.start], breaks_off=not ends))
        except GZIP_ERRORS as error:
            problems.append(cut_short(Place(name, number + 1), error))


def _is_utf16(line: bytes) -> bool:
    """Whether a file that starts so is UTF-16, of whose signs every other byte is 0 here."""
    return line.startswith(_UTF16_BOMS) or (len(line) > 1 and 0 in line[:2] and any(line[:2]))


_JSON_TYPES = {bool: "true or false", int: "a number", float: "a number", list: "a list"}


def _is_visible(text: str) -> bool:
    """Whether a text has a character that is more than space, control or format."""
    return any(unicodedata.category(each)[0] not in "ZC" for each in text)


_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def described(value: object) -> str:
    """A value's type in the words of JSON."""
    if value is None:
        return "null"
    if isinstance(value, str):
        return "text"
    return _JSON_TYPES.get(type(value), "an object")


class Record:
    """The fields of one line; every fault goes to `problems` and makes the record faulty."""

    __slots__ = ("faulty", "fields", "place", "problems")

    def __init__(self, place: Place, fields: Mapping[str, object], problems: list[Problem]) -> None:
        self.place = place
        self.fields = fields
        self.problems = problems
        self.faulty = False

    def fault(self, field: str | None, message: str, repair: str) -> None:
        """Report a fault; a record counts as left out once, however many faults it has."""
        problem = self.place.problem(message, repair, field, left_out=int(not self.faulty))
        self.problems.append(problem)
        self.faulty = True

    def text(self, field: str, repair: str) -> str:
        """A required text, not empty; "" after reporting a fault."""
        value = self.fields.get(field)
        if field not in self.fields:
            self.fault(field, "is missing", repair)
        elif not isinstance(value, str):
            self.fault(field, f"is {described(value)}, not text", "Write it as text, in quotes.")
        elif "\0" in value:
            self.fault(field, "holds the character U+0000", "Take it out.")
        elif not _is_visible(value):
            self.fault(field, "is empty", repair)
        else:
            return value
        return ""

    def name(self, field: str, repair: str) -> str:
        """A required text without control characters, which would break run files and logs."""
        value = self.text(field, repair)
        if _CONTROL.search(value):
            self.fault(field, f"{value!r} holds a control character", "Take it out.")
        return value

    def address(self, field: str) -> str | None:
        """A web address, or `None` when the field is absent or null."""
        value = self.optional_text(field)
        if value and not value.lower().startswith(("http://", "https://")):
            message = f"{value[:40]!r} is not an address of http:// or https://"
            self.fault(field, message, "Give the text's page on the web, or leave the field out.")
        return value

    def optional_text(self, field: str) -> str | None:
        """A text, or `None` when the field is absent or null."""
        if self.fields.get(field) is None:
            return None
        return self.text(field, "Fill it in, or leave the field out.")

    def optional_choice(self, field: str, choices: tuple[str, ...]) -> str | None:
        """One of some texts, or `None` when the field is absent or null."""
        value = self.optional_text(field)
        if value and value not in choices:
            *most, last = (f'"{choice}"' for choice in choices)
            known = f"{', '.join(most)} or {last}"
            repair = "Write one of these, or leave the field out."
            self.fault(field, f"{value[:40]!r} is not {known}", repair)
            return None
        return value

    def texts(self, field: str, repair: str) -> tuple[str, ...]:
        """A required list of texts, none of them empty; the list itself may be."""
        value = self.fields.get(field)
        if field not in self.fields:
            self.fault(field, "is missing", repair)
            return ()
        if not isinstance(value, list):
            self.fault(field, f"is {described(value)}, not a list of texts", repair)
            return ()
        for place, entry in enumerate(value, start=1):
            if not isinstance(entry, str):
                self.fault(field, f"entry {place} is {described(entry)}, not text", repair)
                return ()
            if not _is_visible(entry):
                self.fault(field, f"entry {place} is empty", "Fill it in, or take it out.")
                return ()
            if _CONTROL.search(" ".join(entry.split())):  # a heading may be printed in lines
                self.fault(field, f"entry {place} holds a control character", "Take it out.")
                return ()
        return tuple(value)

    def date(self, field: str) -> date | None:
        """An ISO date, or `None` when the field is absent or null."""
        value = self.fields.get(field)
        if value is None:
            return None
        repair = "Write it as YYYY-MM-DD, or leave the field out."
        if not isinstance(value, str):
            self.fault(field, f"is {described(value)}, not a date", repair)
            return None
        try:
            return iso_day(value)
        except ValueError:
            self.fault(field, f"{value[:40]!r} is not a date", repair)
            return None

    def flag(self, field: str, *, default: bool) -> bool:
        """True or false; `default` when the field is absent."""
        value = self.fields.get(field, default)
        if not isinstance(value, bool):
            self.fault(field, f"is {described(value)}, not true or false", "Write true or false.")
            return default
        return value


# The csv module's words for a file that ends within a quoted field; it has no other sign of it.
_OPEN_QUOTE = "unexpected end of data"
_QUOTE_FIELDS = "Write the table again with every field that holds a quote or a comma in quotes."


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
                message = f"is not a CSV row ({error})"
                # A quote that nothing closes takes all rows that follow with it.
                breaks_off = str(error) == _OPEN_QUOTE
                problems.append(place.problem(message, _QUOTE_FIELDS, breaks_off=breaks_off))
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
                if faults := list(_header_faults(place, header, columns)):
                    problems.extend(faults)
                    return
            elif (byte := _first_bad_byte(row)) is not None:
                problems.append(not_utf8(place, byte))
            elif len(row) != len(header):
                message = f"has {len(row)} columns, where the header has {len(header)}"
                problems.append(place.problem(message, _QUOTE_FIELDS))
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
        yield place.problem(message, "Save the file as UTF-8.")
    elif len(header) == 1 and (mark := next((each for each in ";\t|" if each in line), None)):
        message = f"has its columns separated by {mark!r}, not by commas"
        repair = "Save the table with commas, and with quotes around fields that hold one."
        yield place.problem(message, repair)
    else:
        for column in columns:
            if column not in header:
                repair = "Take the file as it was published."
                yield place.problem("is not a column of the header", repair, column)
        for column in dict.fromkeys(header):
            if column and header.count(column) > 1:
                message = f"stands {header.count(column)} times in the header"
                repair = "Give each column a name of its own, or take the others out."
                yield place.problem(message, repair, column)


def _first_bad_byte(row: Sequence[str]) -> int | None:
    """The first byte that was not UTF-8: surrogateescape keeps it as U+DC80 to U+DCFF."""
    for cell in row:
        try:
            cell.encode("utf-8")
        except UnicodeEncodeError as error:
            return ord(cell[error.start]) - 0xDC00
    return None
