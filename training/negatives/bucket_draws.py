"""Which places of a list ordered by difficulty are drawn in an epoch."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from training.negatives.curriculum import (
    allot,
    allot_of_buckets,
    bucket_edges,
    phase_of,
    phase_shares,
)
from training.negatives.gold import Gold
from training.negatives.options import NegativesOptions
from training.negatives.seeding import generator


class BucketDraws:
    """Draws places by the schedule; what stands at a place is not known here.

    A list has the hardest negative at place 0 and as many places as its question has negatives,
    or candidates, where only the hardest ones are drawn from.

    Args:
        options: Schedule, buckets, shares and seed.
        gold: The questions.
    """

    def __init__(self, options: NegativesOptions, gold: Gold) -> None:
        self._options = options
        self._question_ids = gold.question_ids
        self._phase_shares = phase_shares(options.schedule, options.buckets)
        self._starts, ends = bucket_edges(options.list_lengths(gold), options.buckets)
        self._sizes = ends - self._starts

    def phases(self, progress: float | NDArray[np.float64]) -> NDArray[np.int64]:
        """The phase that each question is in.

        Args:
            progress: Share of training that is done, in [0, 1), one or `[n_questions]`.

        Returns:
            int64 `[n_questions]`.

        Raises:
            ValueError: A number is out of range, or they are too many or too few.
        """
        done = np.asarray(progress, dtype=np.float64)
        n_questions = len(self._question_ids)
        if done.shape not in ((), (n_questions,)):
            raise ValueError(
                f"progress must be one number or {n_questions:,}, one a question, not of shape "
                f"{done.shape}"
            )
        if not ((done >= 0) & (done < 1)).all():
            raise ValueError("progress must be in [0, 1): the share of training that is done")
        return phase_of(np.broadcast_to(done, n_questions), len(self._phase_shares))

    def places(self, epoch: int, phases: NDArray[np.int64]) -> list[NDArray[np.int64]]:
        """The places drawn for each question, each at most once.

        Args:
            epoch: Another epoch, other places; but for "fixed", which takes the first.
            phases: int64 `[n_questions]`.
        """
        if self._options.schedule == "fixed":
            hardest = np.arange(self._options.negatives_per_question)
            return [hardest] * len(self._question_ids)
        counts = self.counts(epoch, phases)
        return [
            self._drawn(generator(self._options.seed, "draw", epoch, question), row, counts[row])
            for row, question in enumerate(self._question_ids)
        ]

    def counts(self, epoch: int, phases: NDArray[np.int64]) -> NDArray[np.int64]:
        """How many each question draws from each bucket, int64 `[n_questions, n_buckets]`.

        The questions of one phase share an apportionment, so that an epoch that a phase ends in has
        the right shares before and after. Arguments as for `places`.
        """
        counts = np.zeros_like(self._sizes)
        for phase in np.unique(phases).tolist():
            (rows,) = np.nonzero(phases == phase)
            shares = self._phase_shares[phase]
            chance = generator(self._options.seed, "allot", epoch, phase)
            if self._options.share_of == "bucket":
                counts[rows] = allot_of_buckets(self._sizes[rows], shares, chance)
            else:
                n = self._options.negatives_per_question
                counts[rows] = allot(len(rows), n, shares, chance)
        return counts

    def buckets_at(self, rows: NDArray[np.int64], places: NDArray[np.int64]) -> NDArray[np.int8]:
        """The bucket that a place of a question's list lies in, int8; 0 is the easiest.

        Args:
            rows: int64 `[n_places]`, which question.
            places: int64 `[n_places]`.
        """
        # As many buckets are easier as start behind the place.
        easier: NDArray[np.int8] = (self._starts[rows] > places[:, None]).sum(axis=1, dtype=np.int8)
        return easier

    def _drawn(
        self, chance: np.random.Generator, row: int, counts: NDArray[np.int64]
    ) -> NDArray[np.int64]:
        buckets = zip(
            self._starts[row].tolist(), self._sizes[row].tolist(), counts.tolist(), strict=True
        )
        return np.concatenate(
            [start + chance.choice(size, count, replace=False) for start, size, count in buckets]
        )
