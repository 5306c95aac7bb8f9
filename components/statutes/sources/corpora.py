"""Corpora made for retrieval, articles with their questions: the native format, BSARD, SoICT.

- Native: one article or question a line, as JSON, plain or gzipped.
- BSARD, the Belgian statutory article retrieval dataset, as its published CSV files (Louis and
  Spanakis, "A Statutory Article Retrieval Dataset in French", ACL 2022).
- The legal document retrieval task of SoICT Hackathon 2024, in Vietnamese, as its CSV files.

Everything wrong in a file is a problem by line and field; the records that are right are read on.
"""

from __future__ import annotations

import csv
import difflib
import io
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from datetime import date
from functools import partial
from pathlib import Path
from typing import Any, BinaryIO, cast

from components.statutes.article import Article, iso_day
from components.statutes.question import Question
from components.statutes.sources.reading import (
    BOM,
    GZIP_ERRORS,
    GZIP_MAGIC,
    LONGEST_LINE,
    Place,
    Problem,
    cut_short,
    name_of,
    not_utf8,
    open_unpacked,
    refused,
    too_long,
)

Articles = Iterator[tuple[Place, Article]]
Questions = Iterator[tuple[Place, Question]]

MOST_UNREAD = 1_000_000
"""Blank lines and faults in a file before reading gives up: a few kilobytes of gzip can hold
millions of them, and every fault is kept to be reported."""

_UTF16_BOMS = (b"\xff\xfe", b"\xfe\xff")


def _too_many_unread(place: Place) -> Problem:
    message = f"more than {MOST_UNREAD:,} lines are blank or faulty; reading stops here"
    return place.problem(message, "Check that it is the file you meant.", breaks_off=True)


def file_in(folder: Path, names: Sequence[str]) -> Path:
    """The first file of some names that a folder holds.

    Raises:
        CorpusError: It holds none of them.
    """
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        message = f"the folder holds no {' or '.join(names)}"
        raise refused(folder, message, "Put the file there, or give another folder.")
    return found


def _holds(folder: Path, names: Sequence[str]) -> bool:
    return any((folder / name).is_file() for name in names)


# The native format.


class Native:
    """Lines of JSON, from a file, a folder that holds one, or an open file."""

    name = "native"
    articles_in = ("articles.jsonl", "articles.jsonl.gz")
    questions_in = ("questions.jsonl", "questions.jsonl.gz")

    def matches(self, path: Path) -> bool:
        """Any file or pipe, or a folder that holds one of the native names."""
        return not path.is_dir() or _holds(path, (*self.articles_in, *self.questions_in))

    def read_articles(self, source: Path | BinaryIO, problems: list[Problem]) -> Articles:
        """Yield articles in the file's order; faulty lines go to `problems`.

        Raises:
            CorpusError: The file cannot be opened, or the folder does not say which to read.
        """
        unknown = _UnknownFields("an article", frozenset(Article.__slots__))
        for record in _records(_only_file(source, self.articles_in), problems):
            unknown.note(record)
            article = _article(record)
            if not record.faulty:
                yield record.place, article
        problems.extend(unknown.notices())

    def read_questions(self, source: Path | BinaryIO, problems: list[Problem]) -> Questions:
        """Yield questions in the file's order; faulty lines go to `problems`.

        Raises:
            CorpusError: As for `read_articles`.
        """
        fields = frozenset({"id", "text", "relevant", "split", "answerable", "synthetic"})
        unknown = _UnknownFields("a question", fields)
        for record in _records(_only_file(source, self.questions_in), problems):
            unknown.note(record)
            question = Question(
                id=record.name("id", "Give the question an id, or remove the line."),
                text=record.text("text", "Give the question its words, or remove the line."),
                relevant=record.texts("relevant", "List the ids of the articles that answer it."),
                # A name that nobody knows would leave its questions out of everything, unsaid.
                split=record.optional_choice("split", ("train", "dev", "test")),
                answerable=record.flag("answerable", default=True),
                synthetic=record.flag("synthetic", default=False),
                extra={k: v for k, v in record.fields.items() if k not in fields},
            )
            if not record.faulty:
                yield record.place, question
        problems.extend(unknown.notices())


def _only_file(source: Path | BinaryIO, names: tuple[str, ...]) -> Path | BinaryIO:
    if not isinstance(source, Path) or not source.is_dir():
        return source
    if all((source / name).is_file() for name in names):
        message = f"the folder holds both {' and '.join(names)}"
        raise refused(source, message, "Name the file to read.")
    return file_in(source, names)


