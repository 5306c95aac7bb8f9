"""What happens beside the Trainer's own steps: progress, checks, checkpoints that count."""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from torch import nn
from torch.nn.utils import get_total_norm
from tqdm import tqdm
from transformers import TrainerCallback, TrainerControl, TrainerState, TrainingArguments
from transformers.trainer_utils import PREFIX_CHECKPOINT_DIR

from training.command_line import TrainingError
from training.hf_trainer.checkpoints import seal
from training.hf_trainer.records import EVAL_LOSS, LOSS
from training.records import Progress
from training.same_run import after_no_number


class RunWatch(TrainerCallback):
    """Watches over a run.

    Losses and weights are looked at before each checkpoint: no broken weights replace good ones.

    Args:
        work: Folder of the checkpoints.
        label: Stands before the progress bar.
        examples_a_step: Examples that a step takes.
        n_examples: Of an epoch.
        steps: Of the whole run.
        measured: Called after each measuring, with all that was logged.
    """

    def __init__(
        self,
        work: Path,
        *,
        label: str,
        examples_a_step: int,
        n_examples: int,
        steps: int,
        measured: Callable[[list[dict[str, float]]], object],
    ) -> None:
        self._work = work
        self._label = label
        self._examples_a_step = examples_a_step
        self._n_examples = n_examples
        self._measured = measured
        epochs = max(1, round(steps * examples_a_step / n_examples))
        self._progress = Progress(work, steps=steps, epochs=epochs)
        self._bar: tqdm[Any] | None = None

    def on_train_begin(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Show the bar; only on a terminal."""
        self._bar = tqdm(
            desc=self._label, initial=state.global_step, total=state.max_steps, disable=None
        )

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Report the step; have the loss logged where it is needed."""
        if self._bar is not None:
            self._bar.update()
        self._say("saving" if control.should_save else "training", state)
        # The Trainer logs before it measures and saves.
        control.should_log |= control.should_save or control.should_evaluate

    def on_log(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        logs: Mapping[str, float] | None = None,
        model: nn.Module | None = None,
        **kwargs: Any,
    ) -> None:
        """Stop where something is not a number.

        Raises:
            TrainingError: A loss, the gradient's norm or a weight is not finite.
        """
        values = {name: (logs or {}).get(name, 0.0) for name in (LOSS, "grad_norm", EVAL_LOSS)}
        if model is not None:
            # The last step's loss was of the weights before it.
            values["the weights' norm"] = float(get_total_norm(model.parameters()))
        for name, value in values.items():
            self._check_finite(name, value, state)

    def on_evaluate(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Hand on what was measured."""
        self._measured(state.log_history)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Make the checkpoint count."""
        seal(self._work / f"{PREFIX_CHECKPOINT_DIR}-{state.global_step}")
        self._say("training", state)

    def on_train_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Close the bar."""
        if self._bar is not None:
            self._bar.close()

    def _check_finite(self, name: str, value: float, state: TrainerState) -> None:
        if not math.isfinite(value):
            raise TrainingError(
                f"up to step {state.global_step}: {name} is {value}. {after_no_number(self._work)}"
            )

    def _say(self, stage: Any, state: TrainerState) -> None:
        step = state.global_step
        epoch = max(0, step * self._examples_a_step - 1) // self._n_examples
        self._progress(stage, step=step, epoch=epoch)
