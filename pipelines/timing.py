"""How long each component of a pipeline works on one question."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from haystack import Pipeline

# Of the run that goes on in this context: each thread and each task has its own.
_seconds: ContextVar[dict[str, float] | None] = ContextVar("seconds", default=None)


def time_components(pipeline: Pipeline) -> None:
    """Have the components of a pipeline note within `stopwatch` how long they work.

    Their `run` is wrapped. Haystack's spans are not used for this: its tracer is one for the whole
    process, which anybody may set at any moment, and a span of a component holds the copying of
    its inputs too. Whoever traces goes on as before, and learns nothing more.

    Args:
        pipeline: the caller's own, once.
    """
    for name, instance in pipeline.walk():
        # The pipeline asks the instance, as it does for all that Haystack keeps there.
        setattr(instance, "run", _timed(name, instance.run))  # noqa: B010 - typed as a method


@contextmanager
def stopwatch() -> Iterator[Mapping[str, float]]:
    """Seconds that each component has worked in here, by its name in the file.

    They stand in the order in which the components began; one that ran more than once has the sum.
    """
    seconds: dict[str, float] = {}
    token = _seconds.set(seconds)
    try:
        yield seconds
    finally:
        _seconds.reset(token)


def _timed(name: str, run: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(run)
    def timed(*args: Any, **kwargs: Any) -> Any:
        seconds = _seconds.get()
        if seconds is None:
            return run(*args, **kwargs)
        seconds.setdefault(name, 0.0)
        start = time.perf_counter()
        try:
            return run(*args, **kwargs)
        finally:
            seconds[name] += time.perf_counter() - start

    return timed
