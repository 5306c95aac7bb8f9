"""What a grid can be of: CuSINeS's negatives, or networks over the tree."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from training import cusines, graph
from training.ablation.arms import CUSINES_ARMS, GRAPH_ARMS, Arms
from training.graph_training.settings import GraphSettings
from training.run_settings import RunSettings
from training.settings import CusinesSettings

# Where things lie, what else tells runs apart (digests, the seed), or what changes no result but
# by the order of a sum.
_NOT_IN_KEY = {
    *("corpus", "questions", "output", "model", "query_model", "passage_model", "run_file"),
    *("seed", "dev_share", "final", "checkpoint_every", "device", "trackers"),
    *("token_budget", "gradient_caching", "vectors"),
}


@dataclass(frozen=True)
class System:
    """One of the trainings, as grids use it.

    Attributes:
        name: Of its command.
        settings: Of one run.
        arms: What is compared.
        start: Opens what training starts from.
        digests: Digests of the models that training starts from.
        untrained: The settings that matter for an arm that is not trained.
        decided: Settings that the grid decides, beside those that it decides for every system.
    """

    name: str
    settings: type[RunSettings]
    arms: Arms
    start: Callable[..., Any]
    digests: Callable[[Any], dict[str, str]]
    untrained: frozenset[str]
    decided: frozenset[str] = frozenset()

    def keyed(self, *, trained: bool) -> list[str]:
        """The settings that a run's result depends on, paths apart."""
        return [
            field.name
            for field in dataclasses.fields(self.settings)
            if field.name not in _NOT_IN_KEY and (trained or field.name in self.untrained)
        ]

    def defaults(self, *, trained: bool) -> Mapping[str, Any]:
        """Their defaults, as JSON has them."""
        default = {field.name: field.default for field in dataclasses.fields(self.settings)}
        values = {name: default[name] for name in self.keyed(trained=trained)}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}


# Torch and models are loaded when they are needed; --help does not wait for them.
def _cusines_digests(settings: CusinesSettings) -> dict[str, str]:
    from training.starting import start_digests

    return start_digests(settings)


def _graph_digests(settings: GraphSettings) -> dict[str, str]:
    from training.graph_training.features import start_digests

    return start_digests(settings)


CUSINES = System(
    "cusines",
    CusinesSettings,
    CUSINES_ARMS,
    cusines.start,
    _cusines_digests,
    frozenset(
        {
            *("pooling", "max_tokens", "head", "passage_tokens", "max_passages", "head_pooling"),
            *("text_rule", "bm25_k1", "bm25_b", "dtype"),
        }
    ),
)
GRAPH = System(
    "graph",
    GraphSettings,
    GRAPH_ARMS,
    graph.start,
    _graph_digests,
    frozenset({"text_rule", "bm25_k1", "bm25_b"}),
    frozenset({"network", "neighbours", "citations"}),
)
SYSTEMS = {system.name: system for system in (CUSINES, GRAPH)}