def _article(record: Record) -> Article:
    article = Article(
        id=record.name("id", "Give the article an id of its own, or remove the line."),
        law=record.name("law", "Name the code or act that the article stands in."),
        number=record.name("number", "Give the article's number as printed."),
        headings=record.texts("headings", "List the divisions above the article, or write []."),
        text=record.text("text", "Give the article its words, or remove the line."),
        language=record.optional_text("language"),
        valid_from=record.date("valid_from"),
        valid_to=record.date("valid_to"),
        source_url=record.address("source_url"),
        law_id=record.optional_text("law_id"),
        law_names=record.texts("law_names", "List the law's other names.")
        if "law_names" in record.fields
        else (),
    )
    if article.valid_from and article.valid_to and article.valid_to < article.valid_from:
        record.fault(
            "valid_to",
            f"{article.valid_to} is before valid_from, {article.valid_from}",
            "Give the last day in force, or leave the field out.",
        )
    return article


class _RepeatedKeyError(ValueError):
    """A JSON object names a key twice; the parser alone would keep the last value silently."""


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    fields = dict(pairs)
    if len(fields) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _RepeatedKeyError(next(key for key, count in counts.items() if count > 1))
    return fields


_PARSER = json.JSONDecoder(object_pairs_hook=_object)


def _records(source: Path | BinaryIO, problems: list[Problem]) -> Iterator[Record]:
    for number, (place, line) in enumerate(_lines(source, problems)):
        message, repair, breaks_off = "", "Write one JSON object a line.", False
        try:
            fields = _PARSER.decode(line)
            if "\\u" in line:
                # Only an escape can bring in half a character, which no file could be written with.
                json.dumps(fields, ensure_ascii=False).encode("utf-8")
        except _RepeatedKeyError as error:
            message, repair = f"names the field '{error}' twice", "Keep one of the two."
        except json.JSONDecodeError as error:
            message = f"is not JSON ({error.msg} at column {error.colno})"
            if number == 0 and line.lstrip().startswith("["):
                # What follows are pieces of it, each of which would be a fault of its own.
                message = "starts a list, and the file must hold one record a line"
                problems.append(place.problem(message, _WITHOUT_THE_LIST, breaks_off=True))
                return
            if number == 0 and place.file.endswith(".gz") and _is_packed(source) is False:
                message = f"{message}, and the file is not gzip, though its name says so"
            if not line.endswith("\n"):
                breaks_off, repair = True, "The file ends within this line: copy it again, whole."
        except UnicodeEncodeError:
            message, repair = "holds half of a \\u surrogate pair", "Write the character itself."
        except (ValueError, RecursionError) as error:
            message = f"is not JSON that can be read ({error})"
        else:
            if isinstance(fields, dict):
                yield Record(place, fields, problems)
                continue
            message = f"is {_described(fields)}, not an object"
        problems.append(place.problem(message, repair, breaks_off=breaks_off))


_WITHOUT_THE_LIST = (
    "Write one JSON object a line, without the list around them (jq -c '.[]' does it); where the "
    "list breaks off, copy the file again first."
)


def _is_packed(source: Path | BinaryIO) -> bool | None:
    """Whether a file's first bytes say gzip; None where they cannot be looked at again."""
    if not isinstance(source, Path) or not source.is_file():
        return None
    with source.open("rb") as stream:
        return stream.read(2) == GZIP_MAGIC


class _UnknownFields:
    """The fields of records that are not used, each with its first place."""

    def __init__(self, what: str, known: frozenset[str]) -> None:
        self._what = what
        self._known = known
        self._first: dict[str, Place] = {}

    def note(self, record: Record) -> None:
        for name in sorted(record.fields.keys() - self._known):
            self._first.setdefault(name, record.place)

    def notices(self) -> Iterator[Problem]:
        *most, last = sorted(self._known)
        for name, place in self._first.items():
            near = difflib.get_close_matches(name, self._known, n=1)
            repair = f"It is not used: the fields are {', '.join(most)} and {last}."
            if near:
                repair = f"Did you mean '{near[0]}'?"
            message = f"is not a field of {self._what} (here first)"
            yield place.notice(message, repair, name)


