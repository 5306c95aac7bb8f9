"""Choosing the score below which nothing was found, on questions with and without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import ArrayLike, NDArray
from tqdm import tqdm

from components.converters.articles import headings_of, law_of
from components.rankers.gate import (
    AnswerThreshold,
    Unanswerable,
    load_threshold,
    save_threshold,
)
from components.retrievers.validity import ANY
from components.statutes.article import normalised
from components.statutes.corpus import QuestionSet, read_questions
from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.checking import LoadingError
from pipelines.evaluation import of_split, spoken
from pipelines.home import keep_demo_questions
from pipelines.loading import Scorer, load_pipeline, scorer_of

_SAMPLES = 10_000
_BLOCK = 2_000_000  # numbers drawn at a time
_LEVEL = 0.05  # two-sided

Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Decided:
    """The effect of a threshold on questions: those at or above it are answered.

    Attributes:
        precision: The share of the answered questions that have an answer; None if none is
            answered.
        recall: The share of the questions with an answer that are answered.
        nothing_precision: The share of the questions for which nothing was found that have no
            answer; None if there are none.
        nothing_recall: The share of the questions without an answer for which nothing was found.
    """

    precision: float | None
    recall: float
    nothing_precision: float | None
    nothing_recall: float

    @property
    def j(self) -> float:
        """Youden's J = recall + nothing_recall - 1: 0 for chance, 1 for no mistake."""
        return self.recall + self.nothing_recall - 1


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a score separates the two kinds of questions.

    Attributes:
        threshold: The result of `best_threshold` on all of them.
        in_sample: Its effect on the questions it was chosen on, which is too optimistic.
        held_out: The effect on each question of a threshold chosen without it.
        answered: Whether each held-out question was answered, `[n_questions]`.
        auc: Area under the ROC curve: the chance that a question with an answer scores above one
            without, ties counted half.
        intervals: 95% bootstrap interval of "auc" and of each number of `held_out`, with "j";
            questions are resampled, decisions stay.
    """

    threshold: float
    in_sample: Decided
    held_out: Decided
    answered: tuple[bool, ...]
    auc: float
    intervals: Mapping[str, Interval]

    @property
    def separates(self) -> bool:
        """Whether the score is informative: the AUC's interval above .5 and held-out J above 0."""
        return self.intervals["auc"][0] > 0.5 and self.held_out.j > 0


