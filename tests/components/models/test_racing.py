"""Two ways timed by a clock that only they move."""

from __future__ import annotations

import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor, wait

import pytest

from components.models import cpu_attention, cpu_linear, devices, racing


def test_best_round_counts_against_best_round_in_turns(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0
    run: list[str] = []
    monkeypatch.setattr(racing.time, "perf_counter", lambda: now)

    def way(name: str, seconds: list[float]) -> Callable[[], None]:
        def compute() -> None:
            nonlocal now
            now += seconds[run.count(name)]
            run.append(name)

        return compute

    known = way("known", [9, 6, 7, 8, 9, 9, 9, 9])
    other = way("other", [5, 5, 5, 5, 5, 5, 5, 2])
    assert racing.gain(known, other) == 3
    assert run == ["known", "other"] * 8


def test_threads_that_come_at_once_share_one_measurement() -> None:
    begun, go = threading.Event(), threading.Event()
    taken: list[float] = []

    def measure() -> float:
        taken.append(1.0)
        begun.set()
        assert go.wait(60)
        return len(taken) + 1.0

    once = racing.MeasuredOnce(measure)
    with ThreadPoolExecutor(4) as pool:
        first = pool.submit(once)
        assert begun.wait(60)
        others = [pool.submit(once) for _ in range(3)]
        assert not any(other.done() for other in others)
        go.set()
        assert [each.result() for each in (first, *others)] == [2.0] * 4
    once.cache_clear()
    assert once() == 3.0


def test_two_races_wait_for_each_other() -> None:
    running: list[str] = []
    begun, go = threading.Event(), threading.Event()

    def first() -> float:
        running.append("first")
        begun.set()
        assert go.wait(60)
        running.append("first ends")
        return 1.0

    def second() -> float:
        running.append("second")
        return 1.0

    with ThreadPoolExecutor(2) as pool:
        pool.submit(racing.MeasuredOnce(first))
        assert begun.wait(60)
        later = pool.submit(racing.MeasuredOnce(second))
        # Without a lock the second would have run by now.
        assert not wait([later], 0.2).done
        go.set()
    assert running == ["first", "first ends", "second"]


@pytest.mark.parametrize(
    "measured", [cpu_attention._plain_gain, cpu_linear._onednn_gain, devices._cpu_bf16_gain]
)
def test_every_race_of_the_processor_is_run_once(measured: object) -> None:
    assert isinstance(measured, racing.MeasuredOnce)
