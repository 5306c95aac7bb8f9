"""Runs are found where they lie, each under a name of its own."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import pytest

from components.stores.failures import StoreError
from pipelines.trained_demo import TrainedDemo
from ui.runs.sources import Sources

WriteRun = Callable[..., Path]


def nothing() -> SimpleNamespace:
    return SimpleNamespace(model=None)


def at(folder: Path, seconds: float) -> Path:
    for file in folder.iterdir():
        os.utime(file, (seconds, seconds))
    return folder


def test_the_latest_run_comes_first(write_run: WriteRun, tmp_path: Path):
    for name, seconds in (("old", 1000), ("new", 3000), ("middle", 2000)):
        at(write_run(name), seconds)
    (tmp_path / "runs" / "no-run").mkdir()
    (tmp_path / "runs" / "file").write_text("x")
    found = Sources(nothing, [tmp_path / "runs"]).runs()
    assert [(run.name, run.changed) for run in found] == [
        ("new", 3000),
        ("middle", 2000),
        ("old", 1000),
    ]
    assert all(run.finished for run in found)


def test_a_folder_that_is_a_run_itself_may_be_named(write_run: WriteRun):
    folder = write_run("model")
    assert [run.folder for run in Sources(nothing, [folder]).runs()] == [folder]


def test_a_work_folder_is_a_run_that_is_not_finished(write_run: WriteRun, tmp_path: Path):
    write_run("going.work")
    (tmp_path / "runs" / "begun.work").mkdir()
    (tmp_path / "runs" / "begun.work" / "progress.json").write_text("{}")
    (tmp_path / "runs" / "empty.work").mkdir()
    found = {run.name: run for run in Sources(nothing, [tmp_path / "runs"]).runs()}
    assert {name: run.finished for name, run in found.items()} == {"going": False, "begun": False}


def test_while_a_run_is_tidied_up_its_model_counts(write_run: WriteRun, tmp_path: Path):
    model = write_run("demo")
    write_run("demo.work")
    assert [run.folder for run in Sources(nothing, [tmp_path / "runs"]).runs()] == [model]


def test_the_same_folder_is_listed_once_and_the_same_name_is_told_apart(
    write_run: WriteRun, tmp_path: Path
):
    at(write_run("demo"), 3000)
    at(write_run("x/demo"), 2000)
    at(write_run("y/demo (2)"), 1000)
    runs = tmp_path / "runs"
    store = SimpleNamespace(model=SimpleNamespace(path=str(runs / "demo")))
    found = Sources(lambda: store, [runs, runs / "demo", runs / "x", runs / "y"]).runs()
    assert [run.name for run in found] == ["demo", "demo (2)", "demo (2) (2)"]


def test_the_model_that_the_store_records_is_found_and_a_mere_name_is_none(write_run: WriteRun):
    folder = write_run("served")
    for path, expected in ((str(folder), ["served"]), ("owner/model", []), ("a\0b", []), ("", [])):
        store = SimpleNamespace(model=SimpleNamespace(path=path))
        assert [run.name for run in Sources(lambda s=store: s).runs()] == expected


def test_a_store_that_cannot_be_read_or_records_no_model_has_none():
    class Broken:
        @property
        def model(self) -> None:
            raise StoreError("cannot be read")

    assert Sources(Broken).runs() == []
    assert Sources(SimpleNamespace).runs() == []


def test_the_demo_s_own_training_is_named_after_its_law(tmp_path: Path):
    demo = TrainedDemo(tmp_path / "demo-0123456789ab", tmp_path)
    assert Sources(nothing, demo=demo).runs() == []
    work = demo.work
    work.mkdir(parents=True)
    (work / "progress.json").write_text("{}")
    (run,) = Sources(nothing, demo=demo).runs()
    assert (run.name, run.folder, run.finished) == ("aldermere", work, False)


def test_folders_that_are_gone_have_no_runs(tmp_path: Path):
    assert Sources(nothing, [tmp_path / "gone", Path("/")]).runs() == []


@pytest.mark.skipif(sys.platform != "linux", reason="names of files are bytes on Linux")
def test_a_name_that_is_no_text_is_made_one(write_run: WriteRun, tmp_path: Path):
    write_run(os.fsdecode(b"a\xffb"))
    (run,) = Sources(nothing, [tmp_path / "runs"]).runs()
    assert run.name.encode("utf-8") == b"a?b"
