"""Which block is read when."""

import torch
from hypothesis import given
from hypothesis import strategies as st

from training.pretraining.reading_order import ReadingOrder, held_out_items


def ids(n_blocks: int) -> torch.Tensor:
    return torch.arange(n_blocks, dtype=torch.int32)[:, None]


@given(n_blocks=st.integers(1, 30), seed=st.integers(0, 99))
def test_each_epoch_reads_every_block_once(n_blocks: int, seed: int) -> None:
    order = ReadingOrder(ids(n_blocks), 3 * n_blocks, seed)
    read = [int(order[place][1]) for place in range(len(order))]
    for epoch in range(3):
        assert sorted(read[epoch * n_blocks : (epoch + 1) * n_blocks]) == list(range(n_blocks))


def test_epochs_differ() -> None:
    order = ReadingOrder(ids(30), 60, 0)
    read = [int(order[place][1]) for place in range(60)]
    assert read[:30] != read[30:]


@given(places=st.lists(st.integers(0, 59), min_size=1))
def test_a_place_holds_the_same_block_however_it_is_come_by(places: list[int]) -> None:
    one, other = ReadingOrder(ids(20), 60, 5), ReadingOrder(ids(20), 60, 5)
    straight = [other[place] for place in range(60)]
    for place in places:
        assert one[place] == straight[place]


def test_training_and_measuring_are_masked_by_different_chances() -> None:
    order = ReadingOrder(ids(4), 4, 0)
    keys = {order[place][0] for place in range(4)} | {key for key, _ in held_out_items(ids(4))}
    assert len(keys) == 8
