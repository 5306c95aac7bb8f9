"""A ranker's training with sentence-transformers' CrossEncoderTrainer, resuming by itself."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch
from sentence_transformers import CrossEncoderTrainer, CrossEncoderTrainingArguments
from transformers import PrinterCallback

from components.models.devices import resolve_device, resolve_dtype
from training.command_line import say
from training.dropout import set_dropout
from training.pretraining.checkpoints import newest_complete
from training.ranking.best_passage_loss import BestPassageLoss
from training.ranking.epoch_batches import EpochBatches
from training.ranking.preparing import Prepared
from training.ranking.records import make_records
from training.ranking.settings import RankerTrainingSettings
from training.ranking.starting import fresh_parameters, start_folder
from training.ranking.watch import RankerWatch
from training.records import METRICS_FILE, write_metrics

_STEPS_BETWEEN_LOGS = 10
_KEPT = 2


def train_ranker(
    settings: RankerTrainingSettings, prepared: Prepared, work: Path
) -> list[dict[str, Any]]:
    """Train a cross-encoder, from the newest complete checkpoint if there is one.

    It is measured before the first step and after each epoch. A run that was killed and taken up
    again ends, on a CPU, with the weights of one left alone.

    Args:
        settings: Of the run.
        prepared: Its ranker is trained in place.
        work: Folder of the checkpoints, and of the weights that were best on dev.

    Returns:
        The records of `make_records`.

    Raises:
        TrainingError: A loss is not finite.
    """
    examples, model = prepared.examples, prepared.ranker.encoder
    epoch_steps = -(-len(examples) // settings.batch_size)
    steps = settings.max_steps or settings.epochs * epoch_steps
    fresh = fresh_parameters(model, start_folder(settings.start))
    if settings.dropout is not None:
        set_dropout(model, settings.dropout)
    checkpoint = newest_complete(work, say)
    if checkpoint is not None:
        say(f"Going on from {checkpoint.name} of {steps:,} steps")
    watch = RankerWatch(
        work,
        batch_size=settings.batch_size,
        n_examples=len(examples),
        steps=steps,
        select_by=settings.select_by,
        measuring=prepared.measuring,
        measured=lambda history: write_metrics(work / METRICS_FILE, make_records(history)),
    )
    trainer = CrossEncoderTrainer(
        model=model,
        args=_arguments(settings, work, steps, fresh, resumed=checkpoint is not None),
        train_dataset=examples,
        loss=BestPassageLoss(model),
        evaluator=prepared.measuring,
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return make_records(trainer.state.log_history)


def _arguments(
    settings: RankerTrainingSettings,
    work: Path,
    steps: int,
    fresh: Sequence[str],
    *,
    resumed: bool,
) -> CrossEncoderTrainingArguments:
    device = resolve_device(settings.device)
    arguments = CrossEncoderTrainingArguments(
        output_dir=str(work),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=settings.learning_rate,
        learning_rate_mapping={rf"\b{re.escape(name)}$": settings.head_lr for name in fresh},
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        bf16=resolve_dtype(settings.dtype, device) is torch.bfloat16,
        use_cpu=device.type == "cpu",
        seed=settings.seed,
        batch_sampler=EpochBatches,
        eval_strategy="epoch",
        eval_on_start=not resumed,
        logging_steps=_STEPS_BETWEEN_LOGS,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        save_total_limit=_KEPT,
        dataloader_pin_memory=device.type == "cuda",
        disable_tqdm=True,
        report_to="none",
    )
    if device.type == "cuda":
        # Else it would spread each batch over all cards, and take a larger one.
        arguments._n_gpu = 1
    return arguments
