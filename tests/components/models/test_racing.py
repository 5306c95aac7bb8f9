"""Two ways timed by a clock that only they move."""

from __future__ import annotations

from collections.abc import Callable

import pytest

from components.models import racing


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
