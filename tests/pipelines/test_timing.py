"""Timing: what each component of one run took, whoever else runs or traces at the moment."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest
from haystack import Pipeline, component, tracing
from haystack.tracing import Span, Tracer
from haystack.tracing.tracer import NullSpan

from pipelines.timing import stopwatch, time_components

TICK = 0.01


@component
class Sleeper:
    """Sleeps for the seconds it is given, and hands them on."""

    @component.output_types(seconds=float)
    def run(self, seconds: float) -> dict[str, float]:
        if seconds < 0:
            raise RuntimeError("cannot sleep backwards")
        time.sleep(seconds)
        return {"seconds": seconds}


def two_sleepers() -> Pipeline:
    pipeline = Pipeline()
    pipeline.add_component("first", Sleeper())
    pipeline.add_component("second", Sleeper())
    pipeline.connect("first.seconds", "second.seconds")
    return pipeline


def run(pipeline: Pipeline, seconds: float) -> dict[str, Any]:
    given: dict[str, Any] = pipeline.run({"first": {"seconds": seconds}})
    return given


@pytest.fixture
def pipeline() -> Pipeline:
    timed = two_sleepers()
    time_components(timed)
    return timed


def test_each_component_is_timed_in_the_order_in_which_they_ran(pipeline: Pipeline) -> None:
    with stopwatch() as seconds:
        assert run(pipeline, TICK) == {"second": {"seconds": TICK}}
    assert list(seconds) == ["first", "second"]
    assert all(TICK <= each < TICK + 1 for each in seconds.values())


def test_a_component_that_runs_twice_has_the_sum(pipeline: Pipeline) -> None:
    with stopwatch() as seconds:
        run(pipeline, TICK)
        run(pipeline, TICK)
    assert seconds["first"] >= 2 * TICK


def test_what_runs_outside_is_not_timed(pipeline: Pipeline) -> None:
    with stopwatch() as seconds:
        pass
    assert run(pipeline, 0) == {"second": {"seconds": 0}}
    assert seconds == {}


def test_a_failure_passes_and_ends_the_timing(pipeline: Pipeline) -> None:
    with pytest.raises(Exception, match="backwards"), stopwatch() as seconds:
        run(pipeline, -1)
    assert list(seconds) == ["first"]
    run(pipeline, 0)
    assert list(seconds) == ["first"]


def test_runs_in_several_threads_do_not_see_each_other(pipeline: Pipeline) -> None:
    waits = [0.0, TICK, 8 * TICK]
    timed: dict[float, dict[str, float]] = {}
    together = threading.Barrier(len(waits))

    def ask(wait: float) -> None:
        with stopwatch() as seconds:
            together.wait()
            run(pipeline, wait)
        timed[wait] = dict(seconds)

    threads = [threading.Thread(target=ask, args=(wait,)) for wait in waits]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(list(each) == ["first", "second"] for each in timed.values())
    for wait in waits:
        assert timed[wait]["first"] >= wait
    assert timed[0.0]["first"] < 8 * TICK


class Recorder(Tracer):
    """Somebody's tracer, which keeps all that it is told."""

    def __init__(self) -> None:
        self.told: list[tuple[str, set[str]]] = []

    @contextmanager
    def trace(
        self,
        operation_name: str,
        tags: dict[str, Any] | None = None,
        parent_span: Span | None = None,
    ) -> Iterator[Span]:
        self.told.append((operation_name, set(tags or {})))
        yield NullSpan()

    def current_span(self) -> Span | None:
        return None


def test_another_tracer_may_come_and_go_and_learns_nothing_more(pipeline: Pipeline) -> None:
    told = []
    for each in (two_sleepers(), pipeline):
        recorder = Recorder()
        tracing.enable_tracing(recorder)
        try:
            with stopwatch() as seconds:
                run(each, 0)
        finally:
            tracing.disable_tracing()
        told.append(recorder.told)
    assert list(seconds) == ["first", "second"]
    assert told[0] == told[1]
    assert [name for name, _ in told[0]].count("haystack.component.run") == 2
