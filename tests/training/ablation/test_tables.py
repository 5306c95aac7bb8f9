from __future__ import annotations

from collections.abc import Callable
from typing import Any

from training.ablation.metrics import METRICS
from training.ablation.run import Run
from training.ablation.tables import tables

Runs = Callable[..., list[Run]]
Line = Callable[..., dict[str, Any]]


def cells(text: str, first: str, nth: int = 0) -> list[list[str]]:
    """The nth table whose header begins with a cell, without the rule under it."""
    found = [
        [[cell.strip() for cell in row.strip("|").split("|")] for row in block.splitlines()]
        for block in text.split("\n\n")
        if block.startswith("|")
    ]
    header, _, *rows = [table for table in found if table[0][0] == first][nth]
    return [header, *rows]


def lines_of(runs: list[Run], line: Line, values: dict[str, float]) -> dict[str, Any]:
    lines: dict[str, Any] = {}
    for run in runs:
        lines.setdefault(run.arm, []).append(line(run, value=values[run.arm]))
    return lines


def test_means_costs_and_a_table_a_metric(runs: Runs, line: Line) -> None:
    made = runs(arms=("untrained", "bm25_fixed", "cusines"), seeds=(0, 1))
    reached = {"untrained": 0.25, "bm25_fixed": 0.5, "cusines": 0.75}
    text = tables("law", lines_of(made, line, reached), 2, ("R@100", "fused R@10"), "bm25_fixed")
    assert text.startswith("## law\n\nQuestions: 4 (dev); seeds: 0, 1.")
    header, *rows = cells(text, "arm")
    assert tuple(header[2 : 2 + len(METRICS)]) == METRICS
    assert [row[0] for row in rows] == ["untrained", "**bm25_fixed**", "cusines"]
    assert [row[header.index("MAP")] for row in rows] == ["0.250", "0.500", "0.750"]
    assert rows[2][header.index("runs")] == "2/2"
    assert rows[2][header.index("articles encoded")] == "40"
    assert rows[2][header.index("passes saved")] == "25%"
    assert rows[2][header.index("R@100, last epoch")] == "0.750"
    assert rows[0][header.index("R@100, last epoch")] == "–"
    for nth, metric in ((1, "R@100"), (2, "fused R@10")):
        header, *rows = cells(text, "arm", nth)
        assert header[1] == metric
        assert rows[1][2:] == ["–"] * 3
        assert rows[2][1:3] == ["0.750 [0.750, 0.750]", "+0.250 [+0.250, +0.250]"]
        assert rows[2][4] == "–"


def test_where_negatives_came_from(runs: Runs, line: Line) -> None:
    made = runs(arms=("untrained", "bm25_fixed"))
    text = tables(
        "law", lines_of(made, line, {"untrained": 0, "bm25_fixed": 0}), 1, ("MAP",), "bm25_fixed"
    )
    header, *rows = cells(text, "arm", 2)
    assert [row[0] for row in rows] == ["**bm25_fixed**"]
    assert rows[0][header.index("tree distance, last")] == "4.00"
    # 10 of .3 and 20 of .6.
    assert rows[0][header.index("above the best positive, first")] == "0.50"


def test_a_grid_cut_short_says_how_far_it_is(runs: Runs, line: Line) -> None:
    made = runs(seeds=(0, 1))
    text = tables("law", {"bm25_fixed": [line(made[0])], "cusines": []}, 2, ("MAP",), "bm25_fixed")
    header, *rows = cells(text, "arm")
    assert [row[header.index("runs")] for row in rows] == ["1/2"]


def test_folds_are_named(runs: Runs, line: Line) -> None:
    made = runs(folds=2)
    text = tables(
        "law", lines_of(made, line, {"bm25_fixed": 0.5, "cusines": 1}), 2, ("MAP",), "bm25_fixed"
    )
    assert "Questions: 16 (2-fold cross-validation over train and dev); seeds: 0." in text


def test_nothing_measured_is_said() -> None:
    assert (
        tables("law", {"cusines": []}, 3, ("MAP",), "bm25_fixed")
        == "## law\n\nNothing is measured yet.\n"
    )
