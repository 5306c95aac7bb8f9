"""Work is handed out while the time lasts, at a speed that is learned."""

import pytest

from components.rankers.cross_encoder import Pace

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

    At `speed` seconds a character.
    """

    def done_in(pace, works, seconds, *, speed=0.002):
        done = []
        for portion in pace.portions(len(works), works.__getitem__, seconds):
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


def test_one_costly_item_is_left_out(work, pace):
    for first in (0, 2, 3):
        works = [FAST] * 4
        works[first] = 1_000
        assert work(pace, works, 1.0) == [place for place in range(4) if place != first]
    # Where it takes less than half of the time it keeps its place.
    assert work(pace, [600, FAST], 4.0) == [0, 1]


def test_one_is_always_ranked_so_that_a_busy_moment_does_not_decide_for_ever(work, pace):
    assert work(pace, [500, 50, FAST, 500], 0.003) == [2]
    work(pace, [FAST], None, speed=1.0)
    done = [len(work(pace, [FAST] * 4, 1.0, speed=0.001)) for _ in range(8)]
    assert (done[0], done[-1]) == (1, 4)
