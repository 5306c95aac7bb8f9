"""From what a user names (a path, the demo law, a dataset of the Hub) to its reader.

Law in a published format is recognised by the content of its file. A folder of it is walked in
the order of names, one file at a time, so that a folder of thousands of laws takes no more memory
than its largest law, and the ids.
"""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Iterator, Sequence
from dataclasses import replace
from importlib.resources import files
from io import BytesIO
from pathlib import Path
from typing import BinaryIO

from components.statutes.article import counted
from components.statutes.sources import (
    akoma_ntoso,
    boe,
    bwb,
    clml,
    ecfr,
    egov,
    eurlex_html,
    formex,
    gii,
    justice_canada,
    legalize,
    legi,
    lexml,
    plain,
    uslm,
)
from components.statutes.sources.corpora import (
    BSARD,
    HUB_NAME,
    NATIVE,
    SOICT,
    Articles,
    Questions,
    download_bsard,
)
from components.statutes.sources.files import DOCUMENT_SUFFIXES, decoded_text, kind_of, suffix_of
from components.statutes.sources.reading import (
    LARGEST,
    CorpusError,
    Problem,
    PublishedFormat,
    Tally,
    TallyNotice,
    name_of,
    notice,
    of_file,
    read_whole,
    refused,
)
from components.statutes.sources.stated import LAW_NOTES

# The Statutes of Aldermere, the invented demo law that comes with Lexarbor.
DEMO_LAW = "aldermere"

# Named, not imported: this package must not depend on the one that bundles the files.
_BUNDLE = "pipelines.demo"


def articles_path() -> Path:
    """The demo law's articles, native format."""
    return Path(str(files(_BUNDLE) / "articles.jsonl"))


def questions_path() -> Path:
    """The demo law's questions, native format."""
    return Path(str(files(_BUNDLE) / "questions.jsonl"))


STANDARD_INPUT = "-"


def guides_path() -> Path:
    """The demo law's guides."""
    return Path(str(files(_BUNDLE) / "guides.jsonl"))


Source = str | Path | BinaryIO
"""A file or folder, "aldermere", "maastrichtlawtech/bsard", "-" for standard input, or an open
native file."""

CORPORA = (NATIVE, BSARD, SOICT)
"""Formats of corpora made for retrieval: a file, or a folder of known names."""
# Formats in which states publish law.
_PUBLISHED = (
    akoma_ntoso.FORMAT,
    legalize.FORMAT,
    clml.FORMAT,
    gii.FORMAT,
    uslm.FORMAT,
    ecfr.FORMAT,
    formex.FORMAT,
    legi.FORMAT,
    justice_canada.FORMAT,
    boe.FORMAT,
    egov.FORMAT,
    lexml.FORMAT,
    bwb.FORMAT,
    eurlex_html.FORMAT,
)
# Text is what none of these recognises.
_TEXTS = (plain.FORMAT, plain.PARAGRAPHS)

FORMATS = tuple(each.name for each in (*CORPORA, *_PUBLISHED, *_TEXTS))
"""What `format` and --format may name."""

_THE_FORMATS = f"The formats are {', '.join(FORMATS)}."


def open_articles(source: Source, problems: list[Problem], format: str | None = None) -> Articles:
    """Yield a source's articles with their places; what cannot be read goes to `problems`.

    Args:
        source: What to read.
        problems: Gets faults and notices.
        format: One of `FORMATS`; None to recognise it.

    Raises:
        CorpusError: There is no such source or format.
    """
    if format is not None and format not in FORMATS:
        raise refused(name_of(source), f"there is no format {format!r}", _THE_FORMATS)
    if not isinstance(source, str | Path):
        return NATIVE.read_articles(_opened(source), problems)
    if source == DEMO_LAW:
        return NATIVE.read_articles(articles_path(), problems)
    if source == STANDARD_INPUT:
        return _standard_input(format, problems)
    path = _located(source)
    for corpus in CORPORA:
        if corpus.name == format or (format is None and path.is_dir() and corpus.matches(path)):
            return corpus.read_articles(path, problems)
    formats = [each for each in (*_PUBLISHED, *_TEXTS) if format in (None, each.name)]
    if path.is_dir():
        return _folder(path, formats, problems)
    return _file(path, formats, problems, is_named=format is not None)


