"""What happens beside the Trainer's own steps when it trains a ranker."""

# ruff: noqa: ARG002 - the Trainer calls every one of these with all that it has

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from sentence_transformers import CrossEncoder
from transformers import TrainerControl, TrainerState, TrainingArguments

from components.models.folder import whole_folder
from training.command_line import say
from training.hf_trainer.watch import RunWatch
from training.ranking.measuring import RankerMeasuring
from training.ranking.records import best_record, make_records

MODEL_FOLDER = "model"
LOGITS_FILE = "dev_logits.npy"
_BEST = "best-"


class RankerWatch(RunWatch):
    """Watches over a run, and keeps the weights that were best on dev.

    They lie in `best-STEP/model`, beside the logits of dev. An older one goes once a checkpoint
    knows of the newer: a run that is killed before goes on from a checkpoint for which the older is
    the best.

    Args:
        work: Folder of the checkpoints.
        examples_a_step: Examples that a step takes.
        n_examples: Of an epoch.
        steps: Of the whole run.
        select_by: Metric on dev that is the higher the better.
        measuring: Has the logits of dev.
        measured: Called after each measuring, with all that was logged.
    """

    def __init__(
        self,
        work: Path,
        *,
        examples_a_step: int,
        n_examples: int,
        steps: int,
        select_by: str,
        measuring: RankerMeasuring,
        measured: Callable[[list[dict[str, float]]], object],
    ) -> None:
        super().__init__(
            work,
            label="Training",
            examples_a_step=examples_a_step,
            n_examples=n_examples,
            steps=steps,
            measured=measured,
        )
        self._epoch_steps = -(-n_examples // examples_a_step)
        self._select_by = select_by
        self._measuring = measuring

    def on_step_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Report the step; an epoch's last one is saved after it was measured, not before."""
        # Going on from a checkpoint of an epoch's end, the Trainer begins with the next epoch.
        step = state.global_step
        if step % self._epoch_steps == 0 or step >= state.max_steps:
            control.should_save = False
        super().on_step_end(args, state, control, **kwargs)

    def on_epoch_end(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Have the loss looked at, and what is measured now kept in a checkpoint."""
        control.should_log = control.should_save = True

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float] | None = None,
        model: CrossEncoder | None = None,
        **kwargs: Any,
    ) -> None:
        """Say how dev was ranked, and keep the weights where they are the best so far.

        Raises:
            TrainingError: A logit is not finite.
        """
        logits = self._measuring.dev_logits
        if logits is not None:
            # Finite weights may have products that are not, and nothing is ranked by NaN.
            self._check_finite("a logit of dev", float(np.abs(logits).sum()), state)
        records = make_records(state.log_history)
        if "dev" in records[-1]:
            value = records[-1]["dev"][self._select_by]
            say(f"Step {state.global_step:,}: {self._select_by} {value:.3f} on dev")
            if best_record(records, self._select_by) is records[-1] and model is not None:
                self._keep(model, state.global_step)
        super().on_evaluate(args, state, control, **kwargs)

    def on_save(
        self, args: TrainingArguments, state: TrainerState, control: TrainerControl, **kwargs: Any
    ) -> None:
        """Make the checkpoint count; then what was best before it can go."""
        super().on_save(args, state, control, **kwargs)
        kept = best_folder(self._work, make_records(state.log_history), self._select_by)
        for folder in self._work.glob(f"{_BEST}*"):
            if kept is not None and folder != kept:
                shutil.rmtree(folder)

    def _keep(self, model: CrossEncoder, step: int) -> None:
        logits = self._measuring.dev_logits
        assert logits is not None
        with whole_folder(self._work / f"{_BEST}{step}", replace=True) as partial:
            model.save_pretrained(str(partial / MODEL_FOLDER), create_model_card=False)
            np.save(partial / LOGITS_FILE, logits)


def best_folder(work: Path, records: Sequence[dict[str, Any]], select_by: str) -> Path | None:
    """Where the weights that were best on dev lie; None without dev."""
    best = best_record(records, select_by)
    return None if best is None else work / f"{_BEST}{best['step']}"
