"""What a grid can be of: CuSINeS's negatives, networks over the tree, negatives of a ranker."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from training import cusines, graph
from training.ablation.arms import (
    CUSINES_ARMS,
    FIRST_STAGE,
    GRAPH_ARMS,
    RANKER_ARMS,
    UNTRAINED,
    Arms,
    TrainingSettings,
)
from training.ablation.metrics import METRICS, RANKER_METRICS
from training.graph_training.settings import GraphSettings
from training.ranking.settings import RankerTrainingSettings
from training.settings import CusinesSettings

if TYPE_CHECKING:
    from training.ablation.run import Run

Perform = Callable[["Run", Path], dict[str, Any]]
"""Makes a run in a work folder, and gives its line."""

# Where things lie, and what else tells runs apart (digests, the seed).
_NOT_IN_KEY = {
    *("corpus", "questions", "output", "model", "query_model", "passage_model", "run_file"),
    *("seed", "dev_share", "final", "checkpoint_every", "device", "trackers", "start"),
    "vectors",
}


@dataclass(frozen=True)
class System:
    """One of the trainings, as grids use it.

    Attributes:
        name: Of its command.
        settings: Of one run.
        arms: What is compared.
        metrics: What is measured of each run.
        digests: Digests of the models that training starts from.
        performer: Opens what makes runs of these settings, one after the other.
        tables: Writes the results of a dataset, see `training.ablation.tables.tables`.
        untrained: The arms that are not trained, and the settings that matter for each.
        decided: Settings that the grid decides, beside those that it decides for every system.
    """

    name: str
    settings: type[TrainingSettings]
    arms: Arms
    metrics: Sequence[str]
    digests: Callable[[Any], dict[str, str]]
    performer: Callable[[Any], Perform]
    tables: Callable[..., str]
    untrained: Mapping[str, frozenset[str]]
    decided: frozenset[str] = frozenset()

    def keyed(self, arm: str) -> list[str]:
        """The settings that an arm's result depends on, paths apart."""
        matter = self.untrained.get(arm)
        return [
            field.name
            for field in dataclasses.fields(self.settings)
            if field.name not in _NOT_IN_KEY and (matter is None or field.name in matter)
        ]

    def defaults(self, arm: str) -> Mapping[str, Any]:
        """Their defaults, as JSON has them."""
        default = {field.name: field.default for field in dataclasses.fields(self.settings)}
        values = {name: default[name] for name in self.keyed(arm)}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}


# Torch and models are loaded when they are needed; --help does not wait for them.
def _cusines_digests(settings: CusinesSettings) -> dict[str, str]:
    from training.starting import start_digests

    return start_digests(settings)


def _graph_digests(settings: GraphSettings) -> dict[str, str]:
    from training.graph_training.features import start_digests

    return start_digests(settings)


def _ranker_digests(settings: RankerTrainingSettings) -> dict[str, str]:
    from training.ranking.first_stage import stage_digest
    from training.ranking.starting import start_digest, start_folder

    return {
        "model_sha256": stage_digest(settings.model),
        "start_sha256": start_digest(start_folder(settings.start)),
        # Only where the start decides it: lines of before have no such field.
        **({"start_segmentation": words} if (words := _words_of_start(settings)) else {}),
    }


def _words_of_start(settings: RankerTrainingSettings) -> str | None:
    from training.ranking.starting import reading_of

    return None if settings.segmentation else reading_of(settings).segmentation


def _cusines_runs(settings: CusinesSettings) -> Perform:
    from training.ablation.run import learner_runs

    return learner_runs(settings, cusines.start)


def _graph_runs(settings: GraphSettings) -> Perform:
    from training.ablation.run import learner_runs

    return learner_runs(settings, graph.start)


def _ranker_runs(_: RankerTrainingSettings) -> Perform:
    from training.ablation.ranker_run import RankerRuns

    return RankerRuns().perform


def _tables(*arguments: Any) -> str:
    from training.ablation.tables import tables

    return tables(*arguments)


def _ranker_tables(*arguments: Any) -> str:
    from training.ablation.ranker_tables import tables

    return tables(*arguments)


CUSINES = System(
    "cusines",
    CusinesSettings,
    CUSINES_ARMS,
    METRICS,
    _cusines_digests,
    _cusines_runs,
    _tables,
    {
        UNTRAINED: frozenset(
            {
                *("pooling", "max_tokens", "head", "passage_tokens", "max_passages"),
                *("head_pooling", "text_rule", "segmentation", "bm25_k1", "bm25_b", "dtype"),
            }
        )
    },
)
GRAPH = System(
    "graph",
    GraphSettings,
    GRAPH_ARMS,
    METRICS,
    _graph_digests,
    _graph_runs,
    _tables,
    {UNTRAINED: frozenset({"text_rule", "bm25_k1", "bm25_b"})},
    frozenset({"network", "neighbours", "citations", "buckets", "candidates"}),
)
_LISTS = frozenset({"candidates", "dev_candidates", "dtype"})
RANKER = System(
    "ranker",
    RankerTrainingSettings,
    RANKER_ARMS,
    RANKER_METRICS,
    _ranker_digests,
    _ranker_runs,
    _ranker_tables,
    {
        FIRST_STAGE: _LISTS,
        # What is chosen by select_by is the weight of the first stage's rank.
        UNTRAINED: _LISTS | {"passages", "passage_tokens", "segmentation", "select_by"},
    },
    frozenset({"strategy", "negatives"}),
)
SYSTEMS = {system.name: system for system in (CUSINES, GRAPH, RANKER)}
