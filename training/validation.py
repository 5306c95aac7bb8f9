"""How well the model of this moment finds the articles of questions that it does not learn."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from statistics import fmean

from torch import Tensor

from components.models.dense_index import DenseIndex
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from training.run_settings import DEV_DEPTH

METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (1, 5, 10, 20, 50, 100, 200, 500)),
    "MAP",
    "MAP@10",
    "R-precision",
    "MRR@10",
    "nDCG@10",
)


@dataclass(frozen=True)
class Validation:
    """One model on some questions.

    Attributes:
        values: Metric to question id to value.
        unseen: Ids of the questions none of whose articles is a training positive: what carries
            over to law that was not trained on.
    """

    values: dict[str, dict[str, float]]
    unseen: list[str]

    def means(self) -> dict[str, float]:
        """Each metric's mean over the questions."""
        return {metric: fmean(of.values()) for metric, of in self.values.items()}

    def unseen_means(self) -> dict[str, float]:
        """The same over the `unseen` questions; empty where there are none."""
        if not self.unseen:
            return {}
        return {
            metric: fmean(of[question] for question in self.unseen)
            for metric, of in self.values.items()
        }


def validate(
    questions: Sequence[Question],
    vectors: Tensor,
    articles: Tensor,
    article_ids: Sequence[str],
    trained_on: Collection[str],
    select_by: str,
) -> Validation:
    """Search every question's vector among the articles', exactly, and measure what is found.

    Args:
        questions: `n_questions` of them.
        vectors: float32 `[n_questions, dim]`.
        articles: float32 `[n_articles, dim]`.
        article_ids: By position.
        trained_on: Ids of the training positives.
        select_by: A metric that is measured beside `METRICS`.
    """
    index = DenseIndex(articles.cpu().numpy(), device=str(articles.device))
    _, found = index.search(vectors.cpu().numpy(), DEV_DEPTH)
    run = {
        question.id: [article_ids[position] for position in row]
        for question, row in zip(questions, found.tolist(), strict=True)
    }
    qrels = {question.id: set(question.relevant) for question in questions}
    metrics = dict.fromkeys((*METRICS, select_by))
    values = evaluate(run, qrels, metrics, depth=DEV_DEPTH)
    trained = set(trained_on)
    unseen = [question.id for question in questions if trained.isdisjoint(question.relevant)]
    return Validation(values, unseen)
