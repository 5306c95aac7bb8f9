"""Corpora made for retrieval, articles with their questions: the native format, BSARD, SoICT.

- Native: one article or question a line, as JSON, plain or gzipped.
- BSARD, the Belgian statutory article retrieval dataset, as its published CSV files (Louis and
  Spanakis, "A Statutory Article Retrieval Dataset in French", ACL 2022).
- The legal document retrieval task of SoICT Hackathon 2024, in Vietnamese, as its CSV files.

Everything wrong in a file is a problem by line and field; the records that are right are read on.
"""

from __future__ import annotations

import csv
import json
import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from functools import partial
from pathlib import Path
from typing import Annotated, Any, BinaryIO, Literal

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    Field,
    ValidationError,
    ValidationInfo,
    field_validator,
)

from components.statutes.article import Article, iso_day
from components.statutes.extras import needs_extra
from components.statutes.jurisdiction import checked_place
from components.statutes.question import Question
from components.statutes.sources.reading import (
    BOM,
    GZIP_ERRORS,
    LONGEST_LINE,
    CorpusError,
    Place,
    Problem,
    cut_short,
    did_you_mean,
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

HUB_NAME = "maastrichtlawtech/bsard"


@dataclass(frozen=True)
class CorpusFormat:
    """A form of corpora: files of known names in a folder.

    Attributes:
        name: What --format calls it.
        articles_in: Names that the file of articles may have.
        questions_in: Names that files of questions may have.
        read_articles: Yields the articles of a folder, or of a native file; faults go to the list.
        read_questions: As `read_articles`, for questions.
    """

    name: str
    articles_in: tuple[str, ...]
    questions_in: tuple[str, ...]
    read_articles: Callable[[Any, list[Problem]], Articles]
    read_questions: Callable[[Any, list[Problem]], Questions]

    def matches(self, folder: Path) -> bool:
        """Whether a folder holds a file of one of the names."""
        return any((folder / each).is_file() for each in (*self.articles_in, *self.questions_in))


def _file_in(folder: Path, names: Sequence[str]) -> Path:
    found = next((folder / name for name in names if (folder / name).is_file()), None)
    if found is None:
        message = f"the folder holds no {' or '.join(names)}"
        raise refused(folder, message, "Put the file there, or give another folder.")
    return found


# Fields of records.

_CONTROL = re.compile(r"[\x00-\x1f\x7f-\x9f]")


def _visible(text: str) -> str:
    if "\0" in text:
        raise ValueError("holds the character U+0000")
    if all(unicodedata.category(each)[0] in "ZC" for each in text):
        raise ValueError("is empty")
    return text


def _plain(text: str) -> str:
    # They would break run files and logs.
    if _CONTROL.search(text):
        raise ValueError("holds a control character")
    return text


def _plain_lines(text: str) -> str:
    _plain(" ".join(text.split()))  # a heading may be printed in lines
    return text


def _day(value: object) -> date:
    if not isinstance(value, str):
        raise ValueError("is not a date, YYYY-MM-DD")
    return iso_day(value[:40])


_Words = Annotated[str, AfterValidator(_visible)]
_Name = Annotated[_Words, AfterValidator(_plain)]
_Names = Annotated[tuple[Annotated[_Words, AfterValidator(_plain_lines)], ...], Field(strict=False)]
_Labels = Annotated[_Names, Field(min_length=1)]
_Day = Annotated[date, BeforeValidator(_day)]


class _ArticleRecord(BaseModel, strict=True):
    """The fields of an `Article`; their order is that of the faults reported."""

    id: _Name
    law: _Name
    number: _Name
    headings: _Names
    text: _Words
    language: _Words | None = None
    valid_from: _Day | None = None
    valid_to: _Day | None = None
    source_url: Annotated[_Words, Field(pattern="(?i)^https?://")] | None = None
    law_id: _Words | None = None
    law_names: _Names = ()
    jurisdiction: Annotated[str, AfterValidator(checked_place)] | None = None

    @field_validator("valid_to")
    @classmethod
    def _ends_last(cls, value: date | None, info: ValidationInfo) -> date | None:
        start = info.data.get("valid_from")
        if value and start and value < start:
            raise ValueError(f"{value} is before valid_from, {start}")
        return value


class _QuestionRecord(BaseModel, strict=True):
    id: _Name
    text: _Words
    relevant: _Names
    # A name that nobody knows would leave its questions out of everything, unsaid.
    split: Literal["train", "dev", "test"] | None = None
    answerable: bool = True
    synthetic: bool = False
    passages: Annotated[dict[_Name, _Labels], Field(strict=False)] = {}


def checked_record(
    kind: type[BaseModel],
    place: Place,
    fields: Mapping[str, Any],
    problems: list[Problem],
    columns: Mapping[str, str] | None = None,
) -> dict[str, Any] | None:
    """The fields of a record by their types; None after reporting a fault of each wrong one."""
    try:
        return dict(kind.model_validate(fields))
    except ValidationError as error:
        faults: dict[str, str] = {}
        for each in error.errors(include_url=False, include_input=False):
            field, *inside = each["loc"]
            names = (str(each + 1) if isinstance(each, int) else repr(each) for each in inside)
            entry = f"entry {', '.join(names)} " if inside else ""
            message = entry + each["msg"].removeprefix("Value error, ")
            faults.setdefault((columns or {}).get(str(field), str(field)), message)
        for field, message in faults.items():
            repair = "Correct it, or remove the record."
            # A record counts as left out once, however many faults it has.
            is_first = int(field == next(iter(faults)))
            problems.append(place.problem(message, repair, field, left_out=is_first))
        return None


# Records of files.

_Fields = dict[str, Any]
_Parsed = Iterator[tuple[Place, _Fields | Problem | None]]  # None for a blank line


def _records(
    source: Path | BinaryIO,
    problems: list[Problem],
    parse: Callable[[str, Iterator[bytes]], _Parsed],
) -> Iterator[tuple[Place, _Fields]]:
    name = name_of(source)
    unread = 0
    with open_unpacked(source) as stream:
        before = len(problems)
        try:
            for place, parsed in parse(name, _lines(name, stream)):
                if unread + len(problems) - before > MOST_UNREAD:
                    message = f"more than {MOST_UNREAD:,} lines are blank or faulty"
                    repair = "Check that it is the file you meant."
                    raise CorpusError([place.problem(message, repair, breaks_off=True)])
                if isinstance(parsed, Problem):
                    problems.append(parsed)
                elif parsed is None:
                    unread += 1
                else:
                    yield place, parsed
        except CorpusError as error:
            problems.extend(error.problems)


def _lines(name: str, stream: BinaryIO) -> Iterator[bytes]:
    """The lines of a file; what ends reading is raised."""
    number = 0
    # One byte more than a line may have, so that a longer one shows without being held whole.
    lines = iter(partial(stream.readline, LONGEST_LINE + 1), b"")
    try:
        for number, line in enumerate(lines, start=1):
            place = Place(name, number)
            if len(line) > LONGEST_LINE:
                raise CorpusError([too_long(place, "line", "Write one record a line.")])
            # What follows are pieces of it, each of which would be a fault of its own.
            if number == 1 and b"\0" in line[:4]:
                message = "is UTF-16 or binary, not UTF-8 text"
                fault = place.problem(message, "Save the file as UTF-8.", breaks_off=True)
                raise CorpusError([fault])
            yield line.removeprefix(BOM) if number == 1 else line
    except GZIP_ERRORS as error:
        raise CorpusError([cut_short(Place(name, number + 1), error)]) from error


def _object(pairs: list[tuple[str, Any]]) -> _Fields:
    fields = dict(pairs)
    if len(fields) != len(pairs):  # the parser alone would keep the last value silently
        key, _ = Counter(key for key, _ in pairs).most_common(1)[0]
        raise ValueError(f"it names the field {key!r} twice")
    return fields


_PARSER = json.JSONDecoder(object_pairs_hook=_object)


def _json(name: str, lines: Iterable[bytes]) -> _Parsed:
    is_first = True
    for number, raw in enumerate(lines, start=1):
        place = Place(name, number)
        if not raw or raw.isspace():
            yield place, None
            continue
        repair, breaks_off = "Write one JSON object a line.", not raw.endswith(b"\n")
        try:
            line = raw.decode("utf-8")
            fields = _PARSER.decode(line)
            if "\\u" in line:
                # Only an escape can bring in half a character, which no file could be written with.
                json.dumps(fields, ensure_ascii=False).encode("utf-8")
            if not isinstance(fields, dict):
                raise ValueError("it is not an object")
            yield place, fields
        except UnicodeDecodeError as error:
            yield place, not_utf8(place, raw[error.start], breaks_off=breaks_off)
        except json.JSONDecodeError as error:
            message = f"is not JSON ({error.msg} at column {error.colno})"
            if is_first and line.lstrip().startswith("["):
                # What follows are pieces of it, each of which would be a fault of its own.
                repair = "Write one JSON object a line, without the list around them."
                fault = place.problem("starts a list", repair, breaks_off=True)
                raise CorpusError([fault]) from error
            yield place, place.problem(message, repair, breaks_off=breaks_off)
        except (ValueError, RecursionError) as error:
            yield place, place.problem(f"is not JSON that can be read ({error})", repair)
        is_first = False


# The csv module's words for a file that ends within a quoted field; it has no other sign of it.
_OPEN_QUOTE = "unexpected end of data"
_QUOTE_FIELDS = "Write the table again with every field that holds a quote or a comma in quotes."
_NOT_UTF8 = re.compile("[\udc80-\udcff]")  # as surrogateescape keeps such bytes


def _table(columns: Sequence[str], name: str, lines: Iterable[bytes]) -> _Parsed:
    """The rows of a table with a header, each at the line where it starts."""
    size, start = 0, 1

    def texts() -> Iterator[str]:
        nonlocal size
        for line in lines:
            size += len(line)
            # The csv module would read on without end for one row.
            if size > LONGEST_LINE:
                raise CorpusError([too_long(Place(name, start), "row", "Close its quotes.")])
            yield line.decode("utf-8", "surrogateescape")

    # Python's own limit, 131,072 characters, is shorter than the longest articles of real law.
    csv.field_size_limit(max(csv.field_size_limit(), 2 * LONGEST_LINE))
    rows = csv.reader(texts(), strict=True)
    header: list[str] = []
    while True:
        size, start = 0, rows.line_num + 1
        place = Place(name, start)
        try:
            row = next(rows)
        except StopIteration:
            return
        except csv.Error as error:
            # A quote that nothing closes takes all rows that follow with it.
            breaks_off, message = str(error) == _OPEN_QUOTE, f"is not a CSV row ({error})"
            yield place, place.problem(message, _QUOTE_FIELDS, breaks_off=breaks_off)
            continue
        bad = _NOT_UTF8.search("".join(row))
        fault = not_utf8(place, ord(bad[0]) - 0xDC00) if bad else None
        if not row:
            yield place, None
        elif not header:
            header = row
            repair = "Correct the header. Commas stand between its columns."
            missing = [each for each in columns if each not in header]
            # A header of one column has something else than commas between its columns.
            for column in header[1:] and header:
                meant = "" if column in columns else did_you_mean(column, missing)
                if meant and fault is None:
                    fault = place.problem(f"is not a column that is read{meant}", repair, column)
            for column in (*columns, *filter(None, header)):
                if header.count(column) != 1 and fault is None:
                    message = f"stands {header.count(column)} times in the header"
                    fault = place.problem(message, repair, column)
            if fault is not None:
                raise CorpusError([fault])
        elif fault is not None:
            yield place, fault
        elif len(row) != len(header):
            message = f"has {len(row)} columns, where the header has {len(header)}"
            yield place, place.problem(message, _QUOTE_FIELDS)
        else:
            yield place, dict(zip(header, row, strict=True))


def read_table(
    source: Path | BinaryIO, columns: Sequence[str], problems: list[Problem]
) -> Iterator[tuple[Place, dict[str, str]]]:
    """Yield the rows of a CSV file with a header, placed at the line where each starts.

    Args:
        source: The file.
        columns: Those that the header must have; there may be others next to them.
        problems: Gets rows that cannot be read.

    Raises:
        CorpusError: The file cannot be opened.
    """
    return _records(source, problems, partial(_table, columns))


def read_lines(source: Path, problems: list[Problem]) -> Iterator[tuple[Place, dict[str, Any]]]:
    """Yield the objects of a file of JSON lines, with their places.

    Args:
        source: The file.
        problems: Gets lines that cannot be read.

    Raises:
        CorpusError: The file cannot be opened.
    """
    return _records(source, problems, _json)


# The native format: lines of JSON, from a file, a folder that holds one, or an open file.


def _native_records(
    source: Path | BinaryIO, names: tuple[str, ...], kind: type[BaseModel], problems: list[Problem]
) -> Iterator[tuple[Place, _Fields, _Fields]]:
    """Place and fields of each record without a fault, and its fields that are not known."""
    if isinstance(source, Path) and source.is_dir():
        if all((source / name).is_file() for name in names):
            message = f"the folder holds both {' and '.join(names)}"
            raise refused(source, message, "Name the file to read.")
        source = _file_in(source, names)
    known = kind.model_fields
    first: dict[str, Place] = {}
    for place, fields in _records(source, problems, _json):
        others = {name: value for name, value in fields.items() if name not in known}
        for name in sorted(others):
            first.setdefault(name, place)
        checked = checked_record(kind, place, fields, problems)
        if checked is not None:
            yield place, checked, others
    for name, place in first.items():
        repair = f"The fields are {', '.join(known)}."
        problems.append(place.notice("is not a field that is used (here first)", repair, name))


def _native_articles(source: Path | BinaryIO, problems: list[Problem]) -> Articles:
    for place, fields, _ in _native_records(source, _ARTICLES, _ArticleRecord, problems):
        yield place, Article(**fields)


def _native_questions(source: Path | BinaryIO, problems: list[Problem]) -> Questions:
    for place, fields, extra in _native_records(source, _QUESTIONS, _QuestionRecord, problems):
        yield place, Question(**fields, extra=extra)


_ARTICLES = ("articles.jsonl", "articles.jsonl.gz")
_QUESTIONS = ("questions.jsonl", "questions.jsonl.gz")
NATIVE = CorpusFormat("native", _ARTICLES, _QUESTIONS, _native_articles, _native_questions)


# BSARD: a folder of the Belgian tables, as first published, or as the Hub's newest revision calls
# them.

_DIVISIONS = ("book", "part", "act", "chapter", "section", "subsection")
_ARTICLE_WORD = re.compile(r"^(?:articles?|art)\b\.?\s*", re.IGNORECASE)
_BSARD_ARTICLES = ("articles_fr.csv", "articles.csv")
_BSARD_QUESTIONS = {
    "train": ("questions_fr_train.csv", "questions_train.csv"),
    "test": ("questions_fr_test.csv", "questions_test.csv"),
}


def printed_number(reference: str, law: str) -> str:
    """The number in a reference: "Art. 1382, Code Civil (Livre III, ...)" has "1382".

    The law's name ends the number, since both may hold commas; a reference that does not name it
    is cut at its first comma.
    """
    number, found, _ = reference.partition(f", {law}")
    if not found or not law:
        number = reference.split(",")[0]
    return _ARTICLE_WORD.sub("", number.strip()).strip()


def _bsard_articles(folder: Path, problems: list[Problem]) -> Articles:
    columns = {"id": "id", "law": "code", "number": "reference", "text": "article"}
    needed = (*columns.values(), *_DIVISIONS)
    for place, row in read_table(_file_in(folder, _BSARD_ARTICLES), needed, problems):
        fields: _Fields = {field: row[column] for field, column in columns.items()}
        fields["number"] = printed_number(row["reference"], row["code"])
        fields["headings"] = tuple(filter(None, (row[each].strip() for each in _DIVISIONS)))
        if checked := checked_record(_ArticleRecord, place, fields, problems, columns):
            yield place, Article(**checked | {"language": "fr"})


def _bsard_questions(folder: Path, problems: list[Problem]) -> Questions:
    columns = ("id", "question", "article_ids")
    splits = {
        split: names
        for split, names in _BSARD_QUESTIONS.items()
        if any((folder / name).is_file() for name in names)
    }
    if not splits:
        raise refused(folder, "the folder holds no questions of BSARD", "Give another folder.")
    for split, names in splits.items():
        for place, row in read_table(_file_in(folder, names), columns, problems):
            ids = filter(None, map(str.strip, row["article_ids"].split(",")))
            fields = {"id": row["id"], "text": row["question"], "relevant": tuple(ids)}
            extra = {name: value for name, value in row.items() if name not in columns}
            names_of_columns = {"text": "question", "relevant": "article_ids"}
            if checked := checked_record(
                _QuestionRecord, place, fields, problems, names_of_columns
            ):
                yield place, Question(**checked | {"split": split, "extra": extra})


_QUESTION_NAMES = (*_BSARD_QUESTIONS["train"], *_BSARD_QUESTIONS["test"])
BSARD = CorpusFormat("bsard", _BSARD_ARTICLES, _QUESTION_NAMES, _bsard_articles, _bsard_questions)


def download_bsard() -> Path:
    """The folder of the Hub's files, fetched once into its local cache.

    Raises:
        CorpusError: The Hub cannot be reached and its cache does not hold the files.
    """
    with needs_extra(HUB_NAME, "models"):
        from huggingface_hub import snapshot_download

    files = [*BSARD.articles_in, *BSARD.questions_in]
    try:
        return Path(snapshot_download(HUB_NAME, repo_type="dataset", allow_patterns=files))
    except OSError as error:
        message = "cannot be fetched from the Hugging Face Hub (no network, or no answer)"
        repair = f"Put {files[0]} and the files of questions in a folder, and give its path."
        raise refused(HUB_NAME, message, repair) from error


# SoICT: a folder of the Vietnamese tables. The corpus does not say which law a text is from.

_SOICT_LAW = "SoICT 2024 legal corpus"
# Lists of ids stand in one cell, as Python or NumPy prints them: "[62492]", "[12 34]", "['12']".
_ID = re.compile(r"[^\s,'\"\[\]]+")


def _soict_articles(folder: Path, problems: list[Problem]) -> Articles:
    """The published corpus holds empty texts: they are left out, and counted in one notice."""
    first: Place | None = None
    empty = 0
    for place, row in read_table(_file_in(folder, ("corpus.csv",)), ("text", "cid"), problems):
        if not row["text"].strip():
            empty += 1
            first = first or place
            continue
        fields: _Fields = {"id": row["cid"], "law": _SOICT_LAW, "number": row["cid"]}
        fields |= {"headings": (), "text": row["text"], "language": "vi"}
        columns = {"id": "cid", "number": "cid"}
        if checked := checked_record(_ArticleRecord, place, fields, problems, columns):
            yield place, Article(**checked)
    if first is not None:
        message, repair = f"{empty:,} texts are empty (here first)", "They are left out."
        problems.append(first.notice(message, repair, "text", empty))


def _soict_questions(folder: Path, problems: list[Problem]) -> Questions:
    columns = {"id": "qid", "text": "question", "relevant": "cid"}
    needed = tuple(columns.values())
    for place, row in read_table(_file_in(folder, ("train.csv",)), needed, problems):
        fields: _Fields = {"id": row["qid"], "text": row["question"], "split": "train"}
        fields["relevant"] = tuple(_ID.findall(row["cid"]))
        if checked := checked_record(_QuestionRecord, place, fields, problems, columns):
            yield place, Question(**checked)


SOICT = CorpusFormat("soict", ("corpus.csv",), ("train.csv",), _soict_articles, _soict_questions)
