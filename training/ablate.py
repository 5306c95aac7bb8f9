"""python -m training.ablate: measure what each part of CuSINeS is worth.

    python -m training.ablate --config training/configs/ablate_small.yaml --output ablation

Each run adds a line to the results file; the same command makes the missing runs and then writes
the tables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training.ablation.grid import AblationSettings, GridSettings
from training.command_line import SettingsError, TrainingError, run, say, settings_from

if TYPE_CHECKING:
    from training.ablation.grid import Results
    from training.ablation.runs import Run

_DESCRIPTION = """\
Trains the arms of a comparison, each with several seeds, and measures them on dev: where negatives
come from, in what order, and what they are compared with. Runs found in the results file are not
made again. Ends with tables (intervals, paired significance) and plots in the output folder."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("ablate", _DESCRIPTION, AblationSettings, arguments)
    return run(lambda: ablate(settings))


def ablate(settings: GridSettings) -> None:
    """Make the missing runs, then write tables and plots.

    Raises:
        SettingsError: A setting does not fit the data.
        CorpusError: A file cannot be read.
        ModelError: There is no such model.
        TrainingError: A run failed.
    """
    from training.ablation.arms import Dataset
    from training.ablation.grid import Results, make_missing, runs_of

    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise SettingsError("a grid runs in one process: run it without torchrun.")
    results = Results(Path(settings.results))
    datasets = [
        Dataset.read(place, dev_share=settings.base(place).dev_share) for place in settings.datasets
    ]
    runs = runs_of(settings, datasets)
    output = Path(settings.output)
    output.mkdir(parents=True, exist_ok=True)
    work = output / "work"
    perform = settings.system.performer(runs[0].settings)
    outcome = make_missing(runs, results, perform, work, budget_s=settings.budget_s)
    results.refresh()
    with suppress(OSError):  # there is none, or it holds runs that are not finished
        work.rmdir()
    for dataset in datasets:
        _report(dataset.name, [run for run in runs if run.dataset is dataset], results, settings)
    if outcome.left:
        say(
            f"Left: {outcome.left} of {len(runs)} runs; the next would not end within "
            f"{settings.budget_s} s"
        )
    if outcome.elsewhere:
        say(
            f"Left to other processes: {outcome.elsewhere} of {len(runs)} runs; when they have "
            "ended, the same command makes the tables of all"
        )
    if outcome.failed:
        raise TrainingError("runs that failed:\n  " + "\n  ".join(outcome.failed))


def _report(name: str, runs: Sequence[Run], results: Results, settings: GridSettings) -> None:
    """Tables and plots of a dataset, from the finished runs."""
    from training.ablation.report import plot_arms, tables

    found: dict[str, list[dict[str, Any]]] = {}
    for each in runs:
        of_arm = found.setdefault(each.arm, [])
        if each.key in results.lines:
            of_arm.append(results.lines[each.key])
    baseline = settings.system.arms.baseline_of(found)
    output = Path(settings.output)
    text = tables(
        *(name, found, len(runs) // len(found), settings.compare, baseline), settings.system.report
    )
    (output / f"{name}.md").write_text(text, encoding="utf-8")
    print(text)  # noqa: T201
    try:
        files = plot_arms(name, found, settings.compare, output, baseline)
    except ModuleNotFoundError as error:
        # A GPU machine may have only what training needs.
        say(f"No plots ({error}); run the same command where it is installed to draw them")
    else:
        for file in files:
            say(f"Drawn: {file}")


if __name__ == "__main__":
    sys.exit(main())
