"""Results of experiments: the arms of every grid beside each other, worked out once a file."""

from __future__ import annotations

import logging
import threading
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.statutes.arm_scores import ArmScore, compare_arms
from ui.beside import begin
from ui.runs.json_lines import items, mapping, number, read_lines, stamp_of, text, whole

logger = logging.getLogger(__name__)

_LIMIT = 64 << 20
_MAX_FILES = 10
_MAX_TABLES = 30
_MAX_ARMS = 60
_MAX_QUESTIONS = 1_000_000
_MAX_SETTINGS = 100
_MAX_STARTS = 4
_DIGITS = 8  # of a digest: enough to tell models apart

# A table shows the first few of these that all of its runs have.
_METRICS = ("R@10", "R@100", "MAP", "MRR@10", "MAP@10", "nDCG@10", "R@1")
_SHOWN_METRICS = 3

# What the arms of a grid are compared with. Lines that name no system are of CuSINeS.
_CUSINES = "cusines"
_BASELINES = {_CUSINES: "bm25_fixed", "graph": "untrained", "ranker": "first_stage"}


@dataclass(frozen=True)
class ArmRow:
    """An arm of a table.

    Attributes:
        arm: its name.
        settings: those in which it differs from others of the same name.
        runs: how many there are.
        seeds: how many they have.
        scores: metric to its score.
    """

    arm: str
    settings: Mapping[str, str]
    runs: int
    seeds: int
    scores: Mapping[str, ArmScore]


@dataclass(frozen=True)
class Table:
    """The arms of a grid on a dataset.

    Attributes:
        system: what was trained: "cusines", "graph", "ranker", or what the file says.
        dataset: its name.
        folds: of the cross-validation; 1 for the given splits.
        measured_on: the split, where the file says it.
        start: beginnings of the digests of the models that training started from.
        questions: how many were measured.
        metrics: what is shown of each arm.
        baseline: the arm that the others are compared with; None where there is none.
        rows: the arms, in the file's order.
    """

    system: str
    dataset: str
    folds: int
    measured_on: str
    start: str
    questions: int
    metrics: tuple[str, ...]
    baseline: str | None
    rows: tuple[ArmRow, ...]


@dataclass(frozen=True)
class Grids:
    """Everything that is known.

    Attributes:
        tables: one for each system, dataset and model that training started from.
        damaged: lines that are no result of a run.
        cut: whether a file is longer than what was read, or has more than is shown.
        failed: whether they could not be worked out; the log says why.
    """

    tables: tuple[Table, ...]
    damaged: int
    cut: bool
    failed: bool = False


class Results:
    """The results files of a folder.

    Intervals take seconds on large files, so they are worked out beside the page and kept until
    a file changes.

    Args:
        folder: with files of one JSON object a run; None or an absent one has no results.
    """

    def __init__(self, folder: Path | None) -> None:
        self._folder = folder
        self._lock = threading.Lock()
        self._work: _Work | None = None
        self._last: Grids | None = None

    def read(self, patience: float) -> Grids | None:
        """The tables of the files as they are now.

        Args:
            patience: seconds to wait for them; then those of before are given.

        Returns:
            None where there are none yet.
        """
        files = self._files()
        with self._lock:
            if self._work is None or (self._work.files != files and self._work.done.is_set()):
                self._work = _Work(files)
            work = self._work
        work.done.wait(patience)
        if work.grids is not None:
            self._last = work.grids
        return self._last

    def _files(self) -> _Files:
        if self._folder is None:
            return ()
        try:
            found = sorted(self._folder.glob("*.jsonl"))[:_MAX_FILES]
        except OSError:
            return ()
        return tuple((path, stamp_of(path)) for path in found)


_Files = tuple[tuple[Path, tuple[int, int] | None], ...]


class _Work:
    """Reads files in a thread of its own; `grids` are there when it is done."""

    def __init__(self, files: _Files) -> None:
        self.files = files
        self.done = threading.Event()
        self.grids: Grids | None = None
        begin(self._run, "results")

    def _run(self, stop: threading.Event) -> None:
        try:
            self.grids = read_grids([path for path, _ in self.files], stop)
        except Exception:
            # The page has other things to show, and should not wait for ever.
            logger.exception("The results of experiments could not be read.")
            self.grids = Grids((), 0, False, failed=True)
        finally:
            self.done.set()


def default_folder() -> Path | None:
    """The results that come with a checkout; None where Lexarbor is installed without them."""
    folder = Path(__file__).resolve().parents[2] / "docs" / "results"
    return folder if folder.is_dir() else None


