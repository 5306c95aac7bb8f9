"""The arguments that a Hugging Face Trainer is given."""

from __future__ import annotations

from pathlib import Path
from typing import Any, TypeVar

import torch
from transformers import TrainingArguments

from components.models.devices import resolve_device, resolve_dtype
from training.hf_trainer.settings import TrainerSettings

_STEPS_BETWEEN_LOGS = 10
_CHECKPOINTS_KEPT = 2

A = TypeVar("A", bound=TrainingArguments)


def trainer_arguments(
    kind: type[A],
    settings: TrainerSettings,
    work: Path,
    *,
    steps: int,
    rate: float,
    resumed: bool,
    **others: Any,
) -> A:
    """Arguments of a run on one device that says nothing by itself and keeps its checkpoints.

    Args:
        kind: The trainer's own class of arguments.
        settings: Of the run.
        work: Folder of the checkpoints.
        steps: Of the whole run.
        rate: Highest learning rate, after the warm-up; then it falls to zero.
        resumed: Whether it goes on from a checkpoint; else it is measured before the first step.
        others: What this kind of training has of its own.
    """
    device = resolve_device(settings.device)
    arguments = kind(
        output_dir=str(work),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=rate,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        bf16=resolve_dtype(settings.dtype, device) is torch.bfloat16,
        use_cpu=device.type == "cpu",
        seed=settings.seed,
        eval_on_start=not resumed,
        logging_steps=_STEPS_BETWEEN_LOGS,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        save_total_limit=_CHECKPOINTS_KEPT,
        dataloader_pin_memory=device.type == "cuda",
        disable_tqdm=True,
        report_to="none",
        **others,
    )
    if device.type == "cuda":
        # Else it would spread each batch over all cards, and take a larger one.
        arguments._n_gpu = 1
    return arguments
