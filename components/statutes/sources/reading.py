"""How a file of law is read: opened, refused where it is faulty, and reported.

A format in which law is published is one module of this package with one `PublishedFormat`, whose
function takes a file apart into its law and units. The skeleton around it is here. It makes
articles of the units, with ids that are unique and the same on every reading. A fault of the file
is raised as `CorpusError` and becomes a problem of the reading. What was left out, kept as text or
repaired is counted in a `Tally` and reported once. An act without articles yields nothing, and
`opening.py` reports it.

The ids of articles are law, article, and the first day in force where the format says it, so that
two wordings of one article never have the same id.
"""

from __future__ import annotations

import difflib
import gzip
import io
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, cast

from components.statutes.article import Article

# What is wrong.

SHOWN_PROBLEMS = 20

# A file's own words in a message (an id, the name of a field) can be as long as a line.
_LONGEST_WORDS = 400


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


class Place(NamedTuple):
    """Where a record starts: the file as the user named it, and its 1-based line when unpacked."""

    file: str
    line: int

    def notice(self, message: str, repair: str, field: str | None, left_out: int = 0) -> Problem:
        """What needs no fixing here."""
        return self.problem(message, repair, field, left_out=left_out, notice=True)

    def problem(self, message: str, repair: str, field: str | None = None, **more: Any) -> Problem:
        """What is wrong here; `more` are further fields of the `Problem`."""
        return Problem(self.file, self.line, field, message, repair, **more)


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


def did_you_mean(word: object, known: Iterable[str]) -> str:
    """' (did you mean ...?)' for the nearest known word, or nothing."""
    near = difflib.get_close_matches(str(word), list(known), n=1)
    return f" (did you mean '{near[0]}'?)" if near else ""


def of_file(file: object, message: str, repair: str, **more: Any) -> Problem:
    """A problem of a whole file or folder; `more` are further fields."""
    line, field = more.pop("line", None), more.pop("field", None)
    return Problem(str(file), line, field, message, repair, **more)


def notice(file: object, message: str, repair: str, field: str | None = None) -> Problem:
    """What needs no fixing, of a whole file or folder."""
    return Problem(str(file), None, field, message, repair, left_out=0, notice=True)


def refused(file: object, message: str, repair: str, **more: Any) -> CorpusError:
    """The error of one problem of a whole file or folder."""
    return CorpusError([of_file(file, message, repair, **more)])


def cut_short(place: Place, error: Exception) -> Problem:
    """A gzip file that does not unpack to its end."""
    detail = "it ends too early" if isinstance(error, EOFError) else str(error)
    message = f"the gzip data breaks off here ({detail}); what follows cannot be read"
    return place.problem(message, "Copy or download the file again.", breaks_off=True)


def too_long(place: Place, what: str, repair: str) -> Problem:
    """A line or row of more than `LONGEST_LINE` bytes."""
    message = f"the {what} is longer than {LONGEST_LINE // 2**20} MB; reading stops here"
    return place.problem(message, repair, breaks_off=True)


def not_utf8(place: Place, byte: int, *, breaks_off: bool = False) -> Problem:
    """Bytes that are not UTF-8 text."""
    message = f"is not UTF-8 text (it holds the byte 0x{byte:02x})"
    return place.problem(message, "Save the file as UTF-8.", breaks_off=breaks_off)


# Files.

BOM = b"\xef\xbb\xbf"
GZIP_MAGIC = b"\x1f\x8b"
GZIP_ERRORS = (EOFError, zlib.error, gzip.BadGzipFile)

LONGEST_LINE = 16 * 2**20
"""Bytes of UTF-8 that one line, or one row of a table, may hold when unpacked."""

