"""Masked-language modelling with transformers' Trainer, resuming by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import torch
from transformers import PrinterCallback, Trainer, TrainingArguments

from components.models.devices import resolve_device, resolve_dtype
from training.command_line import say
from training.pretraining.blocks import Blocks
from training.pretraining.checkpoints import newest_complete
from training.pretraining.masking import Masking
from training.pretraining.reading_order import ReadingOrder, held_out_items
from training.pretraining.records import make_records
from training.pretraining.settings import PretrainSettings
from training.pretraining.starting import Start
from training.pretraining.watch import RunWatch
from training.records import METRICS_FILE, write_metrics

_STEPS_BETWEEN_LOGS = 10
_KEPT = 2


def train_masked(
    settings: PretrainSettings, start: Start, blocks: Blocks, work: Path
) -> list[dict[str, Any]]:
    """Train `start.masked` on the blocks, from the newest complete checkpoint if there is one.

    The held-out blocks are measured before the first step, after each epoch and at the end. A run
    that was killed and taken up again ends, on a CPU, with the weights of one left alone.

    Args:
        settings: Of the run.
        start: What is trained, in place.
        blocks: What it reads.
        work: Folder of the checkpoints.

    Returns:
        The records of `make_records`.

    Raises:
        TrainingError: A loss is not finite.
    """
    n_blocks = len(blocks.train)
    epoch_steps = -(-n_blocks // settings.batch_size)
    steps = settings.max_steps or -(-settings.epochs * n_blocks // settings.batch_size)
    checkpoint = newest_complete(work, say)
    if checkpoint is not None:
        say(f"Going on from {checkpoint.name} of {steps:,} steps")

    def records_of(history: list[dict[str, float]]) -> list[dict[str, Any]]:
        return make_records(history, settings.batch_size, n_blocks)

    watch = RunWatch(
        work,
        blocks_a_step=settings.batch_size,
        n_blocks=n_blocks,
        steps=steps,
        measured=lambda history: write_metrics(work / METRICS_FILE, records_of(history)),
    )
    trainer = Trainer(
        model=start.masked,
        args=_arguments(settings, work, steps, epoch_steps, resumed=checkpoint is not None),
        data_collator=Masking(start.tokenizer, settings.masked, settings.seed),
        train_dataset=ReadingOrder(blocks.train, steps * settings.batch_size, settings.seed),
        eval_dataset=held_out_items(blocks.held_out),
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    return records_of(trainer.state.log_history)


def _arguments(
    settings: PretrainSettings, work: Path, steps: int, epoch_steps: int, *, resumed: bool
) -> TrainingArguments:
    device = resolve_device(settings.device)
    arguments = TrainingArguments(
        output_dir=str(work),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        per_device_eval_batch_size=settings.batch_size,
        learning_rate=settings.rate,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        bf16=resolve_dtype(settings.dtype, device) is torch.bfloat16,
        use_cpu=device.type == "cpu",
        seed=settings.seed,
        # The dataset is the run: its order and epochs are its own.
        train_sampling_strategy="sequential",
        remove_unused_columns=False,
        label_names=["labels"],
        # A masked-language head takes the mean over its own batch, whatever else is announced.
        average_tokens_across_devices=False,
        prediction_loss_only=True,
        eval_strategy="steps",
        eval_steps=epoch_steps,
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