def _lines(source: Path | BinaryIO, problems: list[Problem]) -> Iterator[tuple[Place, str]]:
    """Yield the lines that are not blank, decoded, with their places.

    A line that is not UTF-8 or too long, and gzip data that breaks off, are added to `problems`; a
    file of UTF-16 once.
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
                    problems.append(_too_many_unread(place))
                    return
                line = raw.removeprefix(BOM) if number == 1 else raw
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


# The fields of a record.

_JSON_TYPES = {bool: "true or false", int: "a number", float: "a number", list: "a list"}
_JSON_TYPES |= {str: "text", type(None): "null"}
_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _is_visible(text: str) -> bool:
    """Whether a text has a character that is more than space, control or format."""
    return any(unicodedata.category(each)[0] not in "ZC" for each in text)


def _described(value: object) -> str:
    """A value's type in the words of JSON."""
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
            message = f"is {_described(value)}, not text"
            self.fault(field, message, "Write it as text, in quotes.")
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

    def optional_text(self, field: str) -> str | None:
        """A text, or `None` when the field is absent or null."""
        if self.fields.get(field) is None:
            return None
        return self.text(field, "Fill it in, or leave the field out.")

    def address(self, field: str) -> str | None:
        """A web address, or `None` when the field is absent or null."""
        value = self.optional_text(field)
        if value and not value.lower().startswith(("http://", "https://")):
            message = f"{value[:40]!r} is not an address of http:// or https://"
            self.fault(field, message, "Give the text's page on the web, or leave the field out.")
        return value

    def optional_choice(self, field: str, choices: tuple[str, ...]) -> str | None:
        """One of some texts, or `None` when the field is absent or null."""
        value = self.optional_text(field)
        if value and value not in choices:
            *most, last = (f'"{choice}"' for choice in choices)
            message = f"{value[:40]!r} is not {', '.join(most)} or {last}"
            self.fault(field, message, "Write one of these, or leave the field out.")
            return None
        return value

    def texts(self, field: str, repair: str) -> tuple[str, ...]:
        """A required list of texts, none of them empty; the list itself may be."""
        value = self.fields.get(field)
        fault = None
        if field not in self.fields:
            fault = "is missing", repair
        elif not isinstance(value, list):
            fault = f"is {_described(value)}, not a list of texts", repair
        else:
            faults = (_fault_of_entry(n, each, repair) for n, each in enumerate(value, start=1))
            fault = next(filter(None, faults), None)
        if fault is not None:
            self.fault(field, *fault)
            return ()
        return tuple(cast("list[str]", value))

    def date(self, field: str) -> date | None:
        """An ISO date, or `None` when the field is absent or null."""
        value = self.fields.get(field)
        if value is None:
            return None
        repair = "Write it as YYYY-MM-DD, or leave the field out."
        if not isinstance(value, str):
            self.fault(field, f"is {_described(value)}, not a date", repair)
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
            self.fault(field, f"is {_described(value)}, not true or false", "Write true or false.")
            return default
        return value


def _fault_of_entry(place: int, entry: object, repair: str) -> tuple[str, str] | None:
    """What is wrong with an entry of a list of texts, and how to fix it."""
    if not isinstance(entry, str):
        return f"entry {place} is {_described(entry)}, not text", repair
    if not _is_visible(entry):
        return f"entry {place} is empty", "Fill it in, or take it out."
    if _CONTROL.search(" ".join(entry.split())):  # a heading may be printed in lines
        return f"entry {place} holds a control character", "Take it out."
    return None


# BSARD.

HUB_NAME = "maastrichtlawtech/bsard"

_DIVISIONS = ("book", "part", "act", "chapter", "section", "subsection")
_ARTICLE_WORD = re.compile(r"^(?:articles?|art)\b\.?\s*", re.IGNORECASE)


