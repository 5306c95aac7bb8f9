"""What a run is at one moment, and how it is kept and taken up again."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from training.checkpoints import (
    newest_checkpoint,
    read_checkpoint,
    remove_old,
    write_checkpoint,
)
from training.negatives.drawn import DrawnNegatives
from training.optimizer import Optimizer
from training.same_run import check_same_run

# Settings that may change between a kill and the next start: no weight depends on them.
_FREE = ("output", "checkpoint_every", "trackers", "vectors")
_DRAWN = "negatives"
_BEST = "weights"
# What of a run's state goes into JSON as it is.
_PLAIN = (
    "epoch",
    "step",
    "losses",
    "encoded",
    "listed",
    "seconds",
    "records",
    "described",
    "best",
    "finished",
)


@dataclass
class RunState:
    """Where a run is.

    Attributes:
        epoch: The epoch that is being trained, from 0.
        step: Steps done in the whole run.
        losses: Of the steps of this epoch so far.
        encoded: Articles encoded in this epoch's steps.
        listed: Articles that its pairs listed, repeats counted.
        seconds: Spent on its steps.
        records: One for each epoch boundary passed: metrics, negatives, times.
        described: What was drawn for epochs to come, by epoch; goes into their records.
        best: Of the best weights so far `{"epoch", "value", "folder", "values", "unseen"}`, the
            last two as in `Validation`; None before the first.
        finished: Whether the last boundary is passed.
        drawn: Negatives by epoch, of this one and of those drawn with it.
        previous: The last epoch's; what a new epoch's are compared with, at once.
    """

    epoch: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)
    encoded: int = 0
    listed: int = 0
    seconds: float = 0.0
    records: list[dict[str, Any]] = field(default_factory=list)
    described: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] | None = None
    finished: bool = False
    drawn: dict[int, DrawnNegatives] = field(default_factory=dict)
    previous: DrawnNegatives | None = None

    def trained(self) -> dict[str, Any]:
        """What the record of the boundary before says of this epoch, once its steps are done."""
        return {
            "loss": math.fsum(self.losses) / len(self.losses),
            "losses": [round(loss, 5) for loss in self.losses],
            "articles_encoded": self.encoded,
            "articles_listed": self.listed,
            "seconds_training": self.seconds,
        }

    def out_of(self, patience: int | None) -> bool:
        """Whether so many epochs have gone by since the best."""
        return (
            patience is not None
            and self.best is not None
            and self.epoch - self.best["epoch"] >= patience
        )

    def next_epoch(self) -> None:
        """Begin a new epoch's counts."""
        self.previous = self.drawn.pop(self.epoch, None)
        self.epoch += 1
        self.losses = []
        self.encoded = self.listed = 0
        self.seconds = 0.0


class Resuming:
    """Keeps a run in its work folder, and finds it there again.

    Args:
        work: The folder.
        fixed: What must be the same when the run is taken up again: settings, data, model and
            what was resolved from the machine, by name.
        parameters: Trained parameters by name.
        optimizer: Over the same parameters.
    """

    def __init__(
        self,
        work: Path,
        fixed: Mapping[str, Any],
        parameters: Mapping[str, nn.Parameter],
        optimizer: Optimizer,
    ) -> None:
        self._work = work
        self._fixed = {name: value for name, value in fixed.items() if name not in _FREE}
        self._parameters = parameters
        self._optimizer = optimizer

    def save(self, state: RunState, learner: Mapping[str, Any]) -> None:
        """Write a checkpoint of this moment, the learner's own state in it; older ones go.

        Raises:
            TrainingError: A weight is not finite.
        """
        drawn = {str(epoch): each for epoch, each in state.drawn.items()}
        write_checkpoint(
            self._work / f"step-{state.step}",
            {
                "model": self._parameters,
                "optimizer": self._optimizer.state(),
                _DRAWN: {
                    f"{when}/{name}": torch.from_numpy(array)
                    for when, each in drawn.items()
                    for name, array in each.to_arrays().items()
                },
            },
            {
                "fixed": self._fixed,
                "learner": learner,
                **{name: getattr(state, name) for name in _PLAIN},
            },
        )
        remove_old(self._work)

    def save_best(self, folder: str) -> None:
        """Keep the weights of this moment as the best so far."""
        write_checkpoint(self._work / folder, {_BEST: self._parameters}, {})

    def load_best(self, state: RunState) -> None:
        """Put the best weights into the model.

        Raises:
            TrainingError: Their file is missing or broken.
        """
        assert state.best is not None
        best = read_checkpoint(self._work / state.best["folder"])
        self._put(best.tensors(_BEST))

    def newest(self, say: Callable[[str], object]) -> tuple[RunState, Mapping[str, Any]] | None:
        """Take up the newest complete checkpoint: its state, and that of the learner.

        Raises:
            SettingsError: It is of another run.
        """
        checkpoint = newest_checkpoint(self._work, say)
        if checkpoint is None:
            return None
        check_same_run(self._work, checkpoint.state["fixed"], self._fixed)
        self._put(checkpoint.tensors("model"))
        self._optimizer.restore(checkpoint.tensors("optimizer"))
        kept = checkpoint.state
        drawn = _drawn(checkpoint.tensors(_DRAWN))
        state = RunState(
            **{name: kept[name] for name in _PLAIN},
            drawn={int(epoch): each for epoch, each in drawn.items()},
        )
        return state, kept["learner"]

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(weights[name])


def _drawn(tensors: Mapping[str, Tensor]) -> dict[str, DrawnNegatives]:
    arrays: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
    for name, tensor in tensors.items():
        when, _, array = name.partition("/")
        arrays.setdefault(when, {})[array] = tensor.numpy()
    return {when: DrawnNegatives.from_arrays(each) for when, each in arrays.items()}
