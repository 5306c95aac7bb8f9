"""The law in blocks of tokens."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.models.tokenizing import PassageTokenizer
from training.command_line import SettingsError
from training.pretraining.blocks import Blocks, make_blocks
from training.pretraining.tokenizer import train_tokenizer

WORDS = ["tenant", "landlord", "rent", "notice", "repair", "court", "within", "days", "must", "pay"]
TRAINED = train_tokenizer([" ".join(WORDS)] * 3, "wordpiece", 400, max_tokens=64)
TOKENIZER = PassageTokenizer(TRAINED)
SEPARATOR, UNKNOWN = TRAINED.sep_token_id, TRAINED.unk_token_id

laws = st.lists(st.lists(st.sampled_from(WORDS), min_size=1, max_size=9).map(" ".join), min_size=1)


def blocks_of(texts: list[str], block_tokens: int = 8, held_out: float = 0.2) -> Blocks:
    return make_blocks(
        texts,
        TOKENIZER,
        block_tokens=block_tokens,
        separator=SEPARATOR,
        unknown=UNKNOWN,
        held_out=held_out,
        seed=3,
    )


def slow_blocks(texts: list[str], block_tokens: int) -> list[list[int]]:
    stream: list[int] = []
    for text in texts:
        if stream:
            stream.append(SEPARATOR)
        stream += TRAINED.encode(text, add_special_tokens=False)
    room = block_tokens - 2
    blocks = []
    for start in range(0, len(stream), room):
        begin = min(start, len(stream) - room)
        blocks.append([TRAINED.cls_token_id, *stream[begin : begin + room], SEPARATOR])
    return blocks


@given(texts=laws, block_tokens=st.integers(5, 12), held_out=st.floats(0.01, 0.99))
def test_every_token_stands_in_full_blocks(
    texts: list[str], block_tokens: int, held_out: float
) -> None:
    expected = slow_blocks(texts, block_tokens)
    if len(expected) < 3:
        with pytest.raises(SettingsError, match="too little for 3 blocks"):
            blocks_of(texts, block_tokens, held_out)
        return
    blocks = blocks_of(texts, block_tokens, held_out)
    train, held = blocks.train.tolist(), blocks.held_out.tolist()
    assert sorted(train + held) == sorted(expected)
    for part in (train, held):
        law = iter(expected)
        assert all(block in law for block in part), "not in the order of the law"
    assert 1 <= len(held) <= len(expected) - 2


@given(texts=laws.filter(lambda texts: len(slow_blocks(texts, 8)) >= 3))
def test_what_is_held_out_is_not_trained_on_by_the_overlap_at_the_end(texts: list[str]) -> None:
    blocks = blocks_of(texts, held_out=0.99)
    assert blocks.train.tolist() == slow_blocks(texts, 8)[-2:]


def test_the_same_seed_holds_out_the_same_blocks() -> None:
    texts = [" ".join(WORDS[n % 7 :]) for n in range(40)]
    first, second = blocks_of(texts), blocks_of(texts)
    assert np.array_equal(first.held_out, second.held_out)
    assert len(first.held_out) == round(0.2 * (len(first.train) + len(first.held_out)))


def test_unknown_tokens_are_counted() -> None:
    blocks = blocks_of(["tenant 诚信 rent" * 4] * 4)
    assert blocks.unknown > 0
    assert blocks_of(["tenant must pay rent"] * 8).unknown == 0


def test_blocks_that_special_tokens_fill_are_refused() -> None:
    with pytest.raises(SettingsError, match="smaller block_tokens"):
        blocks_of(["tenant"], 64)
