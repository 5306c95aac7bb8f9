"""python -m ui on an empty machine: the page answers, the model is trained behind it, once."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from ui.app import EXAMPLES

pytestmark = pytest.mark.browser

LAY_QUESTION = "The neighbours play loud music every night."

REPOSITORY = Path(__file__).parent.parent.parent

# The command as it is, but for the training's length; or another training altogether.
START = """
import sys
from pipelines.trained_demo import TrainedDemo
real = TrainedDemo.command.fget
TrainedDemo.command = property(lambda demo: {command})
from ui.__main__ import main
sys.exit(main(["--port", "0"]))
"""
BRIEF = '(*real(demo), "--max_steps=2", "--batch_size=4", "--negatives_per_question=1")'
ENDLESS = '(sys.executable, "-c", "import time; time.sleep(600)", str(demo.folder))'


@dataclass
class Started:
    """A page that was started, and what its terminal says."""

    process: subprocess.Popen[bytes]
    terminal: Path

    @property
    def said(self) -> str:
        return self.terminal.read_text("utf-8")

    def wait_for(self, pattern: str, seconds: float = 240) -> str:
        """What the terminal says of this pattern, once it does."""
        end = time.monotonic() + seconds
        while not (found := re.search(pattern, self.said)):
            assert self.process.poll() is None, self.said
            assert time.monotonic() < end, self.said
            time.sleep(0.05)
        return found[0]


@contextlib.contextmanager
def start(home: Path, terminal: Path, command: str = BRIEF) -> Iterator[Started]:
    with terminal.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", START.format(command=command)],
            cwd=REPOSITORY,
            env={**os.environ, "LEXARBOR_HOME": str(home)},
            stderr=stream,
        )
    try:
        yield Started(process, terminal)
    finally:
        process.terminate()
        process.wait(60)


def running_with(word: str) -> list[str]:
    """Processes that have the word in their command line."""
    found = []
    for path in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):
            line = path.read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if word in line:
                found.append(line)
    return found


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home") / "not made yet"


@pytest.fixture(scope="module")
def first_start(home: Path) -> Iterator[Started]:
    with start(home, home.parent / "first.txt") as started:
        yield started


def ask(page: Any, question: str) -> None:
    page.get_by_label("Your question").fill(question)
    page.keyboard.press("Enter")
    page.locator(".asked q", has_text=question).wait_for()


@pytest.mark.timeout(600)
def test_the_page_answers_while_its_model_is_trained_and_takes_it_over_without_reload(
    open_page: Callable[..., Any], first_start: Started, home: Path
):
    address = first_start.wait_for(r"http://\S+")
    assert "Building the demo store" in first_start.said
    assert "pipeline 'hybrid'" in first_start.said
    assert (home / "demo.db").is_file()
    page = open_page(address)
    page.set_default_timeout(60_000)
    line = page.locator("#learning")
    line.get_by_text("still learning").wait_for()
    learnt = line.get_by_text("has learnt this law")
    questions = 0
    while not learnt.is_visible():
        ask(page, f"deposit {questions}")
        assert page.get_by_role("article").count() == 10
        questions += 1
        page.wait_for_timeout(1_000)
        assert "failed" not in first_start.said
    assert questions > 0
    first_start.wait_for("The page now answers with the model trained on this law")
    ask(page, "deposit again")
    assert page.get_by_role("article").count() == 10
    (folder,) = home.glob("demo-*/")
    assert {path.name for path in folder.iterdir() if "-" not in path.name} == {
        "demo.db",
        "model",
        "training.lock",
        "training.log",
    }


def test_every_example_finds_its_article(open_page: Callable[..., Any], first_start: Started):
    page = open_page(first_start.wait_for(r"http://\S+"))
    right = (
        "Article 14 Housing Code",
        "Article 30 Work Code",
        "Article 30 Family Code",
        "Article 20 Consumer Code",
        "Article 10 Code of Procedure",
        "Article 12 Housing Code",
    )
    for example, article in zip(EXAMPLES, right, strict=True):
        page.get_by_role("button", name=example, exact=True).click()
        page.locator(".asked q", has_text=example).wait_for()
        top = page.locator("#results h3").all_text_contents()[:3]
        assert f"{article} of Aldermere (invented)" in top
    assert "Citation rank 1" in page.locator(".ranks").first.text_content()
    ask(page, LAY_QUESTION)
    ranks = page.locator(".ranks").first.text_content()
    assert "BM25 rank" in ranks
    assert "Dense rank" in ranks


def test_it_ends_in_good_order_and_starts_again_with_the_trained_model(
    first_start: Started, home: Path
):
    first_start.process.send_signal(signal.SIGINT)
    assert first_start.process.wait(15) == 0
    assert "Traceback" not in first_start.said
    began = time.monotonic()
    with start(home, home.parent / "again.txt") as again:
        again.wait_for(r"http://\S+")
        assert time.monotonic() - began < 60
        assert "Building" not in again.said
        assert "raining" not in again.said


@pytest.mark.parametrize("ending", [signal.SIGTERM, signal.SIGINT])
def test_the_training_ends_with_the_page(home: Path, tmp_path: Path, ending: signal.Signals):
    shutil.copy(home / "demo.db", tmp_path / "demo.db")
    with start(tmp_path, tmp_path / "terminal.txt", ENDLESS) as started:
        started.wait_for("Training a model")
        while not running_with(f"{tmp_path}/demo-"):
            time.sleep(0.05)
        started.process.send_signal(ending)
        assert started.process.wait(20) == 0
    assert running_with(f"{tmp_path}/demo-") == []
    assert "Traceback" not in started.said
    assert "untrained" not in started.said