def open_questions(source: Source, problems: list[Problem]) -> Questions:
    """Yield a source's questions with their places; what cannot be read goes to `problems`.

    Raises:
        CorpusError: There is no such source.
    """
    if not isinstance(source, str | Path):
        return NATIVE.read_questions(_opened(source), problems)
    path = questions_path() if source == DEMO_LAW else _located(source)
    if not path.is_dir():
        return NATIVE.read_questions(path, problems)
    for corpus in CORPORA:
        if corpus.matches(path):
            return corpus.read_questions(path, problems)
    raise CorpusError([_nothing_in(path)])


def _opened(source: BinaryIO) -> BinaryIO:
    if not hasattr(source, "read"):
        message = "is neither a path nor an open file"
        raise refused(f"{source!r:.80}", message, "Give one file or folder.")
    return source


def _located(source: str | Path) -> Path:
    path = Path(source)
    if not path.exists():
        if str(source) == HUB_NAME:
            return download_bsard()
        names = f"'{DEMO_LAW}' and '{HUB_NAME}'"
        message = f"there is no such file or folder, and the only names are {names}"
        raise refused(source, message, "Check the path.")
    if path.suffix == ".csv":
        message = "is a table; the sources in CSV are read from the folder that holds them"
        raise refused(source, message, f"Give {path.parent}.")
    return path


def _nothing_in(folder: Path) -> Problem:
    names = ", ".join(each.articles_in[0] for each in CORPORA)
    message = f"the folder holds no {names}, and no law in a published format that is asked for"
    return of_file(folder, message, f"Name another folder. {_THE_FORMATS}")


# Published law, by content.

_HEAD = 4096  # bytes by which a format is recognised
_SHOWN_FILES = 3

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_ARCHIVE = re.compile(
    rb"PK\x03\x04|7z\xbc\xaf\x27\x1c|BZh|\xfd7zXZ\0|\(\xb5/\xfd|Rar!\x1a\x07|.{257}ustar", re.DOTALL
)
# Files that are text, but not running text; and in a folder, those that are.
_NO_RUNNING_TEXT = (".json", ".jsonl", ".csv", ".tsv", ".xml", ".html", ".htm", ".yaml", ".yml")
_RUNNING_TEXT = (".txt", ".text", ".md", ".markdown", *DOCUMENT_SUFFIXES)
_ABOUT_A_FOLDER = re.compile(r"(?i)(?:\w+_)?(?:readme|licen[cs]e|copying|changelog|notice)\b")
# No line of JSON begins like this, and such files hold no JSON.
_DOCUMENTS, _DOCUMENT_NAMES = (b"<", b"#", b"---", b"%PDF", b"{\\rtf"), (".md", ".xml")


def _recognised(path: Path, formats: Sequence[PublishedFormat]) -> PublishedFormat | Problem | None:
    """The format of a file, or what is wrong with one that stands in place of a law."""
    try:
        head = read_whole(path, _HEAD)
    except CorpusError as error:
        return error.problems[0]
    if head.startswith(_LFS_POINTER):
        message = "is a Git LFS pointer, not the file itself"
        return of_file(path, message, "Fetch the files with 'git lfs pull'.")
    kind = kind_of(path, head)
    if kind is None and _ARCHIVE.match(head):
        return of_file(path, "is an archive, not a law", "Unpack it, and name the folder.")
    is_text = suffix_of(path) not in _NO_RUNNING_TEXT
    for each in formats:
        may_match = is_text or each not in _TEXTS
        if (kind and each in _TEXTS) or (may_match and each.matches(head)):
            return each
    return None


def _standard_input(format: str | None, problems: list[Problem]) -> Articles:
    """The articles of running text, or of the native format, from standard input."""
    content = sys.stdin.buffer.read(LARGEST + 1)
    if len(content) > LARGEST:
        raise refused("<stdin>", f"holds more than {LARGEST // 10**6} MB", "Give it as a file.")
    if not any(each.matches(content[:_HEAD]) for each in _TEXTS):
        return NATIVE.read_articles(BytesIO(content), problems)
    text = decoded_text("<stdin>", content, Tally())
    as_paragraphs = format == plain.PARAGRAPHS.name
    return plain.read_text(text, "<stdin>", as_paragraphs=as_paragraphs, problems=problems)


