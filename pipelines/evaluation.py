"""Measuring pipelines on questions whose articles are known."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from statistics import fmean, median
from typing import Any, TypedDict

import numpy as np
from haystack import Pipeline
from numpy.typing import NDArray
from tqdm import tqdm

from components.embedders.text import StatuteTextEmbedder
from components.joiners.rank_fusion import CITATION
from components.models.dense_index import DenseIndex
from components.retrievers.validity import ANY
from components.statutes.metrics import DEFAULT_METRICS, evaluate, metric_depth
from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval, paired_randomisation
from components.stores.journal import text_digest
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.checking import LoadingError, pipeline_file
from pipelines.loading import load_pipeline
from pipelines.stages import (
    DENSE,
    DIVISION,
    GRAPH,
    Outputs,
    Stage,
    kind_of,
    parts_of,
    ranked_last,
    searcher_of,
    stages_of,
)

ALL = "all"  # stands for no split: a question's own is train, dev or test


def chosen_split(
    questions: Sequence[Question],
    asked_for: str | None,
    usual: str,
    source: str,
    say: Callable[[str], object],
) -> str:
    """The split to ask.

    Args:
        questions: all of a file.
        asked_for: as given by the user.
        usual: the split where the user names none; `ALL` if no question has one, which is said.
        source: the file, as given by the user.
        say: takes a line for the user.

    Raises:
        LoadingError: no question is of the split.
    """
    named = {question.split for question in questions}
    if asked_for is None and named == {None}:
        say(f"No question of {source} names a split: all {len(questions):,} are asked.")
        return ALL
    split = usual if asked_for is None else asked_for
    if split in named:
        return split
    if named == {None}:
        hint = "No question there names one: leave --split out to ask them all."
    else:
        hint = f"It has the splits {', '.join(sorted(each or '(none)' for each in named))}."
    raise LoadingError(f"--split: {source} has no question of the split '{split}'. {hint}")


def of_split(questions: Sequence[Question], split: str) -> list[Question]:
    """The questions of a split; every question for `ALL`."""
    return [question for question in questions if split in (ALL, question.split)]


def spoken(split: str) -> str:
    """A split as messages call it."""
    return "all splits" if split == ALL else f"the split '{split}'"


# What each stage of a pipeline adds: its measures, its gain, and what a re-ranker can reach.

_FIRST, _DEEP = 10, 100

Values = Mapping[str, Mapping[str, float]]
"""For each metric the value of each question, by id."""


class Measure(TypedDict):
    """Means over the questions and their 95% bootstrap intervals, by metric."""

    metrics: dict[str, float]
    intervals: dict[str, tuple[float, float]]


class Ceiling(Measure):
    """A `Measure` of what a re-ranker's candidates hold, R@m and Exist@m, whatever their order.

    `n_candidates` is m, the most that it was given for a question.
    """

    n_candidates: int


class StageGain(Measure):
    """A `Measure` of one stage, compared with the stage before it.

    `stage` is its name and `n_found` the number of questions for which it found anything. `before`
    is the stage that it is compared with, None for the first; `gain` has for each metric the stage
    less that one: `difference`, `interval`, `p` and `detectable`. `ceiling` is None where the
    stage ranks no other's list.
    """

    stage: str
    n_found: int
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
        """Keep what the stage found for a question; its candidates where it ranks a list again."""
        self.rankings[question] = self.stage.ranking(outputs)[:_DEEP]
        if self.stage.ranked_anew:
            self.candidates[question] = self.stage.candidates(outputs)


def gains(
    runs: Sequence[StageRun], qrels: Mapping[str, Collection[str]], depth: int
) -> list[StageGain]:
    """Measure the stages of one pipeline, each next to the one before it.

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
            if stage.name != DIVISION:  # the articles' words again, over more text
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
    all_metrics = dict.fromkeys([f"R@{first}", f"R@{deep}", f"MAP@{first}", f"MRR@{first}"])
    metrics = [metric for metric in all_metrics if metric_depth(metric) <= reached]
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


# What the bi-encoder finds by itself, where a store's vectors went through a graph network.


