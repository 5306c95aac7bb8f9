"""Model folders on the disk: written whole, locked, checked, found by name."""

import json
import shutil
import signal
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest
from huggingface_hub import constants
from slow_cases import slow

from components.models.folder import (
    BUNDLED_MODEL,
    MANIFEST_FILE,
    Manifest,
    ModelError,
    file_lock,
    find_model,
    folder_lock,
    read_manifest,
    whole_file,
    whole_folder,
    write_model_folder,
)

ROOT = Path(__file__).resolve().parents[3]

# Writing

TOWERS = {"query": "biencoder/query", "passage": "biencoder/query"}
PLAIN = Manifest(kind=("biencoder",), base_model="tiny", towers=TOWERS, dim=32)


def weights(content):
    return lambda folder: (folder / "model.safetensors").write_bytes(content)


def test_a_part_that_was_not_touched_is_linked_not_copied(tmp_path):
    first, second = tmp_path / "first", tmp_path / "second"
    write_model_folder(first, PLAIN, {"biencoder/query": weights(b"q"), "ranker": weights(b"r")})
    parts = {"biencoder/query": weights(b"new"), "ranker": first / "ranker"}
    written = write_model_folder(second, PLAIN, parts)
    file = Path("ranker", "model.safetensors")
    assert (second / file).samefile(first / file)
    assert read_manifest(second) == written
    assert written.files_of("ranker") == read_manifest(first).files_of("ranker")


def test_a_folder_with_something_in_it_is_not_overwritten(tmp_path):
    (tmp_path / "model").mkdir()
    (tmp_path / "model" / "thesis.txt").write_text("years of work")
    with pytest.raises(ModelError, match="exists and is not empty"):
        write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": weights(b"q")})
    assert [path.name for path in (tmp_path / "model").iterdir()] == ["thesis.txt"]


@pytest.mark.parametrize("moment", ["rename", *slow("write_part", "manifest")])
def test_a_kill_at_any_moment_leaves_no_folder_that_looks_complete(tmp_path, moment):
    script = f"""
import os, signal
from pathlib import Path
from components.models.folder import Manifest, write_model_folder
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
write_model_folder(Path({str(tmp_path / "model")!r}), plain, {{"biencoder/query": tower}})
"""
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT)
    assert done.returncode == -signal.SIGKILL
    assert not (tmp_path / "model").exists()


def test_a_model_is_on_the_disk_before_it_is_seen(tmp_path, monkeypatch):
    seen = []
    rename = Path.rename
    monkeypatch.setattr("components.models.folder.sync", lambda path: seen.append(path.name))
    monkeypatch.setattr(Path, "rename", lambda *to: seen.append("rename") or rename(*to))
    write_model_folder(tmp_path / "model", PLAIN, {"biencoder/query": weights(b"q")})
    *before, renamed, after = seen
    assert {MANIFEST_FILE, "model.safetensors", "query"} <= set(before)
    assert (renamed, after) == ("rename", tmp_path.name)


@pytest.mark.parametrize("write", [whole_file, whole_folder])
def test_what_fails_leaves_nothing_and_what_was_there_stays(tmp_path, write):
    (tmp_path / "kept").mkdir()
    with pytest.raises(OSError, match="full"), write(tmp_path / "kept" / "new") as place:
        (place if write is whole_file else place / "a").write_text("half")
        raise OSError("full")
    assert list((tmp_path / "kept").iterdir()) == []


# The manifest

FULL = replace(
    PLAIN,
    config={"lr": 2e-5, "views": ["tree", "semantic"]},
    data={"corpus_sha256": "ab"},
    metrics={"R@10": 0.5},
)


@pytest.fixture
def folder(tmp_path):
    def tower(into):
        (into / "model.safetensors").write_bytes(b"weights")
        (into / "1_Pooling").mkdir()
        (into / "1_Pooling" / "config.json").write_text("{}")

    write_model_folder(tmp_path / "model", FULL, {"biencoder/query": tower})
    return tmp_path / "model"


def test_a_manifest_comes_back_as_it_was_written(folder):
    found = read_manifest(folder)
    assert found.files.keys() == {
        "biencoder/query/model.safetensors",
        "biencoder/query/1_Pooling/config.json",
    }
    assert found.parts == ("biencoder/query",)
    assert (found.kind, found.towers, found.dim) == (FULL.kind, FULL.towers, FULL.dim)
    assert (found.config, found.data, found.metrics) == (FULL.config, FULL.data, FULL.metrics)