def _file(
    path: Path, formats: Sequence[PublishedFormat], problems: list[Problem], *, is_named: bool
) -> Articles:
    """The articles of one file; one that no published format knows is read as native."""
    if not path.is_file():  # a pipe, which cannot be looked into and read again
        yield from NATIVE.read_articles(path, problems)
        return
    known = _recognised(path, formats)
    if isinstance(known, Problem):
        problems.append(known)
        return
    if is_named and formats[0] not in _TEXTS:
        known = formats[0]
    begins = read_whole(path, 64).lstrip(b"\xef\xbb\xbf \t\r\n")
    if known is not None:
        yield from _law(known, path, problems)
    elif begins.startswith(_DOCUMENTS) or path.suffix.lower() in _DOCUMENT_NAMES:
        message = "is a document in none of the formats that are read"
        problems.append(of_file(path, message, _THE_FORMATS))
    else:
        yield from NATIVE.read_articles(path, problems)


def _law(known: PublishedFormat, path: Path, problems: list[Problem]) -> Articles:
    """The articles of a file in a published format; that it has none is a fault."""
    before, is_empty = len(problems), True
    for each in known.read(path, problems):
        is_empty = False
        yield each
    if is_empty and all(problem.notice for problem in problems[before:]):
        message = f"holds no articles (read as {known.name})"
        problems.append(of_file(path, message, "Take it out, or leave it out with --skip-bad."))


def _folder(folder: Path, formats: Sequence[PublishedFormat], problems: list[Problem]) -> Articles:
    """The articles of every file of law in a folder, and in the folders below it.

    What the readers left out is reported once, for all files; a file that breaks off is a fault
    as any other, since the next one can be read.
    """
    tally = Tally()
    is_empty = True
    skipped: list[str] = []
    reported: set[Problem] = set()
    versions: dict[str, set[str]] = {}
    published = [each for each in formats if each not in _TEXTS]
    # Next to law in a published format, texts are about it.
    if any(
        isinstance(_recognised(path, published), PublishedFormat) for path in _walked(folder, [])
    ):
        formats = published
    for path in _walked(folder, problems):
        of_path: list[Problem] = []
        known = _recognised(path, formats)
        is_about = suffix_of(path) not in _RUNNING_TEXT or _ABOUT_A_FOLDER.match(path.name)
        if known in _TEXTS and is_about:
            known = None
        if isinstance(known, PublishedFormat):
            is_empty, first = False, True
            for place, article in _law(known, path, of_path):
                if first and (found := _VERSION.match(article.id)):
                    versions.setdefault(found["act"], set()).add(found["day"])
                first = False
                yield place, article
        elif known is not None:
            of_path.append(known)
        else:
            skipped.append(str(path.relative_to(folder)))
        for problem in of_path:
            if isinstance(problem, TallyNotice):
                tally.add_notice(problem)
            elif problem not in reported:
                # A fault of the whole repository is found again with each of its files.
                if problem.file != str(path):
                    reported.add(problem)
                problems.append(replace(problem, breaks_off=False))
    if is_empty and all(problem.notice for problem in problems):
        raise CorpusError([_nothing_in(folder)])
    if skipped:
        names = ", ".join(skipped[:_SHOWN_FILES]) + (" ..." if skipped[_SHOWN_FILES:] else "")
        message = f"skipped {counted(len(skipped), 'file')}, not law in a known format ({names})"
        problems.append(notice(folder, message, "Nothing to fix."))
    for act, days in versions.items():
        if len(days) > 1:
            message = f"holds {len(days)} versions of {act}: {', '.join(sorted(days))}"
            repair = "Articles without dates of their own are found once in each; keep one version."
            problems.append(notice(folder, message, repair))
    problems.extend(tally.notices(str(folder)))


# How a format writes the version of a whole act into its ids: "act/1990/7/it@2001-02-03:art_1".
_VERSION = re.compile(r"(?P<act>.+?)@(?P<day>\d{4}-\d\d-\d\d):")


def _walked(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    """The files below a folder, in the order of their names, without hidden ones.

    Folders that cannot be listed, and links to folders, go to `problems`.
    """

    def unreadable(error: OSError) -> None:
        message = f"cannot be read ({(error.strerror or str(error)).lower()})"
        problems.append(of_file(error.filename, message, "Check its rights."))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for linked in (Path(place) / name for name in folders):
            if linked.is_symlink():
                message = "is a link to a folder, which is not followed"
                problems.append(notice(linked, message, "Name the folder itself to read it."))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and name != LAW_NOTES and path.is_file():
                yield path
