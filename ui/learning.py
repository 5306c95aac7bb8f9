"""Learning: trains the demo law's model once in the background, then switches the page to it."""

from __future__ import annotations

import contextlib
import json
import math
import os
import signal
import subprocess
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Literal

from components.models.locks import file_lock
from pipelines.home import TrainedDemo

# The first steps say little about the time of the others.
_TELLING_SHARE = 0.05
# By so much the rest may differ from the slowest and the fastest part so far.
_MARGIN = 1.15


@dataclass(frozen=True, slots=True)
class Standing:
    """The progress of the learning.

    Attributes:
        state: "learning" may change; "learnt" and "failed" are final.
        share: how much is done, 0 to 1.
        seconds_left: how long the rest takes, at least and at most; None where it is too early to
            say.
    """

    state: Literal["learning", "learnt", "failed"]
    share: float = 0.0
    seconds_left: tuple[float, float] | None = None

    @property
    def minutes_left(self) -> tuple[int, int] | None:
        """How long the rest takes in whole minutes; (0, 1) is less than a minute."""
        if self.seconds_left is None:
            return None
        least, most = self.seconds_left
        upper = max(1, math.ceil(most / 60))
        return min(max(1, int(least // 60)), upper - 1), upper


class Pace:
    """How long the rest of a training takes, by the speed of what is done.

    The range goes from the fastest to the slowest part so far, each a `_TELLING_SHARE` of the
    training. Neither end of it ever rises: where a training slows down, the range stays as it is
    until the rest has come down to it.

    Args:
        share: how much was done at the start, 0 to 1.
        now: the moment of it, in seconds of a monotonic clock.
    """

    def __init__(self, share: float, now: float) -> None:
        self.share = share
        self._part = (share, now)
        self._speeds: list[float] = []
        self._left: tuple[float, float] | None = None

    def standing(self, share: float, now: float) -> Standing:
        """The standing now, at a share that is not smaller than the one before."""
        begun, at = self._part
        if share - begun >= _TELLING_SHARE and now > at:
            self._part = share, now
            self._speeds.append((share - begun) / (now - at))
            rest = 1 - share
            least, most = rest / max(self._speeds) / _MARGIN, rest / min(self._speeds) * _MARGIN
            if self._left is not None:
                least, most = min(least, self._left[0]), min(most, self._left[1])
            self._left = least, most
        return Standing("learning", share, self._left)


# Training runs at low priority, so that the page answers first.
_NICENESS = 10
_SECONDS_BETWEEN_LOOKS = 0.5
_SECONDS_BETWEEN_LINES = 10.0
_SECONDS_TO_END = 10.0
_SECONDS_TO_FOLLOW = 3.0

# Time after the last step: encoding, measuring, indexing, loading.
_TRAINING_SHARE = 0.9

# If memory runs short, the kernel should kill the training, not the page.
_INTERRUPTED = {
    130,
    *(-each for each in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGKILL)),
}


class Learning:
    """Trains the demo law's model in a process of its own while the page is served.

    ```python
    with Learning(demo, take_over, say):
        serve_the_page()
    ```

    The process ends with the block; the next time it resumes where it stopped. If another page
    trains the same model, this one waits for it.

    Args:
        demo: what to train.
        take_over: called once the model is ready; makes the page answer with it.
        say: takes lines for the person who runs the page.
    """

    def __init__(
        self, demo: TrainedDemo, take_over: Callable[[], None], say: Callable[[str], object]
    ) -> None:
        self._demo = demo
        self._take_over = take_over
        self._say = say
        self._standing = Standing("learning")
        self._pace: Pace | None = None
        self._last_line = (0, -_SECONDS_BETWEEN_LINES)
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._run, name="learning")

    def __enter__(self) -> Learning:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        traceback: TracebackType | None,
    ) -> None:
        self._ending.set()
        self._thread.join()

    def standing(self) -> Standing:
        """The current standing."""
        return self._standing

    def _run(self) -> None:
        try:
            if not self._train() or self._ending.is_set():
                return
            self._say("Trained. Switching the page to the model")
            self._take_over()
            self._standing = Standing("learnt", 1.0)
            self._say("The page now answers with the model trained on this law")
            self._demo.remove_unused()
        except OSError as error:
            self._fail(f"The demo law's model cannot be kept in LEXARBOR_HOME: {error}")
        except Exception as error:  # noqa: BLE001 - whatever failed, the page goes on as it was
            self._fail(f"{type(error).__name__}: {error}")

    def _train(self) -> bool:
        """Have the model trained, here or by another page; returns whether that succeeded."""
        self._demo.folder.mkdir(parents=True, exist_ok=True)
        waiting = False
        while not self._ending.is_set():
            with file_lock(self._demo.lock, wait=False) as lock:
                if self._demo.trained() is not None:
                    return True
                if lock is not None:
                    return self._train_here(lock)
            if not waiting:
                self._say("Another page is training the model of the demo law; waiting for it")
                waiting = True
            self._look()
            self._ending.wait(_SECONDS_BETWEEN_LOOKS)
        return False

    def _train_here(self, lock: int) -> bool:
        demo = self._demo
        resumes = demo.begun
        if not resumes:
            demo.clear()
        self._say(
            "Training a model on this law in the background, once, for some minutes. The page can "
            f"be used meanwhile. Log: {demo.log}"
        )
        demo.log.unlink(missing_ok=True)
        code = self._command(lock)
        if code not in (0, *_INTERRUPTED) and resumes and not self._ending.is_set():
            # The saved state may be from another number of threads, or another version.
            self._say("The interrupted training cannot be resumed; training starts again")
            demo.clear()
            code = self._command(lock)
        # Ctrl+C in a terminal reaches both processes: the page is then about to end as well.
        if self._ending.wait(_SECONDS_TO_FOLLOW if code in _INTERRUPTED else 0):
            return False
        if code in _INTERRUPTED:
            how = "killed (memory may be short)" if code == -signal.SIGKILL else "interrupted"
            self._fail(f"The training was {how}; it resumes when the page is next started")
        elif code != 0 or demo.trained() is None:
            self._fail(f"The training ended with exit status {code}; {demo.log} says why")
        else:
            return True
        return False

    def _command(self, lock: int) -> int:
        """Run the training's command; returns its exit status, negative for a signal."""
        # Progress of an earlier run says nothing about this one.
        self._demo.progress.unlink(missing_ok=True)
        self._pace = None
        with self._demo.log.open("ab") as log:
            process = subprocess.Popen(  # noqa: S603 - our own command
                self._demo.command,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=subprocess.STDOUT,
                # If this page is killed, the training continues alone, and no second one starts.
                pass_fds=(lock,),
            )
        try:
            with contextlib.suppress(OSError):
                own = os.getpriority(os.PRIO_PROCESS, 0)
                os.setpriority(os.PRIO_PROCESS, process.pid, own + _NICENESS)
            while process.poll() is None and not self._ending.wait(_SECONDS_BETWEEN_LOOKS):
                self._look()
        finally:
            _end(process)
        return process.returncode

    def _look(self) -> None:
        """Check the training's progress, and report it now and then."""
        share = _share_done(self._demo.progress)
        if share is None:
            return
        now = time.monotonic()
        share *= _TRAINING_SHARE
        # Texts are encoded before the first step; measure the pace from the steps only.
        if self._pace is None or share <= self._pace.share:
            self._pace = Pace(share, now)
        self._standing = self._pace.standing(share, now)
        tenth, (last_tenth, last_time) = int(share * 10), self._last_line
        if tenth > last_tenth and now - last_time >= _SECONDS_BETWEEN_LINES:
            self._last_line = tenth, now
            self._say(f"Training: {share:.0%}, {_time_left(self._standing.minutes_left)}")

    def _fail(self, reason: str) -> None:
        # A model that is learnt stays learnt, even if tidying up fails.
        if self._standing.state == "learning":
            self._standing = Standing("failed")
            self._say(f"{reason.rstrip('.')}. The page keeps using the untrained model.")


def _share_done(progress: Path) -> float | None:
    """The share of the training that is done, or None where that is not known."""
    try:
        where = json.loads(progress.read_text(encoding="utf-8"))
        return min(1.0, max(0.0, float(where["step"] / where["steps"])))
    except (OSError, ValueError, KeyError, TypeError, ZeroDivisionError):
        return None


def _time_left(minutes: tuple[int, int] | None) -> str:
    if minutes is None:
        return "a few minutes left"
    least, most = minutes
    return f"about {least} to {most} minutes left" if least else "less than a minute left"


def _end(process: subprocess.Popen[bytes]) -> None:
    if process.poll() is None:
        process.terminate()
    try:
        process.wait(_SECONDS_TO_END)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
