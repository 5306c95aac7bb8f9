"""Hiding words from a model."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor
from transformers import DataCollatorForLanguageModeling, PreTrainedTokenizerBase

from training.pretraining.reading_order import Item


class Masking:
    """Makes batches of blocks in which some tokens are to be guessed.

    Of those, 80% are hidden behind the mask token, 10% replaced by any other and 10% left as they
    are (BERT). Which ones depends on the seed and the batch's first place in the run, on nothing
    that happened before.

    Args:
        tokenizer: The model's.
        share: Of the tokens to be guessed, special ones aside.
        seed: Of the choice.
    """

    def __init__(self, tokenizer: PreTrainedTokenizerBase, share: float, seed: int) -> None:
        self._collator = DataCollatorForLanguageModeling(tokenizer, mlm_probability=share)
        self._special = torch.tensor(sorted(set(tokenizer.all_special_ids)))
        self._seed = seed

    def __call__(self, items: Sequence[Item]) -> dict[str, Tensor]:
        """A batch: `input_ids` and `labels`, int64 `[n_blocks, block_tokens]`.

        A label is -100 where nothing is to be guessed.
        """
        ids = torch.stack([block for _, block in items]).long()
        words = [self._seed, *items[0][0]]
        chance = int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1)
        self._collator.generator = torch.Generator().manual_seed(chance)
        ids, labels = self._collator.torch_mask_tokens(
            ids, special_tokens_mask=torch.isin(ids, self._special)
        )
        return {"input_ids": ids, "labels": labels}