def with_field(**fields):
    """Rewrite the manifest with these fields; `...` stands for a missing one."""

    def spoil(folder):
        whole = json.loads((folder / MANIFEST_FILE).read_text()) | fields
        kept = {name: value for name, value in whole.items() if value is not ...}
        (folder / MANIFEST_FILE).write_text(json.dumps(kept))

    return spoil


@pytest.mark.parametrize(
    ("spoil", "message"),
    [
        (lambda f: (f / MANIFEST_FILE).write_text("{"), "manifest.json: Invalid JSON"),
        (with_field(format=2), "field 'format'.*reads format 1"),
        (with_field(towers=...), "field 'towers'"),
        (with_field(colour="red"), "field 'colour'"),
        (with_field(segmentation="fr"), "field 'segmentation'"),
        (with_field(towers={**TOWERS, "passage": "biencoder/passage"}), "field 'towers.passage'"),
        (with_field(files={"../../etc/passwd": "00"}), "outside the model's parts"),
        (
            lambda f: (f / "biencoder/query/model.safetensors").write_bytes(b"weightz"),
            r"model.safetensors: is not what was saved \(digest differs\)",
        ),
        (
            lambda f: (f / "biencoder/query/model.safetensors").unlink(),
            "model.safetensors: is missing",
        ),
        (
            lambda f: (f / "biencoder/query/adapter_config.json").write_text("{}"),
            "adapter_config.json: is in the folder and not in the manifest",
        ),
    ],
)
def test_a_broken_folder_is_refused_with_the_reason(folder, spoil, message):
    spoil(folder)
    with pytest.raises(ModelError, match=message):
        read_manifest(folder)


@pytest.fixture
def snapshot(tmp_path, monkeypatch, tiny_prompted):
    """someone/law-model in an otherwise empty cache."""
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))
    folder = tmp_path / "hub" / "models--someone--law-model"
    (folder / "refs").mkdir(parents=True)
    (folder / "refs" / "main").write_text("c" * 40)
    return shutil.copytree(tiny_prompted, folder / "snapshots" / ("c" * 40))


def test_a_model_in_the_cache_needs_no_network(snapshot, monkeypatch):
    assert find_model("someone/law-model") == snapshot
    # Where a download was interrupted and the Hub cannot be reached, what is whole is taken.
    (snapshot.parents[1] / "blobs").mkdir()
    (snapshot.parents[1] / "blobs" / "ab.incomplete").touch()
    assert find_model("someone/law-model") == snapshot
    for path in snapshot.rglob("*.safetensors"):
        path.unlink()
    with pytest.raises(ModelError, match=rf"'someone/law-model'.*at hand: '{BUNDLED_MODEL}'"):
        find_model("someone/law-model")
    monkeypatch.setattr("components.models.folder.bundled_folder", lambda: None)
    monkeypatch.setattr("components.models.folder.multilingual_at_hand", lambda: False)
    with pytest.raises(ModelError, match=r"'someone/law-model'.*lexarbor\[demo\]"):
        find_model("someone/law-model")


# Locks

HOLDER = """
import sys, time
from pathlib import Path
from components.models.folder import file_lock
with file_lock(Path(sys.argv[1]), wait=False) as lock:
    print(lock, flush=True)
    time.sleep(60)
"""


def test_one_process_holds_a_lock_until_it_is_killed(tmp_path):
    path = tmp_path / "lock"
    command = [sys.executable, "-c", HOLDER, str(path)]
    process = subprocess.Popen(command, cwd=ROOT, stdout=subprocess.PIPE, text=True)
    assert process.stdout.readline() == "True\n"
    with file_lock(path, wait=False) as lock:
        assert not lock
    process.kill()
    process.communicate()
    with file_lock(path, wait=False) as lock:
        assert lock


def test_a_folder_is_made_and_one_holds_it_at_a_time(tmp_path):
    path = tmp_path / "new" / "folder"
    for _ in range(2):
        with folder_lock(path, wait=False) as first:
            assert first
            with folder_lock(path, wait=False) as second:
                assert not second
            assert list(path.iterdir()) == []
        assert not path.exists()


def test_every_process_gets_the_lock_of_a_folder_on_windows(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "platform", "win32")
    with (
        folder_lock(tmp_path / "a", wait=True) as one,
        folder_lock(tmp_path / "a", wait=True) as two,
    ):
        assert (one, two) == (True, True)
