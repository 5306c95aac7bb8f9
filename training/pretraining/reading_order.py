"""Which block is read when."""

from __future__ import annotations

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset

Item = tuple[tuple[int, int], Tensor]
"""What chance depends on when the block is masked: (0 in training or 1 in measuring, place), and
the block."""

_TRAINING, _MEASURING = 0, 1


class ReadingOrder(Dataset[Item]):
    """The blocks of a whole run, one after the other; each epoch in an order of its own.

    A run that is taken up again needs its step only to know what comes next.

    Args:
        blocks: int32 `[n_blocks, block_tokens]`.
        length: Blocks that the run reads, repeats counted.
        seed: Of the orders.
    """

    def __init__(self, blocks: Tensor, length: int, seed: int) -> None:
        self._blocks = blocks
        self._length = length
        self._seed = seed
        self._epoch = -1
        self._order: NDArray[np.int64] = np.empty(0, np.int64)

    def __len__(self) -> int:
        return self._length

    def __getitem__(self, place: int) -> Item:
        epoch, index = divmod(place, len(self._blocks))
        if epoch != self._epoch:
            chance = np.random.default_rng([self._seed, epoch])
            self._epoch, self._order = epoch, chance.permutation(len(self._blocks))
        return (_TRAINING, place), self._blocks[int(self._order[index])]


def held_out_items(blocks: Tensor) -> list[Item]:
    """Blocks to measure by: the same words are masked in them every time."""
    return [((_MEASURING, place), block) for place, block in enumerate(torch.unbind(blocks))]
