"""What each stage of a pipeline adds: its measures, its gain, and what a re-ranker can reach."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from statistics import fmean
from typing import Any, TypedDict

from components.joiners.rank_fusion import CITATION
from components.statutes.metrics import evaluate, metric_depth
from components.statutes.significance import bootstrap_interval, paired_randomisation
from pipelines.stages import Outputs, Stage

_FIRST, _DEEP = 10, 100

Values = Mapping[str, Mapping[str, float]]
"""For each metric the value of each question, by id."""


class Measure(TypedDict):
    """Means over the questions and their 95% bootstrap intervals, by metric."""

    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]


class Ceiling(TypedDict):
    """A `Measure` of what a re-ranker's candidates hold, R@m and Exist@m, whatever their order.

    `n_candidates` is m, the most that it was given for a question.
    """

    n_candidates: int
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]


class StageGain(TypedDict):
    """A `Measure` of one stage, beside the stage before it.

    `stage` is its name and `n_found` the number of questions for which it found anything. `before`
    is the stage that it is compared with, None for the first; `gain` has for each metric the stage
    less that one: `difference`, `interval`, `p` and `detectable`. `ceiling` is None where the
    stage ranks no other's list.
    """

    stage: str
    n_found: int
    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]
    before: str | None
    gain: dict[str, dict[str, Any]]
    ceiling: Ceiling | None


@dataclass(frozen=True)
class StageRun:
    """What one stage found, gathered question by question.

    Attributes:
        stage: the stage.
        rankings: for each question's id the first 100 ids found, best first.
        candidates: for each question's id the pinned ids, and those given to be ranked below them.
    """

    stage: Stage
    rankings: dict[str, list[str]] = field(default_factory=dict)
    candidates: dict[str, tuple[list[str], list[str]]] = field(default_factory=dict)

    def add(self, question: str, outputs: Outputs) -> None:
        """Keep what the stage found for a question; its candidates where it ranks a list anew."""
        self.rankings[question] = self.stage.ranking(outputs)[:_DEEP]
        if self.stage.ranked_anew:
            self.candidates[question] = self.stage.candidates(outputs)


def gains(
    runs: Sequence[StageRun], qrels: Mapping[str, Collection[str]], depth: int
) -> list[StageGain]:
    """Measure the stages of one pipeline, each beside the one before it.

    The stage before is, of those whose lists a stage takes, the one with the highest MAP@10; for
    one that searches the store, the last listed that does so too. Citations are a hint, and no
    stage is compared with them, nor they with any; where no question cites they are left out.

    Args:
        runs: the stages in their order.
        qrels: for each question's id the ids of its relevant articles.
        depth: how many articles were asked for. Metrics are R@10, R@100, MAP@10 and MRR@10, cut
            at this depth where it is less; a stage that goes less deep lacks those that go deeper.
    """
    found: list[StageGain] = []
    values: dict[str, Values] = {}
    searching: list[str] = []
    for stage_run in runs:
        stage, n_found = stage_run.stage, sum(map(bool, stage_run.rankings.values()))
        if stage.name == CITATION and not n_found:
            continue
        own = values[stage.name] = _values(stage_run, qrels, depth)
        taken = [name for name in stage.takes if name != CITATION and values.get(name)]
        before = max(taken, key=lambda name: _map_at_first(values[name]), default=None)
        if not stage.takes and stage.name != CITATION:
            before = searching[-1] if searching else None
            searching.append(stage.name)
        found.append(
            StageGain(
                stage=stage.name,
                n_found=n_found,
                **_measure(own),
                before=before,
                gain=_gain(own, values[before]) if before else {},
                ceiling=_ceiling(stage_run, qrels),
            )
        )
    return found


def metrics_of(stages: Sequence[StageGain]) -> list[str]:
    """The metrics of the stage that has the most; others lack those that they are too short for."""
    return max((list(each["metrics"]) for each in stages), key=len, default=[])


def table(stages: Sequence[StageGain]) -> str:
    """The stages as lines of text: means with intervals, gains with p, ceilings below."""
    metrics = metrics_of(stages)
    width = 2 + max(len(f"  less {each['before'] or each['stage']}") for each in stages)

    def line(name: str, cells: Sequence[str]) -> str:
        return f"{name:<{width}}{''.join(f'{cell:<22}' for cell in cells)}".rstrip()

    lines = [line("stage", metrics)]
    compared = any(each["before"] for each in stages)
    for each in stages:
        cells = [
            _with_interval(each, metric) if metric in each["metrics"] else "-" for metric in metrics
        ]
        lines.append(line(each["stage"], cells))
        if each["before"]:
            tests = [each["gain"].get(metric) for metric in metrics]
            cells = [f"{of['difference']:+.3f} p {of['p']:.4f}" if of else "" for of in tests]
            lines.append(line(f"  less {each['before']}", cells))
    if compared:
        lines += ["", "p: paired randomisation tests, none corrected for the others"]
    for each in stages:
        if each["ceiling"]:
            reached = ", ".join(
                f"{metric} {_with_interval(each['ceiling'], metric)}"
                for metric in each["ceiling"]["metrics"]
            )
            lines += ["", f"ceiling of {each['stage']}: {reached}"]
        if each["stage"] == CITATION:
            lines += ["", f"{CITATION} found articles for {each['n_found']:,} questions"]
    return "\n".join(lines)


def _with_interval(measured: Measure, metric: str) -> str:
    low, high = measured["intervals"][metric]
    return f"{measured['metrics'][metric]:.3f} {low:.3f} to {high:.3f}"


def _values(run: StageRun, qrels: Mapping[str, Collection[str]], depth: int) -> Values:
    """The metrics for which the stage goes deep enough."""
    first, deep = min(_FIRST, depth), min(_DEEP, depth)
    longest = max(map(len, run.rankings.values()), default=0)
    # A component that does not say how deep it goes has gone as deep as its longest list.
    reached = min(deep, longest if run.stage.top_k is None else run.stage.top_k)
    wanted = dict.fromkeys([f"R@{first}", f"R@{deep}", f"MAP@{first}", f"MRR@{first}"])
    metrics = [metric for metric in wanted if metric_depth(metric) <= reached]
    if not metrics:
        return {}
    rankings = {question: ids[:reached] for question, ids in run.rankings.items()}
    return evaluate(rankings, qrels, metrics, depth=reached)


def _map_at_first(values: Values) -> float:
    return next(fmean(of.values()) for metric, of in values.items() if metric.startswith("MAP"))


def _measure(values: Values) -> Measure:
    return Measure(
        metrics={metric: fmean(of.values()) for metric, of in values.items()},
        intervals={metric: bootstrap_interval(list(of.values())) for metric, of in values.items()},
    )


def _gain(own: Values, before: Values) -> dict[str, dict[str, Any]]:
    gain = {}
    for metric, of in own.items():
        if metric in before:
            others = [before[metric][question] for question in of]
            gain[metric] = asdict(paired_randomisation(list(of.values()), others))
    return gain


def _ceiling(run: StageRun, qrels: Mapping[str, Collection[str]]) -> Ceiling | None:
    m = max((len(given) for _, given in run.candidates.values()), default=0)
    if not m:
        return None
    # Pinned articles stand above the m: whatever the order, they are found too.
    lists = {question: [*pinned, *given] for question, (pinned, given) in run.candidates.items()}
    cut = max(map(len, lists.values()))
    names = {f"R@{cut}": f"R@{m}", f"Exist@{cut}": f"Exist@{m}"}
    reached = evaluate(lists, qrels, names, depth=cut)
    return Ceiling(
        n_candidates=m, **_measure({names[metric]: of for metric, of in reached.items()})
    )
