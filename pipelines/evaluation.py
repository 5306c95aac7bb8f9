"""Measuring pipelines on questions whose articles are known."""

from __future__ import annotations

import time
from argparse import Namespace
from collections.abc import Callable, Collection, Container, Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from datetime import date
from pathlib import Path
from statistics import fmean, median
from typing import Any, Literal, NamedTuple

from haystack import Document, Pipeline
from tqdm import tqdm

from components.converters.articles import ranks_of
from components.joiners.rank_fusion import CITATION
from components.rankers.passages import quoted
from components.retrievers.validity import ANY
from components.statutes.corpus import QuestionSet, read_questions
from components.statutes.excerpts import provision_at
from components.statutes.metrics import (
    DEFAULT_METRICS,
    evaluate,
    evaluate_passages,
    metric_depth,
)
from components.statutes.question import Question
from components.statutes.significance import bootstrap_interval, paired_randomisation
from pipelines.asking import declared_output, found_article, run
from pipelines.checking import LoadingError, pipeline_file
from pipelines.command_line import say
from pipelines.loading import load_pipeline
from pipelines.stages import (
    DIVISION,
    Outputs,
    Stage,
    ask_for_rankings,
    ranked_last,
    stages_of,
    stopwatch,
)

ALL = "all"  # stands for no split: a question's own is train, dev or test


def asked_questions(
    options: Namespace,
    usual: str,
    corpus_ids: Container[str] | None,
    text_of: Callable[[str], str] | None = None,
) -> tuple[QuestionSet, str]:
    """The questions of a command's file, and the split to ask.

    Args:
        options: the flags of `pipelines.command_line.add_questions`.
        usual: the split where the user names none; `ALL` if no question has one, which is said.
        corpus_ids: as for `read_questions`.
        text_of: likewise.

    Raises:
        CorpusError: the questions cannot be read.
        LoadingError: no question is of the split.
    """
    source, requested = options.questions, options.split
    questions = read_questions(
        source, corpus_ids=corpus_ids, text_of=text_of, skip_bad=options.skip_bad
    )
    for problem in questions.problems:
        say(str(problem))
    named = {question.split for question in questions}
    if requested is None and named == {None}:
        say(f"No question of {source} names a split: all {len(questions):,} are asked.")
        return questions, ALL
    split = usual if requested is None else requested
    if split in named:
        return questions, split
    known = ", ".join(sorted(each or "(none)" for each in named))
    raise LoadingError(f"--split: {source} has no question of the split '{split}', only {known}.")


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


Measure = dict[str, Any]
"""`metrics` and `intervals`: means over the questions, 95% bootstrap intervals, by metric."""


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
        self.rankings[question] = list(self.stage.ranks(outputs))[:_DEEP]
        if self.stage.reranked:
            self.candidates[question] = self.stage.candidates(outputs)


def gains(
    runs: Sequence[StageRun], qrels: Mapping[str, Collection[str]], depth: int
) -> list[Measure]:
    """Measure the stages of one pipeline, each next to the one before it.

    The stage before is, of those whose lists a stage takes, the one with the highest MAP@10; for
    one that searches the store, the last listed that does so too. Citations are a hint, and no
    stage is compared with them, nor they with any; where no question cites they are left out.

    Args:
        runs: the stages in their order.
        qrels: for each question's id the ids of its relevant articles.
        depth: how many articles were asked for. Metrics are R@10, R@100, MAP@10 and MRR@10, cut
            at this depth where it is less; a stage that goes less deep lacks those that go deeper.

    Returns:
        For each stage its measure with `stage`, its name; `n_found`, for how many questions it
        found anything; `before`, the stage that it is compared with, None for the first; `gain`,
        for each metric `difference`, `interval`, `p` and `detectable` of the stage less that one;
        and `ceiling`: None, or for one that ranks another's list the measure of what its candidates
        hold whatever their order, R@m and Exist@m, and `n_candidates`, m.
    """
    found: list[Measure] = []
    values: dict[str, Values] = {}
    searching = None
    for stage_run in runs:
        stage, n_found = stage_run.stage, sum(map(bool, stage_run.rankings.values()))
        if stage.name == CITATION and not n_found:
            continue
        own = values[stage.name] = _values(stage_run, qrels, depth)
        before = searching if stage.name != CITATION else None
        if stage.takes:
            metric = f"MAP@{min(_FIRST, depth)}"
            taken = [name for name in stage.takes if name != CITATION and values.get(name)]
            before = max(taken, key=lambda name: fmean(values[name][metric].values()), default=None)
        elif stage.name not in (CITATION, DIVISION):  # a division: the same words over more text
            searching = stage.name
        named = {"stage": stage.name, "n_found": n_found, **summary(own), "before": before}
        gain = _gain(own, values[before]) if before else {}
        found.append({**named, "gain": gain, "ceiling": _ceiling(stage_run, qrels)})
    return found


