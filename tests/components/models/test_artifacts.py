from __future__ import annotations

import errno
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from components.models import artifacts
from components.models.artifacts import write_model_folder
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


def test_the_manifest_is_written_last_and_after_the_rest_is_on_the_disk(tmp_path, monkeypatch):
    events: list[str] = []
    sync_tree = artifacts.sync_tree

    def watched(folder):
        assert not (folder / MANIFEST_FILE).exists()
        sync_tree(folder)
        events.append("synced")

    rename = Path.rename

    def watched_rename(self, target):
        assert (self / MANIFEST_FILE).exists()
        events.append("renamed")
        return rename(self, target)

    monkeypatch.setattr(artifacts, "sync_tree", watched)
    monkeypatch.setattr(Path, "rename", watched_rename)
    write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": weights(b"q")})
    assert events == ["synced", "renamed"]


def test_an_unknown_part_is_refused(tmp_path):
    with pytest.raises(ModelError, match="'biencoder/queries' is no part of a model folder"):
        write_model_folder(tmp_path / "model", PLAIN, {"biencoder/queries": weights(b"q")})


def test_a_part_to_keep_must_be_there(tmp_path):
    with pytest.raises(ModelError, match="is not a folder"):
        write_model_folder(tmp_path / "model", PLAIN, {"ranker": tmp_path / "nowhere"})
