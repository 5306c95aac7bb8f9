"""What the two trainings with a Hugging Face Trainer share: arguments, records, checks."""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has
from __future__ import annotations

import math
import os
import shutil
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.nn.utils import get_total_norm
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from components.models.devices import resolve_device, resolve_dtype
from components.models.folder import check_target
from components.models.weights import no_progress_bars
from training.checkpoint import (
    after_no_memory,
    after_no_number,
    finish_output,
    is_already_made,
    only_process,
    work_folder_of,
)
from training.command_line import SettingsError, TrainingError, say
from training.records import METRICS_FILE, write_metrics
from training.settings import TrainerSettings

A = TypeVar("A", bound=TrainingArguments)
History = Sequence[Mapping[str, Any]]
"""What the Trainer logged, in order."""


def trainer_arguments(
    kind: type[A], settings: TrainerSettings, work: Path, *, steps: int, rate: float, **others: Any
) -> A:
    """Arguments of a quiet run on one device that keeps its checkpoints.

    Args:
        kind: The trainer's class of arguments.
        settings: Of the run.
        work: Folder of the checkpoints.
        steps: Of the whole run.
        rate: Highest learning rate, reached after the warm-up; then it falls to zero.
        others: Further arguments of this kind of training.
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
        eval_on_start=last_checkpoint(work) is None,
        logging_steps=10,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        save_total_limit=2,
        dataloader_pin_memory=device.type == "cuda",
        disable_tqdm=True,
        report_to="none",
        **others,
    )
    if device.type == "cuda":
        # Otherwise it would spread each batch over all cards and enlarge it.
        arguments._n_gpu = 1
    return arguments


def last_checkpoint(work: Path) -> str | None:
    """The newest complete checkpoint; a newer one that a kill has cut off is removed."""
    while newest := get_last_checkpoint(str(work)):  # type: ignore[no-untyped-call]
        if (Path(newest) / "trainer_state.json").exists():  # the Trainer writes it last
            return str(newest)
        say(f"{newest}: is not complete; looking for an older checkpoint")
        shutil.rmtree(newest)
    return None


def make_records(
    history: History, measured: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """One record for each measurement of a run.

    Args:
        history: What the Trainer logged, in order.
        measured: The measured values of a log entry; empty if it is no measurement.

    Returns:
        `step` and the measured values; after step 0 also `loss`, the mean of the training steps
        since the last record, and `learning_rate` of the last of them.
    """
    records = []
    summed, last_logged, last_measured, rate = 0.0, 0, 0, 0.0
    for entry in history:
        step = entry["step"]
        if "loss" in entry:
            summed += entry["loss"] * (step - last_logged)
            last_logged, rate = step, entry["learning_rate"]
        if not (values := measured(entry)):
            continue
        record = {"step": step, **values}
        if step > last_measured:
            record |= {"loss": summed / (step - last_measured), "learning_rate": rate}
            summed, last_measured = 0.0, step
        records.append(record)
    return records


def train_alone(settings: TrainerSettings, train: Callable[[Path], None]) -> None:
    """Train in one process, in a locked work folder, unless the model is already made.

    Args:
        settings: Of the run.
        train: Makes the model folder, given the work folder.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise SettingsError("This training runs in one process. Run it with python, not torchrun.")
    output = Path(settings.output)
    # A progress bar for each file read or written would hide our own lines.
    with no_progress_bars(), only_process(output):
        if not is_already_made(output, settings.to_dict()):
            check_target(output)
            train(work_folder_of(output))
        finish_output(output)


def train_from_last_checkpoint(trainer: Trainer, work: Path) -> list[dict[str, Any]]:
    """Train to the end, from the newest checkpoint if there is one; returns the Trainer's log.

    Raises:
        TrainingError: Memory ran out.
    """
    trainer.remove_callback(PrinterCallback)
    if sys.stderr.isatty():
        trainer.add_callback(_Progress)
    if (checkpoint := last_checkpoint(work)) is not None:
        say(f"Resuming from {Path(checkpoint).name} of {trainer.args.max_steps:,} steps")
    try:
        trainer.train(resume_from_checkpoint=checkpoint)
    except torch.OutOfMemoryError as error:
        step = trainer.state.global_step
        raise TrainingError(after_no_memory(step, "a smaller batch_size", work)) from error
    history: list[dict[str, Any]] = trainer.state.log_history
    return history


class _Progress(ProgressCallback):
    """A bar; what is logged goes into the metrics, not between our own lines."""

    def on_log(self, *arguments: Any, **named: Any) -> None:
        """Print nothing."""


class RunWatch(TrainerCallback):
    """Writes a run's metrics and checks its values.

    Losses and weights are checked before each checkpoint: broken weights never replace good ones.

    Args:
        work: Folder of the checkpoints.
        records_of: From the Trainer's log to the records of its measurements.
    """

    def __init__(self, work: Path, records_of: Callable[[History], list[dict[str, Any]]]) -> None:
        self._work = work
        self._records_of = records_of

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Log the loss where it is needed: the Trainer logs before it measures and saves."""
        control.should_log |= control.should_save or control.should_evaluate

    def on_log(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Stop if a value is not a number.

        Raises:
            TrainingError: A loss, the gradient's norm or a weight is not finite.
        """
        logged = kwargs["logs"] or {}
        values = {name: logged.get(name, 0.0) for name in ("loss", "grad_norm", "eval_loss")}
        # The logged loss is of the weights before the last step: check those after it too.
        values["the weights' norm"] = float(get_total_norm(kwargs["model"].parameters()))
        for name, value in values.items():
            self._check_finite(name, value, state)

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Write what was measured so far."""
        write_metrics(self._work / METRICS_FILE, self._records_of(state.log_history))

    def _check_finite(self, name: str, value: float, state: TrainerState) -> None:
        if not math.isfinite(value):
            raise TrainingError(
                f"up to step {state.global_step}: {name} is {value}. {after_no_number(self._work)}"
            )