def best_threshold(scores: ArrayLike, answerable: ArrayLike) -> float:
    """The threshold with the highest J (Youden, 1950), which does not depend on how many of the
    questions are of either kind.

    It is the midpoint of two neighbouring scores. Among thresholds with the same J it takes the
    middle one (of an even number the lower), so that rescaling the scores in the same order changes
    no decision about these questions. (It may change that about another question, whose score is
    between the two.) The lowest score, which answers everything, is also a candidate, with J 0.

    Args:
        scores: `[n_questions]`, finite.
        answerable: bool `[n_questions]`, both kinds among them.

    Raises:
        ValueError: The shapes differ, a score is not finite, or one kind is missing.
    """
    numbers, has_answer = _checked(scores, answerable)
    values, place = np.unique(numbers, return_inverse=True)
    with_answer = np.bincount(place[has_answer], minlength=len(values))
    without = np.bincount(place[~has_answer], minlength=len(values))
    n, m = int(with_answer.sum()), int(without.sum())
    # J n m in whole numbers, so that ties are exact: threshold i answers values[i] and above.
    answered = n - np.concatenate([[0], np.cumsum(with_answer)[:-1]])
    refused = np.concatenate([[0], np.cumsum(without)[:-1]])
    gains = answered * m + refused * n
    best = np.flatnonzero(gains == gains.max())
    chosen = int(best[(len(best) - 1) // 2])
    above = float(values[chosen])
    if chosen == 0:
        return above
    below = float(values[chosen - 1])
    middle = below / 2 + above / 2
    return middle if below < middle < above else above  # adjacent floats have no midpoint


def separation(scores: ArrayLike, answerable: ArrayLike, groups: Sequence[str]) -> Separation:
    """Choose a threshold and measure how good it is.

    Rows of one group (one question asked with and without its articles, or a repeated question) are
    held out together. For the intervals the two kinds are resampled independently, rows of one kind
    and group together. Resampled in pairs, questions asked with and without their articles would
    make any score look certain, since the best of fewer articles cannot score higher.

    Args:
        scores: `[n_questions]`, finite.
        answerable: bool `[n_questions]`, in two groups at least of each kind.
        groups: `[n_questions]`.

    Raises:
        ValueError: As `best_threshold`, or a kind is in one group only.
    """
    numbers, has_answer = _checked(scores, answerable)
    _, group = np.unique(np.asarray(groups, dtype=str), return_inverse=True)
    if len(group) != len(numbers):
        raise ValueError(f"groups has {len(group)} values, scores {len(numbers)}.")
    for kind, name in ((has_answer, "with"), (~has_answer, "without")):
        if len(np.unique(group[kind])) < 2:
            raise ValueError(f"two questions {name} an answer are needed to hold one of them out.")
    threshold = best_threshold(numbers, has_answer)
    held_out = _held_out(numbers, has_answer, group)
    drawn: dict[str, list[NDArray[np.float64]]] = {}
    for weights in _drawn(has_answer, group):
        for name, measured in {
            "auc": _auc(numbers, has_answer, weights),
            **_shares(held_out, has_answer, weights),
        }.items():
            drawn.setdefault(name, []).append(measured)
    once = np.ones((1, len(numbers)))
    return Separation(
        threshold=threshold,
        in_sample=_decided(numbers >= threshold, has_answer),
        held_out=_decided(held_out, has_answer),
        answered=tuple(held_out.tolist()),
        auc=float(_auc(numbers, has_answer, once)[0]),
        intervals={name: _interval(np.concatenate(parts)) for name, parts in drawn.items()},
    )


def _checked(
    scores: ArrayLike, answerable: ArrayLike
) -> tuple[NDArray[np.float64], NDArray[np.bool_]]:
    numbers = np.asarray(scores, dtype=np.float64)
    has_answer = np.asarray(answerable, dtype=bool)
    if numbers.ndim != 1 or numbers.shape != has_answer.shape:
        raise ValueError(
            f"scores and answerable need one value per question, not shapes {numbers.shape} and "
            f"{has_answer.shape}."
        )
    if not np.isfinite(numbers).all():
        raise ValueError(f"scores[{int(np.argmin(np.isfinite(numbers)))}] is not a finite number.")
    if has_answer.all() or not has_answer.any():
        missing = "without" if len(numbers) and has_answer.all() else "with"
        raise ValueError(f"a threshold needs questions of both kinds; none {missing} an answer.")
    return numbers, has_answer


def _held_out(
    numbers: NDArray[np.float64], has_answer: NDArray[np.bool_], group: NDArray[np.int64]
) -> NDArray[np.bool_]:
    """Whether each question is answered by the threshold chosen without its group."""
    answered = np.empty(len(numbers), dtype=bool)
    for each in range(int(group.max()) + 1):
        own = group == each
        answered[own] = numbers[own] >= best_threshold(numbers[~own], has_answer[~own])
    return answered


def _drawn(
    has_answer: NDArray[np.bool_], group: NDArray[np.int64]
) -> Iterator[NDArray[np.float64]]:
    """Blocks `[n_samples, n_questions]`: how often each question is drawn.

    The number of groups of each kind stays the same, since the author of the set decided it.
    """
    generator = np.random.default_rng(0)
    rows = max(1, min(_SAMPLES, _BLOCK // len(group)))
    for start in range(0, _SAMPLES, rows):
        times = np.empty((min(rows, _SAMPLES - start), len(group)))
        for kind in (has_answer, ~has_answer):
            members, own = np.unique(group[kind], return_inverse=True)
            shares = np.full(len(members), 1 / len(members))
            times[:, kind] = generator.multinomial(len(members), shares, len(times))[:, own]
        yield times


def _auc(
    numbers: NDArray[np.float64], has_answer: NDArray[np.bool_], weights: NDArray[np.float64]
) -> NDArray[np.float64]:
    """`[n_samples]`, of questions that count `weights` times, `[n_samples, n_questions]`."""
    order = np.argsort(numbers, kind="stable")
    _, starts = np.unique(numbers[order], return_index=True)
    ordered, kind = weights[:, order], has_answer[order]
    with_answer = np.add.reduceat(ordered * kind, starts, axis=1)
    without = np.add.reduceat(ordered * ~kind, starts, axis=1)
    below = np.cumsum(without, axis=1) - without / 2
    pairs = with_answer.sum(axis=1) * without.sum(axis=1)
    return np.asarray((with_answer * below).sum(axis=1) / pairs)


def _shares(
    answered: NDArray[np.bool_], has_answer: NDArray[np.bool_], weights: NDArray[np.float64]
) -> dict[str, NDArray[np.float64]]:
    """`[n_samples]` of each number of `Decided`, NaN if undefined, and of J."""
    right, wrong = weights @ (answered & has_answer), weights @ (answered & ~has_answer)
    missed, refused = weights @ (~answered & has_answer), weights @ (~answered & ~has_answer)
    with np.errstate(invalid="ignore"):
        recall, nothing_recall = right / (right + missed), refused / (refused + wrong)
        return {
            "precision": right / (right + wrong),
            "recall": recall,
            "nothing_precision": refused / (refused + missed),
            "nothing_recall": nothing_recall,
            "j": recall + nothing_recall - 1,
        }


def _decided(answered: NDArray[np.bool_], has_answer: NDArray[np.bool_]) -> Decided:
    shares = _shares(answered, has_answer, np.ones((1, len(answered))))
    found = {name: None if np.isnan(of[0]) else float(of[0]) for name, of in shares.items()}
    recall, nothing_recall = float(shares["recall"][0]), float(shares["nothing_recall"][0])
    return Decided(found["precision"], recall, found["nothing_precision"], nothing_recall)


def _interval(values: NDArray[np.float64]) -> Interval:
    """The interval of the samples with a value; without any, the whole range."""
    there = values[~np.isnan(values)]
    if not len(there):
        return 0.0, 1.0
    low, high = np.quantile(there, [_LEVEL / 2, 1 - _LEVEL / 2])
    return float(low), float(high)


# A question with an answer becomes one without, by taking articles out of the law.

_FETCHED = 500  # documents held at a time

_Division = tuple[str, tuple[str, ...]]


def answers_taken_out(
    store: StatuteDocumentStore, questions: Sequence[Question], everything: Iterable[Question]
) -> dict[str, set[str]]:
    """For each question the ids of the articles without which the law does not answer it.

    These are its relevant articles and those of every question with the same text, their twins, and
        everything in the division of a relevant article: in the same law, under the same headings.
        An article without headings is in no division.

    Args:
        store: the law.
        questions: answerable ones.
        everything: all questions known, which may repeat the text of those.

    Raises:
        StoreError: the store cannot be read.
    """
    gold: dict[str, set[str]] = {normalised(question.text): set() for question in questions}
    for question in [*questions, *everything]:
        if (text := normalised(question.text)) in gold:
            gold[text].update(question.relevant)
    relevant = {
        document.id: document
        for document in store.fetch(store.keys_of(sorted(set().union(*gold.values()))))
    }
    twins: dict[str, set[str]] = {_text(document): set() for document in relevant.values()}
    inside: dict[_Division, set[str]] = {
        _division(document): set() for document in relevant.values()
    }
    keys = store.keys_matching(None)
    for start in range(0, len(keys), _FETCHED):
        for document in store.fetch(keys[start : start + _FETCHED]):
            if (text := _text(document)) in twins:
                twins[text].add(document.id)
            if (division := _division(document)) in inside:
                inside[division].add(document.id)
    around = {
        id_: {id_}
        | (twins[_text(document)] if _text(document) else set())
        | (inside[_division(document)] if _division(document)[1] else set())
        for id_, document in relevant.items()
    }
    taken = {
        text: ids.union(*(around[id_] for id_ in ids if id_ in around))
        for text, ids in gold.items()
    }
    return {question.id: taken[normalised(question.text)] for question in questions}


def without(ids: Iterable[str]) -> Mapping[str, Any]:
    """Haystack filters that leave these articles out of the candidates."""
    return {"field": "id", "operator": "not in", "value": sorted(ids)}


def _text(document: Document) -> str:
    return normalised(document.content or "")


def _division(document: Document) -> _Division:
    return law_of(document.meta), headings_of(document.meta)


_ENOUGH_MARKED = 20
_FEWEST = 10

_ANSWERABLE, _MARKED, _TAKEN_OUT = "answerable", "marked", "taken out"


@dataclass(frozen=True)
class Scored:
    """A question as asked, and its best score.

    Attributes:
        question: its normalised text; equal ones are held out together.
        kind: "answerable" as it is, "taken out" without its answers, or "marked" as unanswerable.
        score: the best score of the articles read.
    """

    question: str
    kind: str
    score: float


@dataclass(frozen=True)
class Calibration:
    """The measurements.

    Attributes:
        pipeline: its name.
        scorer: what gave the scores.
        scored: every question that got a score.
        n_without_score: how many there were of each kind.
        separation: computed from `scored`.
    """

    pipeline: str
    scorer: Scorer
    scored: Sequence[Scored]
    n_without_score: Mapping[str, int]
    separation: Separation

    @property
    def how(self) -> Unanswerable:
        """The kind of questions without an answer."""
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
    every answerable question is asked a second time, without its answers (`answers_taken_out`), and
    then counts as one without an answer. All of the law is searched, whether in force or not. A
    question that is itself among the store's answered questions is asked without it.

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
        with closing(StatuteDocumentStore(str(store))) as opened:
            taken = answers_taken_out(opened, answerable, questions)
    pipeline.warm_up()
    runs: list[tuple[str, Question, Mapping[str, Any] | None]] = []
    for question in asked:
        runs.append((_ANSWERABLE if question.answerable else _MARKED, question, None))
        if question.id in taken:
            runs.append((_TAKEN_OUT, question, without(taken[question.id])))
    scored: list[Scored] = []
    n_without_score: Counter[str] = Counter()
    retriever: Any = pipeline.get_component(scorer.component)
    answered = retriever.answered_questions() if scorer.stage == "answered" else None
    for kind, question, filters in tqdm(runs, desc=f"Asking {name}", disable=None):
        if answered is not None:
            # A question that is in the list itself would look near to it.
            retriever.search_answered(answered.without({normalised(question.text)}))
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
    """What is recorded of a calibration whose score separates.

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
        **asdict(decided),
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
        "held_out": {**asdict(found.held_out), "j": found.held_out.j},
        "in_sample": {**asdict(found.in_sample), "j": found.in_sample.j},
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


def _check_enough(which: str, texts: Sequence[str], split: str) -> None:
    different = len(set(texts))
    if different < _FEWEST:
        raise LoadingError(
            f"There are {different} different questions {which} in {spoken(split)}; {_FEWEST} are "
            "needed, or the threshold would be a guess. Take another split, or more questions."
        )


def calibrate_demo(path: Path, say: Callable[[str], object]) -> None:
    """Keep the demo's answered questions, and choose the threshold on its dev questions.

    Below it a question may have no answer in the law (`pipelines.calibrate`). If the score does not
    tell questions with an answer from those without, none is written. Anything the store already
    has is left as it is.

    Args:
        path: a demo store.
        say: takes lines for the user.

    Raises:
        LoadingError: Lexarbor's home cannot be written.
        StoreError: the store cannot be read or written.
        ModelError: the model cannot be loaded.
    """
    keep_demo_questions(path, say)
    with closing(StatuteDocumentStore(str(path))) as store:
        if store.model is None:
            return
        scorer = scorer_of(load_pipeline("hybrid", path))
        if load_threshold(store, scorer.stage, scorer.model_digest) is not None:
            return
        questions = read_questions("aldermere")
        found = calibrate("hybrid", questions, "dev", store=path, model=None)
        if found.separation.separates:
            corpus = store.publisher.recorded_corpus()
            save_threshold(store, threshold_record(found, "aldermere", questions, "dev", corpus))
