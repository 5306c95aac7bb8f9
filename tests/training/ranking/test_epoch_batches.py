"""The order of examples hangs on seed and epoch, and on nothing that happened before."""

from __future__ import annotations

from training.ranking.epoch_batches import EpochBatches


def batches(epoch: int, seed: int = 0) -> list[list[int]]:
    sampler = EpochBatches(range(10), batch_size=4, drop_last=False, seed=seed)
    sampler.set_epoch(epoch)
    return list(sampler)


def test_every_example_comes_once_an_epoch() -> None:
    assert [len(batch) for batch in batches(0)] == [4, 4, 2]
    assert sorted(place for batch in batches(0) for place in batch) == list(range(10))


def test_epochs_and_seeds_have_orders_of_their_own() -> None:
    assert batches(1) == batches(1)
    assert batches(0) != batches(1)
    assert batches(0) != batches(0, seed=1)
