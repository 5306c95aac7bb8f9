from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from components.models import artifacts
from components.models.artifacts import check_target, whole_file, whole_folder, write_model_folder
from components.models.errors import ModelError
from components.models.manifest import MANIFEST_FILE, Manifest, read_manifest

PLAIN = Manifest(
    kind=("biencoder",),
    base_model="tiny",
    towers={"query": "biencoder/query", "passage": "biencoder/query"},
    dim=32,
)


def weights(content: bytes):
    return lambda folder: (folder / "model.safetensors").write_bytes(content)


def test_a_part_that_was_not_touched_is_linked_not_copied(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    write_model_folder(first, PLAIN, {"biencoder/query": weights(b"q"), "ranker": weights(b"r")})
    written = write_model_folder(
        second, PLAIN, {"biencoder/query": weights(b"new"), "ranker": first / "ranker"}
    )
    assert (second / "ranker/model.safetensors").samefile(first / "ranker/model.safetensors")
    assert not (second / "biencoder/query/model.safetensors").samefile(
        first / "biencoder/query/model.safetensors"
    )
    assert read_manifest(second) == written
    assert written.files_of("ranker") == read_manifest(first).files_of("ranker")


def test_where_no_link_can_be_made_a_copy_is(tmp_path, monkeypatch):
    first, second = tmp_path / "first", tmp_path / "second"
    write_model_folder(first, PLAIN, {"biencoder/query": weights(b"q")})

    def refuse(self, target):
        raise OSError(errno.EXDEV, "another device")

    monkeypatch.setattr(Path, "hardlink_to", refuse)
    write_model_folder(second, PLAIN, {"biencoder/query": first / "biencoder/query"})
    assert (second / "biencoder/query/model.safetensors").read_bytes() == b"q"


def test_a_folder_with_something_in_it_is_not_overwritten(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="exists and is not empty"):
        write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": weights(b"q")})
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["thesis.txt"]


def test_an_empty_folder_is_filled(tmp_path):
    (tmp_path / "model").mkdir()
    write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": weights(b"q")})
    assert read_manifest(tmp_path / "model").parts == ("biencoder/query",)


def test_a_failure_leaves_nothing_behind(tmp_path):
    def full_disk(folder):
        (folder / "model.safetensors").write_bytes(b"half")
        raise OSError(errno.ENOSPC, "No space left on device")

    with pytest.raises(OSError, match="No space left"):
        write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": full_disk})
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("moment", ["write_part", "manifest", "rename"])
def test_a_kill_at_any_moment_leaves_no_folder_that_looks_complete(tmp_path, moment):
    script = f"""
import os, signal
from pathlib import Path
from components.models import artifacts
from components.models.manifest import Manifest
die = lambda *_: os.kill(os.getpid(), signal.SIGKILL)
def tower(folder):
    (folder / "model.safetensors").write_bytes(b"q")
    if {moment!r} == "write_part":
        die()
if {moment!r} == "manifest":
    Manifest.to_json = die
if {moment!r} == "rename":
    Path.rename = die
plain = Manifest(("biencoder",), "tiny", {{"query": "biencoder/query"}}, 32)
artifacts.write_model_folder(Path({str(tmp_path / "model")!r}), plain, {{"biencoder/query": tower}})
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=Path(__file__).parents[3])
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "model").exists()


@pytest.fixture
def events(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Names of what is synced and renamed, in that order of time."""
    seen: list[str] = []
    sync = artifacts.sync

    def watched(path: Path) -> None:
        sync(path)
        seen.append(f"sync {path.name}")

    def renaming(method):
        def watched_rename(self, target):
            seen.append(f"rename {target.name}")
            return method(self, target)

        return watched_rename

    monkeypatch.setattr(artifacts, "sync", watched)
    for name in ("rename", "replace"):
        monkeypatch.setattr(Path, name, renaming(getattr(Path, name)))
    return seen


def test_a_model_is_on_the_disk_before_it_is_seen(tmp_path, events):
    write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": weights(b"q")})
    *before, renamed, after = events
    assert {f"sync {MANIFEST_FILE}", "sync model.safetensors", "sync query"} <= set(before)
    assert (renamed, after) == ("rename model", f"sync {tmp_path.name}")


def test_a_folder_and_its_name_are_brought_to_the_disk(tmp_path, events):
    with whole_folder(tmp_path / "new") as folder:
        (folder / "a").write_text("a")
        assert not (tmp_path / "new").exists()
    assert events == ["sync a", f"sync {folder.name}", "rename new", f"sync {tmp_path.name}"]
    assert (tmp_path / "new" / "a").read_text() == "a"


def test_a_file_and_its_name_are_brought_to_the_disk(tmp_path, events):
    with whole_file(tmp_path / "new") as file:
        file.write_text("a")
        assert not (tmp_path / "new").exists()
    assert events == [f"sync {file.name}", "rename new", f"sync {tmp_path.name}"]
    events.clear()
    with whole_file(tmp_path / "new", synced=False) as file:
        file.write_text("b")
    assert events == ["rename new"]
    assert (tmp_path / "new").read_text() == "b"


@pytest.mark.parametrize("write", [whole_file, whole_folder])
def test_what_fails_leaves_nothing_and_what_was_there_stays(tmp_path, write):
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="full"), write(tmp_path / "kept" / "new") as place:
        (place if write is whole_file else place / "a").write_text("half")
        raise OSError("full")
    assert list((tmp_path / "kept").iterdir()) == []


