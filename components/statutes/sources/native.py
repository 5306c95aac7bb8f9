"""The native format: one article or question a line, as JSON, plain or gzipped."""

from __future__ import annotations

import difflib
import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.sources.records import (
    CorpusError,
    Place,
    Problem,
    Record,
    absent,
    described,
    is_packed,
    read_lines,
)

ARTICLE_FILES = ("articles.jsonl", "articles.jsonl.gz")
QUESTION_FILES = ("questions.jsonl", "questions.jsonl.gz")

_ARTICLE_FIELDS = frozenset(Article.__slots__)
_QUESTION_FIELDS = frozenset({"id", "text", "relevant", "split", "answerable", "synthetic"})


def matches(path: Path) -> bool:
    """Any file or pipe, or a folder that holds one of the native names."""
    names = (*ARTICLE_FILES, *QUESTION_FILES)
    return not path.is_dir() or any((path / name).is_file() for name in names)


def read_articles(
    source: Path | BinaryIO, problems: list[Problem]
) -> Iterator[tuple[Place, Article]]:
    """Yield articles in the file's order; faulty lines go to `problems`.

    Raises:
        CorpusError: The file cannot be opened, or the folder does not say which file to read.
    """
    unknown: dict[str, Place] = {}
    for record in _records(_file_in(source, ARTICLE_FILES), problems):
        _note_unknown(record, _ARTICLE_FIELDS, unknown)
        article = _article(record)
        if not record.faulty:
            yield record.place, article
    problems.extend(_unknown_fields(unknown, _ARTICLE_FIELDS, "an article"))


def read_questions(
    source: Path | BinaryIO, problems: list[Problem]
) -> Iterator[tuple[Place, Question]]:
    """Yield questions in the file's order; faulty lines go to `problems`.

    Raises:
        CorpusError: The file cannot be opened, or the folder does not say which file to read.
    """
    unknown: dict[str, Place] = {}
    for record in _records(_file_in(source, QUESTION_FILES), problems):
        _note_unknown(record, _QUESTION_FIELDS, unknown)
        question = Question(
            id=record.name("id", "Give the question an id, or remove the line."),
            text=record.text("text", "Give the question its words, or remove the line."),
            relevant=record.texts("relevant", "List the ids of the articles that answer it."),
            # A name that nobody knows would leave its questions out of everything, unsaid.
            split=record.optional_choice("split", ("train", "dev", "test")),
            answerable=record.flag("answerable", default=True),
            synthetic=record.flag("synthetic", default=False),
            extra={k: v for k, v in record.fields.items() if k not in _QUESTION_FIELDS},
        )
        if not record.faulty:
            yield record.place, question
    problems.extend(_unknown_fields(unknown, _QUESTION_FIELDS, "a question"))


def _file_in(source: Path | BinaryIO, names: tuple[str, ...]) -> Path | BinaryIO:
    if not isinstance(source, Path) or not source.is_dir():
        return source
    found = [source / name for name in names if (source / name).is_file()]
    if len(found) == 1:
        return found[0]
    if not found:
        raise CorpusError([absent(source, names)])
    message = f"the folder holds both {' and '.join(names)}"
    raise CorpusError([Problem(str(source), None, None, message, "Name the file to read.")])


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
    for number, (place, line) in enumerate(read_lines(source, problems)):
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
            if number == 0 and place.file.endswith(".gz") and is_packed(source) is False:
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
            message = f"is {described(fields)}, not an object"
        problems.append(place.problem(message, repair, breaks_off=breaks_off))


_WITHOUT_THE_LIST = (
    "Write one JSON object a line, without the list around them (jq -c '.[]' does it); where the "
    "list breaks off, copy the file again first."
)


def _note_unknown(record: Record, known: frozenset[str], unknown: dict[str, Place]) -> None:
    for name in sorted(record.fields.keys() - known):
        unknown.setdefault(name, record.place)


def _unknown_fields(
    unknown: dict[str, Place], known: frozenset[str], what: str
) -> Iterator[Problem]:
    *most, last = sorted(known)
    for name, place in unknown.items():
        near = difflib.get_close_matches(name, known, n=1)
        repair = f"It is not used: the fields are {', '.join(most)} and {last}."
        if near:
            repair = f"Did you mean '{near[0]}'?"
        message = f"is not a field of {what} (here first)"
        yield place.problem(message, repair, name, left_out=0, notice=True)
