"""The settings of `python -m training.ablate`."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import Any, ClassVar, cast, get_type_hints

from training.ablation.metrics import METRICS
from training.ablation.systems import CUSINES, GRAPH, System
from training.command_line import Place, SettingsError, Target
from training.run_settings import RunSettings

RESULTS = Target("docs/results/ablate.jsonl")

# What of a training run the grid decides, or has no use for: it keeps no model.
_NOT_SHARED = {
    *("corpus", "questions", "output", "dev_share", "run_file", "seed"),
    *("views", "schedule", "permute_tree", "final", "trackers"),
}


@dataclass(frozen=True, kw_only=True)
class GridSettings:
    """What a system's parts are worth: datasets x arms x seeds, and folds where data is small.

    Args:
        datasets: Laws with their questions: folders, or names that StatuteCorpus.read knows.
        output: Folder of the tables and plots, and meanwhile of unfinished runs.
        results: File that each finished run adds a line to; runs found there are not made again.
        tables: Arms by the paper's tables: main (one arm a part), table2 (sources of negatives),
            table3 (views), table4 (static or dynamic), figure1 (schedules, buckets); of graphs:
            main, networks (G-DSR's Table 4).
        arms: Further arms by name; with neither, those of main.
        seeds: One run of each arm (and fold) a seed.
        folds: Parts of the questions of train and dev for cross-validation; 1 measures on the given
            dev split. Default: 5 where there are fewer than 200 such questions, else 1.
        compare: Metrics that get a table with intervals and significance each.
        budget_s: No run is begun that would end after so many seconds, as long as the grid's others
            took; 0 makes none, only the tables of those that are there.

    Raises:
        SettingsError: A value is out of its range.
    """

    system: ClassVar[System] = CUSINES

    datasets: tuple[Place, ...]
    output: Target
    results: Target = RESULTS
    tables: tuple[str, ...] = ()
    arms: tuple[str, ...] = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    folds: int | None = None
    compare: tuple[str, ...] = ("R@10", "R@100", "MAP", "fused R@10")
    budget_s: float | None = None

    def __post_init__(self) -> None:
        for name in ("datasets", "seeds", "compare"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise SettingsError(f"{name}: name at least one, and each once.")
        if self.folds is not None and self.folds < 1:
            raise SettingsError(f"folds is {self.folds}; it must be at least 1.")
        if wrong := [metric for metric in self.compare if metric not in METRICS]:
            raise SettingsError(
                f"compare: {wrong[0]!r} is not measured; there are {', '.join(METRICS)}."
            )
        self.system.arms.chosen(self.tables, self.arms)

    @property
    def chosen_arms(self) -> tuple[str, ...]:
        """The arms of this grid."""
        return self.system.arms.chosen(self.tables, self.arms)

    def base(self, dataset: str) -> RunSettings:
        """What all training runs on a dataset have in common.

        Raises:
            SettingsError: A value is out of its range, or two do not fit together.
        """
        values: dict[str, Any] = {
            field.name: getattr(self, field.name) for field in _shared(self.system)
        }
        values |= {"corpus": dataset, "questions": dataset, "output": self.output}
        return self.system.settings(**values)


def _shared(system: System) -> list[dataclasses.Field[Any]]:
    return [
        field
        for field in dataclasses.fields(system.settings)
        if field.name not in _NOT_SHARED | system.decided
    ]


def _with_shared_settings(system: System) -> type[GridSettings]:
    """`GridSettings` with a field for each setting that all runs share, and its help."""
    types = get_type_hints(system.settings)
    shared = [
        (field.name, types[field.name], dataclasses.field(default=field.default))
        for field in _shared(system)
    ]
    own, _, raises = (GridSettings.__doc__ or "").partition("\n\n    Raises:")
    help_ = {
        **_arguments(RunSettings.__doc__ or ""),
        **_arguments(system.settings.__doc__ or ""),
    }
    kept = "".join(help_[field.name] for field in _shared(system) if field.name in help_)
    made = dataclasses.make_dataclass(
        "AblationSettings",
        shared,
        bases=(GridSettings,),
        frozen=True,
        kw_only=True,
        namespace={
            "__doc__": f"{own}\n{kept}\n\n    Raises:{raises}",
            "__module__": __name__,
            "system": system,
        },
    )
    return cast("type[GridSettings]", made)


def _arguments(docstring: str) -> dict[str, str]:
    """The lines of each argument in a docstring's `Args:`."""
    found: dict[str, str] = {}
    name = ""
    section = docstring.partition("Args:\n")[2].partition("\n\n")[0]
    for line in section.splitlines(keepends=True):
        if line.startswith(" " * 8) and not line.startswith(" " * 9):
            name = line.strip().partition(":")[0]
        found[name] = found.get(name, "") + line
    return found


AblationSettings = _with_shared_settings(CUSINES)
"""`GridSettings`, and beside them every setting of `training.cusines` that arms have in common."""

GraphAblationSettings = _with_shared_settings(GRAPH)
"""The same of `training.graph`."""
