"""What happens beside the Trainer's own steps when it lets a model read."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from transformers import TrainerControl, TrainerState, TrainingArguments

from training.command_line import say
from training.hf_trainer.records import EVAL_LOSS
from training.hf_trainer.watch import RunWatch
from training.pretraining.records import perplexity


class ReadingWatch(RunWatch):
    """Watches over a run, and says what the held-out blocks cost. Its examples are blocks."""

    def on_evaluate(
        self,
        args: TrainingArguments,
        state: TrainerState,
        control: TrainerControl,
        metrics: Mapping[str, float] | None = None,
        **kwargs: Any,
    ) -> None:
        """Say what the held-out blocks cost."""
        loss = (metrics or {})[EVAL_LOSS]
        say(
            f"Step {state.global_step:,}: perplexity {perplexity(loss):.2f} on held-out blocks "
            f"(loss {loss:.3f})"
        )
        super().on_evaluate(args, state, control, **kwargs)