def table(stages: Sequence[Measure]) -> str:
    """The stages as lines of text: means with intervals, gains with p, ceilings below."""
    metrics = max((list(stage["metrics"]) for stage in stages), key=len, default=[])
    rows, ceilings = [["stage", *metrics]], []
    for stage in stages:
        rows.append([stage["stage"], *(_with_interval(stage, name) for name in metrics)])
        if stage["before"]:
            tests = [stage["gain"].get(metric) for metric in metrics]
            gains = [each and f"{each['difference']:+.3f} p {each['p']:.4f}" for each in tests]
            rows.append([f"  less {stage['before']}", *(each or "" for each in gains)])
        if ceiling := stage["ceiling"]:
            reached = [f"{name} {_with_interval(ceiling, name)}" for name in ceiling["metrics"]]
            ceilings.append(f"ceiling of {stage['stage']}: {', '.join(reached)}")
    lines = [f"{name:<18}" + "".join(f"{cell:<22}" for cell in cells) for name, *cells in rows]
    note = "p: paired randomisation tests, none corrected for the others"
    return "\n".join([*map(str.rstrip, lines), "", note, *ceilings])


def _with_interval(measured: Measure, metric: str) -> str:
    if metric not in measured["metrics"]:
        return "-"
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


def summary(values: Values, ids: Set[str] | None = None) -> Measure:
    """Mean and interval of each metric over all questions, or over some."""
    by_metric = {
        metric: [score for id_, score in scores.items() if ids is None or id_ in ids]
        for metric, scores in values.items()
        if ids is None or not ids.isdisjoint(scores)
    }
    return {
        "metrics": {metric: fmean(scores) for metric, scores in by_metric.items()},
        "intervals": {metric: bootstrap_interval(each) for metric, each in by_metric.items()},
    }


def _gain(own: Values, before: Values) -> dict[str, dict[str, Any]]:
    gain = {}
    for metric, scores in own.items():
        if metric in before:
            others = [before[metric][question] for question in scores]
            gain[metric] = asdict(paired_randomisation(list(scores.values()), others))
    return gain


