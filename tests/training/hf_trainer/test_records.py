"""What a Trainer logged between two measurings belongs to the later one."""

import pytest

from training.hf_trainer.records import EVAL_LOSS, measurings

HISTORY = [
    {"step": 0, "eval_loss": 5.0},
    {"step": 10, "loss": 4.0, "learning_rate": 0.1},
    {"step": 12, "loss": 1.0, "learning_rate": 0.2},
    {"step": 12, "eval_loss": 2.0},
    {"step": 12, "eval_loss": 2.0},
    {"step": 16, "train_runtime": 3.0},
]


def test_the_loss_is_the_mean_over_the_steps_since_the_last_measuring() -> None:
    found = list(measurings(HISTORY, lambda entry: EVAL_LOSS in entry))
    assert [entry["step"] for entry, _ in found] == [0, 12, 12]
    mean = pytest.approx((10 * 4.0 + 2 * 1.0) / 12)
    assert [trained for _, trained in found] == [{}, {"loss": mean, "learning_rate": 0.2}, {}]
