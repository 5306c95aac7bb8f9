from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.ablation.plots import by_epoch, plot_arms
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


@pytest.mark.parametrize("name", ["law$x_$2", "民法典", "a $ b $ \\frac c"])
def test_a_law_may_have_any_name(
    runs: Runs, line: Line, tmp_path: Path, name: str, recwarn: pytest.WarningsRecorder
) -> None:
    arms = ("bm25_fixed", "constant", "cusines", "buckets_2")
    lines = lines_of(runs(arms=arms), line)
    files = plot_arms(name, lines, ("MAP",), tmp_path, "bm25_fixed")
    assert all(file.stat().st_size > 1_000 for file in files)
    assert [str(each.message) for each in recwarn if "lyph" in str(each.message)] == []
    drawn = (tmp_path / f"{name}-arms.svg").read_text(encoding="utf-8")
    assert (name in drawn) == name.isascii()


def test_the_bars_and_the_baseline_are_named(runs: Runs, line: Line, tmp_path: Path) -> None:
    lines = lines_of(runs(), line)
    plot_arms("law", lines, ("MAP",), tmp_path, "bm25_fixed")
    drawn = (tmp_path / "law-arms.svg").read_text(encoding="utf-8")
    assert "95% interval" in drawn
    assert drawn.count(">bm25_fixed<") == 2


def test_an_epoch_s_mean_counts_each_question_and_a_run_that_stopped_with_its_last() -> None:
    def run(n: int, *values: float) -> dict[str, Any]:
        epochs = [{"epoch": at, "dev": {"MAP": value}} for at, value in enumerate(values)]
        return {"questions": list(range(n)), "epochs": epochs}

    epochs, means = by_epoch([run(1, 0.0, 0.4, 0.8), run(3, 0.4, 0.0)], "MAP")
    assert epochs == [0, 1, 2]
    assert means == pytest.approx([0.3, 0.1, 0.2])


def test_one_arm_alone_is_no_comparison(runs: Runs, line: Line, tmp_path: Path) -> None:
    lines = {**lines_of(runs(arms=("cusines", "untrained")), line), "untrained": []}
    assert plot_arms("law", lines, ("MAP",), tmp_path, "bm25_fixed") == []
