"""Which examples make a batch, decided by seed and epoch alone."""

from __future__ import annotations

from collections.abc import Iterator, Sized
from typing import cast

import numpy as np
from sentence_transformers.base.sampler import DefaultBatchSampler


class EpochBatches(DefaultBatchSampler):
    """The examples in an order of each epoch's own.

    The sampler of sentence-transformers draws from one stream of random numbers: taken up again in
    its second epoch, a run would see the order of the first.
    """

    def __iter__(self) -> Iterator[list[int]]:
        n_examples = len(cast(Sized, self.sampler))
        order = np.random.default_rng([self.seed, self.epoch]).permutation(n_examples).tolist()
        for start in range(0, n_examples, self.batch_size):
            yield order[start : start + self.batch_size]
