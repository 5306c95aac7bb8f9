"""Retrieval metrics: compares rankings with gold articles.

ir-measures computes them; what is ours is the protocol: all relevant articles of a question
count, each once, a run says how deep it is, and the order of the run is the ranking, whatever
its scores. ir-measures' providers break ties in opposite ways, so they are given -rank.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path
from urllib.parse import quote, unquote

from components.statutes.extras import needs_extra

with needs_extra("Measuring", "models"):
    import ir_measures
    from ir_measures.measures import Measure

DEFAULT_METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (1, 5, 10, 20, 50, 100, 200, 500)),
    "MAP",
    "MAP@100",
    "MAP@10",
    "R-precision",
    "MRR@10",
    "nDCG@10",
    *(f"Exist@{k}" for k in (10, 50, 90)),
)
"""The metrics in every table of results."""

_MAP_DEPTH = 1000
_CUT = re.compile(r"(R|MAP|MRR|nDCG|Exist)@([1-9]\d*)")
_MEASURES = {
    "R": ir_measures.R,
    "MAP": ir_measures.AP,
    "MRR": ir_measures.RR,
    "nDCG": ir_measures.nDCG,
    "Exist": ir_measures.Success,
}


def metric_depth(metric: str) -> int:
    """How deep a run must be for a metric: k for "R@k" and the like, 1,000 for "MAP".

    R-precision reads as many articles as a question has relevant ones, so at least 1.

    Raises:
        ValueError: There is no such metric.
    """
    return _measure_and_depth(metric)[1]


def evaluate(
    run: Mapping[str, Sequence[str]],
    qrels: Mapping[str, Collection[str]],
    metrics: Iterable[str] = DEFAULT_METRICS,
    *,
    depth: int,
) -> dict[str, dict[str, float]]:
    """Each metric of each question; a metric's result is the plain mean over the questions.

    Args:
        run: Question id to the ids of the articles found, best first. A question that is missing
            here found nothing and counts 0; one that is missing in `qrels` is not measured.
        qrels: Question id to the ids of its relevant articles; repeats count once. Questions
            without any (unanswerable ones) are left out.
        metrics: R@k (recall), MAP (average precision, cut at 1,000), MAP@k, R-precision, MRR@k
            (reciprocal rank of the first), nDCG@k, Exist@k (1 where one of the first k is
            relevant).
        depth: How many articles the run was asked for.

    Returns:
        Metric to question id to value in [0, 1], in the order of `metrics` and `qrels`.

    Raises:
        ValueError: A metric is unknown or deeper than the run, a ranking holds an id twice or more
            than `depth` ids, or no question has a relevant article.
    """
    gold = {
        question: dict.fromkeys(relevant, 1) for question, relevant in qrels.items() if relevant
    }
    if not gold:
        raise ValueError("no question in qrels has a relevant article: nothing can be measured")
    measures: dict[str, Measure] = {}
    for metric in metrics:
        measures[metric], reads = _measure_and_depth(metric)
        if metric == "R-precision":
            reads = max(map(len, gold.values()))
        if reads > depth:
            raise ValueError(
                f"{metric} reads {reads} articles, but the run is {depth} deep: retrieve deeper, "
                "or leave the metric out"
            )
    ranked = {question: _scores(question, run.get(question, ()), depth) for question in gold}
    values = {metric: dict.fromkeys(gold, 0.0) for metric in measures}
    # MAP and MAP@1000 are one measure under two names.
    metrics_of: dict[Measure, list[str]] = {}
    for metric, measure in measures.items():
        metrics_of.setdefault(measure, []).append(metric)
    for result in ir_measures.iter_calc(list(metrics_of), gold, ranked):
        for metric in metrics_of[result.measure]:
            values[metric][result.query_id] = float(result.value)
    return values


def evaluate_passages(
    quoted: Mapping[str, Sequence[tuple[str, Collection[str]]]],
    deciding: Mapping[str, Mapping[str, Collection[str]]],
) -> dict[str, dict[str, float]]:
    """Whether the paragraphs that decide a question are those that are quoted.

    Args:
        quoted: Question id to the passages quoted, best first: the article's id and every label
            that the passage answers to (`provisions.Provision.labels`).
        deciding: Question id to the paragraphs that decide, by article (`Question.passages`).

    Returns:
        For "P-hit@1" (the first passage decides) and "P-all@3" (every deciding paragraph is among
        the first three) 0 or 1 of each labelled question.
    """
    hits: dict[str, float] = {}
    alls: dict[str, float] = {}
    for question, labels in deciding.items():
        pairs = {(article, label) for article, names in labels.items() for label in names}
        shown = [{(article, name) for name in names} for article, names in quoted.get(question, ())]
        hits[question] = float(any(pairs & each for each in shown[:1]))
        alls[question] = float(pairs <= set().union(*shown[:3]))
    return {"P-hit@1": hits, "P-all@3": alls}


def write_trec_run(path: Path | str, run: Mapping[str, Sequence[str]], tag: str) -> None:
    """Writes a run as trec_eval reads it: `question Q0 article rank score tag`, score = -rank.

    White space and "%" in an id are percent-encoded, so that a line keeps its six columns.
    """
    with Path(path).open("w", encoding="utf-8") as file:
        for question, ranking in run.items():
            for rank, article in enumerate(ranking, start=1):
                file.write(
                    f"{_column(question)} Q0 {_column(article)} {rank} {-rank} {_column(tag)}\n"
                )


def read_trec_run(path: Path | str) -> dict[str, list[str]]:
    """Reads what `write_trec_run` wrote: ids of articles by question, best first."""
    run: dict[str, list[str]] = {}
    rows = ir_measures.read_trec_run(str(path))  # type: ignore[no-untyped-call]
    for row in sorted(rows, key=lambda row: -row.score):
        run.setdefault(unquote(row.query_id), []).append(unquote(row.doc_id))
    return run


def _measure_and_depth(metric: str) -> tuple[Measure, int]:
    if metric == "MAP":
        return ir_measures.AP @ _MAP_DEPTH, _MAP_DEPTH
    if metric == "R-precision":
        return ir_measures.Rprec, 1
    match = _CUT.fullmatch(metric)
    if match is None:
        known = "R@k, MAP, MAP@k, R-precision, MRR@k, nDCG@k, Exist@k"
        raise ValueError(f"no metric is called {metric!r}: they are {known} with k from 1")
    return _MEASURES[match[1]] @ int(match[2]), int(match[2])


def _scores(question: str, ranking: Sequence[str], depth: int) -> dict[str, int]:
    scores = {article: -rank for rank, article in enumerate(ranking, start=1)}
    if len(ranking) > depth or len(scores) < len(ranking):
        raise ValueError(
            f"the run of question {question!r} is deeper than {depth}, or holds an article twice"
        )
    return scores


def _column(text: str) -> str:
    return re.sub(r"[\s%]", lambda match: quote(match[0]), text)
