"""What a run writes down while it goes: metrics by epoch, its progress, its surroundings."""

from __future__ import annotations

import json
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, Literal

import torch

from components.models.folder import whole_file
from training.batches import steps_in_epoch
from training.run_settings import RunSettings

METRICS_FILE = "metrics.jsonl"
PROGRESS_FILE = "progress.json"

Stage = Literal["encoding", "training", "saving"]

_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "numpy", "lexarbor")
_SECONDS_BETWEEN = 0.5


def write_metrics(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records of all epochs so far, one JSON object a line; the old file gives way."""
    _replace(path, "".join(json.dumps(record) + "\n" for record in records), synced=True)


@dataclass(frozen=True)
class Length:
    """How long a training is; the last epoch may be cut short by the steps."""

    steps: int
    epochs: int

    @classmethod
    def of(cls, settings: RunSettings, n_pairs: int, *, stop_after: int | None = None) -> Length:
        """The length of a training on so many pairs; `stop_after` as for `TrainingLoop`."""
        epoch_steps = steps_in_epoch(n_pairs, settings.batch_size)
        steps = settings.total_steps(epoch_steps)
        epochs = -(-steps // epoch_steps)
        if stop_after is not None:
            epochs = min(stop_after, epochs)
        return cls(min(steps, epochs * epoch_steps), epochs)


class Progress:
    """`progress.json`: where a run is, for whoever waits for it.

    Args:
        folder: Where the file goes.
        steps: Of the whole run.
        epochs: Of the whole run.
        before: What the run did in an earlier training; added to the steps and epochs of this one.
    """

    def __init__(
        self, folder: Path, *, steps: int, epochs: int, before: Length = Length(0, 0)
    ) -> None:
        self._path = folder / PROGRESS_FILE
        self._steps = steps
        self._epochs = epochs
        self._before = before
        self._last = 0.0
        self._stage = ""

    def __call__(self, stage: Stage, *, step: int, epoch: int) -> None:
        """Say where the run is; written at most twice a second, and at each new stage."""
        now = time.monotonic()
        if stage == self._stage and now - self._last < _SECONDS_BETWEEN:
            return
        self._last, self._stage = now, stage
        where = {
            "stage": stage,
            "step": self._before.steps + step,
            "steps": self._steps,
            "epoch": min(self._before.epochs + epoch + 1, self._epochs),
            "epochs": self._epochs,
        }
        # A disk that is slow to sync must not hold up training twice a second.
        _replace(self._path, json.dumps(where), synced=False)


def refresh_shares(record: Mapping[str, Any], n_articles: int, n_pairs: int) -> dict[str, float]:
    """Share of an epoch's time that encoding the law took, and what it should have been.

    A text that is trained on costs a forward and a backward pass, about three times what encoding
    costs: with N articles, Q questions of P positives and n negatives each, the share should be
    N / (N + 3 Q (P + n)).

    Args:
        record: Of the epoch, its steps done.
        n_articles: N.
        n_pairs: Q P.
    """
    encoding, training = record["seconds_encoding"], record["seconds_training"]
    trained_on = n_pairs + record["negatives"]["drawn"]
    return {
        "refresh_share": encoding / (encoding + training),
        "predicted_refresh_share": n_articles / (n_articles + 3 * trained_on),
    }


def environment(device: str) -> dict[str, Any]:
    """What a result may depend on beside the settings.

    Args:
        device: The kind that computes, such as "cuda".
    """
    packages: dict[str, str | None] = {}
    for name in _PACKAGES:
        try:
            packages[name] = version(name)
        except PackageNotFoundError:
            packages[name] = None
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {"python": platform.python_version(), "device": name, **packages}


def numbers_of(record: Mapping[str, Any], prefix: str = "") -> dict[str, float]:
    """The numbers of a record under one-level names, as trackers want them."""
    numbers: dict[str, float] = {}
    for name, value in record.items():
        if isinstance(value, Mapping):
            numbers |= numbers_of(value, f"{prefix}{name}/")
        elif isinstance(value, int | float):
            numbers[prefix + name] = value
    return numbers


def _replace(path: Path, text: str, *, synced: bool) -> None:
    with whole_file(path, synced=synced) as partial:
        partial.write_text(text, encoding="utf-8")