def read_grids(paths: Sequence[Path], stop: threading.Event) -> Grids:
    """Read results files, and compare the arms of each dataset in them, until told to stop."""
    groups: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    damaged = 0
    cut = False
    for path in paths:
        if stop.is_set():
            break
        found = read_lines(path, _LIMIT)
        damaged += found.damaged
        cut |= found.cut
        for each in found.objects:
            line = _line(each)
            if line is None:
                damaged += 1
            else:
                place = (line["system"], line["dataset"], line["folds"], line["measured_on"])
                groups.setdefault((*place, line["data"], line["start"]), []).append(line)
    chosen = list(groups.values())[:_MAX_TABLES]
    tables = tuple(_table(lines) for lines in chosen if not stop.is_set())
    more = len(groups) > len(chosen) or any(len(table.rows) == _MAX_ARMS for table in tables)
    return Grids(tables, damaged, cut or more)


def _line(line: Mapping[str, Any]) -> dict[str, Any] | None:
    """What is used of a run's line, checked; None where something is not as it must be."""
    arm, dataset = text(line.get("arm")), text(line.get("dataset"))
    seed, fold, folds = (whole(line.get(name)) for name in ("seed", "fold", "folds"))
    questions = [whole(each) for each in items(line.get("questions"), _MAX_QUESTIONS)]
    values = {
        metric: [number(each) for each in items(of_metric, _MAX_QUESTIONS)]
        for metric, of_metric in mapping(line.get("values")).items()
        if metric in _METRICS
    }
    whole_line = questions and values and None not in (*questions, seed, fold, folds)
    fits = all(len(of) == len(questions) and None not in of for of in values.values())
    if not (arm and dataset and whole_line and fits):
        return None
    settings = list(mapping(line.get("settings")).items())[:_MAX_SETTINGS]
    start = list(mapping(line.get("start")).values())[:_MAX_STARTS]
    return {
        "arm": arm,
        "dataset": dataset,
        "system": text(line.get("system")) or _CUSINES,
        "measured_on": text(line.get("measured_on")),
        "data": (text(line.get("corpus_sha256")), text(line.get("questions_sha256"))),
        "start": ", ".join(text(each)[:_DIGITS] for each in start),
        "seed": seed,
        "fold": fold,
        "folds": folds,
        "settings": {text(name): text(str(value)) for name, value in settings},
        "questions": questions,
        "values": values,
    }


def _table(lines: Sequence[Mapping[str, Any]]) -> Table:
    first = lines[0]
    arms = dict(list(_arms(lines).items())[:_MAX_ARMS])
    every = [line for of_arm in arms.values() for line in of_arm]
    metrics = tuple(m for m in _METRICS if all(m in line["values"] for line in every))
    metrics = metrics[:_SHOWN_METRICS]
    baseline = _BASELINES.get(first["system"])
    if baseline not in arms:
        baseline = None
    scores = {
        metric: {each.arm: each for each in compare_arms(arms, metric, baseline or "")}
        for metric in metrics
    }
    return Table(
        system=first["system"],
        dataset=first["dataset"],
        folds=first["folds"],
        measured_on=first["measured_on"],
        start=first["start"],
        questions=len({question for line in every for question in line["questions"]}),
        metrics=metrics,
        baseline=baseline,
        rows=tuple(
            ArmRow(
                arm=of_arm[0]["arm"],
                settings=_differing(of_arm[0], lines),
                runs=len(of_arm),
                seeds=len({line["seed"] for line in of_arm}),
                scores={metric: scores[metric][name] for metric in metrics},
            )
            for name, of_arm in arms.items()
        ),
    )


def _arms(lines: Sequence[Mapping[str, Any]]) -> dict[str, list[Mapping[str, Any]]]:
    """Lines by their arm, those of other settings under a name of their own.

    A setting that one line has and another has not is one that was invented in between, and says
    nothing. Where a run stands twice, the first counts.
    """
    arms: dict[str, list[Mapping[str, Any]]] = {}
    for line in lines:
        number = 0
        while True:
            number += 1
            name = line["arm"] if number == 1 else f"{line['arm']} / {number}"
            runs = arms.setdefault(name, [])
            if not runs or (runs[0]["arm"] == line["arm"] and not _differing(line, runs[:1])):
                break
        if all((line["seed"], line["fold"]) != (run["seed"], run["fold"]) for run in runs):
            runs.append(line)
    return arms


def _differing(line: Mapping[str, Any], others: Sequence[Mapping[str, Any]]) -> dict[str, str]:
    """The settings of a line that others of its arm have otherwise."""
    same_arm = [other["settings"] for other in others if other["arm"] == line["arm"]]
    return {
        name: value
        for name, value in line["settings"].items()
        if any(settings.get(name, value) != value for settings in same_arm)
    }
