"""The demo law's model is trained in the background: once, by one process."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from waiting import until

from components.models.locks import file_lock
from ui.about import standing_texts
from ui.learning import Learning, Pace, Standing

ROOT = Path(__file__).resolve().parents[2]


@pytest.fixture(autouse=True)
def short_pauses(monkeypatch) -> None:
    """Nobody waits for a process that does at once what the test says."""
    monkeypatch.setattr("ui.learning._SECONDS_BETWEEN_LOOKS", 0.01)
    monkeypatch.setattr("ui.learning._SECONDS_TO_FOLLOW", 0.2)


class Page:
    """What a Learning calls: it takes the model over, and has lines said."""

    def __init__(self) -> None:
        self.taken_over = 0
        self.said: list[str] = []

    def take_over(self) -> None:
        self.taken_over += 1


def learn(demo: Any, page: Page) -> Standing:
    """Have it learn to the end."""
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(lambda: learning.standing().state != "learning")
        return learning.standing()


def test_the_page_takes_over_what_was_trained(make_demo):
    demo, page = make_demo(), Page()
    assert learn(demo, page) == Standing("learnt", 1.0)
    assert page.taken_over == 1
    assert demo.trained() is not None
    with file_lock(demo.lock, wait=False) as held:
        assert held is not None
    assert str(demo.log) in page.said[0]
    assert "now answers" in page.said[-1]


def test_its_progress_is_followed_and_reported_now_and_then(make_demo, monkeypatch):
    monkeypatch.setattr("ui.learning._SECONDS_BETWEEN_LINES", 0.0)
    steps = "for n in range(10):\n  wait_for(str(n))\n  progress(n)\n"
    demo, page = make_demo(steps + "wait_for('end'); finish()"), Page()
    shares = []
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(demo.starts)
        for step in range(10):
            (demo.folder / str(step)).touch()
            until(lambda step=step: round(learning.standing().share, 2) == round(step * 0.09, 2))
            shares.append(learning.standing())
        (demo.folder / "end").touch()
        until(lambda: learning.standing().state == "learnt")
    assert shares[0].seconds_left is None
    assert 0 < shares[5].seconds_left[0] < shares[5].seconds_left[1]
    lines = [line for line in page.said if line.startswith("Training: ")]
    assert [line.split()[1].rstrip(",") for line in lines] == [
        f"{percent}%" for percent in (18, 27, 36, 45, 54, 63, 72, 81)
    ]
    assert lines[-1].endswith("less than a minute left")


def test_the_time_left_is_a_range_from_the_fastest_part_to_the_slowest():
    pace = Pace(0.0, 100.0)
    assert pace.standing(0.04, 140.0).seconds_left is None
    # A tenth in 100 s, then a tenth in 50 s: of the rest, .8, each would take 800 s and 400 s.
    assert pace.standing(0.1, 200.0).minutes_left == (13, 18)
    standing = pace.standing(0.2, 250.0)
    assert standing.seconds_left == pytest.approx((400 / 1.15, 800 * 1.15))
    assert standing.minutes_left == (5, 16)
    assert "5 to 16 minutes" in standing_texts(standing, "en")["told"]
    assert "5 à 16 minutes" in standing_texts(standing, "fr")["told"]


@given(
    st.lists(
        st.tuples(st.floats(0.001, 0.2), st.floats(0.01, 600)),
        min_size=1,
        max_size=60,
    )
)
def test_neither_end_of_the_time_left_ever_rises(parts):
    pace, share, now, ranges = Pace(0.0, 0.0), 0.0, 0.0, []
    for done, took in parts:
        share, now = min(1.0, share + done), now + took
        if left := pace.standing(share, now).minutes_left:
            assert 0 <= left[0] < left[1]
            ranges.append(left)
    for ends in zip(*ranges, strict=True):
        assert list(ends) == sorted(ends, reverse=True)


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
        until(demo.starts)
        began = time.monotonic()
    assert time.monotonic() - began < 5
    with pytest.raises(ProcessLookupError):
        os.kill(demo.starts()[0][0], 0)
    assert not any("failed" in line or "untrained" in line for line in page.said)
    (demo.folder / "go").touch()
    assert learn(demo, page).state == "learnt"
    assert [goes_on for _, goes_on in demo.starts()] == [False, True]


@pytest.mark.parametrize(
    ("by", "said"), [(signal.SIGTERM, "interrupted"), (signal.SIGKILL, "killed (memory may be")]
)
def test_a_training_that_somebody_ends_is_reported_and_kept(make_demo, by, said):
    demo, page = make_demo("wait_for('go'); finish()"), Page()
    demo.work.mkdir(parents=True)
    (demo.work / "checkpoint").touch()
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(demo.starts)
        os.kill(demo.starts()[0][0], by)
        until(lambda: learning.standing().state == "failed")
    assert said in page.said[-1]
    assert (demo.work / "checkpoint").exists()
    assert len(demo.starts()) == 1


def test_what_cannot_be_resumed_is_trained_again(make_demo):
    demo, page = make_demo("sys.exit(2) if goes_on else finish()"), Page()
    demo.work.mkdir(parents=True)
    assert learn(demo, page).state == "learnt"
    assert [goes_on for _, goes_on in demo.starts()] == [True, False]
    assert any("cannot be resumed" in line for line in page.said)


def test_of_two_pages_one_trains_and_both_take_over(make_demo):
    demo, first, second = make_demo("wait_for('go'); progress(5); finish()"), Page(), Page()
    with Learning(demo, first.take_over, first.said.append) as one:
        until(demo.starts)
        with Learning(demo, second.take_over, second.said.append) as other:
            until(lambda: second.said)
            assert "Another page is training" in second.said[0]
            (demo.folder / "go").touch()
            until(lambda: (one.standing().state, other.standing().state) == ("learnt", "learnt"))
    assert (first.taken_over, second.taken_over) == (1, 1)
    assert len(demo.starts()) == 1


KILLED_PAGE = """
import os, signal, sys, time
sys.path[:0] = sys.argv[3:]
from pathlib import Path
from conftest import StubbedDemo
from ui.learning import Learning

demo = StubbedDemo(Path(sys.argv[1]), Path("unused"), "wait_for('go'); finish()", Path(sys.argv[2]))
with Learning(demo, lambda: None, lambda line: None):
    while not demo.starts():
        time.sleep(0.01)
    os.kill(os.getpid(), signal.SIGKILL)
"""


def test_after_a_page_that_was_killed_no_second_training_begins(make_demo):
    demo, page = make_demo("wait_for('go'); finish()"), Page()
    paths = [demo.folder, demo.ready, ROOT / "tests" / "ui", ROOT / "tests" / "shared"]
    command = [sys.executable, "-c", KILLED_PAGE, *map(str, paths)]
    killed = subprocess.run(command, cwd=ROOT, timeout=60)
    assert killed.returncode == -signal.SIGKILL
    with Learning(demo, page.take_over, page.said.append) as learning:
        until(lambda: page.said)
        assert "Another page is training" in page.said[0]
        (demo.folder / "go").touch()
        until(lambda: learning.standing().state == "learnt")
    assert len(demo.starts()) == 1
