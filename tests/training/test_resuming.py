"""Interrupted anywhere and started again, a run ends with the very same weights."""

from __future__ import annotations

import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
import torch
from accelerate import Accelerator
from runs import steady

from components.models import cpu_linear
from components.models.biencoder import BiEncoder
from components.models.cpu_linear import linear_library
from training import checkpoints
from training.command_line import SettingsError, TrainingError
from training.cusines import start
from training.data import TrainingData
from training.loop import TrainingLoop
from training.optimizer import Optimizer, constant
from training.resuming import Resuming, RunState
from training.running import fit
from training.settings import CusinesSettings

Fit = Callable[..., tuple[BiEncoder, RunState]]


class Killed(BaseException):
    """Nothing in a run catches this."""


def run(chosen: CusinesSettings, work: Path) -> tuple[BiEncoder, RunState]:
    data = TrainingData.read(
        chosen.corpus, chosen.questions, dev_share=0.0, run_file=chosen.run_file
    )
    work.mkdir(exist_ok=True)
    learner, state = fit(chosen, data, Accelerator(cpu=True), work, start)
    return learner.model, state


@pytest.fixture
def train(settings, tmp_path: Path) -> Fit:
    """`train(work, field=value, ...)`: model and state at the end of 2 epochs of 3 steps."""
    return lambda work, **fields: run(
        settings(**{"checkpoint_every": 2, **fields}), tmp_path / work
    )


@pytest.fixture(scope="module")
def alone(settings, tmp_path_factory: pytest.TempPathFactory) -> tuple[BiEncoder, RunState]:
    """A run that nobody interrupts."""
    return run(settings(), tmp_path_factory.mktemp("alone"))


@contextmanager
def killed_at(call: int, owner: Any, name: str) -> Iterator[None]:
    """The block is a run that ends when `owner.name` is called for the `call`-th time, from 1."""
    original, calls = getattr(owner, name), [0]

    def counting(*arguments: Any, **options: Any) -> Any:
        calls[0] += 1
        if calls[0] == call:
            raise Killed
        return original(*arguments, **options)

    with pytest.MonkeyPatch.context() as patched, pytest.raises(Killed):
        patched.setattr(owner, name, counting)
        yield


def assert_same(found: tuple[BiEncoder, RunState], expected: tuple[BiEncoder, RunState]) -> None:
    one, other = found[0].state_dict(), expected[0].state_dict()
    assert one.keys() == other.keys()
    for name, tensor in one.items():
        assert torch.equal(tensor, other[name]), name
    assert steady(found[1].records) == steady(expected[1].records)
    assert found[1].best == expected[1].best


@pytest.mark.parametrize("step", [1, 2, 3, 4, 6])
def test_interrupted_before_any_step_a_run_ends_as_if_it_had_not_been(train, alone, capsys, step):
    with killed_at(step, Optimizer, "step"):
        train("work")
    capsys.readouterr()
    assert_same(train("work"), alone)
    kept = {1: 0, 2: 0, 3: 2, 4: 3, 6: 4}[step]
    assert (f"Going on from step {kept} of 6" in capsys.readouterr().err) == (kept > 0)


@pytest.mark.parametrize(
    "fields",
    [
        {"refresh_every": 2, "epochs": 3},
        {"head": "paper", "passage_tokens": 16, "gradient_caching": True, "token_budget": 90},
        {"views": ("tree", "sequence"), "schedule": "reversed"},
        {"negatives_per_question": 0},
        {"dtype": "bfloat16"},
        {"frozen_layers": 1, "patience": 2},
        {"max_steps": 5},
    ],
    ids=lambda fields: next(iter(fields)),
)
def test_every_kind_of_run_can_be_taken_up(train, fields):
    expected = train("alone", **fields)
    with killed_at(5, Optimizer, "step"):
        train("work", **fields)
    assert_same(train("work", **fields), expected)


def test_two_towers_can_be_taken_up(train, tiny_bert, other_bert):
    pair = {"model": None, "query_model": str(tiny_bert), "passage_model": str(other_bert)}
    expected = train("alone", **pair)
    with killed_at(3, Optimizer, "step"):
        train("work", **pair)
    assert_same(train("work", **pair), expected)


@pytest.mark.parametrize("moment", [1, 4, 9, 15, 21, 28, 34])
def test_interrupted_while_it_writes_a_run_ends_as_if_it_had_not_been(train, alone, moment):
    """At one of the moments when a file or folder is brought to the disk, some 40 in all."""
    with killed_at(moment, os, "fsync"):
        train("work")
    assert_same(train("work"), alone)


