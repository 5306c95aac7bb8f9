"""The demo law's model is trained in the background: once, by one process."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from components.models.locks import file_lock
from ui.learning import Learning, Standing

ROOT = Path(__file__).resolve().parents[2]


class Page:
    """What a Learning calls: it takes the model over, and has lines said."""

    def __init__(self, failing: Exception | None = None) -> None:
        self.taken_over = 0
        self.said: list[str] = []
        self._failing = failing

    def take_over(self) -> None:
        if self._failing:
            raise self._failing
        self.taken_over += 1


def until(true: Callable[[], Any], seconds: float = 60) -> None:
    end = time.monotonic() + seconds
    while not true():
        assert time.monotonic() < end, "did not come about"
        time.sleep(0.01)


def is_running(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


def learn(demo: Any, page: Page) -> Standing:
    """Have it learn to the end."""
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(lambda: learning.standing().state != "learning")
        return learning.standing()


def is_free(lock: Path) -> bool:
    with file_lock(lock, wait=False) as held:
        return held is not None


def test_the_page_takes_over_what_was_trained(make_demo):
    demo, page = make_demo(), Page()
    assert learn(demo, page) == Standing("learnt", 1.0)
    assert page.taken_over == 1
    assert demo.trained() is not None
    assert is_free(demo.lock)
    assert str(demo.log) in page.said[0]
    assert "now answers" in page.said[-1]


def test_its_progress_is_followed_and_reported_now_and_then(make_demo, monkeypatch):
    monkeypatch.setattr("ui.learning._SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr("ui.learning._SECONDS_BETWEEN_LINES", 0.0)
    steps = "for n in range(10):\n  wait_for(str(n))\n  progress(n)\n"
    demo, page = make_demo(steps + "wait_for('end'); finish()"), Page()
    shares = []
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(lambda: demo.starts())
        for step in range(10):
            (demo.folder / str(step)).touch()
            until(lambda step=step: round(learning.standing().share, 2) == round(step * 0.09, 2))
            shares.append(learning.standing())
        (demo.folder / "end").touch()
        until(lambda: learning.standing().state == "learnt")
    assert shares[0].seconds_left is None
    assert shares[5].seconds_left > 0
    lines = [line for line in page.said if line.startswith("Training: ")]
    assert [line.split()[1].rstrip(",") for line in lines] == [
        f"{percent}%" for percent in (18, 27, 36, 45, 54, 63, 72, 81)
    ]
    assert lines[-1].endswith("less than a minute left")


@pytest.mark.parametrize("does", ["print('no luck'); sys.exit(1)", "print('no luck')"])
def test_a_training_that_fails_is_reported_with_the_log(make_demo, does):
    demo, page = make_demo(does), Page()
    assert learn(demo, page).state == "failed"
    assert page.taken_over == 0
    assert "untrained model" in page.said[-1]
    assert str(demo.log) in page.said[-1]
    assert "no luck" in demo.log.read_text()
    assert len(demo.starts()) == 1


def test_it_ends_with_the_page_and_continues_at_the_next_start(make_demo):
    demo, page = make_demo("wait_for('go'); finish()"), Page()
    with Learning(demo, page.take_over, page.said.append):
        until(lambda: demo.starts())
        began = time.monotonic()
    assert time.monotonic() - began < 5
    assert not is_running(demo.starts()[0][0])
    assert not any("failed" in line or "untrained" in line for line in page.said)
    (demo.folder / "go").touch()
    assert learn(demo, page).state == "learnt"
    assert [goes_on for _, _, goes_on in demo.starts()] == [False, True]


@pytest.mark.parametrize(
    ("by", "said"), [(signal.SIGTERM, "interrupted"), (signal.SIGKILL, "killed (memory may be")]
)
def test_a_training_that_somebody_ends_is_reported_and_kept(make_demo, by, said):
    demo, page = make_demo("wait_for('go'); finish()"), Page()
    demo.work.mkdir(parents=True)
    (demo.work / "checkpoint").touch()
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(lambda: demo.starts())
        os.kill(demo.starts()[0][0], by)
        until(lambda: learning.standing().state == "failed")
    assert said in page.said[-1]
    assert "goes on when the page is next started" in page.said[-1]
    assert (demo.work / "checkpoint").exists()
    assert len(demo.starts()) == 1


def test_what_cannot_be_resumed_is_trained_again(make_demo):
    demo, page = make_demo("sys.exit(2) if goes_on else finish()"), Page()
    demo.work.mkdir(parents=True)
    assert learn(demo, page).state == "learnt"
    assert [goes_on for _, _, goes_on in demo.starts()] == [True, False]
    assert any("cannot be resumed" in line for line in page.said)


def test_of_two_pages_one_trains_and_both_take_over(make_demo):
    demo, first, second = make_demo("wait_for('go'); progress(5); finish()"), Page(), Page()
    with Learning(demo, first.take_over, first.said.append) as one:
        until(lambda: demo.starts())
        with Learning(demo, second.take_over, second.said.append) as other:
            until(lambda: second.said)
            assert "Another page is training" in second.said[0]
            (demo.folder / "go").touch()
            until(lambda: (one.standing().state, other.standing().state) == ("learnt", "learnt"))
    assert (first.taken_over, second.taken_over) == (1, 1)
    assert len(demo.starts()) == 1


KILLED_PAGE = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[2])
from pathlib import Path
from conftest import StubbedDemo
from ui.learning import Learning

demo = StubbedDemo(Path(sys.argv[1]), Path("unused"), "wait_for('go'); finish()")
with Learning(demo, lambda: None, lambda line: None):
    while not demo.starts():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_page_that_was_killed_no_second_training_begins(make_demo):
    demo, page = make_demo("wait_for('go'); finish()"), Page()
    here = str(Path(__file__).parent)
    killed = subprocess.run(
        [sys.executable, "-c", KILLED_PAGE, str(demo.folder), here], cwd=ROOT, timeout=60
    )
    assert killed.returncode == -signal.SIGKILL
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(lambda: page.said)
        assert "Another page is training" in page.said[0]
        (demo.folder / "go").touch()
        until(lambda: learning.standing().state == "learnt")
    assert len(demo.starts()) == 1
