"""The trained demo's folder is named after everything that the training depends on."""

import os
import shutil
import time
from pathlib import Path

import pytest

from components.models.artifacts import write_model_folder
from components.models.manifest import Manifest
from components.statutes.sources import aldermere
from pipelines import trained_demo
from pipelines.trained_demo import TrainedDemo

PART = "biencoder/query"


@pytest.fixture
def base(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A bundled model of one file."""
    folder = tmp_path / "base"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    monkeypatch.setattr(trained_demo, "bundled_model", lambda: str(folder))
    return folder


def demo_under(home: Path) -> TrainedDemo:
    demo = TrainedDemo.under(home)
    assert demo is not None
    return demo


def write_model(folder: Path) -> None:
    """A complete model folder whose weights are one word."""
    write_model_folder(
        folder,
        Manifest(("biencoder", "graph"), "base", {"query": PART, "passage": PART}, 4),
        dict.fromkeys(
            (PART, "graph"), lambda place: (place / "weights").write_text("learnt") and None
        ),
    )


def test_the_same_training_has_the_same_folder(base: Path, tmp_path: Path) -> None:
    demo = demo_under(tmp_path)
    assert demo == demo_under(tmp_path)
    assert demo.folder.parent == tmp_path
    assert not demo.folder.exists()
    assert demo.command[1:3] == ("-m", "training.cusines")
    assert Path(demo.command[4]).is_file()
    assert demo.command[-2:] == ("--output", str(demo.model))
    # The trainer keeps its work beside its output.
    assert demo.work == demo.model.with_name(demo.model.name + ".work")


@pytest.mark.parametrize("change", ["base", "articles", "questions", "settings"])
def test_whatever_changes_it_is_another_folder(
    base: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, change: str
) -> None:
    before = demo_under(tmp_path)
    other = tmp_path / "other"
    other.write_text("changed")
    if change == "base":
        (base / "config.json").write_text('{"changed": true}')
    elif change == "settings":
        monkeypatch.setattr(trained_demo, "_SETTINGS", str(other))
    else:
        monkeypatch.setattr(aldermere, f"{change}_path", lambda: other)
    assert demo_under(tmp_path).folder != before.folder


def test_without_a_base_model_nothing_is_trained(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trained_demo, "bundled_model", lambda: None)
    assert TrainedDemo.under(tmp_path) is None


def test_a_model_counts_when_every_file_is_as_it_was_written(base: Path, tmp_path: Path) -> None:
    demo = demo_under(tmp_path)
    assert demo.trained() is None
    write_model(demo.model)
    trained = demo.trained()
    assert trained is not None
    assert trained.folder == demo.model.resolve()
    (demo.model / PART / "weights").write_text("leaned")
    assert demo.trained() is None
    demo.work.mkdir()
    demo.clear()
    assert list(demo.folder.iterdir()) == []


def test_it_has_begun_while_something_is_there_to_go_on_with(base: Path, tmp_path: Path) -> None:
    demo = demo_under(tmp_path)
    assert not demo.begun
    demo.work.mkdir(parents=True)
    assert demo.begun
    write_model(demo.model)
    assert not demo.begun


def test_unused_trainings_go_and_nothing_else(base: Path, tmp_path: Path) -> None:
    demo = demo_under(tmp_path)
    old, used, foreign, other = (
        tmp_path / name for name in ("demo-0123456789ab", "demo-ba9876543210", "demo-app", "demo-1")
    )
    for folder in (demo.folder, old, used, foreign, other):
        folder.mkdir()
        (folder / demo.lock.name).touch()
        write_model(folder / "model")
    like_ours = tmp_path / "demo-aaaaaaaaaaaa"
    like_ours.mkdir()
    long_ago = time.time() - 31 * 24 * 3600
    for folder in (demo.folder, old, foreign, other, like_ours):
        os.utime(folder, (long_ago, long_ago))
    demo.remove_unused()
    assert not old.exists()
    for folder in (demo.folder, used, foreign, other, like_ours):
        assert folder.exists(), folder


def test_the_settings_come_with_the_package(base: Path, tmp_path: Path) -> None:
    """The training is a process: nothing here imports it."""
    demo = demo_under(tmp_path)
    settings = Path(demo.command[4])
    assert settings.parent.name == "configs"
    assert "aldermere" in settings.read_text("utf-8")
    assert shutil.which(demo.command[0])