@dataclass(frozen=True)
class BeforeGraph:
    """A search of the base vectors, which stay in a store under those of the graph network.

    Attributes:
        graph: the stage that searches the vectors of the network.
        stage: "dense", as if a component next to it had searched the base vectors.
    """

    graph: Stage
    stage: Stage
    _embedder: StatuteTextEmbedder
    _store: StatuteDocumentStore
    _keys: NDArray[np.int64]
    _index: DenseIndex

    @classmethod
    def of(cls, pipeline: Pipeline, stages: Sequence[Stage]) -> BeforeGraph | None:
        """The search next to the one stage of a pipeline that is a graph's.

        Args:
            pipeline: the pipeline.
            stages: its stages.

        Returns:
            None where not exactly one stage is a graph's, where one is called "dense" already, or
            where the store lacks base vectors (`python -m pipelines.index --graph` keeps them).

        Raises:
            StoreError: the store cannot be read.
        """
        # By class: a component of any kind may be called "graph".
        graphs = [
            (stage, searcher)
            for stage in stages
            if kind_of(searcher := searcher_of(pipeline, stage)) == GRAPH
        ]
        if len(graphs) != 1 or any(stage.name == DENSE for stage in stages):
            return None
        graph, retriever = graphs[0]
        store: StatuteDocumentStore = retriever.document_store
        assert store.model is not None
        searched = set(store.keys_matching(retriever.filters).tolist())
        digests = {key: text_digest(text) for key, text, _ in store.texts() if key in searched}
        base = store.journal.vectors(store.model.biencoder_digest, set(digests.values()))
        if not base or base.keys() != set(digests.values()):
            return None
        vectors = np.array([base[digest] for digest in digests.values()])
        return cls(
            graph=graph,
            stage=replace(
                graph,
                name=DENSE,
                component=f"{graph.component} before the graph",
                sockets=("documents",),
                ranking_of=None,
            ),
            _embedder=next(
                part for part in parts_of(pipeline) if isinstance(part, StatuteTextEmbedder)
            ),
            _store=store,
            _keys=np.array(list(digests), dtype=np.int64),
            _index=DenseIndex(vectors, "cpu", store.model.similarity),
        )

    def added(self, question: str, outputs: Outputs) -> Outputs:
        """A run's outputs, and what the search finds for its question, as deep as the graph's."""
        vector = np.array([self._embedder.run(question)["embedding"]], dtype=np.float32)
        depth = len(self._index) if self.stage.top_k is None else self.stage.top_k
        found = self._store.fetch(self._keys[self._index.search(vector, depth)[1][0]])
        return {**outputs, self.stage.component: {"documents": found}}


Run = Mapping[str, Sequence[str]]
"""For each question's id the ids of the articles found, best first."""


@dataclass(frozen=True)
class Measured:
    """One pipeline on a set of questions.

    Attributes:
        pipeline: its name.
        run: what it found.
        values: for each metric the value of each question, by id.
        p50_ms: median time of a question, at this depth.
        stages: what each of its stages found in the same run, in their order; before one through a
            graph network also the bi-encoder by itself.
        depth: how many articles it was asked for.
    """

    pipeline: str
    run: Run
    values: Mapping[str, Mapping[str, float]]
    p50_ms: float
    stages: Sequence[StageRun]
    depth: int

    def means(self, ids: Iterable[str] | None = None) -> dict[str, float]:
        """The mean of each metric over all questions, or over some."""
        return {metric: fmean(of.values()) for metric, of in self._of(ids).items()}

    def intervals(self, ids: Iterable[str] | None = None) -> dict[str, tuple[float, float]]:
        """The 95% bootstrap interval of each mean."""
        return {
            metric: bootstrap_interval(list(of.values())) for metric, of in self._of(ids).items()
        }

    def _of(self, ids: Iterable[str] | None) -> Mapping[str, Mapping[str, float]]:
        if ids is None:
            return self.values
        chosen = list(ids)
        return {metric: {id_: of[id_] for id_ in chosen} for metric, of in self.values.items()}


def distinct_names(names: Sequence[str]) -> list[str]:
    """The pipelines to measure, each once.

    Raises:
        LoadingError: two files have the same name, which their results would share.
    """
    files: dict[str, Path] = {}
    distinct = []
    for name in names:
        path = pipeline_file(name).resolve()
        if path.stem not in files:
            files[path.stem] = path
            distinct.append(name)
        elif files[path.stem] != path:
            raise LoadingError(
                f"--compare: two pipelines are called '{path.stem}': {files[path.stem]} and "
                f"{path}. Results go by this name: rename one of the files."
            )
    return distinct


