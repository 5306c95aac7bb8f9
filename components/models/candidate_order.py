"""The order of a ranker's candidates: by its logits and their ranks in the first stage."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from components.models.boosted_trees import BoostedTrees, Example
from components.statutes.fusion import FUSION_K


def rank_candidates(
    logits: ArrayLike,
    first_stage_weight: float | None = None,
    first_stage_places: ArrayLike | None = None,
) -> NDArray[np.int64]:
    """Candidates from best to worst.

    With a weight w the order is that of `1 / (k + rank) + w / (k + first rank)`, k = 10: ranks by
    logit and by the first stage, both from 1. Equal candidates stay in the first stage's order.

    Args:
        logits: `[n]`, finite, in the first stage's order, best first.
        first_stage_weight: w; None orders by logits alone.
        first_stage_places: `[n]`, ascending positions in the first stage's list, from 0, if the
            logits cover only a part of it; by default they are the whole list.

    Returns:
        int64 `[n]`, indices into `logits`.
    """
    values = np.asarray(logits, np.float64)
    order = np.argsort(-values, kind="stable")
    if first_stage_weight is None:
        return order
    ranks = np.arange(1, len(values) + 1)
    first = ranks if first_stage_places is None else np.asarray(first_stage_places) + 1
    fused = first_stage_weight / (FUSION_K + first)
    fused[order] += 1 / (FUSION_K + ranks)
    return np.argsort(-fused, kind="stable")


BOOSTER_FILE = "booster.txt"
# Enough for so few columns; chosen on the demo law. There is no early stopping: the questions held
# out for it would be too few.
_ROUNDS = 100
_OWN_COLUMNS = ("log_place", "logit", "gap", "log_rank")


@dataclass(frozen=True)
class LearnedOrderRecord:
    """What `ranker.json` says of a learnt order.

    Attributes:
        lists: Names of the first stage's lists whose ranks are read.
        booster_sha256: Of `booster.txt`.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid"}

    lists: tuple[str, ...]
    booster_sha256: str


class LearnedOrder:
    """An order learnt from a ranker's logits and each candidate's ranks in the first stage.

    It belongs to the first stage whose ranks it was learnt from.

    | column | |
    |---|---|
    | log_place | ln(1 + place in the first stage's order, from 0) |
    | logit, gap | the ranker's z, and how far below the question's highest z it is |
    | log_rank | ln(rank by z) |
    | LIST.log_rank | ln(rank in a list of the first stage), NaN if it does not contain it |

    The trees can ignore a weak ranker; a single weight treats all questions alike.

    Args:
        trees: Over these columns.
        lists: Names of the lists.
    """

    def __init__(self, trees: BoostedTrees, lists: Sequence[str]) -> None:
        self._trees = trees
        self.lists = tuple(lists)

    @staticmethod
    def columns(lists: Sequence[str]) -> list[str]:
        """Names of the columns."""
        return [*_OWN_COLUMNS, *(f"{name}.log_rank" for name in lists)]

    @staticmethod
    def table(
        logits: ArrayLike, places: ArrayLike, ranks: Mapping[str, ArrayLike]
    ) -> NDArray[np.float32]:
        """The columns of a question's candidates.

        Args:
            logits: `[n]`, at least one, in the first stage's order.
            places: `[n]`, ascending, in the first stage's list, from 0.
            ranks: For each list the candidates' ranks in it, `[n]`, from 1; NaN where the list does
                not contain the candidate.

        Returns:
            float32 `[n, len(columns(ranks))]`.
        """
        z = np.asarray(logits, np.float32)
        by_logit = np.empty(len(z))
        by_logit[rank_candidates(z)] = np.arange(1, len(z) + 1)
        own = [np.log1p(places), z, z.max() - z, np.log(by_logit)]
        table: NDArray[np.float32] = np.stack(
            [*own, *(np.log(np.asarray(each, np.float32)) for each in ranks.values())], axis=1
        ).astype(np.float32)
        return table

    @classmethod
    def learn(cls, examples: Sequence[Example], lists: Sequence[str], *, seed: int) -> LearnedOrder:
        """Learn from questions, as `BoostedTrees.learn`.

        Args:
            examples: At least two with a candidate that answers, each with the table that `table`
                gives.
            lists: Names of the lists whose ranks are in the tables.
            seed: Of what is drawn.

        Raises:
            ModelError: As `BoostedTrees.learn`.
        """
        trees = BoostedTrees.learn(examples, cls.columns(lists), seed=seed, rounds=_ROUNDS)
        return cls(trees, lists)

    def ranked(self, table: NDArray[np.float32]) -> NDArray[np.int64]:
        """Candidates from best to worst; equal ones stay in the first stage's order.

        Args:
            table: What `table` returns for one question and the lists of `lists`, in their order.

        Returns:
            int64 `[n]`, rows of the table.
        """
        return np.argsort(-self._trees.scores(table), kind="stable")

    def save(self, folder: Path) -> LearnedOrderRecord:
        """Write the trees into a ranker's folder; returns what is kept in its `ranker.json`."""
        return LearnedOrderRecord(self.lists, self._trees.save(folder / BOOSTER_FILE))

    @classmethod
    def load(cls, folder: Path, record: LearnedOrderRecord) -> LearnedOrder:
        """Read what `save` wrote.

        Raises:
            ModelError: As `BoostedTrees.load`.
        """
        columns = cls.columns(record.lists)
        trees = BoostedTrees.load(folder / BOOSTER_FILE, columns, record.booster_sha256)
        return cls(trees, record.lists)