def test_an_older_folder_gives_way_only_where_that_is_asked_for(tmp_path):
    (tmp_path / "old").mkdir()
    (tmp_path / "old" / "a").write_text("old")
    with pytest.raises(OSError), whole_folder(tmp_path / "old") as folder:
        (folder / "b").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["old", "a"]
    with whole_folder(tmp_path / "old", replace=True) as folder:
        (folder / "b").write_text("new")
    assert [path.name for path in tmp_path.rglob("*")] == ["old", "b"]


def test_what_a_killed_writer_left_is_not_taken_for_new(tmp_path):
    (tmp_path / ".new.partial").mkdir()
    (tmp_path / ".new.partial" / "half").write_text("half")
    with whole_folder(tmp_path / "new", replace=True) as folder:
        (folder / "a").write_text("a")
    assert sorted(path.name for path in tmp_path.rglob("*")) == ["a", "new"]


def test_an_unknown_part_is_refused(tmp_path):
    with pytest.raises(ModelError, match="'biencoder/queries' is no part of a model folder"):
        write_model_folder(tmp_path / "model", PLAIN, {"biencoder/queries": weights(b"q")})


def test_a_part_to_keep_must_be_there(tmp_path):
    with pytest.raises(ModelError, match="is not a folder"):
        write_model_folder(tmp_path / "model", PLAIN, {"ranker": tmp_path / "nowhere"})


@pytest.mark.parametrize("there", [True, False], ids=["empty", "dangling"])
def test_a_link_is_refused_before_the_work(tmp_path, there):
    if there:
        (tmp_path / "far").mkdir()
    (tmp_path / "model").symlink_to("far")
    with pytest.raises(ModelError, match=rf"symbolic link.*points to .{tmp_path}/far"):
        check_target(tmp_path / "model")
    check_target(tmp_path / "far")
    check_target(tmp_path / "model" / "inside")


def test_a_mounted_volume_is_refused_before_the_work(tmp_path, monkeypatch):
    (tmp_path / "volume").mkdir()
    monkeypatch.setattr(artifacts.os.path, "ismount", lambda path: path == tmp_path / "volume")
    with pytest.raises(ModelError, match=r"is mounted.*Name a folder inside it"):
        check_target(tmp_path / "volume")
    check_target(tmp_path / "volume" / "model")
