"""Hiding words."""

import torch

from training.pretraining.masking import Masking
from training.pretraining.tokenizer import train_tokenizer

TOKENIZER = train_tokenizer(
    ["the tenant must pay the rent in advance"] * 3, "bpe", 300, max_tokens=64
)
BLOCKS = torch.randint(5, 290, (64, 258), dtype=torch.int32)
BLOCKS[:, 0], BLOCKS[:, -1] = TOKENIZER.cls_token_id, TOKENIZER.sep_token_id


def batch(masking: Masking, place: int = 0) -> dict[str, torch.Tensor]:
    return masking([((0, place + n), block) for n, block in enumerate(BLOCKS)])


def test_the_share_asked_for_is_guessed_and_most_of_it_hidden() -> None:
    made = batch(Masking(TOKENIZER, 0.15, seed=0))
    ids, labels = made["input_ids"], made["labels"]
    guessed = labels != -100
    assert abs(guessed[:, 1:-1].float().mean() - 0.15) < 0.01
    hidden = ids[guessed] == TOKENIZER.mask_token_id
    same = ids[guessed] == BLOCKS[guessed]
    assert abs(hidden.float().mean() - 0.8) < 0.03
    assert abs(same.float().mean() - 0.1) < 0.03


def test_what_is_to_be_guessed_is_the_block_and_the_rest_is_untouched() -> None:
    made = batch(Masking(TOKENIZER, 0.3, seed=0))
    guessed = made["labels"] != -100
    assert torch.equal(made["labels"][guessed], BLOCKS[guessed].long())
    assert torch.equal(made["input_ids"][~guessed], BLOCKS[~guessed].long())
    assert not guessed[:, [0, -1]].any()


def test_a_batch_is_masked_alike_whatever_was_masked_before() -> None:
    fresh, used = Masking(TOKENIZER, 0.15, seed=0), Masking(TOKENIZER, 0.15, seed=0)
    torch.manual_seed(1)
    for place in range(3):
        batch(used, place)
    torch.manual_seed(2)
    assert torch.equal(batch(fresh, 64)["labels"], batch(used, 64)["labels"])


def test_batches_and_seeds_are_masked_differently() -> None:
    first = batch(Masking(TOKENIZER, 0.15, seed=0))["labels"]
    assert not torch.equal(first, batch(Masking(TOKENIZER, 0.15, seed=0), 64)["labels"])
    assert not torch.equal(first, batch(Masking(TOKENIZER, 0.15, seed=1))["labels"])
