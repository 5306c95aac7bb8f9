from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

from training.ablation.plots import plot_arms
from training.ablation.run import Run

Runs = Callable[..., list[Run]]
Line = Callable[..., dict[str, Any]]


def lines_of(runs: list[Run], line: Line) -> dict[str, Any]:
    return {run.arm: [line(run, value=0.5)] for run in runs}


def test_arms_schedules_and_buckets_are_drawn_the_same_each_time(
    runs: Runs, line: Line, tmp_path: Path
) -> None:
    arms = ("bm25_fixed", "constant", "cusines", "buckets_2", "buckets_4")
    lines = lines_of(runs(arms=arms), line)
    files = plot_arms("law", lines, ("fused R@10", "MAP"), tmp_path, "bm25_fixed")
    stems = ("law-arms", "law-schedules", "law-buckets")
    assert [file.name for file in files] == [
        f"{stem}.{x}" for stem in stems for x in ("png", "svg")
    ]
    assert all(file.stat().st_size > 1_000 for file in files)
    svg = (tmp_path / "law-arms.svg").read_text(encoding="utf-8")
    assert all(arm in svg for arm in arms)
    # What is measured by epoch is the first metric that has epochs.
    assert "MAP" in (tmp_path / "law-schedules.svg").read_text(encoding="utf-8")
    before = [file.read_bytes() for file in files if file.suffix == ".svg"]
    plot_arms("law", lines, ("fused R@10", "MAP"), tmp_path, "bm25_fixed")
    assert [file.read_bytes() for file in files if file.suffix == ".svg"] == before


def test_one_arm_alone_is_no_comparison(runs: Runs, line: Line, tmp_path: Path) -> None:
    lines = {**lines_of(runs(arms=("cusines", "untrained")), line), "untrained": []}
    assert plot_arms("law", lines, ("MAP",), tmp_path, "bm25_fixed") == []