LARGEST = 200 * 10**6
"""Bytes that one file of law may hold when unpacked: a parsed tree takes several times as much."""


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
    if isinstance(source, Path):
        try:
            stream: Any = source.open("rb")
        except OSError as error:
            message = f"cannot be read ({(error.strerror or str(error)).lower()})"
            raise refused(source, message, "Check path and rights.") from error
    else:
        if isinstance(source.read(0), str):
            repair = "Open it in binary mode: open(path, 'rb')."
            raise refused(name_of(source), "is open as text", repair)
        stream = io.BufferedReader(cast("io.RawIOBase", source))
    try:
        if stream.peek(2)[:2] == GZIP_MAGIC:
            with gzip.open(stream, "rb") as unpacked:
                yield cast("BinaryIO", unpacked)
        else:
            yield stream
    finally:
        if isinstance(source, Path):
            stream.close()
        else:  # else the reader would close the caller's file when it goes
            with suppress(ValueError):  # the caller has closed it meanwhile
                stream.detach()


def read_whole(path: Path, most: int | None = None) -> bytes:
    """A file's content, unpacked, or its beginning.

    Args:
        path: The file.
        most: How many bytes to read; None for all of them, at most `LARGEST`.

    Raises:
        CorpusError: The file cannot be opened or unpacked, or holds too much.
    """
    with open_unpacked(path) as stream:
        try:
            content = stream.read(LARGEST + 1 if most is None else most)
        except GZIP_ERRORS as error:
            raise CorpusError([cut_short(Place(str(path), 1), error)]) from error
    if len(content) > LARGEST:
        message = f"holds more than {LARGEST // 10**6:,} MB"
        raise refused(path, message, "Split it into files of one law each.")
    return content


_DECLARED = re.compile(rb"""(?:charset|encoding)\s*=\s*["']?\s*([\w.:-]+)""", re.IGNORECASE)

# As browsers do.
_READ_AS_WINDOWS_1252 = (b"iso-8859-1", b"latin1", b"latin-1", b"utf-8", b"windows-1252")


def decoded(content: bytes) -> tuple[str, str]:
    """A text and its encoding: what its first bytes mark, UTF-8, what it declares, Windows-1252.

    Raises:
        UnicodeDecodeError: It is none of them.
    """
    if content.startswith((b"\xff\xfe", b"\xfe\xff")):
        return content.decode("utf-16"), "utf-16"
    # A page in UTF-8 may declare what its server once used; nothing else looks like UTF-8.
    with suppress(UnicodeDecodeError):
        return content.decode("utf-8-sig"), "utf-8"
    declared = _DECLARED.search(content[:2048]) if content.lstrip().startswith(b"<") else None
    if declared and declared[1].lower() not in _READ_AS_WINDOWS_1252:
        with suppress(LookupError, UnicodeDecodeError):
            encoding = declared[1].decode("ascii").lower()
            return content.decode(encoding), encoding
    return content.decode("cp1252"), "cp1252"


# The law of a file and its units.


class Law(NamedTuple):
    """What a file says about its law.

    Attributes:
        key: What the ids of its articles begin with.
        name: What a citation calls it.
        language: BCP 47 tag, where known.
        address: The official text, for articles without a page of their own.
        other_names: Its short title and abbreviation, where the file gives them.
        id: What tells it apart from other laws, where that is not its key.
    """

    key: str
    name: str
    language: str | None = None
    address: str | None = None
    other_names: tuple[str, ...] = ()
    id: str | None = None


class Unit(NamedTuple):
    """A part of a law that becomes an article if it has words.

    Attributes:
        key: The format's, or else its number; unique in the law, as a rule: a repeat gets "~2".
        number: As printed.
        line: Where it starts in the file.
        title: Its own, which begins its text; may be empty.
        headings: The divisions above it, from the top.
        since: The first day of this wording, which stands in the id.
        valid_from: First day in force.
        valid_to: Last day in force.
        address: Its page.
        printed: Its text where it has neither a title nor words.
    """

    key: str
    number: str
    line: int | None
    title: str = ""
    headings: tuple[str, ...] = ()
    since: date | None = None
    valid_from: date | None = None
    valid_to: date | None = None
    address: str | None = None
    printed: str = ""


