"""A grid's settings, its results file, and how the missing runs are made one after the other."""

from __future__ import annotations

import ctypes
import dataclasses
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
from typing import Any, ClassVar, TypeVar, cast, get_type_hints

from components.models.devices import resolve_device
from components.models.folder import sync
from components.models.locks import file_lock, folder_lock
from training.ablation.arms import RE_RANKED_DEPTH, Dataset, MeasuredOn, TrainingSettings
from training.ablation.runs import CUSINES, GRAPH, RANKER, SYSTEMS, Perform, Run, System, key_of
from training.command_line import OutOfTimeError, Place, SettingsError, Target, TrainingError, say
from training.negatives.curriculum import CurriculumSettings
from training.records import environment
from training.settings import RankerTrainingSettings, RunSettings, at_least, folder_named

RESULTS = Target("docs/results/ablate.jsonl")
RANKER_RESULTS = Target("docs/results/ranker.jsonl")

# Settings of a run that the grid decides or does not need, since it keeps no model.
_NOT_SHARED = {
    *("corpus", "questions", "output", "run_file", "seed"),
    *("views", "permute_tree", "final"),
}


@dataclass(frozen=True, kw_only=True)
class GridSettings:
    """What a system's parts are worth: datasets x arms x seeds.

    Args:
        datasets: Laws with their questions: folders, or names that StatuteCorpus.read knows.
        output: Folder of the tables and plots, and of unfinished runs until they end.
        results: File to which each finished run adds a line; runs found there are not made again.
        tables: Arms by CuSINeS's tables: table2 (the published baseline and CuSINeS), table3
            (fixed or by curriculum), table4 (static or dynamic), figure1 (schedules, buckets), or
            main (one arm for each part); of graphs also networks (G-DSR's Table 4); of rankers
            table2 (SoICT's).
        arms: Further arms by name; without tables and arms, those of the first table.
        seeds: Seeds; each arm (and fold) runs once for each.
        compare: Metrics; each gets a table with intervals and significance.
        budget_s: No run is begun that would probably end after this many seconds; 0 makes no runs,
            only the tables of those already made.

    Raises:
        SettingsError: A value is out of its range.
    """

    system: ClassVar[System]

    datasets: tuple[Place, ...]
    output: Target
    results: Target = RESULTS
    tables: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    compare: tuple[str, ...]
    budget_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("datasets", "seeds", "compare"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise SettingsError(f"{name}: name at least one, and each once.")
        folder_named(self.output)
        at_least(self, 0, "budget_s")
        metrics = self.system.report.metrics
        if wrong := [metric for metric in self.compare if metric not in metrics]:
            raise SettingsError(
                f"compare: {wrong[0]!r} is not measured; choose among {', '.join(metrics)}."
            )
        self.system.arms.chosen(self.tables, self.arms)

    @property
    def chosen_arms(self) -> tuple[str, ...]:
        """The arms of this grid."""
        return self.system.arms.chosen(self.tables, self.arms)

    @property
    def measured_on(self) -> MeasuredOn:
        """The split that is measured, where there are no folds."""
        return "dev"

    def folds_of(self, dataset: Dataset) -> int:
        """In how many folds a dataset is measured; 1 means its own splits.

        Raises:
            SettingsError: It has no dev split, or too few questions for so many folds.
        """
        raise NotImplementedError

    def base(self, dataset: str) -> TrainingSettings:
        """The settings that all training runs on a dataset have in common.

        Raises:
            SettingsError: A value is out of its range, or two do not fit together.
        """
        values: dict[str, Any] = {
            field.name: getattr(self, field.name) for field in _shared(self.system)
        }
        values |= {"corpus": dataset, "questions": dataset, "output": self.output}
        return self.system.settings(**values)


@dataclass(frozen=True, kw_only=True)
class FoldedGridSettings(GridSettings):
    """What a system's parts are worth: datasets x arms x seeds, and folds where data is small.

    Args:
        folds: Parts of the questions of train and dev for cross-validation; 1 measures on the given
            dev split. Default: 5 where there are fewer than 200 such questions and the starting
            model has not learnt them, else 1.
    """

    folds: int | None = None
    compare: tuple[str, ...] = ("R@10", "R@100", "MAP", "fused R@10")

    def __post_init__(self) -> None:
        super().__post_init__()
        at_least(self, 1, "folds")

    def folds_of(self, dataset: Dataset) -> int:
        """By the settings, or by the number of questions and what the starting model has learnt.

        Raises:
            SettingsError: It has no dev split, or too few questions for so many folds; or the
                starting model has learnt what would be measured.
            ModelError: There is no such model.
        """
        # Imported here, so that --help answers at once.
        from training.data import trainings_on

        folds = dataset.n_folds(self.folds)
        base = self.base(dataset.place)
        trainings = trainings_on(dataset.given.questions_sha256, base)
        if trainings and folds > 1:
            learnt = f"{trainings[0].model} has learnt these questions"
            if self.folds is not None:
                raise SettingsError(
                    f"folds, {dataset.place}: {learnt}; in {folds} folds they would be tested on "
                    "what it knows. Set folds to 1, which measures on dev alone, or start from a "
                    "model that has not learnt them."
                )
            folds = dataset.n_folds(1)
            say(f"{dataset.name}: measured on dev alone, without folds, because {learnt}")
        refuse_learnt_dev(dataset, base)
        return folds


@dataclass(frozen=True, kw_only=True)
class RankerGridSettings(GridSettings):
    """What a ranker's negatives are worth: datasets x arms x seeds.

    Args:
        measure_on: The split that is measured, dev or test. The epoch is chosen on dev, so dev
            flatters every trained arm.
    """

    measure_on: MeasuredOn = "dev"
    results: Target = RANKER_RESULTS
    compare: tuple[str, ...] = ("MRR@10", "R@1", "MAP@10", "R@10")

    @property
    def measured_on(self) -> MeasuredOn:
        """The split of the settings."""
        return self.measure_on

    def folds_of(self, dataset: Dataset) -> int:
        """Always its own splits.

        Raises:
            SettingsError: It has no dev split; or dev is measured, and the starting model has
                learnt it.
            ModelError: There is no such model.
        """
        from training.data import say_where_dev_is_learnt

        if not dataset.given.dev:
            raise SettingsError(
                f"{dataset.place}: has no question of the split dev to choose the epoch by. Give "
                "some of train that split, or more questions (a share is set aside: dev_share)."
            )
        base = self.base(dataset.place)
        if self.measure_on == "dev":
            refuse_learnt_dev(dataset, base)
        else:
            say_where_dev_is_learnt(base, dataset.given)
        return 1

    def base(self, dataset: str) -> TrainingSettings:
        """The settings that all training runs on a dataset have in common.

        Raises:
            SettingsError: A value is out of its range, or two do not fit together.
        """
        base = super().base(dataset)
        assert isinstance(base, RankerTrainingSettings)
        if base.candidates < RE_RANKED_DEPTH:
            raise SettingsError(
                f"candidates is {base.candidates}; {RE_RANKED_DEPTH} at least are measured."
            )
        return base


def refuse_learnt_dev(dataset: Dataset, base: TrainingSettings) -> None:
    """Refuse to measure on dev questions that the starting model has learnt.

    Raises:
        SettingsError: It has; names the model.
        ModelError: There is no such model.
    """
    from training.data import trainings_on

    for training in trainings_on(dataset.given.questions_sha256, base):
        if how := training.learnt_of_dev(dataset.given, base.dev_share):
            raise SettingsError(
                f"{dataset.place}: {training.model} has learnt questions of dev ({how}), which "
                "are measured. Start from a model that was trained without final and with the "
                "same dev_share."
            )


def _shared(system: System) -> list[dataclasses.Field[Any]]:
    return [
        field
        for field in dataclasses.fields(system.settings)
        if field.name not in _NOT_SHARED | system.decided
    ]


G = TypeVar("G", bound=GridSettings)


def _with_shared_settings(system: System, kind: type[G]) -> type[G]:
    """Derive a kind of grid with a field, and help, for each setting that all runs share."""
    types = get_type_hints(system.settings)
    shared = [
        (field.name, types[field.name], dataclasses.field(default=field.default))
        for field in _shared(system)
    ]
    names = [
        *(field.name for field in dataclasses.fields(kind)),
        *(field.name for field in _shared(system)),
    ]
    help_ = {
        name: text
        for documented in (CurriculumSettings, RunSettings, system.settings, GridSettings, kind)
        for name, text in _arguments(documented.__doc__ or "").items()
    }
    first = (kind.__doc__ or "").partition("\n")[0]
    kept = "".join(help_[name] for name in names if name in help_)
    made = dataclasses.make_dataclass(
        "AblationSettings",
        shared,
        bases=(kind,),
        frozen=True,
        kw_only=True,
        namespace={
            "__doc__": f"{first}\n\n    Args:\n{kept}",
            "__module__": __name__,
            "system": system,
        },
    )
    return cast("type[G]", made)


def _arguments(docstring: str) -> dict[str, str]:
    """The lines of each argument in a docstring's `Args:`."""
    found: dict[str, str] = {}
    name = ""
    section = docstring.partition("Args:\n")[2].partition("\n\n")[0]
    for line in section.splitlines():
        if line.startswith(" " * 8) and not line.startswith(" " * 9):
            name = line.strip().partition(":")[0]
        found[name] = found.get(name, "") + line + "\n"
    return found


AblationSettings = _with_shared_settings(CUSINES, FoldedGridSettings)
"""A grid's settings, and every setting of `training.cusines` that arms have in common."""

GraphAblationSettings = _with_shared_settings(GRAPH, FoldedGridSettings)
"""The same for `training.graph`."""

RankerAblationSettings = _with_shared_settings(RANKER, RankerGridSettings)
"""The same for `training.ranker`."""


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
