"""A training that takes moments, run as the real one is: a process that leaves a model folder."""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from small_law import in_order

from components.models.folder import Manifest, write_model_folder
from components.retrievers.resident import ReadableStore, readable
from components.stores.sqlite import StatuteDocumentStore
from pipelines.home import TrainedDemo

# Notes its start, does what the test says, and may put a complete model where it belongs.
SCRIPT = """
import json, os, shutil, sys, time
from pathlib import Path

folder, ready = map(Path, sys.argv[1:])
model, work = folder / "model", folder / "model.work"
goes_on = work.exists()
work.mkdir(exist_ok=True)
with (folder / "starts").open("a") as starts:
    starts.write(f"{os.getpid()} {goes_on}\\n")

def progress(step, steps=10):
    (work / "partial").write_text(json.dumps({"stage": "training", "step": step, "steps": steps}))
    (work / "partial").replace(work / "progress.json")

def wait_for(name):
    while not (folder / name).exists():
        time.sleep(0.01)

def finish():
    shutil.copytree(ready, work / "model")
    (work / "model").replace(model)
    shutil.rmtree(work)

"""


@dataclass(frozen=True)
class StubbedDemo(TrainedDemo):
    """A demo whose training is a script.

    Attributes:
        does: Python that calls `progress(step, steps)`, `wait_for(name)` and `finish()`.
        ready: the complete model that `finish` puts where it belongs.
    """

    does: str = "finish()"
    ready: Path = Path("none")

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-c", SCRIPT + self.does, str(self.folder), str(self.ready))

    def starts(self) -> list[tuple[int, bool]]:
        """Of each start of the training: its process, and whether it went on."""
        path = self.folder / "starts"
        lines = path.read_text().splitlines() if path.exists() else []
        return [(int(line.split()[0]), line.endswith("True")) for line in lines]


@pytest.fixture(scope="session")
def ready_model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A complete model folder, as far as its manifest tells."""
    folder, part = tmp_path_factory.mktemp("ready") / "model", "biencoder/query"
    manifest = Manifest(("biencoder", "graph"), "base", {"query": part, "passage": part}, 4)

    def write(place: Path) -> None:
        (place / "weights").write_text("learnt")

    write_model_folder(folder, manifest, {part: write, "graph": write})
    return folder


@pytest.fixture
def make_demo(tmp_path: Path, ready_model: Path) -> Callable[..., StubbedDemo]:
    """`make_demo(does)`: a demo whose training does that."""

    def make(does: str = "finish()") -> StubbedDemo:
        folder = tmp_path / "home" / "demo-0123456789ab"
        return StubbedDemo(folder, Path("unused"), does, ready_model)

    return make


@pytest.fixture(params=["own", "foreign"])
def make_store(request: pytest.FixtureRequest, tmp_path: Path) -> Callable[..., ReadableStore]:
    """`make_store(documents)`: Lexarbor's own store, and one of Haystack's."""

    def make(documents: Sequence[Document]) -> ReadableStore:
        store: Any = (
            StatuteDocumentStore(str(tmp_path / "law.db"))
            if request.param == "own"
            else InMemoryDocumentStore()
        )
        store.write_documents(in_order(documents))
        read = readable(store)
        read.content_version()  # another store is read by this
        return read

    return make
