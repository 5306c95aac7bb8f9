"""Training with one of transformers' Trainers."""

from types import SimpleNamespace
from typing import Any

import pytest
import torch

from training.command_line import TrainingError
from training.hf_trainer.training import train_from


class Short:
    state = SimpleNamespace(global_step=12)

    def train(self, **_: Any) -> None:
        raise torch.OutOfMemoryError("CUDA out of memory")


def test_memory_that_runs_out_is_said_with_the_step_and_what_needs_less(tmp_path):
    with pytest.raises(TrainingError, match=r"step 12: memory ran out.*a smaller batch_size"):
        train_from(Short(), None, tmp_path / "work")  # type: ignore[arg-type]
