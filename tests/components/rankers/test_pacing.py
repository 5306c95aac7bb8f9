"""Work is handed out while the time lasts, at a speed that is learnt."""

from __future__ import annotations

import pytest

from components.rankers import pacing
from components.rankers.pacing import Pace


class Clock:
    """Time that passes only where work is done."""

    def __init__(self) -> None:
        self.now = 0.0

    def perf_counter(self) -> float:
        return self.now


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> Clock:
    clock = Clock()
    monkeypatch.setattr(pacing, "time", clock)
    return clock


def work(pace: Pace, clock: Clock, costs: list[int], seconds: float | None, speed: float) -> int:
    """Items done, at so many seconds a unit."""
    done = 0
    for portion in pace.portions(costs, seconds):
        assert portion.start == done
        assert len(portion) > 0
        clock.now += speed * sum(costs[portion.start : portion.stop])
        done = portion.stop
    return done


def test_without_a_limit_everything_is_one_portion() -> None:
    assert list(Pace().portions([5, 1, 1], None)) == [range(3)]
    assert list(Pace().portions([], None)) == []
    assert list(Pace().portions([], 1.0)) == []


def test_a_steady_worker_ends_in_time_with_nearly_all_that_fits(clock: Clock) -> None:
    pace = Pace()
    for _ in range(2):
        started = clock.now
        done = work(pace, clock, [10] * 100, 1.0, speed=0.002)
        assert clock.now - started <= 1.0
        assert done == pytest.approx(50, abs=1)


def test_what_fits_is_done_to_the_end(clock: Clock) -> None:
    assert work(Pace(), clock, [10] * 100, 10.0, speed=0.002) == 100


def test_a_worker_who_slows_down_is_noticed(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [10] * 100, None, speed=0.001)
    started = clock.now
    done = work(pace, clock, [10] * 100, 1.0, speed=0.002)
    assert done > 40
    assert clock.now - started <= 1.02


def test_one_costly_item_ends_the_work_before_it(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [10], None, speed=0.01)
    assert work(pace, clock, [10, 10, 1_000, 10], 1.0, speed=0.01) == 2


def test_a_busy_moment_does_not_decide_for_ever(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [10], None, speed=1.0)
    done = [work(pace, clock, [10] * 4, 1.0, speed=0.001) for _ in range(6)]
    assert done[0] == 0
    assert done[-1] == 4
