"""From what a user names (a path, the demo law, a dataset of the Hub) to its reader."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import Any, BinaryIO

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.sources import bsard, native, soict
from components.statutes.sources.records import CorpusError, Place, Problem

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


def open_articles(source: Source, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
    """Yield a source's articles with their places; what cannot be read goes to `problems`.

    Raises:
        CorpusError: There is no such source.
    """
    if not isinstance(source, str | Path):
        return native.read_articles(source, problems)
    path = articles_path() if source == DEMO_LAW else _located(source)
    found: Iterator[tuple[Place, Article]] = _format_of(path).read_articles(path, problems)
    return found


def open_questions(source: Source, problems: list[Problem]) -> Iterator[tuple[Place, Question]]:
    """Yield a source's questions with their places; what cannot be read goes to `problems`.

    Raises:
        CorpusError: There is no such source.
    """
    if not isinstance(source, str | Path):
        return native.read_questions(source, problems)
    path = questions_path() if source == DEMO_LAW else _located(source)
    found: Iterator[tuple[Place, Question]] = _format_of(path).read_questions(path, problems)
    return found


def _format_of(path: Path) -> Any:
    """The module that reads a file or folder."""
    return next((each for each in _FORMATS if each.matches(path)), None)


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
    if _format_of(path) is None:
        wanted = "articles.jsonl (native), articles_fr.csv (BSARD) or corpus.csv (SoICT)"
        message = f"the folder holds no {wanted}"
        raise CorpusError([Problem(str(source), None, None, message, "Name another folder.")])
    return path


_FORMATS = (native, bsard, soict)
_NAMES = f"'{DEMO_LAW}' and '{bsard.HUB_NAME}'"
