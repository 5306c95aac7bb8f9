"""The legal document retrieval task of SoICT Hackathon 2024, in Vietnamese, as its CSV files."""

from __future__ import annotations

import re
from collections.abc import Iterator
from pathlib import Path

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.sources.records import CorpusError, Place, Problem, absent, read_table

ARTICLE_FILE = "corpus.csv"
QUESTION_FILE = "train.csv"

# The corpus does not say which law a text is from.
LAW = "SoICT 2024 legal corpus"

# Lists of ids stand in one cell, as Python or NumPy prints them: "[62492]", "[12 34]", "['12']".
_ID = re.compile(r"[^\s,'\"\[\]]+")


def matches(path: Path) -> bool:
    """A folder that holds `corpus.csv` or `train.csv`."""
    return (path / ARTICLE_FILE).is_file() or (path / QUESTION_FILE).is_file()


def read_articles(folder: Path, problems: list[Problem]) -> Iterator[tuple[Place, Article]]:
    """Yield the articles in the file's order; rows that cannot be read go to `problems`.

    The published corpus holds empty texts: they are left out, and counted in one notice.

    Raises:
        CorpusError: The folder holds no articles.
    """
    path = folder / ARTICLE_FILE
    first_empty: Place | None = None
    empty = 0
    for record in read_table(_existing(path), ("text", "cid"), problems):
        cid = record.name("cid", "Give the text its cid.")
        text = str(record.fields["text"])
        if text and not text.isspace():
            text = record.text("text", "")  # an empty one is no fault here
        if record.faulty:
            continue
        if not text or text.isspace():
            empty += 1
            first_empty = first_empty or record.place
            continue
        yield record.place, Article(cid, LAW, cid, (), text, language="vi")
    if first_empty is not None:
        what = "1 article has" if empty == 1 else f"{empty:,} articles have"
        message, repair = f"{what} an empty text (here first)", "They are left out."
        notice = first_empty.problem(message, repair, "text", left_out=empty, notice=True)
        problems.append(notice)


def read_questions(folder: Path, problems: list[Problem]) -> Iterator[tuple[Place, Question]]:
    """Yield the training questions; rows that cannot be read go to `problems`.

    Raises:
        CorpusError: The folder holds no questions.
    """
    path = _existing(folder / QUESTION_FILE)
    for record in read_table(path, ("question", "cid", "qid"), problems):
        question = Question(
            id=record.name("qid", "Give the question its qid."),
            text=record.text("question", "Give the question its words, or remove the row."),
            relevant=tuple(_ID.findall(record.text("cid", "List the cids that answer it."))),
            split="train",
        )
        if not record.faulty:
            yield record.place, question


def _existing(path: Path) -> Path:
    if path.is_file():
        return path
    raise CorpusError([absent(path.parent, [path.name])])
