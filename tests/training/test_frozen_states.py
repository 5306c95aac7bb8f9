"""Frozen layers run once over a text: the vectors stay the same bits, and nothing else changes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from torch import nn

from training import frozen_states
from training.data import TrainingData
from training.frozen_states import FrozenStates
from training.starting import stack_of, starting_model
from training.texts import RunTexts

CPU = torch.device("cpu")
Settings = Callable[..., Any]


@pytest.fixture(scope="session")
def data(small_law) -> TrainingData:
    return TrainingData.read(str(small_law / "articles.jsonl"), str(small_law / "questions.jsonl"))


@contextmanager
def counted(modules: nn.ModuleList) -> Iterator[list[int]]:
    """How often the attention in each of these layers runs."""
    runs = [0] * len(modules)

    def counting(number: int) -> Callable[..., None]:
        def count(*_: Any) -> None:
            runs[number] += 1

        return count

    hooks = [
        layer.attention.register_forward_pre_hook(counting(number))
        for number, layer in enumerate(modules)
    ]
    yield runs
    for hook in hooks:
        hook.remove()


def encoded(texts: RunTexts) -> list[torch.Tensor]:
    made = texts.encode(Accelerator(cpu=True), lambda _: None)
    return [made.articles, made.train, made.dev]


def move(model: nn.Module, by: float) -> None:
    with torch.no_grad():
        for parameter in model.parameters():
            if parameter.requires_grad:
                parameter += by * torch.randn(parameter.shape)


@pytest.mark.parametrize("n_frozen", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_the_second_refresh_skips_them_and_gives_the_same_bits(
    settings: Settings, data: TrainingData, n_frozen: int, dtype: Any
) -> None:
    # Where both layers are frozen, the head is what is trained.
    chosen = settings(frozen_layers=n_frozen, dtype=dtype, head="identity", passage_tokens=16)
    model = starting_model(chosen, CPU)
    plain, kept = RunTexts(model, data, None), RunTexts(model, data, None, n_frozen)
    _, layers = stack_of(model.query)
    for refresh in range(3):
        with counted(layers) as runs:
            found = encoded(kept)
        assert all(n == 0 for n in runs[:n_frozen]) == (refresh > 0)
        assert all(n > 0 for n in runs[n_frozen:])
        for one, other in zip(found, encoded(plain), strict=True):
            assert torch.equal(one, other)
        move(model, 0.01)


def test_what_does_not_fit_is_computed_each_time(
    settings: Settings, data: TrainingData, monkeypatch: pytest.MonkeyPatch
) -> None:
    model = starting_model(settings(frozen_layers=1), CPU)
    monkeypatch.setattr(frozen_states.FrozenStates.__init__, "__defaults__", (0,))
    texts = RunTexts(model, data, None, 1)
    first = encoded(texts)
    with counted(stack_of(model.query)[1]) as runs:
        again = encoded(texts)
    assert runs[0] == runs[1] > 0
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


def test_training_and_other_texts_are_not_touched(settings: Settings, data: TrainingData) -> None:
    model = starting_model(settings(frozen_layers=1), CPU)
    before = model.encode_articles(["A worker gives notice."])
    encoded(RunTexts(model, data, None, 1))
    _, layers = stack_of(model.query)
    assert all("forward" not in vars(layer) for layer in layers)
    assert not model.query._forward_pre_hooks
    with counted(layers) as runs:
        assert torch.equal(model.encode_articles(["A worker gives notice."]), before)
    assert runs == [1, 1]


def test_two_towers_keep_their_own(settings: Settings, data: TrainingData, other_bert) -> None:
    chosen = settings(frozen_layers=1)
    pair = settings(
        frozen_layers=1, model=None, query_model=chosen.model, passage_model=str(other_bert)
    )
    model = starting_model(pair, CPU)
    texts = RunTexts(model, data, None, 1)
    first = encoded(texts)
    with counted(stack_of(model.query)[1]) as asked, counted(stack_of(model.passage)[1]) as read:
        again = encoded(texts)
    assert asked[0] == read[0] == 0 < min(asked[1], read[1])
    assert all(torch.equal(one, other) for one, other in zip(first, again, strict=True))


def test_a_batch_is_known_by_its_tokens_their_rows_and_what_is_padding(
    settings: Settings,
) -> None:
    tower = starting_model(settings(frozen_layers=1), CPU).query
    ids = torch.arange(12, 24)
    first_shorter, last_shorter = torch.ones(2, 2, 6, dtype=torch.int64)
    first_shorter[0, 4:] = 0
    last_shorter[1, 4:] = 0
    batches: list[tuple[torch.Tensor, torch.Tensor | None]] = [
        (ids.view(2, 6), None),
        (ids.view(3, 4), None),
        (ids.flip(0).view(2, 6), None),
        (ids.view(2, 6), first_shorter),
        (ids.view(2, 6), last_shorter),
    ]
    with torch.no_grad():
        expected = [tower(*batch) for batch in batches]
        with FrozenStates(tower, 1).replaying():
            for _ in range(2):
                for batch, vectors in zip(batches, expected, strict=True):
                    assert torch.equal(tower(*batch), vectors)


def test_states_are_kept_up_to_their_limit(settings: Settings) -> None:
    tower = starting_model(settings(frozen_layers=1), CPU).query
    batches = [torch.full((1, 10), token) for token in (10, 11, 12)]
    bytes_a_batch = 10 * tower.dim * 4
    states = FrozenStates(tower, 1, most_bytes=2 * bytes_a_batch)
    with torch.no_grad(), states.replaying():
        for computed in (3, 1):
            with counted(stack_of(tower)[1]) as runs:
                for batch in batches:
                    tower(batch, None)
            assert runs == [computed, 3]
