"""Masked-language modelling with transformers' Trainer, resuming by itself."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from transformers import PrinterCallback, Trainer, TrainingArguments

from training.command_line import say
from training.hf_trainer.arguments import trainer_arguments
from training.hf_trainer.checkpoints import newest_complete
from training.hf_trainer.training import train_from
from training.pretraining.blocks import Blocks
from training.pretraining.masking import Masking
from training.pretraining.reading_order import ReadingOrder, held_out_items
from training.pretraining.records import make_records
from training.pretraining.settings import PretrainSettings
from training.pretraining.starting import Start
from training.pretraining.watch import ReadingWatch
from training.records import METRICS_FILE, write_metrics


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

    watch = ReadingWatch(
        work,
        label="Reading",
        examples_a_step=settings.batch_size,
        n_examples=n_blocks,
        steps=steps,
        measured=lambda history: write_metrics(work / METRICS_FILE, records_of(history)),
    )
    trainer = Trainer(
        model=start.masked,
        args=trainer_arguments(
            TrainingArguments,
            settings,
            work,
            steps=steps,
            rate=settings.rate,
            resumed=checkpoint is not None,
            per_device_eval_batch_size=settings.batch_size,
            eval_strategy="steps",
            eval_steps=epoch_steps,
            # The dataset is the run: its order and epochs are its own.
            train_sampling_strategy="sequential",
            remove_unused_columns=False,
            label_names=["labels"],
            # A masked-language head takes the mean over its own batch, whatever else is announced.
            average_tokens_across_devices=False,
            prediction_loss_only=True,
        ),
        data_collator=Masking(start.tokenizer, settings.masked, settings.seed),
        train_dataset=ReadingOrder(blocks.train, steps * settings.batch_size, settings.seed),
        eval_dataset=held_out_items(blocks.held_out),
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    train_from(trainer, checkpoint, work)
    return records_of(trainer.state.log_history)
