"""What a run has to show."""

import math
from pathlib import Path

import pytest

from training.pretraining.records import make_records, perplexity, plot_losses

HISTORY = [
    {"step": 0, "eval_loss": 5.0},
    {"step": 10, "loss": 4.0, "learning_rate": 0.1},
    {"step": 12, "loss": 1.0, "learning_rate": 0.2},
    {"step": 12, "eval_loss": 2.0},
    {"step": 16, "loss": 0.5, "learning_rate": 0.3},
    {"step": 16, "eval_loss": 1.0},
    {"step": 16, "train_runtime": 3.0},
]


def test_a_record_for_each_measuring_with_the_mean_loss_of_the_steps_since() -> None:
    start, middle, end = make_records(HISTORY, blocks_a_step=8, n_blocks=64)
    assert start == {"step": 0, "epoch": 0, "held_out_loss": 5.0, "perplexity": math.exp(5)}
    assert middle["loss"] == pytest.approx((10 * 4.0 + 2 * 1.0) / 12)
    assert (middle["epoch"], middle["learning_rate"]) == (1.5, 0.2)
    assert (end["loss"], end["held_out_loss"]) == (0.5, 1.0)


def test_the_losses_are_drawn(tmp_path: Path) -> None:
    plot_losses(make_records(HISTORY, 8, 64), tmp_path)
    assert {path.name for path in tmp_path.iterdir()} == {"metrics.png", "metrics.svg"}


def test_perplexity_of_a_run_that_went_astray_is_a_number_still():
    assert perplexity(2.0) == pytest.approx(7.389056)
    assert perplexity(700.0) == perplexity(1e6) < float("inf")
