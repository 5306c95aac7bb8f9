"""Training with one of transformers' Trainers, and what it says where memory runs out."""

from __future__ import annotations

from pathlib import Path

import torch
from transformers import Trainer

from training.command_line import TrainingError
from training.same_run import after_no_memory


def train_from(trainer: Trainer, checkpoint: Path | None, work: Path) -> None:
    """Train to the end.

    Args:
        trainer: Of the run.
        checkpoint: Where it goes on; None for the start.
        work: Its folder.

    Raises:
        TrainingError: Memory ran out.
    """
    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except torch.OutOfMemoryError as error:
        step = trainer.state.global_step
        raise TrainingError(after_no_memory(step, "a smaller batch_size", work)) from error
