"""The settings of `python -m training.ablate` and its like."""

from __future__ import annotations

import dataclasses
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar, cast, get_type_hints

from training.ablation.arms import RE_RANKED_DEPTH, MeasuredOn, TrainingSettings
from training.ablation.runs import CUSINES, GRAPH, RANKER, System
from training.command_line import Place, SettingsError, Target, say
from training.negatives.options import CurriculumSettings
from training.settings import RankerTrainingSettings, RunSettings, at_least, folder_named

if TYPE_CHECKING:
    from training.ablation.dataset import Dataset

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
