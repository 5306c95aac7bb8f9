"""A run is read as far as its files go, of whatever kind it is."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from run_records import an_epoch, an_example

from ui.runs.records import Negative, epochs_of, kind_of
from ui.runs.run import Progress, read_progress, read_run

WriteRun = Callable[..., Path]


def test_a_whole_run_says_what_was_learnt_and_drawn(write_run: WriteRun):
    run = read_run(write_run())
    assert (run.kind, run.metric, run.chosen_by, run.best) == ("biencoder", "R@10", True, 3)
    assert [epoch.number for epoch in run.epochs] == [0, 1, 2, 3]
    assert run.views == ("tree", "sequence", "semantic") and run.buckets == 3
    assert (run.corpus, run.base_model) == ("c0ffee", "/home/somebody/models/small-bert")
    first = run.epochs[0]
    assert first.buckets == (70, 20, 10)
    assert first.losses == (2.0, 2.01, 2.02, 2.03)
    assert first.examples[0].negatives[0] == Negative("a2", 0, "tree", 6)
    assert (run.missing, run.damaged, run.cut) == (False, 0, False)


def test_a_run_is_read_again_when_its_file_changed(write_run: WriteRun):
    folder = write_run(of=[an_epoch(0)])
    assert len(read_run(folder).epochs) == 1
    with (folder / "metrics.jsonl").open("a") as file:
        file.write(json.dumps(an_epoch(1)) + "\n")
    assert len(read_run(folder).epochs) == 2


def test_a_half_written_line_is_counted_and_the_rest_is_there(write_run: WriteRun):
    whole = json.dumps(an_epoch(0)).encode()
    run = read_run(write_run(of=whole + b"\n" + whole[:200], manifest=b"{"))
    assert (len(run.epochs), run.damaged, run.settings, run.chosen_by) == (1, 1, {}, False)
    assert run.metric == "R@10"


def test_more_records_than_are_read_are_cut_and_not_damaged(write_run: WriteRun):
    lines = [{"epoch": epoch} for epoch in range(2500)]
    run = read_run(write_run(of=[*lines[:10], {"no": "epoch"}, *lines[10:], {"no": "epoch"}]))
    assert (len(run.epochs), run.damaged, run.cut) == (1999, 1, True)


def test_a_folder_without_metrics_is_missing_them(tmp_path: Path):
    run = read_run(tmp_path)
    assert run.missing and run.epochs == () and run.metric is None and run.kind == "unknown"


@pytest.mark.parametrize(
    ("record", "kind"),
    [
        (an_epoch(0), "biencoder"),
        ({"epoch": 0, "dev": {"R@10": 0.5}}, "biencoder"),
        (an_epoch(0, graph_change=0.0), "graph"),
        ({"epoch": 0.0, "first_stage": {}, "dev": {}}, "ranker"),
        ({"epoch": 1.0, "dev": {}, "negatives": {"ranker": {"n": 3}}}, "ranker"),
        ({"epoch": 0.0, "held_out_loss": 3.0, "perplexity": 20.1}, "pretraining"),
        ({"epoch": 0}, "unknown"),
    ],
)
def test_the_kind_is_what_the_records_show(record: dict[str, Any], kind: str):
    assert kind_of([record]) == kind


def test_a_pretraining_is_told_by_its_perplexity(write_run: WriteRun):
    lines = [{"step": s, "epoch": s / 10, "held_out_loss": 9.0, "perplexity": 8e3} for s in (0, 7)]
    run = read_run(write_run(of=lines, manifest=None))
    assert run.metric == "perplexity" and run.epochs[1].number == 0.7


@pytest.mark.parametrize(
    ("value", "best"), [(3, 3), (1.0, 1), (1.5, 1.5), (-1, None), ("1", None), (None, None)]
)
def test_the_kept_epoch_is_any_number_from_0_on(write_run: WriteRun, value: Any, best: Any):
    assert read_run(write_run(manifest={"metrics": {"epoch": value}})).best == best


@pytest.mark.parametrize(
    "field", ["epoch", "step", "dev", "negatives", "examples", "loss", "losses", "final"]
)
@pytest.mark.parametrize(
    "value",
    [None, "x", 3, -1, 10**20, True, [], [[]], [None, "x"], {}, {"a": {"b": []}}],
    ids=repr,
)
def test_no_value_of_any_field_is_an_error(field: str, value: Any):
    epochs_of([{**an_epoch(0), field: value}])


@pytest.mark.parametrize("field", ["question", "text", "positives", "drawn", "negatives"])
@pytest.mark.parametrize("value", [None, 3, -1, [], [None], [{}], {}, [{"article": []}]])
def test_no_value_in_an_example_is_an_error(field: str, value: Any):
    (epoch,) = epochs_of([an_epoch(0, examples=[an_example(1, 0, **{field: value})])])
    assert len(epoch.examples) == 1


def test_lines_without_an_epoch_are_left_out():
    assert epochs_of([{}, {"epoch": "1"}, {"epoch": -1}, {"epoch": 2}])[0].number == 2


def test_an_old_run_has_no_examples(write_run: WriteRun):
    record = an_epoch(0)
    del record["examples"]
    assert read_run(write_run(of=[record])).epochs[0].examples == ()


def test_progress_is_what_the_file_says_if_it_says_so(tmp_path: Path):
    assert read_progress(tmp_path) is None
    for content, expected in (
        ('{"step": 3, "steps": 24}', Progress(3, 24)),
        ('{"step": 3, "steps": 0}', None),
        ('{"step": "3", "steps": 24}', None),
        ("{", None),
    ):
        (tmp_path / "progress.json").write_text(content)
        assert read_progress(tmp_path) == expected
