"""Settings of a ranker's training are checked before any work starts."""

from __future__ import annotations

from typing import Any

import pytest

from training.command_line import Place, SettingsError, Target
from training.ranking.settings import RankerTrainingSettings


def settings(**fields: Any) -> RankerTrainingSettings:
    return RankerTrainingSettings(
        corpus=Place("law"), questions=Place("questions"), output=Target("model"), **fields
    )


def test_the_papers_values_are_the_defaults() -> None:
    chosen = settings()
    assert (chosen.candidates, chosen.strategy, chosen.epochs) == (90, "semi_hard", 2)
    assert (chosen.learning_rate, chosen.select_by) == (2e-5, "MRR@10")
    assert chosen.re_ranked == 90


@pytest.mark.parametrize(
    ("field", "value", "message"),
    [
        ("negatives", 0, "negatives is 0; it must be at least 1"),
        ("candidates", 0, "candidates is 0"),
        ("dev_candidates", 0, "dev_candidates is 0"),
        ("passages", 0, "passages is 0"),
        ("passage_tokens", 7, "passage_tokens is 7; it must be at least 8"),
        ("max_steps", 0, "max_steps is 0"),
        ("seed", -1, "seed is -1; it must be from 0 to 4,294,967,295"),
        ("seed", 2**32, "seed is 4294967296; it must be from 0 to"),
        ("learning_rate", float("nan"), "learning_rate is nan; it must be above 0"),
        ("clip", 0.0, "clip is 0.0"),
        ("weight_decay", float("inf"), "weight_decay is inf; it must be at least 0 and finite"),
        ("warmup", 1.0, "warmup is 1.0; it is a share, below 1"),
        ("dev_share", -0.1, "dev_share is -0.1"),
        ("dev_candidates", 91, "the first stage finds 90"),
        ("dev_candidates", 9, "select_by is MRR@10, and 9 candidates are re-ranked"),
        ("select_by", "MRR", "select_by: .*MRR"),
        ("select_by", "Exist@90", "Exist@90, which no order of the 90 candidates .* can change"),
        ("select_by", "R@90", "R@90, which no order"),
        ("device", "cuda:1", "CUDA_VISIBLE_DEVICES"),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(field: str, value: Any, message: str) -> None:
    with pytest.raises(SettingsError, match=message):
        settings(**{field: value})


def test_a_metric_is_one_that_the_fitting_can_be_told_by_too() -> None:
    assert settings(select_by="R@89").select_by == "R@89"
    assert settings(select_by="MRR@90").select_by == "MRR@90"
    assert settings(select_by="R@10", dev_candidates=11).re_ranked == 11
    with pytest.raises(SettingsError, match="R@10, which no order of the 10 candidates"):
        settings(select_by="R@10", dev_candidates=10)
    with pytest.raises(SettingsError, match=r"90 candidates are re-ranked on dev. Choose another"):
        settings(select_by="R@100", candidates=200)
    with pytest.raises(SettingsError, match=r"R@90, which no order of the 90"):
        settings(select_by="R@90", candidates=200)
