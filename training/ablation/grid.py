"""The runs of a grid, one after the other, those that are missing."""

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
from training.command_line import SettingsError, TrainingError, say
from training.records import environment


def give_back_memory() -> None:
    """Give what a run has freed back to the system, where the C library can.

    glibc keeps it otherwise, in pieces that the next run's batches do not fit into: a grid would
    take more memory with every run, and leave less to the processes beside it.
    """
    gc.collect()
    try:
        trim = ctypes.CDLL(None).malloc_trim
    except (AttributeError, OSError, TypeError):
        return  # another C library
    trim(0)


# The results of all runs: one JSON object a line, only ever added to.


class Results:
    """The lines of a results file by their runs' keys.

    A line is written at once and synced; several grids may add to one file. A last line that was
    cut off by a kill is removed when it is met after results of runs, with a message; a file of
    anything else is refused, and left as it is.

    Args:
        path: The file; made with the first line.

    Attributes:
        lines: Key to line. Where a key stands twice, the first counts.

    Raises:
        SettingsError: A line is none of a run; names it.
        OSError: The file cannot be read.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, dict[str, Any]] = {}
        self._size = 0
        self._n_lines = 0
        self.refresh()

    def refresh(self) -> None:
        """Read what was added since, by this grid or another.

        Raises:
            SettingsError: As when opened.
            OSError: As when opened.
        """
        text = self._unread()
        if text and not text.endswith(b"\n"):
            # Another grid may be writing it at this moment. Not so while we hold the lock.
            with file_lock(self.path, wait=True):
                self._mend()
        else:
            self._take(text)

    def check_writable(self) -> None:
        """Refuse a file that no line could be added to, before anything is computed for it.

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
            self._mend()
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
                raise self._no_result(error) from error
            self.lines.setdefault(key, line)
            self._n_lines += 1
        self._size += len(text)

    def _mend(self) -> None:
        """Read what was added; end a last line that is whole, remove one that was cut off."""
        text = self._unread()
        last = text.rpartition(b"\n")[2]
        # First what is before it: of a file of something else nothing is removed.
        self._take(text.removesuffix(last))
        if not last:
            return
        try:
            json.loads(last)
        except ValueError as error:
            if not self.lines:
                raise self._no_result(error) from error
            say(f"{self.path}: line {self._n_lines + 1} was not written to its end, and is removed")
            with self.path.open("r+b") as file:
                file.truncate(self._size)
                os.fsync(file.fileno())
        else:
            self._take(last)
            self._write(b"\n")
            self._size += 1

    def _no_result(self, error: Exception) -> SettingsError:
        return SettingsError(
            f"{self.path}:{self._n_lines + 1}: is no result of a run ({type(error).__name__}: "
            f"{error}). Remove the line, or give another results file."
        )

    def _write(self, text: bytes) -> None:
        target = os.open(self.path, os.O_WRONLY | os.O_APPEND)
        try:
            if os.write(target, text) != len(text):
                raise OSError(f"{self.path}: the disk is full; the last line is not whole.")
            os.fsync(target)
        finally:
            os.close(target)


def _check_values(line: Mapping[str, Any]) -> None:
    """Refuse a line without a number for each of its questions in each metric of its system."""
    for metric in SYSTEMS[line.get("system", CUSINES.name)].report.metrics:
        values = line["values"][metric]
        if len(values) != len(line["questions"]) or not all(map(math.isfinite, values)):
            raise ValueError(f"{metric} is not one finite number for each question")


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
