"""BSARD, the Belgian statutory article retrieval dataset, as its published CSV files.

Louis and Spanakis, "A Statutory Article Retrieval Dataset in French", ACL 2022.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.sources.records import (
    CorpusError,
    Place,
    Problem,
    Record,
    absent,
    read_table,
)

HUB_NAME = "maastrichtlawtech/bsard"

# As first published, and as the Hub's newest revision calls them.
ARTICLE_FILES = ("articles_fr.csv", "articles.csv")
QUESTION_FILES = {
    "train": ("questions_fr_train.csv", "questions_train.csv"),
    "test": ("questions_fr_test.csv", "questions_test.csv"),
}

_FILES = [*ARTICLE_FILES, *(name for names in QUESTION_FILES.values() for name in names)]

_DIVISIONS = ("book", "part", "act", "chapter", "section", "subsection")
_ARTICLE_COLUMNS = ("id", "reference", "article", "code", *_DIVISIONS)
_QUESTION_COLUMNS = ("id", "question", "article_ids")
_ARTICLE_WORD = re.compile(r"^(?:articles?|art)\b\.?\s*", re.IGNORECASE)


def matches(path: Path) -> bool:
    """A folder that holds the articles or the questions under one of their names."""
    return any((path / name).is_file() for name in _FILES)


def read_articles(folder: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
    """Yield the articles in the file's order; rows that cannot be read go to `problems`.

    Raises:
        CorpusError: The folder holds no articles.
    """
    path = _file_in(folder, ARTICLE_FILES)
    if path is None:
        raise CorpusError([absent(folder, ARTICLE_FILES)])
    for record in read_table(path, _ARTICLE_COLUMNS, problems):
        law = record.text("code", "Name the code that the article stands in.")
        article = Article(
            id=record.name("id", "Give the article its id."),
            law=law,
            number=printed_number(record.text("reference", "Give the reference."), law),
            headings=_headings(record),
            text=record.text("article", "Give the article its words, or remove the row."),
            language="fr",
        )
        if not article.number and not record.faulty:
            record.fault("reference", "names no article", "Write it as 'Art. 1382, Code Civil'.")
        if not record.faulty:
            yield record.place, article


def read_questions(folder: Path, problems: list[Problem]) -> Iterator[tuple[Place, Question]]:
    """Yield the training questions, then the test questions; bad rows go to `problems`.

    Raises:
        CorpusError: The folder holds no questions.
    """
    paths = {split: _file_in(folder, names) for split, names in QUESTION_FILES.items()}
    if not any(paths.values()):
        raise CorpusError(
            [absent(folder, [name for names in QUESTION_FILES.values() for name in names])]
        )
    for split, path in paths.items():
        if path is None:
            continue
        for record in read_table(path, _QUESTION_COLUMNS, problems):
            listed = record.text("article_ids", "List the ids of the articles that answer it.")
            question = Question(
                id=record.name("id", "Give the question its id."),
                text=record.text("question", "Give the question its words, or remove the row."),
                relevant=tuple(id_ for id_ in map(str.strip, listed.split(",")) if id_),
                split=split,
                extra={k: v for k, v in record.fields.items() if k not in _QUESTION_COLUMNS},
            )
            if not record.faulty:
                yield record.place, question


def printed_number(reference: str, law: str) -> str:
    """The number in a reference: "Art. 1382, Code Civil (Livre III, ...)" has "1382".

    The law's name ends the number, since both may hold commas; a reference that does not name it
    is cut at its first comma.
    """
    number, named, _ = reference.partition(f", {law}")
    if not named or not law:
        number = reference.split(",")[0]
    return _ARTICLE_WORD.sub("", number.strip()).strip()


def download() -> Path:
    """The folder of the Hub's files, fetched once into its local cache.

    Raises:
        CorpusError: The Hub cannot be reached and its cache does not hold the files.
    """
    from huggingface_hub import snapshot_download

    try:
        return Path(snapshot_download(HUB_NAME, repo_type="dataset", allow_patterns=_FILES))
    except OSError as error:
        problem = Problem(
            HUB_NAME,
            None,
            None,
            "cannot be fetched from the Hugging Face Hub (no network, or no answer)",
            f"Put {ARTICLE_FILES[0]}, questions_fr_train.csv and questions_fr_test.csv in a "
            "folder, and give its path.",
        )
        raise CorpusError([problem]) from error


def _headings(record: Record) -> tuple[str, ...]:
    cells = (str(record.fields[division]).strip() for division in _DIVISIONS)
    return tuple(cell for cell in cells if cell)


def _file_in(folder: Path, names: tuple[str, ...]) -> Path | None:
    return next((folder / name for name in names if (folder / name).is_file()), None)