def _ceiling(run: StageRun, qrels: Mapping[str, Collection[str]]) -> Measure | None:
    m = max((len(given) for _, given in run.candidates.values()), default=0)
    if not m:
        return None
    # Pinned articles stand above the m: whatever the order, they are found too.
    lists = {question: [*pinned, *given] for question, (pinned, given) in run.candidates.items()}
    cut = max(map(len, lists.values()))
    recall, exist = evaluate(lists, qrels, (f"R@{cut}", f"Exist@{cut}"), depth=cut).values()
    return {"n_candidates": m, **summary({f"R@{m}": recall, f"Exist@{m}": exist})}


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
        stages: what each of its stages found in the same run, in their order.
        depth: how many articles it was asked for.
    """

    pipeline: str
    run: Run
    values: Mapping[str, Mapping[str, float]]
    p50_ms: float
    stages: Sequence[StageRun]
    depth: int


def distinct_names(names: Sequence[str]) -> list[str]:
    """The pipelines to measure, each once.

    Raises:
        LoadingError: two files have the same name, which their results would share.
    """
    files: dict[Path, str] = {}
    for name in names:
        files.setdefault(pipeline_file(name).resolve(), name)
    if len({path.stem for path in files}) < len(files):
        raise LoadingError("--compare: two pipelines have one name. Rename one of the files.")
    return list(files.values())


def measure(
    name: str,
    questions: Sequence[Question],
    *,
    store: str | Path | None,
    model: str | None,
    depth: int,
) -> Measured:
    """Ask a pipeline every question, `depth` deep, and measure what it finds.

    Where questions name the paragraphs that decide and the pipeline ranks passages, P-hit@1 and
    P-all@3 are of the labelled questions alone.

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
    pipeline = load_pipeline(name, store, model)
    component, socket = ranked_last(pipeline)
    targets = pipeline.metadata["inputs"].get("top_k")
    for target in targets or [f"{component}.top_k"]:
        part, _, parameter = target.partition(".")
        instance: Any = pipeline.get_component(part)
        # Not every one is a component's own parameter: a prompt may be told the number too.
        if parameter == "top_k" and hasattr(instance, "top_k"):
            instance.top_k = depth
    ask_for_rankings(pipeline)
    pipeline.warm_up()  # before its stages, which depend on what the model's folder holds
    stages = stages_of(pipeline)
    last, documents = declared_output(pipeline, "documents")
    asked = {last, *(stage.component for stage in stages)}
    runs = [StageRun(stage) for stage in stages]
    found: dict[str, list[str]] = {}
    quotations: dict[str, list[tuple[str, frozenset[str]]]] = {}
    took: list[float] = []
    top_k = depth if targets else None
    for question in tqdm(questions, desc=f"Asking {name}", unit="question", disable=None):
        start = time.perf_counter()
        # Haystack hands out the stages' own lists uncopied: the time is that of a plain run.
        outputs = run(pipeline, question.text, asked, top_k, as_of=ANY)
        took.append((time.perf_counter() - start) * 1000)
        found[question.id] = [document.id for document in outputs[component][socket]]
        if question.passages:
            quotations[question.id] = _quotations(outputs[last][documents])
        for stage_run in runs:
            stage_run.add(question.id, outputs)
    most = max(len(question.relevant) for question in questions)
    metrics = [
        metric
        for metric in DEFAULT_METRICS
        if (most if metric == "R-precision" else metric_depth(metric)) <= depth
    ]
    values = evaluate(found, _qrels(questions), metrics, depth=depth)
    if any(quotations.values()):
        deciding = {each.id: each.passages for each in questions if each.passages}
        values |= evaluate_passages(quotations, deciding)
    p50 = round(median(took), 2)
    return Measured(str(pipeline.metadata["name"]), found, values, p50, runs, depth)


