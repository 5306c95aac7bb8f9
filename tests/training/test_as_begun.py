"""What a run computes in and with, when it is taken up again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch

from components.models import cpu_attention, cpu_linear, devices
from training.as_begun import compute_as_begun
from training.checkpoints import write_checkpoint
from training.hf_trainer.checkpoints import RUN_FILE

CPU = torch.device("cpu")


@pytest.fixture(autouse=True)
def neither_is_faster(monkeypatch: pytest.MonkeyPatch) -> None:
    for module, race in (
        (cpu_attention, "_plain_gain"),
        (cpu_linear, "_onednn_gain"),
        (devices, "_cpu_bf16_gain"),
    ):
        monkeypatch.setattr(module, race, lambda: 1.0)


def computed() -> tuple[bool, str, str]:
    return (
        devices.fast_bf16(CPU),
        cpu_linear.linear_library(CPU),
        cpu_attention.attention_way(CPU),
    )


@pytest.mark.parametrize(
    ("begun", "expected"),
    [
        ({"dtype": "bfloat16", "products": "attention: plain"}, (True, "torch", "plain")),
        ({"dtype": "float32", "products": "linear layers: onednn"}, (False, "onednn", "fused")),
        ({"dtype": "float32", "linear": "onednn"}, (False, "onednn", "fused")),
        ({}, (False, "torch", "fused")),
    ],
)
def test_a_run_goes_on_as_its_newest_checkpoint_says(
    tmp_path: Path, begun: dict[str, str], expected: tuple[bool, str, str]
) -> None:
    write_checkpoint(tmp_path / "step-2", {}, {"fixed": {"dtype": "bfloat16"}})
    write_checkpoint(tmp_path / "step-10", {}, {"fixed": begun})
    compute_as_begun(tmp_path)
    assert computed() == expected


def test_one_that_cannot_be_read_is_passed_over(tmp_path: Path) -> None:
    write_checkpoint(tmp_path / "step-2", {}, {"fixed": {"dtype": "bfloat16"}})
    (tmp_path / "step-10").mkdir()
    (tmp_path / "step-10" / "state.json").write_text("{", encoding="utf-8")
    compute_as_begun(tmp_path)
    assert computed() == (True, "torch", "fused")
    assert (tmp_path / "step-10").exists()


def test_a_run_of_the_trainer_goes_on_as_it_was_claimed(tmp_path: Path) -> None:
    (tmp_path / RUN_FILE).write_text(json.dumps({"dtype": "bfloat16", "seed": 1}))
    compute_as_begun(tmp_path)
    assert computed() == (True, "torch", "fused")


def test_where_no_run_is_nothing_is_settled(tmp_path: Path) -> None:
    compute_as_begun(tmp_path / "none")
    compute_as_begun(tmp_path)
    assert not (cpu_attention._settled or cpu_linear._settled or devices._settled)
