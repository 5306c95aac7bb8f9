"""Measuring pipelines on questions whose articles are known."""

from __future__ import annotations

import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tqdm import tqdm

from components.retrievers.validity import ANY
from components.statutes.metrics import DEFAULT_METRICS, evaluate, metric_depth
from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval, paired_randomisation
from pipelines.asking import declared_output, run
from pipelines.before_graph import BeforeGraph
from pipelines.files import LoadingError, pipeline_file
from pipelines.loading import load_pipeline
from pipelines.stage_gains import StageGain, StageRun, gains
from pipelines.stages import stages_of

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
        wanted = list(ids)
        return {metric: {id_: of[id_] for id_ in wanted} for metric, of in self.values.items()}


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
    component, socket = declared_output(pipeline, "documents")
    stages = stages_of(pipeline)
    asked = {stage.component for stage in stages}
    before = BeforeGraph.of(pipeline, stages)
    if before is not None:
        stages.insert(stages.index(before.graph), before.stage)
        asked.add(before.asks)
    runs = [StageRun(stage) for stage in stages]
    found: dict[str, list[str]] = {}
    took: list[float] = []
    top_k = depth if "top_k" in pipeline.metadata["inputs"] else None
    pipeline.warm_up()
    for question in tqdm(questions, desc=f"Asking {name}", unit="question", disable=None):
        start = time.perf_counter()
        # Haystack hands out the stages' own lists uncopied: the time is that of a plain run.
        outputs = run(pipeline, question.text, asked, top_k, as_of=ANY)
        took.append((time.perf_counter() - start) * 1000)
        found[question.id] = [document.id for document in outputs[component][socket]]
        seen = outputs if before is None else before.added(outputs)
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
    last, _ = declared_output(served, "documents")
    targets = served.metadata["inputs"].get("top_k") or [f"{last}.top_k"]
    # Not every one is a component's own parameter: a prompt may be told the number too.
    return {
        target: depth
        for target in targets
        for component, socket in [target.split(".", 1)]
        if socket == "top_k" and hasattr(served.get_component(component), "top_k")
    }
