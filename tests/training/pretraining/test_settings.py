"""Settings are refused before any work."""

from typing import Any

import pytest

from training.command_line import Place, SettingsError
from training.pretraining.settings import PretrainSettings


def settings(**values: Any) -> PretrainSettings:
    return PretrainSettings(corpus=Place("aldermere"), output=Place("out"), **values)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("epochs", 0),
        ("max_steps", 0),
        ("batch_size", 0),
        ("block_tokens", 4),
        ("masked", 0.0),
        ("masked", 1.0),
        ("held_out", 0.0),
        ("warmup", 1.0),
        ("learning_rate", 0.0),
        ("clip", 0.0),
        ("weight_decay", -0.1),
        ("weight_decay", float("nan")),
        ("weight_decay", float("inf")),
        ("learning_rate", float("inf")),
        ("learning_rate", float("nan")),
        ("clip", float("inf")),
        ("checkpoint_every", 0),
        ("seed", -1),
        ("seed", 2**32),
    ],
)
def test_a_value_out_of_range_is_refused_by_name(name: str, value: float) -> None:
    with pytest.raises(SettingsError, match=f"{name} is {value}"):
        settings(**{name: value})


@pytest.mark.parametrize(
    "values", [{"tokenizer": "bpe"}, {"vocabulary": 999}, {"layers": 2}, {"heads": 8}]
)
def test_what_only_a_fresh_model_has_is_refused_for_one_at_hand(values: dict[str, Any]) -> None:
    with pytest.raises(SettingsError, match=f"{next(iter(values))} is for --model scratch"):
        settings(**values)
    assert settings(model=Place("scratch"), **values).from_scratch


def test_heads_must_share_the_width() -> None:
    with pytest.raises(SettingsError, match="width 100 cannot be shared by 3 heads"):
        settings(model=Place("scratch"), width=100, heads=3)


def test_a_fresh_model_learns_faster_unless_told() -> None:
    assert settings().rate == 5e-5
    assert settings(model=Place("scratch")).rate == 5e-4
    assert settings(learning_rate=1e-3).rate == 1e-3


def test_a_block_is_what_the_model_reads_at_most() -> None:
    assert settings().block(256) == 256
    assert settings().block(8_192) == 512
    assert settings(block_tokens=128).block(256) == 128
    assert settings(model=Place("scratch"), block_tokens=1_024).block() == 1_024
    with pytest.raises(SettingsError, match=r"block_tokens is 300, .* reads at most 256"):
        settings(block_tokens=300).block(256)


def test_a_card_that_the_trainer_would_not_take_is_refused() -> None:
    with pytest.raises(SettingsError, match="CUDA_VISIBLE_DEVICES"):
        settings(device="cuda:1")
    assert settings(device="cuda:0").device == "cuda:0"
