"""The work folder of a run."""

from collections.abc import Callable
from pathlib import Path

import pytest

from training.command_line import SettingsError
from training.hf_trainer.checkpoints import COMPLETE_FILE, claim, newest_complete, seal

FIXED = {"model": "scratch", "seed": 0, "output": "a", "max_steps": None}


def checkpoint(work: Path, step: int) -> Path:
    folder = work / f"checkpoint-{step}"
    folder.mkdir(parents=True)
    for name in ("model.safetensors", "optimizer.pt", "trainer_state.json"):
        (folder / name).write_bytes(f"{name} of step {step}".encode() * 20)
    return folder


def lose_a_file(folder: Path) -> None:
    (folder / "optimizer.pt").unlink()


def lose_half_a_file(folder: Path) -> None:
    path = folder / "model.safetensors"
    path.write_bytes(path.read_bytes()[:100])


def flip_a_bit(folder: Path) -> None:
    path = folder / "model.safetensors"
    content = bytearray(path.read_bytes())
    content[17] ^= 1
    path.write_bytes(content)


def stop_before_the_end(folder: Path) -> None:
    (folder / COMPLETE_FILE).unlink()


def stop_within_the_last_file(folder: Path) -> None:
    path = folder / COMPLETE_FILE
    path.write_bytes(path.read_bytes()[:40])


def test_the_newest_is_the_one_of_most_steps(tmp_path: Path) -> None:
    for step in (9, 100, 20):
        seal(checkpoint(tmp_path, step))
    assert newest_complete(tmp_path, print) == tmp_path / "checkpoint-100"


@pytest.mark.parametrize(
    "harm",
    [
        lose_a_file,
        lose_half_a_file,
        flip_a_bit,
        stop_before_the_end,
        stop_within_the_last_file,
    ],
)
def test_a_newer_one_that_is_broken_is_named_and_passed_over(
    harm: Callable[[Path], None], tmp_path: Path
) -> None:
    good = checkpoint(tmp_path, 10)
    seal(good)
    bad = checkpoint(tmp_path, 20)
    seal(bad)
    harm(bad)
    said: list[str] = []
    assert newest_complete(tmp_path, said.append) == good
    assert str(bad) in said[0]
    assert not bad.exists()


def test_an_older_one_that_is_broken_is_left_alone(tmp_path: Path) -> None:
    checkpoint(tmp_path, 10)
    seal(checkpoint(tmp_path, 20))
    said: list[str] = []
    assert newest_complete(tmp_path, said.append) == tmp_path / "checkpoint-20"
    assert not said


def test_without_a_complete_one_there_is_none(tmp_path: Path) -> None:
    checkpoint(tmp_path, 10)
    assert newest_complete(tmp_path, print) is None


def test_the_same_run_is_taken_up_again_under_another_output(tmp_path: Path) -> None:
    work = tmp_path / "model.work"
    claim(work, FIXED)
    claim(work, FIXED | {"output": "b"})


@pytest.mark.parametrize(
    ("name", "value"), [("seed", 1), ("model", "bert"), ("max_steps", 7), ("new_field", 1)]
)
def test_a_changed_setting_is_refused_by_name(name: str, value: object, tmp_path: Path) -> None:
    claim(tmp_path, FIXED)
    (tmp_path / "checkpoint-1").mkdir()
    with pytest.raises(SettingsError, match=rf"with {name} .*now it is {value!r}"):
        claim(tmp_path, FIXED | {name: value})


def test_what_has_a_digest_may_have_moved(tmp_path: Path) -> None:
    before = FIXED | {"corpus": "law", "corpus_sha256": "0c"}
    claim(tmp_path, before)
    (tmp_path / "checkpoint-1").mkdir()
    claim(tmp_path, before | {"corpus": "/laws/law"})
    with pytest.raises(SettingsError, match="with corpus_sha256 '0c'"):
        claim(tmp_path, before | {"corpus": "/laws/law", "corpus_sha256": "1d"})


def test_a_run_that_failed_before_it_learnt_anything_binds_nobody(tmp_path: Path) -> None:
    claim(tmp_path, FIXED)
    (tmp_path / "found.safetensors").touch()
    (tmp_path / "start").mkdir()
    (tmp_path / ".lock").touch()
    claim(tmp_path, FIXED)
    assert (tmp_path / "found.safetensors").exists()
    claim(tmp_path, FIXED | {"seed": 1})
    assert sorted(path.name for path in tmp_path.iterdir()) == [".lock", "run.json"]
    claim(tmp_path, FIXED | {"seed": 1})


def test_a_folder_of_something_else_is_not_taken(tmp_path: Path) -> None:
    (tmp_path / "step-40").mkdir()
    with pytest.raises(SettingsError, match="something else"):
        claim(tmp_path, FIXED)
    assert (tmp_path / "step-40").is_dir()
