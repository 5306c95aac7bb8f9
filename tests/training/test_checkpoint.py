"""Interrupted anywhere and started again, a run ends with the very same weights."""

from __future__ import annotations

import multiprocessing
import os
import random
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from multiprocessing.process import BaseProcess
from pathlib import Path
from typing import Any

import pytest
import torch
from runs import of_aldermere, outcome, steady, work_of
from safetensors.torch import load_file
from slow_cases import slow

from components.models.biencoder import BiEncoder
from components.models.devices import LINEAR
from training import checkpoint as checkpoints
from training.checkpoint import (
    STATE_FILE,
    Resuming,
    RunState,
    newest_checkpoint,
    read_checkpoint,
    remove_old,
    write_checkpoint,
)
from training.command_line import SettingsError, TrainingError
from training.cusines import main
from training.loop import TrainingLoop
from training.objective import Optimizer

# Checkpoints of our loop

STATE: dict[str, Any] = {"step": 4, "losses": [2.25, 0.1], "best": None, "name": "é", "done": False}


def parts() -> dict[str, dict[str, torch.Tensor]]:
    return {
        "model": {"a.weight": torch.ones(3, 5), "b": torch.arange(4)},
        "optimizer": {"exp_avg/a.weight": torch.rand(3, 5)},
    }


def written(work: Path, step: int, best: str | None = None) -> Path:
    named = {"folder": best, "epoch": 0} if best else None
    write_checkpoint(work / f"step-{step}", parts(), {**STATE, "step": step, "best": named})
    return work / f"step-{step}"


