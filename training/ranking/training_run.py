"""A ranker's training with sentence-transformers' CrossEncoderTrainer, resuming by itself."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from sentence_transformers import CrossEncoderTrainer, CrossEncoderTrainingArguments
from transformers import PrinterCallback

from training.command_line import say
from training.dropout import set_dropout
from training.hf_trainer.arguments import trainer_arguments
from training.hf_trainer.checkpoints import newest_complete
from training.hf_trainer.training import train_from
from training.ranking.best_passage_loss import BestPassageLoss
from training.ranking.epoch_batches import EpochBatches
from training.ranking.preparing import Prepared
from training.ranking.records import make_records
from training.ranking.settings import RankerTrainingSettings
from training.ranking.starting import head_parameters, start_folder
from training.ranking.watch import RankerWatch
from training.records import METRICS_FILE, write_metrics


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
        TrainingError: A loss, weight or logit is not finite.
    """
    examples, model = prepared.examples, prepared.ranker.encoder
    epoch_steps = -(-len(examples) // settings.batch_size)
    steps = settings.max_steps or settings.epochs * epoch_steps
    head = head_parameters(model, start_folder(settings.start))
    if not head and settings.head_lr != RankerTrainingSettings.head_lr:
        say("The start has a head already: head_lr is not used, learning_rate holds for all of it")
    if settings.dropout is not None:
        set_dropout(model, settings.dropout)
    checkpoint = newest_complete(work, say)
    if checkpoint is not None:
        say(f"Going on from {checkpoint.name} of {steps:,} steps")
    watch = RankerWatch(
        work,
        examples_a_step=settings.batch_size,
        n_examples=len(examples),
        steps=steps,
        select_by=settings.select_by,
        measuring=prepared.measuring,
        measured=lambda history: write_metrics(work / METRICS_FILE, make_records(history)),
    )
    trainer = CrossEncoderTrainer(
        model=model,
        args=trainer_arguments(
            CrossEncoderTrainingArguments,
            settings,
            work,
            steps=steps,
            rate=settings.learning_rate,
            resumed=checkpoint is not None,
            learning_rate_mapping={rf"\b{re.escape(name)}$": settings.head_lr for name in head},
            batch_sampler=EpochBatches,
            eval_strategy="epoch",
        ),
        train_dataset=examples,
        loss=BestPassageLoss(model, prepared.ranker.as_read),
        evaluator=prepared.measuring,
        callbacks=[watch],
    )
    trainer.remove_callback(PrinterCallback)
    train_from(trainer, checkpoint, work)
    return make_records(trainer.state.log_history)
