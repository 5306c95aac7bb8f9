"""Files as lines of bytes, plain or gzipped, with their faults named."""

from __future__ import annotations

import gzip
import io
import zlib
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from components.statutes.problems import CorpusError, Place, Problem

_GZIP_MAGIC = b"\x1f\x8b"
_BOM = b"\xef\xbb\xbf"
_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")

LONGEST_LINE = 16 * 2**20
"""Bytes of UTF-8 that one line, or one row of a table, may hold when unpacked."""

MOST_UNREAD = 1_000_000
"""Blank lines and faults in a file before reading gives up: a few kilobytes of gzip can hold
millions of them, and every fault is kept to be reported."""


def _name_of(source: Path | BinaryIO) -> str:
    """What messages call a source: the path as given, or an open file's own name."""
    if isinstance(source, Path):
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
                raise CorpusError([_cannot_open(source, error)]) from error
        else:
            if isinstance(source.read(0), str):
                raise CorpusError([_open_as_text(_name_of(source))])
            stream = io.BufferedReader(cast("io.RawIOBase", source))
            # Else the reader closes the caller's file when it goes.
            stack.callback(_let_go, stream)
        if stream.peek(2)[:2] == _GZIP_MAGIC:
            stream = stack.enter_context(gzip.open(stream, "rb"))
        yield stream


def is_packed(source: Path | BinaryIO) -> bool | None:
    """Whether a file's first bytes say gzip; None where they cannot be looked at again."""
    if not isinstance(source, Path) or not source.is_file():
        return None
    with source.open("rb") as stream:
        return stream.read(2) == _GZIP_MAGIC


def _let_go(reader: io.BufferedReader) -> None:
    with suppress(ValueError):  # the caller has closed the file meanwhile
        reader.detach()


def _open_as_text(name: str) -> Problem:
    """The problem that stands for a stream that gives text in place of bytes."""
    return Problem(name, None, None, "is open as text", "Open it in binary mode: open(path, 'rb').")


def _cannot_open(path: Path, error: OSError) -> Problem:
    """The problem that stands for a file that does not open."""
    reason = (error.strerror or str(error)).lower()
    return Problem(str(path), None, None, f"cannot be read ({reason})", "Check path and rights.")


def absent(folder: Path, wanted: Sequence[str]) -> Problem:
    """The problem that stands for a folder without the file that it should hold."""
    message = f"the folder holds no {' or '.join(wanted)}"
    return Problem(str(folder), None, None, message, "Put the file there, or give another folder.")


def cut_short(place: Place, error: Exception) -> Problem:
    """The problem that stands for a gzip file that does not unpack to its end."""
    detail = "it ends too early" if isinstance(error, EOFError) else str(error)
    return Problem(
        place.file,
        place.line,
        None,
        f"the gzip data breaks off here ({detail}); what follows cannot be read",
        "Copy or download the file again.",
        breaks_off=True,
    )


def too_long(place: Place, what: str, repair: str) -> Problem:
    """The problem that stands for a line or row of more than `LONGEST_LINE` bytes."""
    message = f"the {what} is longer than {LONGEST_LINE // 2**20} MB; reading stops here"
    return Problem(place.file, place.line, None, message, repair, breaks_off=True)


def too_many_unread(place: Place) -> Problem:
    """The problem that stands for the rest of a file with more than `MOST_UNREAD` such lines."""
    message = f"more than {MOST_UNREAD:,} lines are blank or faulty; reading stops here"
    repair = "Check that it is the file you meant."
    return Problem(place.file, place.line, None, message, repair, breaks_off=True)


GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)


def read_lines(source: Path | BinaryIO, problems: list[Problem]) -> Iterator[tuple[Place, str]]:
    """Yield the lines that are not blank, decoded, with their places.

    A line that is not UTF-8 or too long, and gzip data that breaks off, are added to `problems`; a
    file of UTF-16 once.

    Raises:
        CorpusError: The file cannot be opened.
    """
    name = _name_of(source)
    number = blank = 0
    faults_before = len(problems)
    with open_unpacked(source) as stream:
        # One byte more than a line may have, so that a longer one shows without being held whole.
        lines = iter(partial(stream.readline, LONGEST_LINE + 1), b"")
        try:
            for number, raw in enumerate(lines, start=1):
                if number == 1 and _is_utf16(raw):
                    # What follows are pieces of it, each of which would be a fault of its own.
                    problems.append(_utf16(Place(name, number)))
                    return
                if len(raw) > LONGEST_LINE:
                    problem = too_long(Place(name, number), "line", "Write one record a line.")
                    problems.append(problem)
                    return
                if blank + len(problems) - faults_before > MOST_UNREAD:
                    problems.append(too_many_unread(Place(name, number)))
                    return
                line = raw.removeprefix(_BOM) if number == 1 else raw
                if line.isspace() or not line:
                    blank += 1
                    continue
                try:
                    yield Place(name, number), line.decode("utf-8")
                except UnicodeDecodeError as error:
                    problem = not_utf8(Place(name, number), line[error.start])
                    problems.append(replace(problem, breaks_off=not line.endswith(b"\n")))
        except GZIP_ERRORS as error:
            problems.append(cut_short(Place(name, number + 1), error))


def _is_utf16(line: bytes) -> bool:
    """Whether a file that starts so is UTF-16, of whose signs every other byte is 0 here."""
    return line.startswith(_UTF16_BOMS) or (len(line) > 1 and 0 in line[:2] and any(line[:2]))


def _utf16(place: Place) -> Problem:
    message = "is UTF-16, not UTF-8 text"
    return Problem(
        place.file, place.line, None, message, "Save the file as UTF-8.", breaks_off=True
    )


def not_utf8(place: Place, byte: int) -> Problem:
    """The problem that stands for bytes that are no UTF-8 text."""
    return Problem(
        place.file,
        place.line,
        None,
        f"is not UTF-8 text (it holds the byte 0x{byte:02x})",
        "Save the file as UTF-8.",
    )