def measure(
    name: str,
    questions: Sequence[Question],
    *,
    store: str | Path | None,
    model: str | None,
    depth: int,
) -> Measured:
    """Ask a pipeline every question, `depth` deep, and measure what it finds.

    All of the law is searched, whenever it was in force: a question's articles were marked at some
    time, and a measurement does not change with the day on which it is made.

    Args:
        name: name or file of the pipeline.
        questions: answerable ones.
        store: as in `load_pipeline`.
        model: as in `load_pipeline`.
        depth: how many articles to ask for, as a caller's `top_k` does: what goes into a fusion
            stays as long as it is served. Metrics that look deeper are left out.
    """
    pipeline = load_pipeline(name, store, model, _this_deep(name, store, model, depth))
    pipeline.warm_up()  # before its stages, which depend on what the model's folder holds
    component, socket = ranked_last(pipeline)
    stages = stages_of(pipeline)
    asked = {stage.component for stage in stages}
    before = BeforeGraph.of(pipeline, stages)
    if before is not None:
        stages.insert(stages.index(before.graph), before.stage)
    runs = [StageRun(stage) for stage in stages]
    found: dict[str, list[str]] = {}
    took: list[float] = []
    top_k = depth if "top_k" in pipeline.metadata["inputs"] else None
    for question in tqdm(questions, desc=f"Asking {name}", unit="question", disable=None):
        start = time.perf_counter()
        # Haystack hands out the stages' own lists uncopied: the time is that of a plain run.
        outputs = run(pipeline, question.text, asked, top_k, as_of=ANY)
        took.append((time.perf_counter() - start) * 1000)
        found[question.id] = [document.id for document in outputs[component][socket]]
        seen = outputs if before is None else before.added(question.text, outputs)
        for each in runs:
            each.add(question.id, seen)
    most = max(len(question.relevant) for question in questions)
    metrics = [
        metric
        for metric in DEFAULT_METRICS
        if (most if metric == "R-precision" else metric_depth(metric)) <= depth
    ]
    values = evaluate(found, _qrels(questions), metrics, depth=depth)
    p50 = round(median(took), 2)
    return Measured(str(pipeline.metadata["name"]), found, values, p50, runs, depth)


def stage_gains(measured: Measured, questions: Sequence[Question]) -> list[StageGain]:
    """What each stage of a pipeline adds, on the questions that it was asked."""
    return gains(measured.stages, _qrels(questions), measured.depth)


def report(
    ours: Measured,
    others: Sequence[Measured],
    questions: Sequence[Question],
    training: Sequence[Question],
) -> dict[str, Any]:
    """What was measured, as plain values.

    Args:
        ours: the pipeline in question.
        others: those that it is compared with, on the same questions.
        questions: that were asked.
        training: that a model may have been trained on; a question none of whose articles is a
            positive of these is reported apart, since it shows what carries over to new law.

    Returns:
        `metrics`, `intervals` and `p50_ms` of ours; `unseen`, the same for the questions apart
        (None without training questions); `comparison`, for each other pipeline and metric its
        `value` and, ours less the other, `difference`, `interval`, `p` and `detectable`.
    """
    seen = {article for question in training for article in question.relevant}
    apart = [question.id for question in questions if seen.isdisjoint(question.relevant)]
    unseen = None
    if seen:
        unseen = {
            "n_questions": len(apart),
            "metrics": ours.means(apart) if apart else {},
            "intervals": ours.intervals(apart) if apart else {},
        }
    return {
        "metrics": ours.means(),
        "intervals": ours.intervals(),
        "p50_ms": ours.p50_ms,
        "unseen": unseen,
        "comparison": {other.pipeline: _comparison(ours, other) for other in others},
    }


def _qrels(questions: Sequence[Question]) -> dict[str, set[str]]:
    return {question.id: set(question.relevant) for question in questions}


def _comparison(ours: Measured, other: Measured) -> dict[str, dict[str, Any]]:
    compared: dict[str, dict[str, Any]] = {}
    for metric, of in ours.values.items():
        others = [other.values[metric][id_] for id_ in of]
        test = paired_randomisation(list(of.values()), others)
        compared[metric] = {"value": fmean(others), **asdict(test)}
    return compared


def _this_deep(
    name: str, store: str | Path | None, model: str | None, depth: int
) -> dict[str, int]:
    """Overrides that let a pipeline give this many articles.

    Its lists before a fusion stay as they are served: longer ones would be fused otherwise.
    """
    served = load_pipeline(name, store, model)
    last, _ = ranked_last(served)
    targets = served.metadata["inputs"].get("top_k") or [f"{last}.top_k"]
    # Not every one is a component's own parameter: a prompt may be told the number too.
    return {
        target: depth
        for target in targets
        for component, socket in [target.split(".", 1)]
        if socket == "top_k" and hasattr(served.get_component(component), "top_k")
    }
