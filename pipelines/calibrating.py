"""Choosing the score below which nothing was found, on questions with and without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import fmean, median
from typing import Any

from tqdm import tqdm

from components.rankers.gate import AnswerThreshold, Unanswerable
from components.retrievers.validity import ANY
from components.statutes.article import normalised
from components.statutes.corpus import QuestionSet
from components.statutes.question import Question
from components.statutes.separation import Decided, Separation, separation
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.files import LoadingError
from pipelines.loading import load_pipeline
from pipelines.scorer import Scorer, scorer_of
from pipelines.splits import of_split, spoken
from pipelines.taken_out import answers_taken_out, without

_ENOUGH_MARKED = 20
_FEWEST = 10

_ANSWERABLE, _MARKED, _TAKEN_OUT = "answerable", "marked", "taken out"


@dataclass(frozen=True)
class Scored:
    """A question as it was asked, and the best score that it got.

    Attributes:
        question: its text, normalised: what is held out together.
        kind: "answerable" as it is, "taken out" without its answers, or "marked" as unanswerable.
        score: the best of the articles read.
    """

    question: str
    kind: str
    score: float


@dataclass(frozen=True)
class Calibration:
    """What was measured.

    Attributes:
        pipeline: its name.
        scorer: whose scores these are.
        scored: every question asked with a score.
        n_without_score: how many there were of each kind.
        separation: of `scored`.
    """

    pipeline: str
    scorer: Scorer
    scored: Sequence[Scored]
    n_without_score: Mapping[str, int]
    separation: Separation

    @property
    def how(self) -> Unanswerable:
        """Which questions without an answer there are."""
        kinds = {each.kind for each in self.scored}
        if {_MARKED, _TAKEN_OUT} <= kinds:
            return "both"
        return "marked" if _MARKED in kinds else "taken out"

    def n(self, kind: str) -> int:
        """How many questions of a kind have a score."""
        return sum(each.kind == kind for each in self.scored)


def calibrate(
    name: str,
    questions: QuestionSet,
    split: str,
    *,
    store: str | Path,
    model: str | None,
) -> Calibration:
    """Ask a pipeline questions with and without an answer, and choose the threshold.

    Questions without an answer are those marked so. Where the split has fewer than 20 of them,
    every answerable question is asked a second time, without its answers (`answers_taken_out`),
    and counts as one without an answer too. All of the law is searched, whenever it was in force.

    Args:
        name: name or file of the pipeline.
        questions: all of a file, of every split.
        split: which of them are asked.
        store: the law.
        model: as in `load_pipeline`.

    Raises:
        LoadingError: the pipeline has no score that could be used or takes no filters, or the
            split has too few questions.
        StoreError: the store cannot be read.
        ModelError: the model cannot be loaded.
    """
    asked = of_split(questions, split)
    answerable = [question for question in asked if question.answerable]
    marked = [question for question in asked if not question.answerable]
    pipeline = load_pipeline(name, store, model)
    scorer = scorer_of(pipeline)
    _check_enough("with an answer", [normalised(each.text) for each in answerable], split)
    taken: Mapping[str, set[str]] = {}
    if len(marked) < _ENOUGH_MARKED:
        taken = _taken_out(store, answerable, questions)
    pipeline.warm_up()
    runs: list[tuple[str, Question, Mapping[str, Any] | None]] = []
    for question in asked:
        runs.append((_ANSWERABLE if question.answerable else _MARKED, question, None))
        if question.id in taken:
            runs.append((_TAKEN_OUT, question, without(taken[question.id])))
    scored: list[Scored] = []
    n_without_score: Counter[str] = Counter()
    for kind, question, filters in tqdm(runs, desc=f"Asking {name}", disable=None):
        outputs = run(pipeline, question.text, {scorer.component}, filters=filters, as_of=ANY)
        score = scorer.best(outputs)
        if score is None:
            n_without_score[kind] += 1
        else:
            scored.append(Scored(normalised(question.text), kind, score))
    has_answer = [each.kind == _ANSWERABLE for each in scored]
    asked_with = [each.question for each in scored if each.kind == _ANSWERABLE]
    asked_without = [each.question for each in scored if each.kind != _ANSWERABLE]
    _check_enough("with an answer that got a score", asked_with, split)
    _check_enough("without an answer that got a score", asked_without, split)
    measured = separation(
        [each.score for each in scored], has_answer, [each.question for each in scored]
    )
    return Calibration(str(pipeline.metadata["name"]), scorer, scored, n_without_score, measured)


def threshold_record(
    calibration: Calibration, source: str, questions: QuestionSet, split: str, corpus: str | None
) -> AnswerThreshold:
    """What is kept of a calibration whose score separates.

    Args:
        calibration: as measured.
        source: where the questions came from; its name is kept.
        questions: all of them.
        split: which were asked.
        corpus: digest of the corpus that the store holds.

    Raises:
        ValueError: the score does not separate.
    """
    found, decided = calibration.separation, calibration.separation.held_out
    if not found.separates or decided.precision is None or decided.nothing_precision is None:
        raise ValueError("the score does not separate the two kinds of questions.")
    n_answerable = calibration.n(_ANSWERABLE)
    return AnswerThreshold(
        stage=calibration.scorer.stage,
        threshold=found.threshold,
        model_digest=calibration.scorer.model_digest,
        questions=Path(source).name or source,
        questions_sha256=questions.sha256,
        split=split,
        corpus_sha256=corpus,
        n_answerable=n_answerable,
        n_unanswerable=len(calibration.scored) - n_answerable,
        how=calibration.how,
        precision=decided.precision,
        recall=decided.recall,
        nothing_precision=decided.nothing_precision,
        nothing_recall=decided.nothing_recall,
        auc=found.auc,
        date=date.today().isoformat(),
    )


def report(calibration: Calibration) -> dict[str, Any]:
    """What was measured, as plain values.

    Returns:
        `pipeline`, `stage`, `how`; `kinds`, for each kind of questions its number `n` with a score,
        `n_without_score`, the `median` and the share `nothing_found` of those held out; `auc`,
        `threshold`, `held_out` and `in_sample` with `precision`, `recall`, `nothing_precision`,
        `nothing_recall` and `j`, and `intervals` of `auc` and of those held out.
    """
    found = calibration.separation
    return {
        "pipeline": calibration.pipeline,
        "stage": calibration.scorer.stage,
        "how": calibration.how,
        "kinds": {
            kind: _kind(calibration, kind)
            for kind in (_ANSWERABLE, _MARKED, _TAKEN_OUT)
            if calibration.n(kind) or calibration.n_without_score[kind]
        },
        "auc": found.auc,
        "threshold": found.threshold,
        "held_out": _decided(found.held_out),
        "in_sample": _decided(found.in_sample),
        "intervals": dict(found.intervals),
        "separates": found.separates,
    }


def _kind(calibration: Calibration, kind: str) -> dict[str, Any]:
    own = [
        (each.score, answered)
        for each, answered in zip(calibration.scored, calibration.separation.answered, strict=True)
        if each.kind == kind
    ]
    return {
        "n": len(own),
        "n_without_score": calibration.n_without_score[kind],
        "median": median(score for score, _ in own) if own else None,
        "nothing_found": fmean(not answered for _, answered in own) if own else None,
    }


def _decided(decided: Decided) -> dict[str, float | None]:
    return {
        "precision": decided.precision,
        "recall": decided.recall,
        "nothing_precision": decided.nothing_precision,
        "nothing_recall": decided.nothing_recall,
        "j": decided.j,
    }


def _taken_out(
    path: str | Path, answerable: Sequence[Question], questions: QuestionSet
) -> dict[str, set[str]]:
    store = StatuteDocumentStore(str(path))
    try:
        return answers_taken_out(store, answerable, questions)
    finally:
        store.close()


def _check_enough(which: str, texts: Sequence[str], split: str) -> None:
    different = len(set(texts))
    if different < _FEWEST:
        raise LoadingError(
            f"There are {different} different questions {which} in {spoken(split)}; {_FEWEST} are "
            "needed, or the threshold would be a guess. Take another split, or more questions."
        )
