"""python -m ui on an empty machine, and the line that says how far the search has learned."""

import contextlib
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from browsing import ask, check_looks
from law_files import housing_code

from ui.ask import EXAMPLES
from ui.frame import Collection
from ui.learning import Standing

pytestmark = pytest.mark.browser
ALDERMERE = Collection(1, ("Housing Code of Aldermere (invented)",))


def find_nothing(question: str) -> dict[str, Any]:
    return {"question": question, "took_ms": 1.0, "documents": []}


def looks(page: Any) -> list[str]:
    """The times that the page asks how far it is, as they come."""
    asked: list[str] = []
    page.on("request", lambda r: asked.append(r.url) if r.url.endswith("/learning") else None)
    return asked


def test_the_line_follows_the_learning_and_the_end_comes_without_reload(open_page, serve_page):
    standing = [Standing("learning", 0.4, (361.0, 539.0))]
    address = serve_page(find_nothing, lambda: ALDERMERE, lambda: standing[0])
    page = open_page(address)
    asked = looks(page)
    line = page.locator("#learning")
    line.get_by_text("A model is being trained").wait_for()
    assert "about 6 to 9 minutes" in line.inner_text()
    assert line.locator(".share").inner_text() == "40%"
    check_looks(page, "learning", "en", [("light", 1280)])
    standing[0] = Standing("learning", 0.8, (20.0, 30.0))
    line.get_by_text("80%").wait_for()
    assert "less than a minute" in line.inner_text()
    # The page is used meanwhile, and drawn anew with each answer.
    page.get_by_label("Your question").fill("deposit")
    page.keyboard.press("Enter")
    page.locator("#status").get_by_text("This collection has no law about that").wait_for()
    standing[0] = Standing("learnt", 1.0)
    line.get_by_text("Training finished").wait_for()
    assert line.locator(".share").inner_text() == ""
    assert page.locator("#status").get_by_text("This collection has no law about that").is_visible()
    check_looks(page, "learnt", "en", [("dark", 390)])
    # A page that is opened later shows nothing.
    later = open_page("about:blank", wait=False)
    asked_later = looks(later)
    later.goto(address)
    later.get_by_label("Your question").wait_for()
    asked.clear()
    later.wait_for_timeout(2_500)  # more than between two looks
    assert (len(asked), len(asked_later)) == (0, 1)
    assert later.locator("#learning").inner_text().strip() == ""


REPOSITORY = Path(__file__).parent.parent.parent


# The command as it is, over a part of the demo law; the training is short, or replaced.
START = """
import sys
from pathlib import Path
from components.statutes.sources import opening
from pipelines.home import TrainedDemo
opening.articles_path = lambda: Path({law!r}, "articles.jsonl")
opening.questions_path = lambda: Path({law!r}, "questions.jsonl")
real = TrainedDemo.command.fget
TrainedDemo.command = property(lambda demo: {command})
from ui.__main__ import main
sys.exit(main(["--port", "0"]))
"""
BRIEF = """(
    *real(demo), "--max_steps=2", "--batch_size=4", "--negatives_per_question=1",
    "--corpus", {law!r}, "--questions", {law!r},
)"""
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
def start(home: Path, law: Path, command: str) -> Iterator[Started]:
    terminal = home.with_name("terminal.txt")
    code = START.format(command=command.format(law=str(law)), law=str(law))
    with terminal.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-c", code],
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


@pytest.mark.slow
def test_every_example_finds_its_article(open_page, serve_store, demo_home):
    right = (
        "Article 14, Housing Code",
        "Article 30, Work Code",
        "Article 30, Family Code",
        "Article 20, Consumer Code",
        "Article 10, Code of Procedure",
        "Article 12, Housing Code",
    )
    page = open_page(serve_store(demo_home / "demo.db", "hybrid"))
    for example, article in zip(EXAMPLES, right, strict=True):
        ask(page, example)
        top = page.locator("#results .cite > span:first-child").all_text_contents()[:3]
        assert article in top
    assert "You named it rank 1" in page.locator(".ranks").first.text_content()
    ask(page, "The neighbours play loud music every night.")
    ranks = page.locator(".ranks").first.text_content()
    assert "Same words rank" in ranks
    assert "Similar meaning rank" in ranks


@pytest.mark.slow
@pytest.mark.timeout(900)  # training yields to whatever else is busy
def test_the_page_answers_while_its_model_is_trained_and_takes_it_over_without_reload(
    open_page, tmp_path
):
    home, law = tmp_path / "not made yet", housing_code(tmp_path / "law")
    with start(home, law, BRIEF) as first:
        page = open_page(first.wait_for(r"http://\S+"))
        assert "Building the demo store" in first.said
        assert "pipeline 'hybrid'" in first.said
        assert (home / "demo.db").is_file()
        page.set_default_timeout(60_000)
        line = page.locator("#learning")
        line.get_by_text("being trained").wait_for()
        learnt = line.get_by_text("Training finished")
        questions = 0
        while not learnt.is_visible():
            ask(page, f"deposit {questions}")
            assert page.get_by_role("article").count() == 10
            questions += 1
            page.wait_for_timeout(1_000)
            assert "failed" not in first.said
        assert questions > 0
        first.wait_for("The page now answers with the model trained on this law")
        ask(page, "deposit again")
        assert page.get_by_role("article").count() == 10
        (folder,) = home.glob("demo-*/")
        kept = {path.name for path in folder.iterdir() if "-" not in path.name}
        assert kept == {"demo.db", "model", "training.lock", "training.log"}
        page.context.close()
        first.process.send_signal(signal.SIGINT)
        assert first.process.wait(15) == 0
        assert "Traceback" not in first.said
    # It starts again with the trained model.
    with start(home, law, BRIEF) as again:
        again.wait_for(r"http://\S+")
        assert "Building" not in again.said
        assert "raining" not in again.said


@pytest.mark.slow
def test_the_training_ends_with_the_page(tmp_path):
    home, law = tmp_path / "home", housing_code(tmp_path / "law")
    with start(home, law, ENDLESS) as started:
        started.wait_for("Training a model")
        while not running_with(f"{home}/demo-"):
            time.sleep(0.05)
        started.process.send_signal(signal.SIGTERM)
        assert started.process.wait(20) == 0
    assert running_with(f"{home}/demo-") == []
    assert "Traceback" not in started.said
    assert "untrained" not in started.said