def damage(kind: str, path: Path, seed: int) -> None:
    chance, content = random.Random(seed), bytearray(path.read_bytes())
    if kind == "bit":
        content[chance.randrange(len(content))] ^= 1 << chance.randrange(8)
    elif kind == "half":
        del content[len(content) // 2 :]
    elif kind == "longer":
        content += b"\n\0"
    if kind == "missing":
        path.unlink()
    else:
        path.write_bytes(bytes(content))


@pytest.mark.parametrize("kind", ["bit", "half", "longer", "missing"])
@pytest.mark.parametrize("name", ["model.safetensors", "optimizer.safetensors"])
def test_a_damaged_file_is_refused_by_its_name(tmp_path, kind, name):
    for seed in range(3):
        folder = written(tmp_path, seed)
        damage(kind, folder / name, seed)
        with pytest.raises(TrainingError, match=f"{folder.name}.*{name}"):
            read_checkpoint(folder)


def test_a_flipped_bit_in_the_state_is_refused_or_changes_nothing(tmp_path):
    folder = written(tmp_path, 4, best="best-1")
    whole = (folder / STATE_FILE).read_bytes()
    expected = read_checkpoint(folder)
    changed = []
    for place in range(len(whole)):
        content = bytearray(whole)
        content[place] ^= 1 << place % 8
        (folder / STATE_FILE).write_bytes(bytes(content))
        try:
            found = read_checkpoint(folder)
        except TrainingError:
            continue
        if found != expected:
            changed.append(place)
    assert not changed, "flipped bits that are not noticed"


@pytest.mark.parametrize(("part", "bad"), [("model", float("nan")), ("optimizer", -float("inf"))])
def test_tensors_that_are_not_finite_are_never_written(tmp_path, bad, part):
    before = written(tmp_path, 4)
    broken = parts()
    next(iter(broken[part].values()))[1, 2] = bad
    for step in (4, 6):
        with pytest.raises(TrainingError, match=f"{part} .*a.weight"):
            write_checkpoint(tmp_path / f"step-{step}", broken, STATE)
    assert read_checkpoint(before)["step"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["step-4"]


def test_the_newest_two_are_kept_with_the_best_weights_that_they_name(tmp_path):
    for name in ("best-0", "best-1", "best-2"):
        write_checkpoint(tmp_path / name, parts(), {})
    written(tmp_path, 9, best="best-0")
    written(tmp_path, 10, best="best-1")
    written(tmp_path, 100, best="best-2")
    remove_old(tmp_path)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "best-1", "best-2", "step-10", "step-100",
    ]  # fmt: skip
    for name in ("best-1", "best-2"):
        assert load_file(tmp_path / name / "model.safetensors")
    remove_old(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_checkpoint_just_written_outlives_broken_ones_with_higher_numbers(tmp_path):
    """All were broken, so the run began again: it must keep its own checkpoints."""
    for step in (100, 200):
        damage("half", written(tmp_path, step) / "model.safetensors", 0)
    assert newest_checkpoint(tmp_path) is None
    write_checkpoint(tmp_path / "best-0", parts(), {})
    written(tmp_path, 0, best="best-0")
    remove_old(tmp_path)
    found = newest_checkpoint(tmp_path)
    assert found is not None and found[0].name == "step-0"
    assert (tmp_path / "best-0").is_dir()


# Resumed in the same process

Fit = Callable[..., tuple[BiEncoder, RunState]]


HEADED = {"head": "paper", "passage_tokens": 16, "gradient_caching": True, "token_budget": 90}


class Killed(BaseException):
    """Nothing in a run catches this."""


@pytest.fixture
def train(train: Fit) -> Fit:
    """`train(work, field=value, ...)`: model and state at the end of 2 epochs of 3 steps."""
    return lambda work, **fields: train(work, **{"checkpoint_every": 2, **fields})


@pytest.fixture(scope="module")
def alone(train_in: Fit, tmp_path_factory: pytest.TempPathFactory) -> tuple[BiEncoder, RunState]:
    """A run that nobody interrupts."""
    return train_in(tmp_path_factory.mktemp("alone"))


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


@pytest.mark.parametrize("step", [4, *slow(1, 2, 3, 6)])
def test_interrupted_before_any_step_a_run_ends_as_if_it_had_not_been(
    train, alone, capsys, monkeypatch, step
):
    with killed_at(step, Optimizer, "step"):
        train("work")
    capsys.readouterr()
    assert_same(train("work"), alone)
    kept = {1: 0, 2: 0, 3: 2, 4: 3, 6: 4}[step]
    assert (f"Resuming from step {kept} of 6" in capsys.readouterr().err) == (kept > 0)
    # Once it is finished it is not trained again.
    monkeypatch.setattr(Optimizer, "step", None)
    assert_same(train("work"), alone)


@pytest.mark.parametrize(
    ("owner", "name", "call", "fields"),
    [
        # At one of the moments when a file or folder is brought to the disk, some 40 in all.
        (os, "fsync", 15, {}),
        *slow(*((os, "fsync", moment, {}) for moment in (1, 4, 9, 21, 28, 34))),
        # Between epochs.
        (Resuming, "save", 3, {"epochs": 3}),
        *slow(
            (Resuming, "save_best", 1, {"epochs": 3}),
            (TrainingLoop, "_draw", 2, {"epochs": 3}),
            (TrainingLoop, "_measure", 3, {"epochs": 3}),
            (checkpoints.shutil, "rmtree", 5, {"epochs": 3}),
        ),
        # Within an epoch, in runs of every kind.
        *slow(
            *(
                (Optimizer, "step", 5, fields)
                for fields in (
                    HEADED,
                    {"refresh_every": 2, "epochs": 3},
                    {"views": ("tree", "sequence"), "schedule": "reversed"},
                    {"negatives_per_question": 0},
                    {"dtype": "bfloat16"},
                    {"frozen_layers": 1},
                    {"max_steps": 5},
                )
            )
        ),
    ],
)
def test_interrupted_anywhere_a_run_ends_as_if_it_had_not_been(
    train, alone, owner, name, call, fields
):
    expected = train("alone", **fields) if fields else alone
    with killed_at(call, owner, name):
        train("work", **fields)
    assert_same(train("work", **fields), expected)


def interrupted(train: Fit) -> None:
    """A run of 6 steps that is killed in step 6; checkpoints of steps 3 and 5 are there."""
    with killed_at(6, Optimizer, "step"):
        train("work", checkpoint_every=5)


@pytest.mark.parametrize(
    ("kind", "part"),
    [
        ("bit", "model.safetensors"),
        *slow(("half", "optimizer.safetensors"), ("missing", "state.json")),
    ],
)
def test_with_a_broken_newest_checkpoint_the_one_before_is_used_and_that_is_said(
    train, alone, tmp_path, capsys, kind, part
):
    interrupted(train)
    damage(kind, tmp_path / "work" / "step-5" / part, 0)
    capsys.readouterr()
    found = train("work", checkpoint_every=5)
    said = capsys.readouterr().err
    assert "step-5" in said and "Resuming from step 3 of 6" in said
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


def test_another_model_law_or_machine_is_refused(train, tmp_path, other_bert, write_law, article):
    interrupted(train)
    with pytest.raises(SettingsError, match="model"):
        train("work", model=str(other_bert))
    folder = write_law(tmp_path / "law", [article(n, law="Other") for n in range(30)])
    with pytest.raises(SettingsError, match="corpus"):
        train("work", corpus=str(folder / "articles.jsonl"))
    now = LINEAR.on(torch.device("cpu"))
    other = {"onednn": "torch", "torch": "onednn"}[now]
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(LINEAR, "on", lambda _: other)
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
    began = LINEAR.on(torch.device("cpu"))
    interrupted(train)
    monkeypatch.setattr(LINEAR, "_settled", None)
    monkeypatch.setattr(LINEAR, "gain", lambda: 0.5 if began == "onednn" else 2.0)
    assert LINEAR.on(torch.device("cpu")) != began
    assert_same(train("work"), alone)
    assert LINEAR.on(torch.device("cpu")) == began


# Killed by the system


@pytest.fixture(scope="module")
def start_command() -> Iterator[Callable[[list[str]], BaseProcess]]:
    """Starts the command in a process that has everything imported already."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload(["training.loop", "training.cusines", "matplotlib.pyplot"])
    running: list[BaseProcess] = []

    def started(arguments: list[str]) -> BaseProcess:
        process = context.Process(target=command, args=(arguments,))
        process.start()
        running.append(process)
        return process

    yield started
    for process in running:
        process.kill()


def command(arguments: list[str]) -> None:
    torch.set_num_threads(1)
    # Each process would time both libraries again, and a busy machine may choose another one.
    LINEAR.settle("torch")
    sys.exit(main(arguments))


# `killed_at` covers the moments that matter; here a real process dies.
@pytest.mark.slow
def test_killed_at_random_moments_a_run_ends_with_the_same_weights_bit_for_bit(
    start_command, tiny_bert, tmp_path
):
    kills = 2
    start_command(["--help"]).join(120)  # the first start is the one that imports
    began = time.monotonic()
    alone = start_command(of_aldermere(tiny_bert, tmp_path / "alone"))
    alone.join(120)
    took = time.monotonic() - began
    assert alone.exitcode == 0
    expected = outcome(tmp_path / "alone")
    chance, landed = random.Random(0), 0
    for number in range(3 * kills):
        folder = tmp_path / f"killed-{number}"
        process = start_command(of_aldermere(tiny_bert, folder))
        process.join(took * chance.uniform(0.1, 0.95))
        process.kill()
        process.join()
        if process.exitcode != 0:  # it came in time
            landed += 1
            again = start_command(of_aldermere(tiny_bert, folder))
            again.join(120)
            assert again.exitcode == 0, f"kill {number}"
        assert outcome(folder) == expected, f"kill {number}"
        assert not work_of(folder).exists()
        if landed == kills:
            return
    raise AssertionError(f"of {3 * kills} kills {landed} came in time")
