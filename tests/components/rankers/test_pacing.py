"""Work is handed out while the time lasts, at speeds that are learned."""

import pytest

from components.rankers.cross_encoder import Pace, Portion, Work

FAST, SLOW = Work(0, 10), Work(1_000, 10)


class Clock:
    """Time that passes only where work is done."""

    now = 0.0

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    clock = Clock()
    monkeypatch.setattr("components.rankers.cross_encoder.time", clock)
    return clock


@pytest.fixture
def work(clock):
    """`work(pace, works, seconds)`: the places done.

    At `reading` and `encoding` seconds a character, and `asking` seconds to learn a place's cost.
    """

    def done_in(pace, works, seconds, *, reading=0.002, encoding=0.0001, asking=0.0):
        def asked(place):
            clock.now += asking
            return works[place]

        done = []
        for portion in pace.portions(len(works), asked, seconds):
            of_places = [works[place] for place in portion.places]
            assert portion.work == tuple(map(sum, zip(*of_places, strict=True)))
            spent = portion.work.encoded * encoding, portion.work.read * reading
            clock.now += sum(spent)
            pace.took(portion.work, *spent)
            assert portion.places == sorted(portion.places) != []
            done += portion.places
        assert len(set(done)) == len(done)
        return done

    return done_in


@pytest.fixture
def pace(work):
    """It has learned that FAST takes .02 s."""
    pace = Pace()
    work(pace, [FAST], None)
    return pace


def test_without_a_limit_everything_is_one_portion():
    pace = Pace()
    everything = pace.portions(3, lambda place: Work(place, 5), None)
    assert list(everything) == [Portion([0, 1, 2], Work(3, 15))]
    assert list(pace.portions(0, lambda place: Work(place, 5), 1.0)) == []
    assert next(pace.portions(5, lambda _: FAST, 1.0)) == Portion([0], FAST), "nothing is known"


def test_a_steady_worker_ends_in_time_with_nearly_all_that_fits(work, clock):
    pace = Pace()
    for _ in range(2):
        started = clock.now
        assert len(work(pace, [FAST] * 100, 1.0)) == pytest.approx(50, abs=1)
        assert clock.now - started <= 1.0
    assert work(Pace(), [FAST] * 100, 10.0) == list(range(100))


def test_encoding_is_learned_apart_from_reading(work, clock):
    pace = Pace()
    work(pace, [FAST] * 10, None)
    # At the speed of reading, 1,000 characters to encode would take two seconds.
    assert work(pace, [SLOW, FAST], 1.0) == [1]
    assert work(pace, [SLOW, FAST], 10.0) == [0, 1]
    assert work(pace, [SLOW, FAST], 1.0) == [0, 1]
    # Articles that are encoded already show nothing about those that are not.
    work(pace, [FAST] * 90, None)
    started = clock.now
    # 20 at .02 s, and then as many at .12 s as there is time for.
    assert work(pace, [FAST] * 20 + [SLOW] * 90, 1.0) == list(range(24))
    assert clock.now - started <= 1.0


def test_one_costly_item_waits_for_the_others_or_is_skipped(work, pace):
    costly = Work(0, 600)  # 1.2 s where there are two
    assert work(pace, [costly, *[FAST] * 10], 2.0) == [*range(1, 11), 0]
    assert work(pace, [costly, *[FAST] * 90], 2.0)[:90] == list(range(1, 91))
    assert work(pace, [FAST, costly, FAST], 1.0) == [0, 2]
    # Where it takes less than half of the time there is no need to wait.
    assert work(pace, [costly, FAST], 4.0) == [0, 1]
    for first in (0, 2, 3):
        works = [FAST] * 4
        works[first] = Work(0, 1_000)
        assert work(pace, works, 1.0) == [place for place in range(4) if place != first]


def test_learning_the_cost_of_candidates_takes_time_too(work, pace, clock):
    started = clock.now
    # .02 s to be read and .03 s to be looked at.
    assert 16 <= len(work(pace, [FAST] * 100, 1.0, asking=0.03)) <= 20
    assert clock.now - started <= 1.03
    # Looking at one after another that does not fit ends in time as well.
    started = clock.now
    assert work(pace, [Work(0, 10_000)] * 100, 1.0, asking=0.03) == []
    assert clock.now - started <= 1.03


def test_short_jobs_and_busy_moments_do_not_decide_forever(work, clock):
    pace = Pace()
    work(pace, [FAST] * 100, None, reading=0.001)
    pace.took(Work(0, 1), 0.0, 0.1)
    assert len(work(pace, [FAST] * 100, 1.0, reading=0.001)) > 80
    for seconds in (0.001, 1e-9):
        for _ in range(500):
            work(pace, [FAST] * 90, seconds, reading=0.001, asking=1e-8)
    started = clock.now
    assert 40 < len(work(pace, [FAST] * 200, 1.0, reading=0.001)) <= 100
    assert clock.now - started <= 1.0
    busy = Pace()
    work(busy, [FAST], None, reading=1.0)
    done = [len(work(busy, [FAST] * 4, 1.0, reading=0.001)) for _ in range(8)]
    assert (done[0], done[-1]) == (0, 4)


def test_where_nothing_ever_fits_one_is_tried_now_and_then(work, pace):
    done = [len(work(pace, [FAST] * 9, 0.003)) for _ in range(8)]
    assert done == [0, 0, 0, 1, 0, 0, 0, 1]