class Bsard:
    """A folder of the Belgian tables."""

    name = "bsard"
    # As first published, and as the Hub's newest revision calls them.
    articles_in = ("articles_fr.csv", "articles.csv")
    questions_in = (
        *("questions_fr_train.csv", "questions_train.csv"),
        *("questions_fr_test.csv", "questions_test.csv"),
    )

    def matches(self, path: Path) -> bool:
        """A folder that holds the articles or the questions under one of their names."""
        return _holds(path, (*self.articles_in, *self.questions_in))

    def read_articles(self, folder: Path, problems: list[Problem]) -> Articles:
        """Yield the articles in the file's order; rows that cannot be read go to `problems`.

        Raises:
            CorpusError: The folder holds no articles.
        """
        columns = ("id", "reference", "article", "code", *_DIVISIONS)
        for record in read_table(file_in(folder, self.articles_in), columns, problems):
            law = record.text("code", "Name the code that the article stands in.")
            cells = (str(record.fields[division]).strip() for division in _DIVISIONS)
            article = Article(
                id=record.name("id", "Give the article its id."),
                law=law,
                number=printed_number(record.text("reference", "Give the reference."), law),
                headings=tuple(filter(None, cells)),
                text=record.text("article", "Give the article its words, or remove the row."),
                language="fr",
            )
            if not article.number and not record.faulty:
                repair = "Write it as 'Art. 1382, Code Civil'."
                record.fault("reference", "names no article", repair)
            if not record.faulty:
                yield record.place, article

    def read_questions(self, folder: Path, problems: list[Problem]) -> Questions:
        """Yield the training questions, then the test questions; bad rows go to `problems`.

        Raises:
            CorpusError: The folder holds no questions.
        """
        file_in(folder, self.questions_in)
        columns = ("id", "question", "article_ids")
        for split in ("train", "test"):
            names = [name for name in self.questions_in if split in name]
            if not _holds(folder, names):
                continue
            for record in read_table(file_in(folder, names), columns, problems):
                listed = record.text("article_ids", "List the ids of the articles that answer it.")
                question = Question(
                    id=record.name("id", "Give the question its id."),
                    text=record.text("question", _NO_WORDS),
                    relevant=tuple(id_ for id_ in map(str.strip, listed.split(",")) if id_),
                    split=split,
                    extra={k: v for k, v in record.fields.items() if k not in columns},
                )
                if not record.faulty:
                    yield record.place, question

    def download(self) -> Path:
        """The folder of the Hub's files, fetched once into its local cache.

        Raises:
            CorpusError: The Hub cannot be reached and its cache does not hold the files.
        """
        from huggingface_hub import snapshot_download

        files = [*self.articles_in, *self.questions_in]
        try:
            return Path(snapshot_download(HUB_NAME, repo_type="dataset", allow_patterns=files))
        except OSError as error:
            message = "cannot be fetched from the Hugging Face Hub (no network, or no answer)"
            repair = (
                "Put articles_fr.csv, questions_fr_train.csv and questions_fr_test.csv in a "
                "folder, and give its path."
            )
            raise refused(HUB_NAME, message, repair) from error


_NO_WORDS = "Give the question its words, or remove the row."


def printed_number(reference: str, law: str) -> str:
    """The number in a reference: "Art. 1382, Code Civil (Livre III, ...)" has "1382".

    The law's name ends the number, since both may hold commas; a reference that does not name it
    is cut at its first comma.
    """
    number, found, _ = reference.partition(f", {law}")
    if not found or not law:
        number = reference.split(",")[0]
    return _ARTICLE_WORD.sub("", number.strip()).strip()


# SoICT.

# Lists of ids stand in one cell, as Python or NumPy prints them: "[62492]", "[12 34]", "['12']".
_ID = re.compile(r"[^\s,'\"\[\]]+")


class Soict:
    """A folder of the Vietnamese tables. The corpus does not say which law a text is from."""

    name = "soict"
    law = "SoICT 2024 legal corpus"
    articles_in = ("corpus.csv",)
    questions_in = ("train.csv",)

    def matches(self, path: Path) -> bool:
        """A folder that holds `corpus.csv` or `train.csv`."""
        return _holds(path, (*self.articles_in, *self.questions_in))

    def read_articles(self, folder: Path, problems: list[Problem]) -> Articles:
        """Yield the articles in the file's order; rows that cannot be read go to `problems`.

        The published corpus holds empty texts: they are left out, and counted in one notice.

        Raises:
            CorpusError: The folder holds no articles.
        """
        first: Place | None = None
        empty = 0
        for record in read_table(file_in(folder, self.articles_in), ("text", "cid"), problems):
            cid = record.name("cid", "Give the text its cid.")
            text = str(record.fields["text"])
            is_empty = not text or text.isspace()
            if not is_empty:
                text = record.text("text", "")
            if record.faulty:
                continue
            if is_empty:
                empty += 1
                first = first or record.place
            else:
                yield record.place, Article(cid, self.law, cid, (), text, language="vi")
        if first is not None:
            what = "1 article has" if empty == 1 else f"{empty:,} articles have"
            message, repair = f"{what} an empty text (here first)", "They are left out."
            problems.append(first.notice(message, repair, "text", empty))

    def read_questions(self, folder: Path, problems: list[Problem]) -> Questions:
        """Yield the training questions; rows that cannot be read go to `problems`.

        Raises:
            CorpusError: The folder holds no questions.
        """
        columns = ("question", "cid", "qid")
        for record in read_table(file_in(folder, self.questions_in), columns, problems):
            question = Question(
                id=record.name("qid", "Give the question its qid."),
                text=record.text("question", _NO_WORDS),
                relevant=tuple(_ID.findall(record.text("cid", "List the cids that answer it."))),
                split="train",
            )
            if not record.faulty:
                yield record.place, question


# Tables.

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
                problems.append(_too_many_unread(place))
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
