"""What a run writes down while it goes."""

from __future__ import annotations

import json
import platform

import matplotlib as mpl
import torch

from training import records
from training.plots import plot_run
from training.records import (
    METRICS_FILE,
    PROGRESS_FILE,
    Progress,
    environment,
    refresh_shares,
    write_metrics,
)


def test_metrics_are_one_json_object_a_line_and_replace_the_old_file(tmp_path):
    path = tmp_path / METRICS_FILE
    write_metrics(path, [{"epoch": 0}])
    write_metrics(path, [{"epoch": 0, "dev": {"MAP": 0.5}}, {"epoch": 1}])
    lines = path.read_text().splitlines()
    assert [json.loads(line)["epoch"] for line in lines] == [0, 1]
    assert [each.name for each in tmp_path.iterdir()] == [METRICS_FILE]


def test_progress_says_where_a_run_is(tmp_path):
    progress = Progress(tmp_path, steps=120, epochs=3)
    progress("encoding", step=0, epoch=0)
    where = json.loads((tmp_path / PROGRESS_FILE).read_text())
    assert where == {"stage": "encoding", "step": 0, "steps": 120, "epoch": 1, "epochs": 3}
    progress("saving", step=120, epoch=3)
    where = json.loads((tmp_path / PROGRESS_FILE).read_text())
    assert (where["stage"], where["step"], where["epoch"]) == ("saving", 120, 3)


def test_progress_is_written_at_each_new_stage_and_at_least_once_a_second(tmp_path, monkeypatch):
    now = [0.0]
    monkeypatch.setattr(records.time, "monotonic", lambda: now[0])
    progress = Progress(tmp_path, steps=9, epochs=1)

    def step_after(seconds: float, stage: str, step: int) -> int:
        now[0] += seconds
        progress(stage, step=step, epoch=0)
        return json.loads((tmp_path / PROGRESS_FILE).read_text())["step"]

    assert step_after(100.0, "training", 1) == 1
    assert step_after(0.1, "training", 2) == 1
    assert step_after(0.1, "saving", 3) == 3
    assert step_after(0.9, "saving", 4) == 4


def test_the_environment_names_versions_and_device(monkeypatch):
    monkeypatch.setattr(torch.cuda, "get_device_name", lambda: "a card")
    assert environment("cuda")["device"] == "a card"
    found = environment("cpu")
    assert found["device"] == platform.machine()
    assert found["torch"] and found["transformers"] and found["python"] and found["device"]
    json.dumps(found)


def test_a_run_is_drawn_with_and_without_dev_questions_and_negatives(tmp_path, monkeypatch):
    # Letters stay letters in the SVG, so that what was drawn can be read.
    monkeypatch.setitem(mpl.rcParams, "svg.fonttype", "none")
    negatives = {
        "buckets": [3, 2, 1],
        "views": {"tree": 4, "semantic": 2},
        "mean_tree_distance": 2.5,
        "overlap": None,
    }
    with_dev = [
        {"epoch": 0, "dev": {"MAP": 0.1}, "losses": [1.0, 0.5], "negatives": negatives},
        {"epoch": 1, "dev": {"MAP": 0.2}, "losses": [0.3], "negatives": negatives | {"overlap": 0}},
        {"epoch": 2, "dev": {"MAP": 0.2}},
    ]
    final = [{**each, "final": True} for each in with_dev[:2]]
    drawn = {}
    for name, lines in (
        ("with", with_dev),
        ("final", [*with_dev, *final]),
        ("without", [{"epoch": 0, "losses": [1.0]}]),
    ):
        (tmp_path / name).mkdir()
        plot_run(lines, tmp_path / name, "MAP")
        assert (tmp_path / name / "metrics.png").stat().st_size > 1_000
        drawn[name] = (tmp_path / name / "metrics.svg").read_text()
    # An axis of each kind a training; buckets and views are named where there are any.
    for text, times in {
        "Loss of each step": (1, 2, 1),
        "train and dev together": (0, 1, 0),
        "semantic": (1, 2, 0),
        "mean distance in the tree": (1, 2, 1),
    }.items():
        assert tuple(drawn[name].count(text) for name in ("with", "final", "without")) == times


def test_the_refresh_s_share_stands_beside_the_one_that_arithmetic_gives():
    record = {"seconds_encoding": 1.0, "seconds_training": 3.0, "negatives": {"drawn": 40}}
    shares = refresh_shares(record, n_articles=300, n_pairs=10)
    assert shares == {"refresh_share": 0.25, "predicted_refresh_share": 300 / 450}
