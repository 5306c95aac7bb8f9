"""Results of grids: the same averages, intervals and tests as the grids' own tables."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from pathlib import Path
from statistics import fmean
from typing import Any

import pytest
from run_records import a_line

from components.statutes.arm_scores import compare_arms
from ui.runs import results as results_module
from ui.runs.experiments import experiments
from ui.runs.results import Results, default_folder, read_grids

WriteResults = Callable[..., Path]
BASE = [0.0, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.0]
BETTER = [value + 0.3 for value in BASE]


def grids_of(folder: Path) -> Any:
    return read_grids(sorted(folder.glob("*.jsonl")), threading.Event())


def test_seeds_and_folds_are_averaged_as_the_grid_does(write_results: WriteResults):
    lines = [
        a_line("bm25_fixed", BASE, seed=0),
        a_line("bm25_fixed", BETTER, seed=1),
        a_line("cusines", BETTER[:4], folds=1),
        a_line("cusines", BETTER[4:], fold=1, questions=[4, 5, 6, 7]),
    ]
    (table,) = grids_of(write_results(lines)).tables
    assert (table.system, table.dataset, table.questions) == ("cusines", "town_en", 8)
    assert table.metrics == ("R@10", "MAP") and table.baseline == "bm25_fixed"
    by_arm = {"bm25_fixed": lines[:2], "cusines": lines[2:]}
    expected = {each.arm: each for each in compare_arms(by_arm, "R@10", "bm25_fixed")}
    assert {row.arm: row.scores["R@10"] for row in table.rows} == expected
    assert [(row.runs, row.seeds) for row in table.rows] == [(2, 2), (2, 1)]
    assert table.rows[0].scores["MAP"].mean == pytest.approx(fmean(BASE) + 0.15)


def test_other_settings_are_a_row_of_their_own_that_names_them(write_results: WriteResults):
    lines = [
        a_line("bm25_fixed", BASE, settings={"epochs": 2, "dropout": 0.1}),
        a_line("bm25_fixed", BETTER, settings={"epochs": 4, "dropout": 0.1}),
        # A setting that was not there yet says nothing.
        a_line("bm25_fixed", BASE, seed=1, settings={"epochs": 2}),
    ]
    (table,) = grids_of(write_results(lines)).tables
    assert [(row.arm, dict(row.settings), row.runs) for row in table.rows] == [
        ("bm25_fixed", {"epochs": "2"}, 2),
        ("bm25_fixed", {"epochs": "4"}, 1),
    ]
    assert table.rows[1].scores["R@10"].mean == pytest.approx(fmean(BETTER))


def test_a_run_that_stands_twice_counts_once(write_results: WriteResults):
    folder = write_results([a_line("random", BASE), a_line("random", BETTER)])
    (table,) = grids_of(folder).tables
    assert table.rows[0].runs == 1
    assert table.rows[0].scores["R@10"].mean == pytest.approx(fmean(BASE))


def test_datasets_systems_and_versions_of_data_do_not_mix(write_results: WriteResults):
    write_results([a_line("first_stage", BASE, system="ranker")], "ranker.jsonl")
    folder = write_results(
        [
            a_line("cusines", BASE),
            a_line("cusines", BASE, dataset="other"),
            a_line("cusines", BASE, corpus_sha256="x"),
            a_line("untrained", BASE, system="graph"),
            a_line("arm", BASE, system="unknown"),
        ]
    )
    found = [(table.system, table.dataset, table.baseline) for table in grids_of(folder).tables]
    assert found == [
        ("cusines", "town_en", None),
        ("cusines", "other", None),
        ("cusines", "town_en", None),
        ("graph", "town_en", "untrained"),
        ("unknown", "town_en", None),
        ("ranker", "town_en", "first_stage"),
    ]


def test_runs_from_different_models_do_not_mix_and_are_told_apart(write_results: WriteResults):
    one, other = ({"model_sha256": digit * 64} for digit in "ab")
    lines = [
        a_line("untrained", BASE, system="graph", start=one),
        a_line("untrained", BETTER, system="graph", start=other),
        a_line("gdsr", BETTER, system="graph", start=one),
        a_line("cusines", BETTER, start=one),
        a_line("cusines", BETTER, dataset="other", start={"model_sha256": ["x"]}),
    ]
    grids = grids_of(write_results(lines))
    assert [(table.start, len(table.rows)) for table in grids.tables] == [
        ("aaaaaaaa", 2),
        ("bbbbbbbb", 1),
        ("aaaaaaaa", 1),
        ("", 1),
    ]
    assert grids.tables[1].rows[0].scores["R@10"].mean == pytest.approx(fmean(BETTER))
    shown = experiments(grids, "en")
    # Where there is nothing to tell apart, no digest stands.
    assert shown.count("from the model aaaaaaaa)") == 1
    assert shown.count("from the model bbbbbbbb)") == 1


@pytest.mark.parametrize(
    "broken",
    [
        "{",
        "[]",
        "{}",
        json.dumps(a_line("x", BASE, seed=None)),
        json.dumps(a_line("x", BASE, seed="0")),
        json.dumps(a_line("x", BASE, fold=-1)),
        json.dumps(a_line("x", BASE, questions=[1])),
        json.dumps(a_line("x", BASE, questions="abcdefgh")),
        json.dumps(a_line("x", BASE, values=3)),
        json.dumps(a_line("x", BASE, values={"R@10": [None] * 8})),
        json.dumps(a_line("x", BASE, values={"R@10": [float("nan")] * 8})),
        json.dumps(a_line("x", [], values={"R@10": []})),
        json.dumps(a_line("", BASE)),
        json.dumps(a_line("x", BASE, dataset=["x"])),
    ],
)
def test_what_is_no_result_is_left_out_and_counted(write_results: WriteResults, broken: str):
    grids = grids_of(write_results([broken, a_line("random", BASE)]))
    assert grids.damaged == 1
    assert [row.arm for row in grids.tables[0].rows] == ["random"]


def test_lines_of_no_metric_in_common_have_a_table_without_values(write_results: WriteResults):
    lines = [a_line(arm, BASE, values={m: BASE}) for arm, m in (("a", "MAP"), ("b", "R@10"))]
    (table,) = grids_of(write_results(lines)).tables
    assert table.metrics == () and [row.arm for row in table.rows] == ["a", "b"]


def test_files_are_worked_out_once_until_they_change(
    write_results: WriteResults, monkeypatch: pytest.MonkeyPatch
):
    calls = []
    original = results_module.read_grids
    monkeypatch.setattr(
        results_module, "read_grids", lambda *given: (calls.append(given), original(*given))[1]
    )
    results = Results(write_results([a_line("random", BASE)]))
    first = results.read(10)
    assert results.read(10) is first and len(calls) == 1
    write_results([a_line("random", BASE), a_line("cusines", BASE)])
    second = results.read(10)
    assert second is not None and len(second.tables[0].rows) == 2 and len(calls) == 2


def test_nobody_waits_longer_than_wanted(
    write_results: WriteResults, monkeypatch: pytest.MonkeyPatch
):
    ready = threading.Event()
    original = results_module.read_grids

    def slow(*given: Any) -> Any:
        ready.wait(10)
        return original(*given)

    monkeypatch.setattr(results_module, "read_grids", slow)
    results = Results(write_results([a_line("random", BASE)]))
    assert results.read(0.05) is None
    ready.set()
    grids = results.read(10)
    assert grids is not None and len(grids.tables) == 1


def test_what_is_told_to_stop_compares_no_more(
    write_results: WriteResults, monkeypatch: pytest.MonkeyPatch
):
    stop = threading.Event()
    compared = []
    original = results_module._table

    def table(lines: Any) -> Any:
        stop.set()
        compared.append(lines)
        return original(lines)

    monkeypatch.setattr(results_module, "_table", table)
    lines = [a_line("random", BASE, dataset=dataset) for dataset in ("one", "two", "three")]
    folder = write_results(lines)
    read_grids(sorted(folder.glob("*.jsonl")), stop)
    assert len(compared) == 1
    assert read_grids(sorted(folder.glob("*.jsonl")), stop).tables == ()
    assert len(compared) == 1


def test_what_cannot_be_worked_out_is_told(
    write_results: WriteResults, monkeypatch: pytest.MonkeyPatch
):
    def failing(*given: Any) -> Any:
        raise ZeroDivisionError

    monkeypatch.setattr(results_module, "read_grids", failing)
    results = Results(write_results([a_line("random", BASE)]))
    shown = experiments(results.read(10), "en")
    assert "could not be worked out" in shown and "Load the page again" not in shown


def test_no_folder_has_no_results(tmp_path: Path):
    for folder in (None, tmp_path / "gone"):
        grids = Results(folder).read(10)
        assert grids is not None and grids.tables == ()


def test_the_results_of_this_checkout_are_read_without_a_fault():
    folder = default_folder()
    assert folder is not None
    grids = grids_of(folder)
    assert grids.damaged == 0 and not grids.cut
    of_obliqa = [table for table in grids.tables if table.dataset == "obliqa_en"]
    (obliqa,) = (table for table in of_obliqa if table.system == "cusines")
    means = [f"{row.scores['R@10'].mean:.3f}" for row in obliqa.rows]
    assert means[:2] == ["0.767", "0.794"]
    # What was tried with one arm stands apart by what differs.
    tried = [tuple(row.settings.items()) for row in obliqa.rows if row.arm == "cusines"]
    assert len(tried) > 4 and all(tried) and len(set(tried)) == len(tried)
    # One table over the trained bi-encoder, one over the untrained.
    graphs = [table for table in of_obliqa if table.system == "graph"]
    alone = [table.rows[0].scores["R@10"].mean for table in graphs]
    assert [f"{mean:.3f}" for mean in alone] == ["0.792", "0.658"]
    assert [len(table.rows) for table in graphs] == [7, 7]