def _quotations(documents: Sequence[Document]) -> list[tuple[str, frozenset[str]]]:
    """The article of each passage quoted, and what labels may call it."""
    quotations = []
    for document, passage in quoted(documents):
        provision = provision_at(document.content or "", passage)
        quotations.append((document.id, provision.labels if provision else frozenset()))
    return quotations


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
        `value` and, ours less the other, `difference`, `interval`, `p` and `detectable`; `stages`,
        as `gains` measures them.
    """
    seen = {article for question in training for article in question.relevant}
    apart = [question.id for question in questions if seen.isdisjoint(question.relevant)]
    unseen = {"metrics": {}, "intervals": {}} if not apart else summary(ours.values, set(apart))
    comparison = {}
    for other in others:
        tests = _gain(ours.values, other.values)
        values = {name: fmean(other.values[name].values()) for name in tests}
        comparison[other.pipeline] = {n: {"value": values[n], **tests[n]} for n in tests}
    return {
        **summary(ours.values),
        "p50_ms": ours.p50_ms,
        "unseen": {"n_questions": len(apart), **unseen} if seen else None,
        "comparison": comparison,
        "stages": gains(ours.stages, _qrels(questions), ours.depth),
    }


def _qrels(questions: Sequence[Question]) -> dict[str, set[str]]:
    return {question.id: set(question.relevant) for question in questions}


# Two pipelines on one question: what each found, what moved between them, and why.

SHOWN = 10
# Places are compared down to this rank, where a pipeline can be asked for more results.
DEPTH = 100

Movement = Literal["same", "up", "down", "new", "gone"]


@dataclass(frozen=True, slots=True)
class StageRanking:
    """What one stage said of the articles.

    Attributes:
        name: as `pipelines.stages.Stage` has it.
        ranks: of the articles that it found, or read, by id, from 1.
        cut: the length of its list, where more may have fitted below; None for all that it found.
    """

    name: str
    ranks: Mapping[str, int]
    cut: int | None


class ComponentTime(NamedTuple):
    """How long a component worked: a stage by its name, any other by its name in the file."""

    name: str
    ms: float


@dataclass(frozen=True, slots=True)
class PipelineResult:
    """What one pipeline found for a question.

    Attributes:
        pipeline: its name.
        articles: best first, as `pipelines.asking.found_article` makes them; more than `SHOWN`
            where the pipeline gives them.
        cut: the number of articles, where more may stand below them; None for all that it found.
        stages: whose ranks explain the places, in their order. Among them is not the one that
            only joins the others to the places themselves.
        times: of each component, in the order in which they ran.
        took_ms: of the whole run.
        missing: articles that the question names and the law has not, as named.
    """

    pipeline: str
    articles: Sequence[Mapping[str, Any]]
    cut: int | None
    stages: Sequence[StageRanking]
    times: Sequence[ComponentTime]
    took_ms: float
    missing: Sequence[str] = ()

    @property
    def rest_ms(self) -> float:
        """What no component accounts for: copying between them, and their scheduling."""
        return max(0.0, self.took_ms - sum(time.ms for time in self.times))


class StageRank(NamedTuple):
    """What a stage said of an article.

    Attributes:
        rank: from 1; None where it did not find, or read, the article.
        cut: where it did not, the length of its list if more may have fitted below.
    """

    rank: int | None
    cut: int | None


class StageRanks(NamedTuple):
    """What a stage said of an article on both sides; None for a side without that stage."""

    stage: str
    left: StageRank | None
    right: StageRank | None


@dataclass(frozen=True, slots=True)
class ArticleMove:
    """One article on both sides.

    Attributes:
        article: as `pipelines.asking.found_article` makes it.
        left: its place in the left list, from 1; None where that has it nowhere.
        right: its place in the right list.
        facts: what the stages said of it; of citations only where it is cited.
    """

    article: Mapping[str, Any]
    left: int | None
    right: int | None
    facts: Sequence[StageRanks]

    @property
    def movement(self) -> Movement:
        """From left to right, among the first `SHOWN` of both."""
        if self.left is None or self.left > SHOWN:
            return "new"
        if self.right is None or self.right > SHOWN:
            return "gone"
        return "same" if self.by == 0 else "up" if self.by > 0 else "down"

    @property
    def by(self) -> int:
        """By how many places it stands higher on the right; 0 where it is not on both sides."""
        return 0 if self.left is None or self.right is None else self.left - self.right


@dataclass(frozen=True, slots=True)
class Comparison:
    """Two pipelines on one question.

    Attributes:
        left: what the one found.
        right: what the other found.
        moved: each of the first `SHOWN` articles of either, by id.
    """

    left: PipelineResult
    right: PipelineResult
    moved: Mapping[str, ArticleMove]

    def count(self, *movements: Movement) -> int:
        """How many articles moved in one of these ways."""
        return sum(each.movement in movements for each in self.moved.values())


def find(pipeline: Pipeline, question: str) -> PipelineResult:
    """Ask a pipeline, and note what each stage said and how long it worked.

    Args:
        pipeline: loaded by `load_pipeline`, and made ready by `time_components` and
            `ask_for_rankings` of `pipelines.stages`.
        question: clean.

    Raises:
        LoadingError, StoreError, ModelError: as `pipelines.asking.ask`.
    """
    stages = stages_of(pipeline)
    component, socket = ranked_last(pipeline)
    declared, _ = declared_output(pipeline, "documents")
    asked = {stage.component for stage in stages}
    named, missing = "", ""
    if "missing" in pipeline.metadata["outputs"]:
        named, missing = declared_output(pipeline, "missing")
        asked.add(named)
    # A deeper list is asked for only where that reaches the last component alone.
    targets = pipeline.metadata.get("inputs", {}).get("top_k", [])
    depth = DEPTH if targets == [f"{component}.top_k"] else None
    start = time.perf_counter()
    with stopwatch() as seconds:
        outputs = run(pipeline, question, asked, top_k=depth)
    took_ms = (time.perf_counter() - start) * 1000
    names = {stage.component: stage.name for stage in stages}
    documents = outputs[component][socket]
    today = date.today()
    return PipelineResult(
        pipeline=str(pipeline.metadata.get("name", "")),
        articles=[found_article(document, today) for document in documents],
        cut=_cut(len(documents), stages[-1].top_k if depth is None else depth),
        stages=_rankings(stages, outputs, documents),
        times=[
            ComponentTime(names.get(name, name), each * 1000)
            for name, each in seconds.items()
            if name != declared or name == component  # `result` only hands on
        ],
        took_ms=took_ms,
        missing=outputs.get(named, {}).get(missing, ()),
    )


def compare(left: PipelineResult, right: PipelineResult) -> Comparison:
    """What moved between two rankings of one law, by article."""
    places = [
        {article["id"]: place for place, article in enumerate(side.articles, start=1)}
        for side in (left, right)
    ]
    shown = {article["id"]: article for side in (right, left) for article in side.articles[:SHOWN]}
    moved = {
        id_: ArticleMove(article, places[0].get(id_), places[1].get(id_), _facts(id_, left, right))
        for id_, article in shown.items()
    }
    return Comparison(left, right, moved)


def _rankings(
    stages: Sequence[Stage], outputs: Outputs, documents: Sequence[Document]
) -> list[StageRanking]:
    rankings = []
    for stage in stages:
        ranks = stage.ranks(outputs)
        rankings.append(StageRanking(stage.name, ranks, _cut(len(ranks), stage.top_k)))
    last = stages[-1]
    if not last.takes:
        return rankings[-1:]
    # A re-ranker says of what it has read which rank it gave; what a fuser says are the places.
    read = {
        document.id: ranks_of(document.meta)[last.name]
        for document in documents
        if last.name in ranks_of(document.meta)
    }
    # What it has not read stands below; where nothing does, it may have read more than is listed.
    cut = len(read) if read and documents[-1].id in read else None
    return [*rankings[:-1], *([StageRanking(last.name, read, cut)] if read else [])]


def _cut(length: int, top_k: int | None) -> int | None:
    """The length of a list that may go on below; None for a whole one."""
    return length if top_k is None or length >= top_k else None


def _facts(id_: str, left: PipelineResult, right: PipelineResult) -> list[StageRanks]:
    def rank(stage: StageRanking | None) -> StageRank | None:
        if stage is None:
            return None
        place = stage.ranks.get(id_)
        return StageRank(place, stage.cut if place is None else None)

    lefts, rights = ({stage.name: stage for stage in side.stages} for side in (left, right))
    return [
        StageRanks(name, rank(lefts.get(name)), rank(rights.get(name)))
        for name in dict.fromkeys([*lefts, *rights])
        if name != CITATION
        or any(id_ in stages[name].ranks for stages in (lefts, rights) if name in stages)
    ]
