"""A checkpoint is whole or it is none."""

from __future__ import annotations

import json
import random
import shutil
from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors import SafetensorError

from training import checkpoints
from training.checkpoints import (
    STATE_FILE,
    newest_checkpoint,
    read_checkpoint,
    read_state,
    remove_old,
    write_checkpoint,
)
from training.command_line import TrainingError

STATE: dict[str, Any] = {"step": 4, "losses": [2.25, 0.1], "best": None, "name": "é", "done": False}


def parts(value: float = 1.0) -> dict[str, dict[str, torch.Tensor]]:
    return {
        "model": {"a.weight": torch.full((3, 5), value), "b": torch.arange(4)},
        "optimizer": {"exp_avg/a.weight": torch.rand(3, 5)},
    }


def written(work: Path, step: int, best: str | None = None, value: float = 1.0) -> Path:
    named = {"folder": best, "epoch": 0} if best else None
    write_checkpoint(work / f"step-{step}", parts(value), {**STATE, "step": step, "best": named})
    return work / f"step-{step}"


def test_what_is_written_is_read(tmp_path):
    kept = parts()
    write_checkpoint(tmp_path / "step-4", kept, STATE)
    found = read_checkpoint(tmp_path / "step-4")
    assert dict(found.state) == STATE
    for part, tensors in kept.items():
        assert found.tensors(part).keys() == tensors.keys()
        for name, tensor in found.tensors(part).items():
            assert torch.equal(tensor, tensors[name])
            assert tensor.dtype == tensors[name].dtype
    assert [path.name for path in tmp_path.iterdir()] == ["step-4"]


def test_views_and_empty_tensors_are_kept(tmp_path):
    tensors = {"row": torch.arange(12.0).view(3, 4).T, "none": torch.empty(0, dtype=torch.int64)}
    write_checkpoint(tmp_path / "step-1", {"model": tensors}, {})
    found = read_checkpoint(tmp_path / "step-1").tensors("model")
    assert torch.equal(found["row"], tensors["row"])
    assert found["none"].shape == (0,)


def test_a_checkpoint_written_again_takes_the_old_one_s_place(tmp_path):
    written(tmp_path, 2, value=1.0)
    folder = written(tmp_path, 2, value=5.0)
    assert read_checkpoint(folder).tensors("model")["a.weight"][0, 0] == 5


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
    for seed in range(10):
        folder = written(tmp_path, seed)
        damage(kind, folder / name, seed)
        with pytest.raises(TrainingError, match=f"{folder.name}.*{name}"):
            read_checkpoint(folder)


@pytest.mark.parametrize("kind", ["half", "missing"])
def test_half_a_state_or_none_is_refused(tmp_path, kind):
    folder = written(tmp_path, 4)
    damage(kind, folder / STATE_FILE, 0)
    with pytest.raises(TrainingError, match="step-4"):
        read_checkpoint(folder)


def test_a_flipped_bit_in_the_state_is_refused_or_changes_nothing(tmp_path):
    folder = written(tmp_path, 4, best="best-1")
    whole = (folder / STATE_FILE).read_bytes()
    expected = dict(read_checkpoint(folder).state)
    changed = []
    flips = 0
    for place in range(len(whole)):
        for bit in (place % 8, (place + 3) % 8):
            flips += 1
            content = bytearray(whole)
            content[place] ^= 1 << bit
            (folder / STATE_FILE).write_bytes(bytes(content))
            try:
                found = dict(read_checkpoint(folder).state)
            except TrainingError:
                continue
            if found != expected:
                changed.append((place, bit))
    assert not changed, f"{len(changed)} of {flips} flipped bits are not noticed"


def test_the_newest_complete_one_is_found_and_every_broken_one_named(tmp_path):
    for step in (2, 4, 10, 12):
        written(tmp_path, step)
    damage("bit", tmp_path / "step-12" / "model.safetensors", 0)
    damage("missing", tmp_path / "step-10" / STATE_FILE, 0)
    said: list[str] = []
    found = newest_checkpoint(tmp_path, said.append)
    assert found is not None and found.folder.name == "step-4"
    assert len(said) == 2
    assert "step-12" in said[0] and "step-10" in said[1]


def test_a_folder_that_was_being_written_is_no_checkpoint(tmp_path):
    folder = written(tmp_path, 6)
    shutil.copytree(folder, tmp_path / ".step-8.partial")
    (tmp_path / "step-9x").mkdir()
    (tmp_path / "step-10").mkdir()
    said: list[str] = []
    found = newest_checkpoint(tmp_path, said.append)
    assert found is not None and found.folder == folder
    assert len(said) == 1 and "step-10" in said[0]


def test_nothing_complete_is_none(tmp_path):
    assert newest_checkpoint(tmp_path, lambda _: None) is None
    damage("half", written(tmp_path, 1) / "model.safetensors", 0)
    said: list[str] = []
    assert newest_checkpoint(tmp_path, said.append) is None
    assert len(said) == 1


@pytest.mark.parametrize("bad", [float("nan"), float("inf"), -float("inf")])
@pytest.mark.parametrize("part", ["model", "optimizer"])
def test_tensors_that_are_not_finite_are_never_written(tmp_path, bad, part):
    before = written(tmp_path, 4)
    broken = parts()
    next(iter(broken[part].values()))[1, 2] = bad
    for step in (4, 6):
        with pytest.raises(TrainingError, match=f"{part} .*a.weight"):
            write_checkpoint(tmp_path / f"step-{step}", broken, STATE)
    assert read_checkpoint(before).state["step"] == 4
    assert [path.name for path in tmp_path.iterdir()] == ["step-4"]


def test_a_full_disk_is_said_with_the_folder_and_what_to_do(tmp_path, monkeypatch):
    def full(*_: Any) -> None:
        raise SafetensorError("I/O error: No space left on device (os error 28)")

    written(tmp_path, 4)
    monkeypatch.setattr(checkpoints, "save_file", full)
    with pytest.raises(TrainingError, match=r"step-6: cannot be written .*No space.*Make room"):
        write_checkpoint(tmp_path / "step-6", parts(), STATE)
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
        assert read_checkpoint(tmp_path / name).tensors("model")
    remove_old(tmp_path)
    assert len(list(tmp_path.iterdir())) == 4


def test_a_checkpoint_just_written_outlives_broken_ones_with_higher_numbers(tmp_path):
    """All were broken, so the run began anew: what it writes must not give way to them."""
    for step in (100, 200):
        damage("half", written(tmp_path, step) / "model.safetensors", 0)
    assert newest_checkpoint(tmp_path, lambda _: None) is None
    write_checkpoint(tmp_path / "best-0", parts(), {})
    written(tmp_path, 0, best="best-0")
    remove_old(tmp_path)
    found = newest_checkpoint(tmp_path, lambda _: None)
    assert found is not None and found.folder.name == "step-0"
    assert (tmp_path / "best-0").is_dir()


def test_the_state_alone_can_be_read(tmp_path):
    folder = written(tmp_path, 4)
    assert read_state(folder)["step"] == 4
    (folder / STATE_FILE).write_text("{", encoding="utf-8")
    with pytest.raises(TrainingError, match="step-4"):
        read_state(folder)


def test_no_pickle_is_written(tmp_path):
    folder = written(tmp_path, 4)
    assert sorted(path.name for path in folder.iterdir()) == [
        "model.safetensors", "optimizer.safetensors", STATE_FILE,
    ]  # fmt: skip
    assert json.loads((folder / STATE_FILE).read_text())["losses"] == [2.25, 0.1]
