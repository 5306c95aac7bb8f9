"""The text of a law as blocks of tokens of one length."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from components.models.tower import PassageTokenizer
from training.command_line import SettingsError

_TEXTS_AT_ONCE = 1_000
_LEAST_BLOCKS = 3


@dataclass(frozen=True)
class Blocks:
    """A law in blocks, some of which are never trained on.

    Attributes:
        train: int32 `[n_train, block_tokens]`, special tokens included.
        held_out: int32 `[n_held_out, block_tokens]`.
        tokens: Tokens of the law, special ones left out.
        unknown: How many of them the tokenizer does not know.
    """

    train: Tensor
    held_out: Tensor
    tokens: int
    unknown: int


def make_blocks(
    texts: Sequence[str],
    tokenizer: PassageTokenizer,
    *,
    block_tokens: int,
    separator: int | None,
    unknown: int | None,
    held_out: float,
    seed: int,
) -> Blocks:
    """Join all texts in their order, cut them into full blocks, hold some out by chance.

    No token is lost and none is padding: the last block begins early enough to be full. Since it
    repeats some of the last but one, neither of the two is held out.

    Args:
        texts: Articles in the order of the law.
        tokenizer: The model's; its special tokens stand around each block.
        block_tokens: Tokens of a block, special ones included.
        separator: Id that stands between two texts.
        unknown: Id of a token that stands for what is not known.
        held_out: Share of the blocks to hold out; at least one is.
        seed: Of which ones.

    Raises:
        SettingsError: The texts are too short for three blocks.
    """
    room = block_tokens - tokenizer.special_tokens
    stream = _joined(texts, tokenizer, separator)
    n_blocks = -(-len(stream) // room) if room > 0 else 0
    if n_blocks < _LEAST_BLOCKS:
        raise SettingsError(
            f"the corpus has {len(stream)} tokens, which is too little for {_LEAST_BLOCKS} blocks "
            f"of {block_tokens} (special tokens included). Take smaller block_tokens."
        )
    starts = np.minimum(np.arange(n_blocks) * room, len(stream) - room)
    bodies = stream[starts[:, None] + np.arange(room)]
    first, last = (
        np.tile(np.array(ids, np.int32), (n_blocks, 1))
        for ids in (tokenizer.prefix, tokenizer.suffix)
    )
    blocks = torch.from_numpy(np.concatenate([first, bodies, last], axis=1))
    n_held = min(max(1, round(held_out * n_blocks)), n_blocks - 2)
    rows = np.random.default_rng(seed).choice(n_blocks - 2, size=n_held, replace=False)
    held = torch.zeros(n_blocks, dtype=torch.bool)
    held[torch.from_numpy(rows)] = True
    return Blocks(
        train=blocks[~held],
        held_out=blocks[held],
        tokens=len(stream),
        unknown=0 if unknown is None else int((stream == unknown).sum()),
    )


def _joined(
    texts: Sequence[str], tokenizer: PassageTokenizer, separator: int | None
) -> NDArray[np.int32]:
    between = [] if separator is None else [separator]
    parts = []
    for start in range(0, len(texts), _TEXTS_AT_ONCE):
        ids = tokenizer.token_ids(texts[start : start + _TEXTS_AT_ONCE])
        parts.append(np.array([i for text in ids for i in (*text, *between)], np.int32))
    joined: NDArray[np.int32] = np.concatenate(parts) if parts else np.empty(0, np.int32)
    return joined[: len(joined) - len(between)]
