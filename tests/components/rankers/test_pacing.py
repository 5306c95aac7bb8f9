"""Work is handed out while the time lasts, at a speed that is learned."""

import pytest

from components.rankers.cross_encoder import Pace, Portion

FAST = 10


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

    At `speed` seconds a character, and `asking` seconds to learn a place's cost.
    """

    def done_in(pace, works, seconds, *, speed=0.002, asking=0.0):
        def asked(place):
            clock.now += asking
            return works[place]

        done = []
        for portion in pace.portions(len(works), asked, seconds):
            assert portion.work == sum(works[place] for place in portion.places)
            clock.now += portion.work * speed
            pace.took(portion.work, portion.work * speed)
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
    assert list(pace.portions(3, lambda place: place, None)) == [Portion([0, 1, 2], 3)]
    assert list(pace.portions(0, lambda place: place, 1.0)) == []
    assert next(pace.portions(5, lambda _: FAST, 1.0)) == Portion([0], FAST), "nothing is known"


def test_a_steady_worker_ends_in_time_with_nearly_all_that_fits(work, clock):
    pace = Pace()
    for _ in range(2):
        started = clock.now
        assert len(work(pace, [FAST] * 100, 1.0)) >= 45
        assert clock.now - started <= 1.0
    assert work(Pace(), [FAST] * 100, 10.0) == list(range(100))


def test_one_costly_item_is_left_out(work, pace):
    for first in (0, 2, 3):
        works = [FAST] * 4
        works[first] = 1_000
        assert work(pace, works, 1.0) == [place for place in range(4) if place != first]
    # Where it takes less than half of the time it keeps its place.
    assert work(pace, [600, FAST], 4.0) == [0, 1]


def test_learning_the_cost_of_candidates_takes_time_too(work, pace, clock):
    started = clock.now
    # .02 s to be read and .03 s to be looked at.
    assert 15 <= len(work(pace, [FAST] * 100, 1.0, asking=0.03)) <= 20
    assert clock.now - started <= 1.03


def test_one_is_always_ranked_so_that_a_busy_moment_does_not_decide_for_ever(work, pace):
    assert work(pace, [500, 50, FAST, 500], 0.003) == [2]
    work(pace, [FAST], None, speed=1.0)
    done = [len(work(pace, [FAST] * 4, 1.0, speed=0.001)) for _ in range(8)]
    assert (done[0], done[-1]) == (1, 4)
