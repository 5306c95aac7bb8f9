"""One run of a grid, from its settings to its line in the results."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import torch

from training.ablation.arms import TrainingSettings
from training.ablation.dataset import Dataset, Split
from training.ablation.identity import key_of, keyed_settings
from training.ablation.measuring import Measured, measure
from training.ablation.metrics import DENSE_METRICS, MeasuredOn
from training.ablation.systems import Perform, System
from training.processes import take_device
from training.records import environment
from training.resuming import RunState
from training.run_settings import RunSettings
from training.running import fit

if TYPE_CHECKING:
    from accelerate import Accelerator

    from training.learner import Learner

PLACES = 4


@dataclass(frozen=True)
class Run:
    """An arm on a fold of a dataset, with a seed.

    Attributes:
        system: What is trained.
        arm: Its name.
        dataset: The law and all its questions.
        settings: Of the training.
        start: Digests of the models that training starts from.
        fold: Which part of the questions it is measured on, from 0.
        folds: How many parts there are; 1 for the given splits.
        measured_on: Of the given splits, dev or test.
    """

    system: System
    arm: str
    dataset: Dataset
    settings: TrainingSettings
    start: Mapping[str, str]
    fold: int
    folds: int
    measured_on: MeasuredOn = "dev"

    @property
    def trained(self) -> bool:
        """False for the model as training would start from it."""
        return self.arm not in self.system.untrained

    @cached_property
    def split(self) -> Split:
        """The questions that it learns from and is measured on."""
        if self.measured_on == "test":
            return self.dataset.test_split
        return self.dataset.split(self.folds, self.fold, seed=self.settings.seed)

    @cached_property
    def about(self) -> dict[str, Any]:
        """What its line says before it is made: names, data, settings."""
        return {
            "system": self.system.name,
            "dataset": self.dataset.name,
            "arm": self.arm,
            "seed": self.settings.seed,
            "fold": self.fold,
            "folds": self.folds,
            "trained": self.trained,
            **self.dataset.given.digests(),
            "split_sha256": self.split.sha256,
            "start": dict(self.start),
            "settings": keyed_settings(self.system, self.arm, self.settings),
        }

    @cached_property
    def key(self) -> str:
        """Tells it from every other run, on every machine."""
        return key_of(self.about)

    def __str__(self) -> str:
        fold = f", fold {self.fold + 1} of {self.folds}" if self.folds > 1 else ""
        return f"{self.dataset.name}, seed {self.settings.seed}{fold}: {self.arm}"


def learner_runs(settings: RunSettings, start: Callable[..., Learner]) -> Perform:
    """What makes runs of `training.cusines` and `training.graph`.

    Args:
        settings: Of any of the runs.
        start: Opens what training starts from.
    """
    from accelerate import Accelerator

    accelerator = Accelerator(cpu=take_device(settings.device).type == "cpu")
    return lambda run, work: perform(run, accelerator, start, work)


def perform(
    run: Run, accelerator: Accelerator, start: Callable[..., Learner], work: Path
) -> dict[str, Any]:
    """Train, or go on in the work folder; measure; the run's line.

    Raises:
        SettingsError: A setting does not fit the data, or the work folder.
        TrainingError: A loss or weight is not finite.
    """
    started = time.perf_counter()
    data, settings = run.split.data, run.settings
    assert isinstance(settings, RunSettings)
    if run.trained:
        work.mkdir(parents=True, exist_ok=True)
        learner, state = fit(settings, data, accelerator, work, start)
    else:
        learner, state = start(settings, data, accelerator), RunState()
    measuring = time.perf_counter()
    rankings = run.dataset.lexical(
        k1=settings.bm25_k1, b=settings.bm25_b, text_rule=settings.text_rule
    )
    vectors = learner.encode(lambda _: None)
    measured = measure(vectors, data, [rankings[row] for row in run.split.rows])
    measuring = time.perf_counter() - measuring
    seconds = {**_seconds(state), "measuring": measuring}
    # A run that was taken up again took longer than this process saw of it.
    seconds["total"] = max(sum(seconds.values()), time.perf_counter() - started)
    return {
        "key": run.key,
        **run.about,
        "environment": surroundings(learner.fixed["dtype"], accelerator.device.type),
        "n_train": len(data.train),
        "n_pairs": len(data.pairs),
        "steps": state.step,
        **_counts(state),
        "seconds": rounded(seconds, 1),
        "epoch": state.best["epoch"] if state.best else 0,
        "epochs": [_epoch(record) for record in state.records],
        **found(run, measured),
    }


def rounded(value: Any, places: int) -> Any:
    """All floats in a JSON value to some places; those that are whole become whole numbers."""
    if isinstance(value, Mapping):
        return {name: rounded(each, places) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each, places) for each in value]
    if isinstance(value, float):
        near = round(value, places)
        return int(near) if near.is_integer() else near
    return value


def found(run: Run, measured: Measured) -> dict[str, Any]:
    """What a run's line says of its result."""
    rows = list(run.split.rows)
    means = {metric: sum(each) / len(each) for metric, each in measured.values.items()}
    return {
        "means": rounded(means, PLACES),
        # Places among the questions, split by split in the file's order: ids would be longer.
        "questions": rows,
        "unseen": [rows[row] for row in measured.unseen],
        "values": rounded(measured.values, PLACES),
    }


def surroundings(dtype: str, device: str) -> dict[str, Any]:
    """Where a run was made, and in which number format."""
    return {
        **environment(device),
        "runs_on": device,
        "dtype": dtype,
        "threads": torch.get_num_threads(),
    }


def _counts(state: RunState) -> dict[str, Any]:
    encoded, listed = (
        sum(record.get(name, 0) for record in state.records)
        for name in ("articles_encoded", "articles_listed")
    )
    return {
        "articles_encoded": encoded,
        "articles_listed": listed,
        "passes_saved": round(1 - encoded / listed, PLACES) if listed else 0,
    }


def _seconds(state: RunState) -> dict[str, float]:
    return {
        name: sum(record.get(f"seconds_{field}", 0.0) for record in state.records)
        for name, field in (
            ("training", "training"),
            ("encoding", "encoding"),
            ("drawing", "measuring_and_drawing"),
        )
    }


def _epoch(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the results keep of an epoch: dev before it, its loss and its negatives."""
    kept = {name: record[name] for name in ("epoch", "loss", "negatives") if name in record}
    if "dev" in record:
        kept["dev"] = {metric: record["dev"][metric] for metric in DENSE_METRICS}
    return rounded(kept, PLACES)  # type: ignore[no-any-return]
