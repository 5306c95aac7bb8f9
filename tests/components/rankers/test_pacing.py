"""Work is handed out while the time lasts, at speeds that are learnt."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from components.rankers import pacing
from components.rankers.pacing import Pace, Portion
from components.rankers.work import Work

FAST, SLOW = Work(0, 10), Work(1_000, 10)


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


def work(
    pace: Pace,
    clock: Clock,
    works: Sequence[Work],
    seconds: float | None,
    *,
    reading: float = 0.002,
    encoding: float = 0.0001,
    asking: float = 0.0,
) -> list[int]:
    """Places done, at so many seconds a character, and so many to find out what a place costs."""

    def asked(place: int) -> Work:
        clock.now += asking
        return works[place]

    done: list[int] = []
    for portion in pace.portions(len(works), asked, seconds):
        assert portion.places
        assert portion.work == tuple(
            map(sum, zip(*(works[p] for p in portion.places), strict=True))
        )
        spent = portion.work.encoded * encoding, portion.work.read * reading
        clock.now += sum(spent)
        pace.took(portion.work, *spent)
        assert portion.places == sorted(portion.places)
        done += portion.places
    assert len(set(done)) == len(done)
    return done


def test_without_a_limit_everything_is_one_portion() -> None:
    everything = Pace().portions(3, lambda place: Work(place, 5), None)
    assert list(everything) == [Portion([0, 1, 2], Work(3, 15))]
    assert list(Pace().portions(0, lambda place: Work(place, 5), None)) == []
    assert list(Pace().portions(0, lambda place: Work(place, 5), 1.0)) == []


def test_a_steady_worker_ends_in_time_with_nearly_all_that_fits(clock: Clock) -> None:
    pace = Pace()
    for _ in range(2):
        started = clock.now
        done = work(pace, clock, [FAST] * 100, 1.0)
        assert clock.now - started <= 1.0
        assert len(done) == pytest.approx(50, abs=1)


def test_what_fits_is_done_to_the_end(clock: Clock) -> None:
    assert work(Pace(), clock, [FAST] * 100, 10.0) == list(range(100))


def test_nothing_known_begins_with_one(clock: Clock) -> None:
    portions = Pace().portions(5, lambda _: FAST, 1.0)
    assert next(portions) == Portion([0], FAST)


def test_a_worker_who_slows_down_is_noticed(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST] * 100, None, reading=0.001)
    started = clock.now
    done = work(pace, clock, [FAST] * 100, 1.0, reading=0.002)
    assert len(done) > 40
    assert clock.now - started <= 1.05


def test_what_is_encoded_already_says_nothing_of_what_is_not(clock: Clock) -> None:
    # A question whose long articles are all known, then one with ninety that are not.
    pace = Pace()
    work(pace, clock, [SLOW], None)
    work(pace, clock, [FAST] * 90, None)
    started = clock.now
    done = work(pace, clock, [FAST] * 20 + [SLOW] * 90, 1.0)
    assert clock.now - started <= 1.0
    # 20 at .02 s, and then as many at .12 s as there is time for.
    assert done == list(range(24))


def test_a_model_that_was_not_at_work_yet_is_taken_to_be_as_fast_as_the_other(
    clock: Clock,
) -> None:
    pace = Pace()
    work(pace, clock, [FAST] * 10, None)
    # 1,000 characters at .002 s would take two seconds.
    assert work(pace, clock, [SLOW, FAST], 1.0) == [1]
    assert work(pace, clock, [SLOW, FAST], 10.0) == [0, 1]
    assert work(pace, clock, [SLOW, FAST], 1.0) == [0, 1]


def test_one_costly_item_waits_for_the_others(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST], None)
    # 1.2 s of work where there are two.
    costly = Work(0, 600)
    assert work(pace, clock, [costly, *[FAST] * 10], 2.0) == [*range(1, 11), 0]
    assert work(pace, clock, [costly, *[FAST] * 90], 2.0)[:90] == list(range(1, 91))
    assert work(pace, clock, [FAST, costly, FAST], 1.0) == [0, 2]
    # Where it takes less than half of the time there is no need to wait.
    assert work(pace, clock, [costly, FAST], 4.0) == [0, 1]


def test_one_that_is_too_costly_is_passed_over(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST], None)
    started = clock.now
    for first in (0, 2, 3):
        works = [FAST] * 4
        works[first] = Work(0, 1_000)
        assert work(pace, clock, works, 1.0) == [place for place in range(4) if place != first]
    assert clock.now - started <= 3.0


def test_finding_out_what_a_candidate_costs_takes_time_too(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST], None)
    started = clock.now
    # .02 s to be read and .03 s to be looked at.
    assert 16 <= len(work(pace, clock, [FAST] * 100, 1.0, asking=0.03)) <= 20
    assert clock.now - started <= 1.03
    # Looking at one after another that does not fit ends in time as well.
    started = clock.now
    assert work(pace, clock, [Work(0, 10_000)] * 100, 1.0, asking=0.03) == []
    assert clock.now - started <= 1.03


def test_a_short_job_does_not_change_what_a_long_one_taught(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST] * 100, None, reading=0.001)
    pace.took(Work(0, 1), 0.0, 0.1)  # a beginning costs something, whatever follows
    assert len(work(pace, clock, [FAST] * 100, 1.0, reading=0.001)) > 80


def test_a_busy_moment_does_not_decide_for_ever(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST], None, reading=1.0)
    done = [len(work(pace, clock, [FAST] * 4, 1.0, reading=0.001)) for _ in range(8)]
    assert done[0] == 0
    assert done[-1] == 4


def test_questions_that_had_no_time_do_not_cost_a_later_one_its_own(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST] * 100, None, reading=0.001)
    for seconds in (0.001, 1e-9):
        for _ in range(2_000):
            work(pace, clock, [FAST] * 90, seconds, reading=0.001, asking=1e-8)
    started = clock.now
    assert 40 < len(work(pace, clock, [FAST] * 200, 1.0, reading=0.001)) <= 100
    assert clock.now - started <= 1.0


def test_where_nothing_ever_fits_one_is_tried_now_and_then(clock: Clock) -> None:
    pace = Pace()
    work(pace, clock, [FAST], None)  # .02 s each, and the budget is .003
    done = [len(work(pace, clock, [FAST] * 9, 0.003)) for _ in range(8)]
    assert done == [0, 0, 0, 1, 0, 0, 0, 1]
