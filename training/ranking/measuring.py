"""What is measured of a ranker while it is trained: its order on dev, how its negatives score."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sentence_transformers.base.evaluation import BaseEvaluator
from sentence_transformers.base.model import BaseModel

from components.models.cross_encoder import rank_candidates
from components.statutes.metrics import evaluate, metric_depth
from components.statutes.question import Question
from training.negatives.semihard import score_statistics
from training.ranking.article_pairs import ArticlePairs, Score, probabilities
from training.ranking.records import START_RANKS
from training.records import numbers_of

METRICS = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10", "Exist@10", "Exist@50", "Exist@90")


@dataclass(frozen=True)
class DevLists:
    """The candidates of the dev questions.

    Attributes:
        questions: `n_questions` of them.
        found: Ids of each one's candidates, best of the first stage first, `m` each.
        pairs: The first `depth` candidates of each question, question after question.
        depth: How many are re-ranked.
    """

    questions: Sequence[Question]
    found: Sequence[Sequence[str]]
    pairs: ArticlePairs
    depth: int

    def logits(self, score: Score) -> NDArray[np.float32]:
        """Of the candidates that are re-ranked, float32 `[n_questions, depth]`."""
        return self.pairs.logits(score).reshape(len(self.questions), self.depth)

    def re_ranked(
        self, logits: NDArray[np.float32], weight: float | None = None
    ) -> list[list[str]]:
        """Ids of each question's candidates, best first; beyond `depth` they stay as they were.

        Args:
            logits: As `logits` gives them.
            weight: Of the first stage's rank, see `components.models.cross_encoder.rank_candidates`.
        """
        return [
            [*(ids[place] for place in rank_candidates(own, weight).tolist()), *ids[self.depth :]]
            for ids, own in zip(self.found, logits, strict=True)
        ]

    def values(self, ranked: Sequence[Sequence[str]], metric: str) -> list[float]:
        """One metric of each question, `[n_questions]`.

        Args:
            ranked: Ids by question, best first.
            metric: Of a law with fewer articles than it looks at all are candidates.
        """
        return list(self._evaluated(ranked, [metric])[metric].values())

    def metrics(self, ranked: Sequence[Sequence[str]], select_by: str) -> dict[str, float]:
        """Means over the questions: `select_by`, and what the candidates are deep enough for.

        Args:
            ranked: Ids by question, best first.
            select_by: Measured in any case; of a law with fewer articles all are candidates.
        """
        usual = [name for name in METRICS if metric_depth(name) <= len(self.found[0])]
        names = list(dict.fromkeys((*usual, select_by)))
        return {name: fmean(of.values()) for name, of in self._evaluated(ranked, names).items()}

    def _evaluated(
        self, ranked: Sequence[Sequence[str]], names: Sequence[str]
    ) -> Mapping[str, Mapping[str, float]]:
        return evaluate(
            {question.id: ids for question, ids in zip(self.questions, ranked, strict=True)},
            {question.id: question.relevant for question in self.questions},
            names,
            depth=max(len(self.found[0]), *map(metric_depth, names)),
        )


class RankerMeasuring(BaseEvaluator):
    """What the Trainer calls before the first step and after each epoch.

    Args:
        score: Scores pairs with the model that is trained.
        dev: Lists to re-rank; None where no question is of dev.
        negatives: The mined negatives, `n` of them or a sample.
        cosines: The bi-encoder's of these, `[n]`.
        select_by: Metric that chooses the best epoch.
        start_ranks: Whether the model ranks before it is trained: it has a head already.

    Attributes:
        dev_logits: Of the dev lists when last measured.
    """

    def __init__(
        self,
        score: Score,
        *,
        dev: DevLists | None,
        negatives: ArticlePairs,
        cosines: Sequence[float],
        select_by: str,
        start_ranks: bool,
    ) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self._score = score
        self._dev = dev
        self._negatives = negatives
        self._cosines = cosines
        self._select_by = select_by
        self._start_ranks = start_ranks
        self.dev_logits: NDArray[np.float32] | None = None

    def __call__(
        self,
        model: BaseModel,  # noqa: ARG002 - the Trainer gives all four
        output_path: str | None = None,  # noqa: ARG002
        epoch: float = 0,
        steps: int = -1,  # noqa: ARG002
    ) -> dict[str, float]:
        """Measure; names have their levels joined by "/".

        Returns:
            `dev/METRIC` after each epoch; before the first step also `first_stage/METRIC` and
            `start_ranks`, 0 or 1; before the first step and after one epoch
            `negatives/ranker/...` and `negatives/biencoder/...`, see
            `training.negatives.semihard.score_statistics`. The bi-encoder's is the same both times.
        """
        measured: dict[str, Any] = {}
        before = not epoch
        if self._dev is not None:
            if before:
                found = self._dev.metrics(self._dev.found, self._select_by)
                measured["first_stage"] = found
                measured[START_RANKS] = int(self._start_ranks)
            self.dev_logits = self._dev.logits(self._score)
            ranking = self._dev.re_ranked(self.dev_logits)
            measured["dev"] = self._dev.metrics(ranking, self._select_by)
        if before or epoch == 1:
            own = probabilities(self._negatives.logits(self._score))
            measured["negatives"] = {
                "ranker": score_statistics(own),
                "biencoder": score_statistics(self._cosines),
            }
        return numbers_of(measured)
