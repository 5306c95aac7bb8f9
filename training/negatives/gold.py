"""Which articles answer a question and therefore must never be its negatives."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Self

import numpy as np
from numpy.typing import NDArray

from components.statutes.article import Article, normalised
from components.statutes.question import Question


@dataclass(frozen=True)
class QuestionNegatives:
    """The negatives of all questions, one question after the other.

    Attributes:
        articles: Positions in the corpus, int64 `[n_negatives]`; no repeats within a question.
        starts: Where each question's negatives begin, and where the last question's end, int64
            `[n_questions + 1]`.
    """

    articles: NDArray[np.int64]
    starts: NDArray[np.int64]

    def of(self, question: int) -> NDArray[np.int64]:
        """Positions of one question's negatives, int64."""
        return self.articles[self.starts[question] : self.starts[question + 1]]

    @property
    def questions(self) -> NDArray[np.int64]:
        """The question that each negative was drawn for, int64 `[n_negatives]`."""
        return np.repeat(np.arange(len(self.starts) - 1), np.diff(self.starts))


@dataclass(frozen=True)
class DrawnNegatives(QuestionNegatives):
    """The negatives of an epoch, and how each was chosen.

    Attributes:
        buckets: Bucket from which each was drawn, 0 is the easiest, int8 `[n_negatives]`.
        views: Index of the view that ranks it hardest (the first of several), -1 without views,
            int8 `[n_negatives]`.
    """

    buckets: NDArray[np.int8]
    views: NDArray[np.int8]


_SHOWN = 5


@dataclass(frozen=True)
class Gold:
    """The positives of each question, and the articles that must not be its negatives.

    Real data asks the same question twice with different gold, and prints the same words as two
    articles. A *twin* is another article with the same text, headings aside. Texts are compared by
    their letters and digits (`components.statutes.article.normalised`), those of questions too.

    Attributes:
        question_ids: Ids of the questions, `[n_questions]`.
        article_ids: Ids of the articles by position, `[n_articles]`.
        positives: Positions of each question's own positives, ascending, int64.
        excluded: Positions of the positives, and of their twins, of all questions with the same
            text; ascending, int64.
    """

    question_ids: tuple[str, ...]
    article_ids: tuple[str, ...]
    positives: tuple[NDArray[np.int64], ...]
    excluded: tuple[NDArray[np.int64], ...]

    @classmethod
    def of(cls, articles: Sequence[Article], questions: Sequence[Question]) -> Self:
        """Find the positives of each question in the corpus.

        Raises:
            ValueError: An id is repeated, a question has no positives, or a positive is not in the
                corpus. Counts them all and names the first few.
        """
        article_ids = tuple(article.id for article in articles)
        question_ids = tuple(question.id for question in questions)
        position_of = {article_id: position for position, article_id in enumerate(article_ids)}
        pairs = [(question.id, each) for question in questions for each in question.relevant]
        for fault, faulty in (
            ("article ids are repeated", _repeated(article_ids)),
            ("question ids are repeated", _repeated(question_ids)),
            ("questions have no relevant article", [q.id for q in questions if not q.relevant]),
            ("are not in the corpus", [f"{q} -> {a}" for q, a in pairs if a not in position_of]),
        ):
            if faulty:
                raise ValueError(f"{len(faulty):,} {fault}: {', '.join(faulty[:_SHOWN])}.")
        positives = tuple(
            _positions(position_of[article_id] for article_id in question.relevant)
            for question in questions
        )
        article_texts = [normalised(article.text) for article in articles]
        same_article: dict[str, list[int]] = {}
        for position, text in enumerate(article_texts):
            same_article.setdefault(text, []).append(position)
        question_texts = [normalised(question.text) for question in questions]
        answering: dict[str, set[int]] = {}
        for text, own in zip(question_texts, positives, strict=True):
            for position in own.tolist():
                answering.setdefault(text, set()).update(same_article[article_texts[position]])
        excluded = tuple(_positions(answering[text]) for text in question_texts)
        return cls(question_ids, article_ids, positives, excluded)

    @property
    def n_questions(self) -> int:
        """Number of questions."""
        return len(self.question_ids)

    @property
    def n_articles(self) -> int:
        """Number of articles in the corpus."""
        return len(self.article_ids)

    @property
    def n_negatives(self) -> NDArray[np.int64]:
        """How many articles may be drawn for each question, int64 `[n_questions]`."""
        return self.n_articles - np.array([len(each) for each in self.excluded], dtype=np.int64)

    @property
    def in_batch_negatives(self) -> bool:
        """Whether an article that answers one question may be a negative of another."""
        answers = np.unique(np.concatenate(self.positives))
        return any(not np.isin(answers, each).all() for each in self.excluded)

    def negatives_at(self, question: int, places: NDArray[np.int64]) -> NDArray[np.int64]:
        """Positions of the articles at some places of the corpus, leaving out the excluded ones.

        Args:
            question: Whose negatives they are.
            places: int64 `[n]`, from 0 to below its `n_negatives`, in any order.
        """
        excluded = self.excluded[question]
        # This many others precede the i-th excluded article.
        others = excluded - np.arange(len(excluded))
        positions: NDArray[np.int64] = places + np.searchsorted(others, places, side="right")
        return positions


def flattened(
    positions: Sequence[NDArray[np.int64]], rows: NDArray[np.int64]
) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """The positions of some questions, concatenated.

    Args:
        positions: Positions of each question, such as `Gold.positives`.
        rows: int64 `[n_rows]`, which questions.

    Returns:
        Two int64 arrays of equal length: the place in `rows`, and the position.
    """
    chosen = [positions[row] for row in rows.tolist()]
    places = np.repeat(np.arange(len(rows)), [len(each) for each in chosen])
    return places, np.concatenate([*chosen, np.empty(0, dtype=np.int64)])


def _positions(positions: Iterable[int]) -> NDArray[np.int64]:
    return np.array(sorted(set(positions)), dtype=np.int64)


def _repeated(ids: Sequence[str]) -> list[str]:
    return [each for each, times in Counter(ids).items() if times > 1]