@pytest.mark.parametrize(
    ("owner", "name", "call"),
    [
        (Resuming, "save_best", 1),
        (Resuming, "save", 3),
        (TrainingLoop, "_draw", 2),
        (TrainingLoop, "_measure", 3),
        (checkpoints.shutil, "rmtree", 5),
    ],
)
def test_interrupted_between_epochs_a_run_ends_as_if_it_had_not_been(train, owner, name, call):
    expected = train("alone", epochs=3)
    with killed_at(call, owner, name):
        train("work", epochs=3)
    assert_same(train("work", epochs=3), expected)


def test_interrupted_again_and_again(train, alone):
    for step in (1, 2, 2, 3):
        with killed_at(step, Optimizer, "step"):
            train("work")
    assert_same(train("work"), alone)


def test_a_run_that_is_finished_is_not_trained_again(train, monkeypatch):
    expected = train("work")
    monkeypatch.setattr(Optimizer, "step", None)
    assert_same(train("work"), expected)


def interrupted(train: Fit, work: str = "work", **fields: Any) -> None:
    """A run of 6 steps that is killed in step 6; checkpoints of steps 3 and 5 are there."""
    with killed_at(6, Optimizer, "step"):
        train(work, checkpoint_every=5, **fields)


@pytest.mark.parametrize("part", ["model.safetensors", "optimizer.safetensors", "state.json"])
@pytest.mark.parametrize("damage", ["a bit", "half", "missing"])
def test_with_a_broken_newest_checkpoint_the_one_before_is_used_and_that_is_said(
    train, alone, tmp_path, capsys, part, damage
):
    interrupted(train)
    path = tmp_path / "work" / "step-5" / part
    content = bytearray(path.read_bytes())
    if damage == "a bit":
        content[len(content) // 2] ^= 4
    path.write_bytes(bytes(content[: len(content) // 2] if damage == "half" else content))
    if damage == "missing":
        path.unlink()
    capsys.readouterr()
    found = train("work", checkpoint_every=5)
    said = capsys.readouterr().err
    assert "step-5" in said and "Going on from step 3 of 6" in said
    assert_same(found, alone)


def test_with_no_whole_checkpoint_left_the_run_begins_anew_and_is_kept_again(
    train, alone, tmp_path, capsys
):
    interrupted(train)
    for folder in (tmp_path / "work").glob("step-*"):
        (folder / "model.safetensors").write_bytes(b"")
    with killed_at(2, Optimizer, "step"):
        train("work", checkpoint_every=1)
    capsys.readouterr()
    found = train("work", checkpoint_every=1)
    assert "Going on from step 1 of 6" in capsys.readouterr().err
    assert_same(found, alone)


def test_broken_best_weights_are_noticed_when_the_run_is_taken_up(train, alone, tmp_path, capsys):
    interrupted(train)
    (best,) = (tmp_path / "work").glob("best-*")
    (best / "weights.safetensors").write_bytes(b"")
    capsys.readouterr()
    found = train("work", checkpoint_every=5)
    assert best.name in capsys.readouterr().err
    assert_same(found, alone)


CHANGES: dict[str, Any] = {
    "learning_rate": 2e-3,
    "seed": 1,
    "batch_size": 9,
    "views": ("tree",),
    "epochs": 3,
    "temperature": 0.1,
    "dtype": "bfloat16",
    "frozen_layers": 1,
    "select_by": "MAP",
    "dropout": 0.3,
    "head_lr": 1.0,
    "token_budget": 77,
}


def test_a_changed_setting_is_refused_by_its_name_and_nothing_is_lost(train, alone, tmp_path):
    interrupted(train)
    before = sorted(path.name for path in (tmp_path / "work").iterdir())
    for field, value in CHANGES.items():
        with pytest.raises(SettingsError, match=rf"\b{field}\b"):
            train("work", checkpoint_every=5, **{field: value})
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == before
    assert_same(train("work", checkpoint_every=5), alone)


def test_another_model_law_or_machine_is_refused(
    train, tmp_path, other_bert, write_law, article, small_law
):
    interrupted(train)
    with pytest.raises(SettingsError, match="model"):
        train("work", model=str(other_bert))
    folder = write_law(tmp_path / "law", [article(n, law="Other") for n in range(30)])
    shutil.copy(folder / "articles.jsonl", tmp_path / "articles.jsonl")
    with pytest.raises(SettingsError, match="corpus"):
        train("work", corpus=str(tmp_path / "articles.jsonl"))
    now = linear_library(torch.device("cpu"))
    other = {"onednn": "torch", "torch": "onednn"}[now]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("components.models.inference.linear_library", lambda _: other)
        with pytest.raises(SettingsError, match=f"products 'linear layers: {now}'"):
            train("work")
    torch.set_num_threads(2)
    try:
        with pytest.raises(SettingsError, match="threads"):
            train("work")
    finally:
        torch.set_num_threads(1)


def test_what_was_faster_when_the_run_began_computes_it_to_its_end(train, alone, monkeypatch):
    # The race of a busy moment has another winner.
    began = linear_library(torch.device("cpu"))
    interrupted(train)
    monkeypatch.setattr(cpu_linear, "_settled", [])
    monkeypatch.setattr(cpu_linear, "_onednn_gain", lambda: 0.5 if began == "onednn" else 2.0)
    assert linear_library(torch.device("cpu")) != began
    assert_same(train("work"), alone)
    assert linear_library(torch.device("cpu")) == began


def test_the_number_format_of_the_beginning_stays_to_the_end(train, race):
    race(True)
    alone = train("alone", dtype="auto")
    interrupted(train, dtype="auto")
    race(False)
    assert_same(train("work", dtype="auto"), alone)


def test_a_number_format_that_is_named_is_not_changed(train, race):
    race(True)
    interrupted(train, dtype="auto")
    with pytest.raises(SettingsError, match="dtype 'bfloat16'; now it is 'float32'"):
        train("work", dtype="float32")


def test_a_model_whose_weights_changed_under_the_same_name_is_refused(
    train, tmp_path, tiny_bert, other_bert
):
    shutil.copytree(tiny_bert, tmp_path / "start")
    interrupted(train, model=str(tmp_path / "start"))
    shutil.copy(other_bert / "model.safetensors", tmp_path / "start" / "model.safetensors")
    with pytest.raises(SettingsError, match="model_sha256"):
        train("work", model=str(tmp_path / "start"))


def test_how_often_checkpoints_are_written_may_change(train, alone):
    interrupted(train)
    assert_same(train("work", checkpoint_every=1, output="elsewhere"), alone)


def test_a_run_file_of_the_same_content_may_have_moved(train, tmp_path):
    lines = [f"q{n} Q0 a{m} 1 {99 - m}.0 x\n" for n in range(12) for m in range(20)]
    files = [tmp_path / "one.trec", tmp_path / "other.trec"]
    for file in files:
        file.write_text("".join(lines))
    interrupted(train, views=("run",), run_file=str(files[0]))
    train("work", checkpoint_every=5, views=("run",), run_file=str(files[1]))
    files[1].write_text("".join(lines[1:]))
    interrupted(train, "changed", views=("run",), run_file=str(files[0]))
    with pytest.raises(SettingsError, match="run_file_sha256"):
        train("changed", checkpoint_every=5, views=("run",), run_file=str(files[1]))


def test_how_the_device_is_spelled_may_change(train, alone, monkeypatch):
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    interrupted(train, device="cpu")
    assert_same(train("work", device=None), alone)


def test_the_epoch_s_negatives_are_kept_not_drawn_again(train, monkeypatch):
    interrupted(train)
    drawn: list[int] = []
    draw = TrainingLoop._draw

    def watching(self: TrainingLoop, *arguments: Any) -> Any:
        drawn.append(self._state.epoch)
        return draw(self, *arguments)

    monkeypatch.setattr(TrainingLoop, "_draw", watching)
    train("work", checkpoint_every=5)
    assert drawn == []


def test_weights_that_are_no_numbers_do_not_replace_a_good_checkpoint(train, tmp_path):
    interrupted(train)
    model, state = train("work", checkpoint_every=5)
    optimizer = Optimizer(model, learning_rate=1.0, weight_decay=0.0, rates=constant)
    resuming = Resuming(tmp_path / "work", {}, optimizer.parameters, optimizer)
    with torch.no_grad():
        next(iter(optimizer.parameters.values()))[0, 0] = float("nan")
    before = sorted(path.name for path in (tmp_path / "work").iterdir())
    with pytest.raises(TrainingError, match="NaN or infinity"):
        resuming.save(state, {})
    assert sorted(path.name for path in (tmp_path / "work").iterdir()) == before
