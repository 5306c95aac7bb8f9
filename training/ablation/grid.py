"""The runs of a grid, one after the other, those that are missing."""

from __future__ import annotations

import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from components.models.devices import resolve_device
from components.models.locks import folder_lock
from training.ablation.dataset import Dataset
from training.ablation.memory import give_back_memory
from training.ablation.results import Results
from training.ablation.run import Run
from training.ablation.settings import GridSettings
from training.ablation.systems import Perform
from training.command_line import SettingsError, TrainingError, say
from training.records import environment


def runs_of(settings: GridSettings, datasets: Iterable[Dataset]) -> list[Run]:
    """All runs of a grid in the order that they are made in.

    Dataset by dataset; there seed by seed and fold by fold, all arms each time: a grid that is cut
    short compares the arms on equal terms.

    Raises:
        SettingsError: A setting is out of its range, or does not fit the dataset; or two datasets
            have one name.
        ModelError: There is no such model.
    """
    datasets = list(datasets)
    names = [dataset.name for dataset in datasets]
    if len(set(names)) < len(names):
        raise SettingsError(f"datasets: {', '.join(names)} are not different names. Rename one.")
    return [run for dataset in datasets for run in _runs_on(dataset, settings)]


def _runs_on(dataset: Dataset, settings: GridSettings) -> Iterator[Run]:
    base = settings.base(dataset.place)
    folds = settings.folds_of(dataset)
    system = settings.system
    start = system.digests(base)
    for seed in settings.seeds:
        for fold in range(folds):
            for arm in settings.chosen_arms:
                yield Run(
                    system,
                    arm,
                    dataset,
                    replace(system.arms.settings_of(arm, base), seed=seed),
                    start=start,
                    fold=fold,
                    folds=folds,
                    measured_on=settings.measured_on,
                )


@dataclass(frozen=True)
class Outcome:
    """How a grid ended.

    Attributes:
        left: How many runs are still to be made: time was up.
        failed: What went wrong, one message a run.
        elsewhere: How many runs other processes are making.
    """

    left: int
    failed: Sequence[str]
    elsewhere: int = 0


def make_missing(
    runs: Sequence[Run],
    results: Results,
    perform: Perform,
    work: Path,
    *,
    budget_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Make the runs that the results lack, in their order.

    A run that goes wrong is named, keeps its work folder, and does not keep the others from being
    made. Several processes may make the runs of one grid, with the same results and work folder:
    each leaves out what another has made, or is making.

    Args:
        runs: Of the grid; two with the same key are one.
        results: Where finished runs are found and go.
        perform: Makes one.
        work: Each run has a folder of its own in it, locked by who makes the run, until its line is
            written.
        budget_s: Seconds to stop within, if a run takes as long as its arm's others did on the same
            dataset and device, on the mean, or as the longest of the grid's where it has none; a
            first one is begun on any budget but 0.
        clock: Seconds.

    Raises:
        SettingsError: The results cannot be written, or are those of something else.
    """
    end = None if budget_s is None else clock() + budget_s
    distinct: dict[str, Run] = {}
    for run in runs:
        distinct.setdefault(run.key, run)
    missing = [run for key, run in distinct.items() if key not in results.lines]
    for key in distinct.keys() & results.lines.keys():
        # A kill may have come between the line and the folder's end.
        shutil.rmtree(work / key, ignore_errors=True)
    if found := len(distinct) - len(missing):
        say(f"{found} of {len(distinct)} runs are found in {results.path}")
    failed: list[str] = []
    elsewhere = 0
    for number, run in enumerate(missing):
        done = [results.lines[key] for key in distinct if key in results.lines]
        if end is not None and clock() + _expected(run, done) >= end:
            results.refresh()
            left = sum(each.key not in results.lines for each in missing[number:])
            return Outcome(left, failed, elsewhere)
        folder = work / run.key
        with folder_lock(folder, wait=False) as ours:
            if not ours:
                elsewhere += 1
                continue
            # Looked for once more: who held the lock just now may have ended with the line.
            results.refresh()
            if run.key not in results.lines:
                results.check_writable()
                say(f"Run {found + number + 1} of {len(distinct)}: {run}")
                try:
                    line = perform(run, folder)
                except (SettingsError, TrainingError) as error:
                    say(f"error: {run}: {error}")
                    failed.append(f"{run}: {error}")
                    continue
                results.add(line)
                give_back_memory()
            shutil.rmtree(folder, ignore_errors=True)
    return Outcome(0, failed, elsewhere)


def _expected(run: Run, done: Iterable[Mapping[str, Any]]) -> float:
    """Seconds that a run is expected to take; 0 where nothing is known."""
    if not run.trained:
        return 0.0
    device = environment(resolve_device(run.settings.device).type)["device"]
    took: dict[str, list[float]] = {}
    for line in done:
        if (
            line["trained"]
            and line["corpus_sha256"] == run.about["corpus_sha256"]
            and line["environment"]["device"] == device
        ):
            took.setdefault(line["arm"], []).append(line["seconds"]["total"])
    if run.arm in took:
        return fmean(took[run.arm])
    return max((max(of_arm) for of_arm in took.values()), default=0.0)
