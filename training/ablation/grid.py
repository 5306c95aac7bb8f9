"""Makes the missing runs of a grid, one after the other."""

from __future__ import annotations

import ctypes
import gc
import json
import math
import os
import shutil
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

from components.models.devices import resolve_device
from components.models.folder import sync
from components.models.locks import file_lock, folder_lock
from training.ablation.dataset import Dataset
from training.ablation.runs import CUSINES, SYSTEMS, Perform, Run, key_of
from training.ablation.settings import GridSettings
from training.command_line import OutOfTimeError, SettingsError, TrainingError, say
from training.records import environment


def give_back_memory() -> None:
    """Return freed memory to the system, where the C library can.

    Otherwise glibc keeps it in pieces that the next run's batches do not fit into: a grid would
    take more memory with every run, and leave less to other processes.
    """
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return  # another C library
    trim(0)


# The results of all runs: one JSON object per line, append-only.


class Results:
    """The lines of a results file by the key of their run.

    A line is written in one piece and synced; several grids may add to one file. A last line that a
    kill cut off is removed, with a message, if it follows results of runs; a file with any other
    content is refused and left as it is.

    Args:
        path: The file; made with the first line.

    Attributes:
        lines: Key to line. Of repeated keys the first counts.

    Raises:
        SettingsError: A line is not a run's; names it.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, dict[str, Any]] = {}
        self._size = 0
        self._n_lines = 0
        self.refresh()

    def refresh(self) -> None:
        """Read what this grid or another has added since.

        Raises:
            SettingsError: As when opened.
            OSError: As when opened.
        """
        text = self._unread()
        if text and not text.endswith(b"\n"):
            # Another grid may be writing it right now, but not while we hold the lock.
            with file_lock(self.path, wait=True):
                self._repair()
        else:
            self._take(text)

    def check_writable(self) -> None:
        """Refuse a file that cannot be written, before anything is computed for it.

        Raises:
            SettingsError: It, or its folder, cannot be written.
        """
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            with self.path.open("ab"):
                pass
        except OSError as error:
            raise SettingsError(
                f"results: {self.path} cannot be written ({error.strerror}). Name a file in a "
                "folder that you may write to."
            ) from error

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a run's line.

        Raises:
            SettingsError: As when opened.
            OSError: The file cannot be written.
        """
        self.path.parent.mkdir(parents=True, exist_ok=True)
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":"))
        with file_lock(self.path, wait=True):
            self._repair()
            self._write(text.encode() + b"\n")
        sync(self.path.parent)
        self.refresh()

    def _unread(self) -> bytes:
        if not self.path.exists():
            return b""
        with self.path.open("rb") as file:
            file.seek(self._size)
            return file.read()

    def _take(self, text: bytes) -> None:
        """Take whole lines as read."""
        for raw in text.splitlines():
            try:
                line = json.loads(raw)
                key = key_of(line)
                _check_values(line)
            except (ValueError, KeyError, TypeError) as error:
                raise self._not_a_result(error) from error
            self.lines.setdefault(key, line)
            self._n_lines += 1
        self._size += len(text)

    def _repair(self) -> None:
        """Read what was added; end a last line that is complete, remove one that was cut off."""
        text = self._unread()
        last = text.rpartition(b"\n")[2]
        # Check the lines before it first: nothing is removed from a file that is not ours.
        self._take(text.removesuffix(last))
        if not last:
            return
        try:
            json.loads(last)
        except ValueError as error:
            if not self.lines:
                raise self._not_a_result(error) from error
            say(f"{self.path}: line {self._n_lines + 1} was cut off; removing it")
            with self.path.open("r+b") as file:
                file.truncate(self._size)
                os.fsync(file.fileno())
        else:
            self._take(last)
            self._write(b"\n")
            self._size += 1

    def _not_a_result(self, error: Exception) -> SettingsError:
        return SettingsError(
            f"{self.path}:{self._n_lines + 1}: is not a result of a run ({type(error).__name__}: "
            f"{error}). Remove the line, or give another results file."
        )

    def _write(self, text: bytes) -> None:
        target = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(target, text) != len(text):
                raise OSError(f"{self.path}: the disk is full; the last line is incomplete.")
            os.fsync(target)
        finally:
            os.close(target)