LawAndUnits = tuple[Law, Iterable[tuple[Unit, str]]]
"""A law, and its units with the words below number and title."""

NO_LAW: LawAndUnits = (Law("", ""), ())


@dataclass(frozen=True)
class PublishedFormat:
    """A format in which law is published.

    Attributes:
        name: What --format calls it.
        matches: Whether a file is in this format, by its first 4 KB, unpacked.
        units: Takes ONE file apart; counts in the tally what does not become articles. Raises
            `CorpusError` for a fault of the whole file.
        kind: What the format calls a unit.
    """

    name: str
    matches: Callable[[bytes], bool]
    units: Callable[[Path, Tally], LawAndUnits]
    kind: str = "article"

    def read(self, path: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
        """Yield the articles of a file in its order, with the lines at which they start.

        Faults go to `problems`, and in the end what the tally counted.
        """
        tally = Tally()
        try:
            law, units = self.units(path, tally)
        except CorpusError as error:
            problems.extend(error.problems)
            return
        yield from _articles(path, law, units, tally, self.kind)
        problems.extend(tally.notices(str(path)))


_LONGEST_NAME = 200  # characters; what is longer tells what an act does
# What marks the key of one version of a law, which is not another law.
_VERSION = re.compile(r"@.*|/(?:enacted|made|created|adopted)(?=[/@]|$)")


def _articles(
    path: Path, law: Law, units: Iterable[tuple[Unit, str]], tally: Tally, kind: str
) -> Iterator[tuple[Place, Article]]:
    ids: Counter[str] = Counter()
    short = (name for name in law.other_names if len(name) <= _LONGEST_NAME)
    names = tuple(name for name in dict.fromkeys(short) if name and name != law.name)
    for unit, words in units:
        text = "\n".join(filter(None, (unit.title, words))) or unit.printed
        if not text:
            tally.add("left out", f"{kind} without words")
            continue
        id_ = f"{one_line(law.key)}:{one_line(unit.key)}" + (f"@{unit.since}" if unit.since else "")
        ids[id_] += 1
        article = Article(
            id=id_ if ids[id_] == 1 else f"{id_}~{ids[id_]}",
            law=law.name,
            number=unit.number,
            headings=unit.headings,
            text=text,
            language=law.language,
            valid_from=unit.valid_from,
            valid_to=unit.valid_to,
            source_url=unit.address or law.address,
            law_id=_VERSION.sub("", law.id or law.key) or None,
            law_names=names,
        )
        yield Place(str(path), unit.line or 1), article


# What several formats say in the same words.


def one_line(text: str | None) -> str:
    """A text with every run of white space as one space."""
    return " ".join((text or "").split())


# How formats write a day that is not known or never comes.
_ABSENT_DATES = frozenset({date(1001, 1, 1), date(2999, 1, 1), date(9999, 12, 31)})
_FIRST_YEAR = 1000


def day(text: str | None) -> date | None:
    """The day of an ISO date, with or without a time or zone; None for one that means "never".

    >>> day("2018-05-25+01:00"), day("2999-01-01"), day("")
    (datetime.date(2018, 5, 25), None, None)
    """
    try:
        found = date.fromisoformat((text or "").strip()[:10])
    except ValueError:
        return None
    # No law in force has a day of the first centuries: it stands for one that is missing.
    return None if found in _ABSENT_DATES or found.year < _FIRST_YEAR else found


RAISED_DIGITS = str.maketrans("0123456789+-−", "⁰¹²³⁴⁵⁶⁷⁸⁹⁺⁻⁻")
"""Superscripts of digits and signs, for `str.translate`."""

_EU_ACT = re.compile(
    r"(?P<kind>\w+) (?:\([A-Z, ]{2,20}\) )?(?P<no>[Nn][o°ºr]\.? )?"
    r"(?P<a>\d+)/(?P<b>\d+)(?:/[A-Z]+)?\b"
)
_EU_KINDS = {
    "R": re.compile(r"r[eè]g|verord|f[oö]rord|rozporz", re.IGNORECASE),
    "L": re.compile(r"dire|richtli|dyrekt", re.IGNORECASE),
    "D": re.compile(r"d[eé]ci|beschlu|entscheid|beslu|decyz", re.IGNORECASE),
}
_EU_SHORT_TITLE = re.compile(r"\(([^()]+)\)\s*(?:\(Text with[^()]*\))?$")


def eu_names(title: str) -> tuple[str, ...]:
    """The names of an act of the European Union: kind and number, CELEX, short title.

    >>> eu_names("Commission Regulation (EC) No 73/2009 of 19 January 2009 (Boats Regulation)")
    ('Regulation (EC) No 73/2009', '32009R0073', 'Boats Regulation')
    """
    act = _EU_ACT.search(title)
    kind = act and next((key for key, words in _EU_KINDS.items() if words.match(act["kind"])), None)
    if act is None or kind is None:
        return ()
    # "No 73/2009" ends with the year, "2016/679" and "95/46/EC" begin with it.
    year, number = (act["b"], act["a"]) if act["no"] else (act["a"], act["b"])
    names = [act[0], f"3{year if len(year) == 4 else '19' + year}{kind}{number.zfill(4)}"]
    short = _EU_SHORT_TITLE.search(title)
    if short is not None and not short[1].startswith("Text with"):
        names.append(short[1])
    return tuple(names)


# What is not in the articles as it was in the file.

_MOST_THINGS = 12  # in a notice


@dataclass(frozen=True, slots=True)
class TallyNotice(Problem):
    """One notice of a `Tally`; those of many files add up to one.

    Attributes:
        action: What was done with it: "left out", "kept as text", "repaired" ...
        counts: How many of each thing.
    """

    action: str = ""
    counts: Mapping[str, int] | None = None


class Tally:
    """Counts what a reader left out or changed, by action and thing.

    Actions in use: "left out" (footnote, annex, signature, recital, table of contents, note),
    "kept as text" (table, quoted article), "repaired" and "unknown" (division).

    Attributes:
        remarks: Further notices of the file, which are not counts.
    """

    def __init__(self) -> None:
        self._counts: dict[str, Counter[str]] = {}
        self.remarks: list[Problem] = []

    def add(self, action: str, thing: str, count: int = 1) -> None:
        """Count things (in the singular) with which the same was done."""
        if count:
            self._counts.setdefault(action, Counter())[thing] += count

    def add_notice(self, notice: TallyNotice) -> None:
        """Count what another file's notice says."""
        for thing, count in (notice.counts or {}).items():
            self.add(notice.action, thing, count)

    def notices(self, file: str) -> Iterator[Problem]:
        """The remarks, and one notice per action; none of them is a fault."""
        yield from self.remarks
        for action, counts in self._counts.items():
            things = [f"{thing} ({count:,})" for thing, count in counts.items()]
            if len(things) > _MOST_THINGS:
                others = sum(list(counts.values())[_MOST_THINGS:])
                things[_MOST_THINGS:] = [f"{others:,} more"]
            message = f"{action}: {', '.join(things)}"
            repair = _REPAIRS.get(action, "Nothing to fix.")
            yield TallyNotice(
                file, None, None, message, repair, 0, notice=True, action=action, counts=counts
            )


_REPAIRS = {
    "left out": "They are not part of the articles.",
    "kept as text": "They stand in the articles' text.",
    "repaired": "Check a few of them against the official text.",
    "read as Windows-1252": "Check a few accented letters; save it as UTF-8 where they are wrong.",
    "unknown": "Their articles stand under the nearest division that is known.",
}
