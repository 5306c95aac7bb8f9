"""An epoch's pairs in batches, each with its distinct texts and who is whose negative."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from training.negatives.drawn import DrawnNegatives
from training.negatives.gold import Gold

Rows = NDArray[np.int64]


@dataclass(frozen=True)
class Batch:
    """The pairs of one step.

    Attributes:
        questions: int64 `[n_questions]`, the distinct questions (index in the training questions).
        articles: int64 `[n_articles]`, the distinct articles (position in the corpus).
        pairs: int64 `[n_pairs, 2]`, each pair as rows of `questions` and `articles`.
        candidates: bool `[n_pairs, n_articles]`, the negatives of each pair.
        n_listed: Articles that the pairs list, repeats counted: what a trainer would encode that
            does not look for them.
    """

    questions: Rows
    articles: Rows
    pairs: Rows
    candidates: NDArray[np.bool_]
    n_listed: int


def epoch_order(n_pairs: int, *, seed: int, epoch: int) -> Rows:
    """The pairs in the order of an epoch, int64 `[n_pairs]`; each epoch has its own."""
    return np.random.default_rng([seed, epoch, 0]).permutation(n_pairs)


def first_steps(pairs: Rows, order: Rows, batch_size: int, n_questions: int) -> Rows:
    """The step of the epoch in which each question is first asked, int64 `[n_questions]`."""
    steps = np.empty(n_questions, dtype=np.int64)
    # From the last to the first: what is written last stays.
    steps[pairs[order[::-1], 0]] = np.arange(len(order))[::-1] // batch_size
    return steps


def make_batch(
    pairs: Rows,
    drawn: DrawnNegatives,
    gold: Gold,
    *,
    in_batch: bool,
) -> Batch:
    """The step of some pairs.

    A question's negatives are shared by its pairs. With `in_batch` the batch's other articles are
    negatives too, its other questions' positives and negatives; never an article that answers the
    same question, or reads the same as one that does.

    Args:
        pairs: int64 `[n_pairs, 2]`, question and position of its positive.
        drawn: The epoch's negatives.
        gold: Of the training questions.
        in_batch: Whether other questions' articles count.
    """
    questions, question_rows = np.unique(pairs[:, 0], return_inverse=True)
    negatives = [drawn.of(question) for question in questions.tolist()]
    articles = np.unique(np.concatenate([pairs[:, 1], *negatives]))
    candidates = np.full((len(questions), len(articles)), in_batch)
    for row, question in enumerate(questions.tolist()):
        if not in_batch:
            candidates[row, np.searchsorted(articles, negatives[row])] = True
        candidates[row, np.isin(articles, gold.excluded[question])] = False
    article_rows = np.searchsorted(articles, pairs[:, 1])
    return Batch(
        questions=questions,
        articles=articles,
        pairs=np.stack([question_rows, article_rows], axis=1),
        candidates=candidates[question_rows],
        n_listed=len(pairs) + sum(len(negatives[row]) for row in question_rows.tolist()),
    )


def steps_in_epoch(n_pairs: int, batch_size: int) -> int:
    """Steps of an epoch; the last batch may be a short one."""
    return -(-n_pairs // batch_size)


def question_ids(batch: Batch, gold: Gold) -> Sequence[str]:
    """Ids of the questions of a batch, for messages."""
    return [gold.question_ids[question] for question in batch.questions.tolist()]