def _check_values(line: Mapping[str, Any]) -> None:
    """Refuse a line that lacks a number for one of its questions in a metric of its system."""
    for metric in SYSTEMS[line.get("system", CUSINES.name)].report.metrics:
        values = line["values"][metric]
        if len(values) != len(line["questions"]) or not all(map(math.isfinite, values)):
            raise ValueError(f"{metric} is not one finite number for each question")


def runs_of(settings: GridSettings, datasets: Iterable[Dataset]) -> list[Run]:
    """All runs of a grid, in the order in which they are made.

    Dataset by dataset, then seed by seed and fold by fold, all arms each time: a grid that stops
    early still compares the arms on equal terms.

    Raises:
        SettingsError: A setting is out of its range, or does not fit the dataset; or two datasets
            have the same name.
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
    digests = system.digests(base)
    for seed in settings.seeds:
        for fold in range(folds):
            for arm in settings.chosen_arms:
                yield Run(
                    system,
                    arm,
                    dataset,
                    replace(system.arms.settings_of(arm, base), seed=seed),
                    starting_digests=digests,
                    fold=fold,
                    folds=folds,
                    measured_on=settings.measured_on,
                )


@dataclass(frozen=True)
class Outcome:
    """How a grid ended.

    Attributes:
        left: How many runs are still missing because time was up.
        failed: What went wrong, one message per failed run.
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
    """Make the runs that the results lack, in order.

    A run that fails is reported and keeps its work folder; the others are still made. Several
    processes may make the runs of one grid, with the same results and work folder: each skips what
    another has made or is making.

    Args:
        runs: Of the grid; two with the same key count as one.
        results: Where finished runs are looked up and recorded.
        perform: Makes one.
        work: Each run has a folder in it, locked by the process that makes the run until its line
            is written.
        budget_s: Seconds to stop within. A run is expected to take as long as the mean of its arm's
            other runs on the same dataset and device, or as the grid's longest where its arm has
            none. A first run begins on any budget except 0, and stops with a checkpoint.
        clock: Gives the time in seconds.

    Raises:
        SettingsError: The results file cannot be written, or holds something else.
    """
    end = None if budget_s is None else clock() + budget_s
    distinct: dict[str, Run] = {}
    for run in runs:
        distinct.setdefault(run.key, run)
    missing = [run for key, run in distinct.items() if key not in results.lines]
    for key in distinct.keys() & results.lines.keys():
        # A kill may have come between writing the line and removing the folder.
        shutil.rmtree(work / key, ignore_errors=True)
    if found := len(distinct) - len(missing):
        say(f"{found} of {len(distinct)} runs are already in {results.path}")
    failed: list[str] = []
    elsewhere = 0
    for number, run in enumerate(missing):
        done = [results.lines[key] for key in distinct if key in results.lines]
        # One that was begun goes on, however long it takes in all.
        expected = 0.0 if (work / run.key).is_dir() else _expected(run, done)
        if end is not None and clock() + expected >= end:
            results.refresh()
            left = sum(each.key not in results.lines for each in missing[number:])
            return Outcome(left, failed, elsewhere)
        folder = work / run.key
        with folder_lock(folder, wait=False) as ours:
            if not ours:
                elsewhere += 1
                continue
            # Look once more: the process that held the lock may just have added the line.
            results.refresh()
            if run.key not in results.lines:
                results.check_writable()
                say(f"Run {found + number + 1} of {len(distinct)}: {run}")
                try:
                    line = perform(run, folder, end)
                except OutOfTimeError as stopped:
                    say(f"Time is up: {run}: {stopped}; the same command goes on from there")
                    results.refresh()
                    left = sum(each.key not in results.lines for each in missing[number:])
                    return Outcome(left, failed, elsewhere)
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
