"""Runs that are stopped in their midst."""

from __future__ import annotations

from typing import Any

import pytest


class KilledError(Exception):
    """Stands for the death of the process."""


def kill_at(step: int, watch: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have a run of transformers' trainer killed before a step that `watch` sees begin."""
    begin = watch.on_step_begin

    def killed(self: Any, args: Any, state: Any, control: Any, **kwargs: Any) -> None:
        if state.global_step == step:
            raise KilledError
        begin(self, args, state, control, **kwargs)

    monkeypatch.setattr(watch, "on_step_begin", killed)


def lose_at(step: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Have the loss of one step of transformers' trainer not be a number."""
    from transformers import Trainer

    train = Trainer.training_step

    def broken(self: Any, *args: Any, **kwargs: Any) -> Any:
        loss = train(self, *args, **kwargs)
        return loss * float("nan") if self.state.global_step == step else loss

    monkeypatch.setattr(Trainer, "training_step", broken)
