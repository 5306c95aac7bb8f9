"""A training that takes moments, run as the real one is: a process that leaves a model folder."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import pytest

from pipelines.home import TrainedDemo

# Notes its start, does what the test says, and may put a complete model where it belongs.
SCRIPT = """
import json, os, shutil, sys, time
from pathlib import Path
from components.models.folder import write_model_folder
from components.models.folder import Manifest

folder = Path(sys.argv[1])
model, work = folder / "model", folder / "model.work"
goes_on = work.exists()
work.mkdir(exist_ok=True)
with (folder / "starts").open("a") as starts:
    starts.write(f"{os.getpid()} {os.getpriority(os.PRIO_PROCESS, 0)} {goes_on}\\n")

def progress(step, steps=10):
    (work / "partial").write_text(json.dumps({"stage": "training", "step": step, "steps": steps}))
    (work / "partial").replace(work / "progress.json")

def wait_for(name):
    while not (folder / name).exists():
        time.sleep(0.01)

def finish():
    part = "biencoder/query"
    manifest = Manifest(("biencoder", "graph"), "base", {"query": part, "passage": part}, 4)
    def write(place):
        (place / "weights").write_text("learnt")
    write_model_folder(model, manifest, {part: write, "graph": write})
    shutil.rmtree(work)

"""


@dataclass(frozen=True)
class StubbedDemo(TrainedDemo):
    """A demo whose training is a script.

    Attributes:
        does: Python that calls `progress(step, steps)`, `wait_for(name)` and `finish()`.
    """

    does: str = "finish()"

    @property
    def command(self) -> tuple[str, ...]:
        return (sys.executable, "-c", SCRIPT + self.does, str(self.folder))

    def starts(self) -> list[tuple[int, int, bool]]:
        """Of each start of the training: its process, its niceness, and whether it went on."""
        path = self.folder / "starts"
        lines = path.read_text().splitlines() if path.exists() else []
        return [
            (int(pid), int(nice), goes_on == "True")
            for pid, nice, goes_on in (line.split() for line in lines)
        ]


@pytest.fixture
def make_demo(tmp_path: Path) -> Callable[..., StubbedDemo]:
    """`make_demo(does)`: a demo whose training does that."""

    def make(does: str = "finish()") -> StubbedDemo:
        return StubbedDemo(tmp_path / "home" / "demo-0123456789ab", Path("unused"), does)

    return make
