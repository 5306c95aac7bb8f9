"""What a run wrote down, by epoch."""

from __future__ import annotations

from pathlib import Path

import pytest

from training.ranking.records import best_record, make_records, plot_records

SCORES = {"n": 2, "below_0.5": 0.5, "0.5_to_0.8": 0.5, "0.8_to_0.9": 0.0, "from_0.9": 0.0}
FLAT = {f"eval_negatives/ranker/{name}": value for name, value in SCORES.items()}
HISTORY = [
    {"step": 0, "eval_first_stage/MRR@10": 0.4, "eval_dev/MRR@10": 0.9, "eval_runtime": 1, **FLAT},
    {"step": 10, "epoch": 0.5, "loss": 0.6, "learning_rate": 2e-5, "grad_norm": 1.0},
    {"step": 20, "epoch": 1.0, "loss": 0.4, "learning_rate": 1e-5},
    {"step": 20, "epoch": 1.0, "eval_dev/MRR@10": 0.6, **FLAT},
    {"step": 25, "epoch": 2.0, "loss": 0.2, "learning_rate": 0.0},
    {"step": 25, "epoch": 2.0, "eval_dev/MRR@10": 0.6},
    {"step": 25, "epoch": 2.0, "train_runtime": 3.0},
]


def test_a_record_for_each_measuring() -> None:
    records = make_records(HISTORY)
    assert [(record["step"], record["epoch"]) for record in records] == [(0, 0), (20, 1), (25, 2)]
    assert records[0]["first_stage"] == {"MRR@10": 0.4}
    assert records[0]["negatives"] == {"ranker": SCORES}
    assert "loss" not in records[0]
    assert records[1]["loss"] == pytest.approx(0.5)
    assert records[2] == {
        "step": 25,
        "epoch": 2.0,
        "dev": {"MRR@10": 0.6},
        "loss": pytest.approx(0.2),
        "learning_rate": 0.0,
    }


def test_the_first_of_the_best_epochs_counts_and_chance_before_the_first_step_does_not() -> None:
    best = best_record(make_records(HISTORY), "MRR@10")
    assert best is not None
    assert best["step"] == 20
    assert best_record(make_records(HISTORY[:1]), "MRR@10") is None


def test_a_start_that_ranks_may_be_the_best() -> None:
    history = [{**HISTORY[0], "eval_start_ranks": 1}, *HISTORY[1:]]
    best = best_record(make_records(history), "MRR@10")
    assert best is not None
    assert best["step"] == 0
    chance = [{**HISTORY[0], "eval_start_ranks": 0}, *HISTORY[1:]]
    assert best_record(make_records(chance), "MRR@10") == make_records(HISTORY)[1]


def test_it_is_drawn(tmp_path: Path) -> None:
    plot_records(make_records(HISTORY), tmp_path, "MRR@10")
    assert {path.name for path in tmp_path.iterdir()} == {"metrics.png", "metrics.svg"}
