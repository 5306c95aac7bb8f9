"""What the two Hugging Face trainers share: a progress bar, checks, complete checkpoints."""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has
from __future__ import annotations

import math
import os
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

import torch
from torch.nn.utils import get_total_norm
from tqdm import tqdm
from transformers import Trainer, TrainerCallback, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from components.models.devices import resolve_device, resolve_dtype
from components.models.folder import check_target
from components.models.weights import no_progress_bars
from training.checkpoint import (
    after_no_memory,
    after_no_number,
    finish_output,
    is_already_made,
    only_process,
    seal,
    work_folder_of,
)
from training.command_line import SettingsError, TrainingError
from training.settings import TrainerSettings

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
    """Arguments of a quiet run on one device that keeps its checkpoints.

    Args:
        kind: The trainer's class of arguments.
        settings: Of the run.
        work: Folder of the checkpoints.
        steps: Of the whole run.
        rate: Highest learning rate, reached after the warm-up; then it falls to zero.
        resumed: Whether the run continues from a checkpoint; if not, it is measured before the
            first step.
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
        # Otherwise it would spread each batch over all cards and enlarge it.
        arguments._n_gpu = 1
    return arguments


# Names under which the Trainer logs values.
LOSS, EVAL_LOSS = "loss", "eval_loss"


def measurings(
    history: Sequence[Mapping[str, Any]], is_measuring: Callable[[Mapping[str, Any]], bool]
) -> Iterator[tuple[Mapping[str, Any], dict[str, float]]]:
    """Each measurement of a run, with the loss of the steps before it.

    Args:
        history: What the Trainer logged, in order.
        is_measuring: Whether a log entry is a measurement.

    Yields:
        The entry; and after step 0 `loss`, the mean of the training steps since the last
        measurement, and `learning_rate` of the last of them.
    """
    summed, last_logged, last_measured = 0.0, 0, 0
    rate = 0.0
    for entry in history:
        step = entry["step"]
        if LOSS in entry:
            summed += entry[LOSS] * (step - last_logged)
            last_logged, rate = step, entry["learning_rate"]
        if not is_measuring(entry):
            continue
        trained = {}
        if step > last_measured:
            trained = {"loss": summed / (step - last_measured), "learning_rate": rate}
            summed, last_measured = 0.0, step
        yield entry, trained


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


def train_from(trainer: Trainer, checkpoint: Path | None, work: Path) -> None:
    """Train to the end.

    Args:
        trainer: Of the run.
        checkpoint: Where to resume; None to begin.
        work: Its folder.

    Raises:
        TrainingError: Memory ran out.
    """
    try:
        trainer.train(resume_from_checkpoint=None if checkpoint is None else str(checkpoint))
    except torch.OutOfMemoryError as error:
        step = trainer.state.global_step
        raise TrainingError(after_no_memory(step, "a smaller batch_size", work)) from error


class RunWatch(TrainerCallback):
    """Shows a run's progress and checks it.

    Losses and weights are checked before each checkpoint: broken weights never replace good ones.

    Args:
        work: Folder of the checkpoints.
        label: Label of the progress bar.
        measured: Called after each measurement, with the whole log.
    """

    def __init__(
        self,
        work: Path,
        *,
        label: str,
        measured: Callable[[list[dict[str, float]]], object],
    ) -> None:
        self._work = work
        self._label = label
        self._measured = measured
        self._bar: tqdm[Any] | None = None

    def on_train_begin(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Show the bar; only on a terminal."""
        self._bar = tqdm(
            desc=self._label, initial=state.global_step, total=state.max_steps, disable=None
        )

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Count the step; log the loss where it is needed."""
        if self._bar is not None:
            self._bar.update()
        # The Trainer logs before it measures and saves.
        control.should_log |= control.should_save or control.should_evaluate

    def on_log(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Stop if a value is not a number.

        Raises:
            TrainingError: A loss, the gradient's norm or a weight is not finite.
        """
        values = {
            name: (kwargs["logs"] or {}).get(name, 0.0) for name in (LOSS, "grad_norm", EVAL_LOSS)
        }
        if (model := kwargs.get("model")) is not None:
            # The logged loss is of the weights before the last step: check those after it too.
            values["the weights' norm"] = float(get_total_norm(model.parameters()))
        for name, value in values.items():
            self._check_finite(name, value, state)

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Pass on what was measured."""
        self._measured(state.log_history)

    def on_save(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Mark the checkpoint as complete."""
        seal(self._work / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}")

    def on_train_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def _check_finite(self, name: str, value: float, state: TrainerState) -> None:
        if not math.isfinite(value):
            raise TrainingError(
                f"up to step {state.global_step}: {name} is {value}. {after_no_number(self._work)}"
            )
