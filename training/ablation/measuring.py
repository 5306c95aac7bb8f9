"""How well a model finds, alone and beside BM25."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from components.models.dense_index import DenseIndex
from components.statutes.metrics import evaluate
from components.statutes.question import Question
from training.ablation.metrics import DENSE_METRICS, FUSED
from training.bm25.searching import Ranking
from training.data import TrainingData
from training.learner import Vectors
from training.rank_fusion import FUSED_FROM, fuse_ranks

DEPTH = 1_000
_FUSED_DEPTH = 10


@dataclass(frozen=True)
class Measured:
    """One model on a split's dev questions.

    Attributes:
        values: Metric to its values, `[n_dev]` each.
        unseen: Indices of the dev questions none of whose articles is a training positive.
    """

    values: dict[str, list[float]]
    unseen: list[int]


def measure(vectors: Vectors, data: TrainingData, lexical: Sequence[Ranking]) -> Measured:
    """Search every dev question's vector among the articles', exactly, and measure what is found.

    Args:
        vectors: Of the articles and of the dev questions.
        data: The law and the questions.
        lexical: BM25's ranking for each dev question.
    """
    index = DenseIndex(vectors.articles.cpu().numpy(), device=str(vectors.articles.device))
    _, found = index.search(vectors.dev.cpu().numpy(), DEPTH)
    dense = [row.tolist() for row in found]
    fused = [
        fuse_ranks([words.tolist(), meaning[:FUSED_FROM]])[:_FUSED_DEPTH]
        for words, meaning in zip(lexical, dense, strict=True)
    ]
    return Measured(
        {
            **_values(data, dense, DENSE_METRICS, DEPTH),
            FUSED: _values(data, fused, ("R@10",), _FUSED_DEPTH)["R@10"],
        },
        unseen(data, data.dev),
    )


def unseen(data: TrainingData, asked: Sequence[Question]) -> list[int]:
    """Indices of the questions none of whose articles is a training positive."""
    trained = {article for question in data.train for article in question.relevant}
    return [row for row, each in enumerate(asked) if trained.isdisjoint(each.relevant)]


def _values(
    data: TrainingData, rankings: Sequence[Sequence[int]], metrics: Sequence[str], depth: int
) -> dict[str, list[float]]:
    ids = data.corpus.ids
    found = [[ids[position] for position in ranking] for ranking in rankings]
    return values_of(data.dev, found, metrics, depth)


def values_of(
    asked: Sequence[Question],
    found: Sequence[Sequence[str]],
    metrics: Sequence[str],
    depth: int,
) -> dict[str, list[float]]:
    """Metric to its values, `[n_questions]` each.

    Args:
        asked: `n_questions` of them.
        found: Ids by question, best first.
        metrics: Which.
        depth: How many articles were asked for.
    """
    by_metric = evaluate(
        {question.id: ids for question, ids in zip(asked, found, strict=True)},
        {question.id: set(question.relevant) for question in asked},
        metrics,
        depth=depth,
    )
    return {
        metric: [of_question[question.id] for question in asked]
        for metric, of_question in by_metric.items()
    }
