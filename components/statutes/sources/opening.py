"""From what a user names (a path, the demo law, a dataset of the Hub) to its reader.

Law in a published format is recognised by the content of its file. A folder of it is walked in
the order of names, one file at a time, so that a folder of thousands of laws takes no more memory
than its largest law, and the ids.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import replace
from importlib.resources import files
from itertools import islice
from pathlib import Path
from typing import Any, BinaryIO

from components.statutes.article import Article, counted
from components.statutes.question import Question
from components.statutes.sources import (
    akoma_ntoso,
    bsard,
    clml,
    ecfr,
    formex,
    gii,
    legalize,
    legi,
    native,
    soict,
    uslm,
)
from components.statutes.sources.markup import Tally, TallyNotice
from components.statutes.sources.records import (
    GZIP_ERRORS,
    CorpusError,
    Place,
    Problem,
    cut_short,
    name_of,
    open_unpacked,
)

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


Source = str | Path | BinaryIO
"""A file or folder, "aldermere", "maastrichtlawtech/bsard", or an open native file."""

# Formats of corpora made for retrieval: a file, or a folder of known names.
_CORPORA = (native, bsard, soict)
# Formats in which states publish law: see `markup.py` for what such a module has.
_PUBLISHED: tuple[Any, ...] = (
    akoma_ntoso,
    legalize,
    clml,
    gii,
    uslm,
    ecfr,
    formex,
    legi,
)

FORMATS = ("native", "bsard", "soict", *(module.NAME for module in _PUBLISHED))
"""What `format` and --format may name."""


def open_articles(
    source: Source, problems: list[Problem], format: str | None = None
) -> Iterator[tuple[Place, Article]]:
    """Yield a source's articles with their places; what cannot be read goes to `problems`.

    Args:
        source: What to read.
        problems: Gets faults and notices.
        format: One of `FORMATS`; None to recognise it.

    Raises:
        CorpusError: There is no such source or format.
    """
    if format is not None and format not in FORMATS:
        message = f"there is no format {format!r}"
        repair = f"The formats are {', '.join(FORMATS)}."
        raise CorpusError([Problem(name_of(source), None, None, message, repair)])
    if not isinstance(source, str | Path):
        return native.read_articles(source, problems)
    if source == DEMO_LAW:
        return native.read_articles(articles_path(), problems)
    path = _located(source)
    if format in FORMATS[: len(_CORPORA)]:
        chosen: Any = _CORPORA[FORMATS.index(format)]
    elif format is None:
        chosen = next((each for each in _CORPORA if path.is_dir() and each.matches(path)), None)
    else:
        chosen = None
    if chosen is not None:
        if path.is_dir() and format is None and (hidden := _hidden_law(path)) is not None:
            problems.append(hidden)
        found: Iterator[tuple[Place, Article]] = chosen.read_articles(path, problems)
        return found
    modules = tuple(each for each in _PUBLISHED if format in (None, each.NAME))
    if path.is_dir():
        return _folder(path, modules, problems)
    return _file(path, modules, problems, named=format is not None)


def open_questions(source: Source, problems: list[Problem]) -> Iterator[tuple[Place, Question]]:
    """Yield a source's questions with their places; what cannot be read goes to `problems`.

    Raises:
        CorpusError: There is no such source.
    """
    if not isinstance(source, str | Path):
        return native.read_questions(source, problems)
    path = questions_path() if source == DEMO_LAW else _located(source)
    chosen: Any = next((each for each in _CORPORA if each.matches(path)), None)
    if chosen is None:
        raise CorpusError([_nothing_in(path)])
    found: Iterator[tuple[Place, Question]] = chosen.read_questions(path, problems)
    return found


def _located(source: str | Path) -> Path:
    path = Path(source)
    if not path.exists():
        if str(source) == bsard.HUB_NAME:
            return bsard.download()
        message = f"there is no such file or folder, and the only names are {_NAMES}"
        raise CorpusError([Problem(str(source), None, None, message, "Check the path.")])
    if path.suffix == ".csv":
        message = "is a table; the sources in CSV are read from the folder that holds them"
        raise CorpusError([Problem(str(source), None, None, message, f"Give {path.parent}.")])
    return path


_NAMES = f"'{DEMO_LAW}' and '{bsard.HUB_NAME}'"


def _nothing_in(folder: Path, modules: tuple[Any, ...] = ()) -> Problem:
    wanted = "articles.jsonl (native), articles_fr.csv (BSARD) or corpus.csv (SoICT)"
    message = f"the folder holds no {wanted}, and no law in a published format"
    if len(modules) == 1:
        message = f"the folder holds no law in the format {modules[0].NAME}"
    repair = f"Name another folder. The formats are {', '.join(FORMATS)}."
    return Problem(str(folder), None, None, message, repair)


def _hidden_law(folder: Path) -> Problem | None:
    """The notice of a file of published law in a folder that is read as a corpus."""
    for path in islice(_walked(folder, []), _MOST_LOOKED_INTO):
        try:
            head = _head(path)
        except CorpusError:
            continue
        module = next((each for each in _PUBLISHED if each.matches(head, path)), None)
        if module is not None:
            message = f"also holds published law, which is not read ({path.relative_to(folder)})"
            repair = f"Read it with --format {module.NAME}."
            return Problem(str(folder), None, None, message, repair, 0, notice=True)
    return None


_MOST_LOOKED_INTO = 1_000  # files, in the order of names

# Published law, by content.

_HEAD = 4096  # bytes by which a format is recognised
_SHOWN_FILES = 3

_LFS_POINTER = b"version https://git-lfs.github.com/spec/"
_ARCHIVES = (
    (b"PK\x03\x04", "zip"),
    (b"7z\xbc\xaf\x27\x1c", "7-Zip"),
    (b"BZh", "bzip2"),
    (b"\xfd7zXZ\x00", "xz"),
    (b"(\xb5/\xfd", "Zstandard"),
    (b"Rar!\x1a\x07", "RAR"),
)
# No line of JSON begins like this, and such files hold no JSON.
_DOCUMENTS, _DOCUMENT_NAMES = (b"<", b"#", b"---", b"%PDF", b"{\\rtf"), (".md", ".xml")
_TAR = slice(257, 262)  # where "ustar" stands


def _head(path: Path) -> bytes:
    """The first bytes of a file, unpacked.

    Raises:
        CorpusError: The file cannot be opened, or its gzip data is broken here.
    """
    with open_unpacked(path) as stream:
        try:
            return stream.read(_HEAD)
        except GZIP_ERRORS as error:
            raise CorpusError([cut_short(Place(str(path), 1), error)]) from error


def _no_file_of_law(path: Path, head: bytes) -> Problem | None:
    """The problem of a file that stands in place of a law: a pointer, an archive."""
    if head.startswith(_LFS_POINTER):
        message = "is a Git LFS pointer, not the file itself"
        return Problem(str(path), None, None, message, "Fetch the files with 'git lfs pull'.")
    kind = next((kind for magic, kind in _ARCHIVES if head.startswith(magic)), None)
    if head[_TAR] == b"ustar":
        kind = "tar"
    if kind is None:
        return None
    message = f"is a {kind} archive, not a law"
    return Problem(str(path), None, None, message, "Unpack it, and name the folder.")


def _file(
    path: Path, modules: tuple[Any, ...], problems: list[Problem], *, named: bool
) -> Iterator[tuple[Place, Article]]:
    """The articles of one file; one that no published format knows is read as native."""
    if not path.is_file():  # a pipe, which cannot be looked into and read again
        yield from native.read_articles(path, problems)
        return
    head = _head(path)
    if (fault := _no_file_of_law(path, head)) is not None:
        problems.append(fault)
        return
    module = next((each for each in modules if named or each.matches(head, path)), None)
    if module is not None:
        yield from _law(module, path, problems)
    elif (
        head.lstrip(b"\xef\xbb\xbf \t\r\n").startswith(_DOCUMENTS)
        or path.suffix.lower() in _DOCUMENT_NAMES
    ):
        message = "is a document in none of the formats that are read"
        repair = f"The formats are {', '.join(FORMATS)}."
        problems.append(Problem(str(path), None, None, message, repair))
    else:
        yield from native.read_articles(path, problems)


def _law(module: Any, path: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
    """The articles of a file in a published format; that it has none is a fault."""
    before, empty = len(problems), True
    for each in module.read(path, problems):
        empty = False
        yield each
    if empty and all(problem.notice for problem in problems[before:]):
        message = f"holds no articles (read as {module.NAME})"
        repair = "Take it out, or leave it out with --skip-bad."
        problems.append(Problem(str(path), None, None, message, repair))


def _folder(
    folder: Path, modules: tuple[Any, ...], problems: list[Problem]
) -> Iterator[tuple[Place, Article]]:
    """The articles of every file of law in a folder, and in the folders below it.

    What the readers left out is reported once, for all files; a file that breaks off is a fault
    as any other, since the next one can be read.
    """
    tally = Tally()
    laws, skipped = 0, 0
    shown: list[str] = []
    reported: set[Problem] = set()
    versions: dict[str, set[str]] = {}
    for path in _walked(folder, problems):
        of_file: list[Problem] = []
        try:
            head = _head(path)
            fault = _no_file_of_law(path, head)
            module = next((each for each in modules if each.matches(head, path)), None)
        except CorpusError as error:
            module, fault = None, error.problems[0]
        if module is not None:
            laws += 1
            first = True
            for place, article in _law(module, path, of_file):
                if first and (found := _VERSION.match(article.id)):
                    versions.setdefault(found["act"], set()).add(found["day"])
                first = False
                yield place, article
        elif fault is not None:
            of_file.append(fault)
        else:
            skipped += 1
            if len(shown) < _SHOWN_FILES:
                shown.append(str(path.relative_to(folder)))
        for problem in of_file:
            if isinstance(problem, TallyNotice):
                tally.add_notice(problem)
            elif problem.file == str(path) or problem not in reported:
                # A fault of the whole repository is found again with each of its files.
                if problem.file != str(path):
                    reported.add(problem)
                problems.append(replace(problem, breaks_off=False))
    if not laws and not any(not problem.notice for problem in problems):
        raise CorpusError([_nothing_in(folder, modules)])
    if skipped:
        names = ", ".join(shown) + (" ..." if skipped > len(shown) else "")
        message = f"skipped {counted(skipped, 'file')}, not law in a known format ({names})"
        notice = Problem(str(folder), None, None, message, "Nothing to fix.", 0, notice=True)
        problems.append(notice)
    for act, days in versions.items():
        if len(days) > 1:
            message = f"holds {len(days)} versions of {act}: {', '.join(sorted(days))}"
            repair = "Articles without dates of their own are found once in each; keep one version."
            problems.append(Problem(str(folder), None, None, message, repair, 0, notice=True))
    problems.extend(tally.notices(str(folder)))


# How a format writes the version of a whole act into its ids: "act/1990/7/it@2001-02-03:art_1".
_VERSION = re.compile(r"(?P<act>.+?)@(?P<day>\d{4}-\d\d-\d\d):")


def _walked(folder: Path, problems: list[Problem]) -> Iterator[Path]:
    """The files below a folder, in the order of their names, without hidden ones.

    Folders that cannot be listed, and links to folders, go to `problems`.
    """

    def unreadable(error: OSError) -> None:
        message = f"cannot be read ({(error.strerror or str(error)).lower()})"
        problems.append(Problem(str(error.filename), None, None, message, "Check its rights."))

    for place, folders, names in os.walk(folder, onerror=unreadable):
        folders[:] = sorted(name for name in folders if not name.startswith("."))
        for linked in (Path(place) / name for name in folders):
            if linked.is_symlink():
                message = "is a link to a folder, which is not followed"
                repair = "Name the folder itself to read it."
                problems.append(Problem(str(linked), None, None, message, repair, 0, notice=True))
        for name in sorted(names):
            path = Path(place) / name
            if not name.startswith(".") and path.is_file():
                yield path
