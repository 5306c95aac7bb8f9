"""Choosing the score below which nothing was found, on questions with and without an answer."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

import numpy as np
from haystack import Document
from numpy.typing import ArrayLike
from tqdm import tqdm

from components.converters.articles import headings_of, law_of
from components.rankers.gate import AnswerThreshold, Unanswerable, load_threshold, save_threshold
from components.retrievers.validity import ANY
from components.statutes.article import normalised
from components.statutes.corpus import QuestionSet, read_questions
from components.statutes.extras import needs_extra
from components.statutes.question import Question
from components.stores.sqlite import StatuteDocumentStore
from pipelines.asking import run
from pipelines.checking import LoadingError
from pipelines.evaluation import of_split, spoken
from pipelines.home import keep_demo_questions
from pipelines.loading import Scorer, load_pipeline, scorer_of

with needs_extra("Calibration", "models"):
    from scipy.stats import binomtest, bootstrap, mannwhitneyu
    from sklearn.metrics import roc_curve

_SAMPLES = 2_000


@dataclass(frozen=True, slots=True)
class Separation:
    """How well a score separates the two kinds of questions.

    Attributes:
        threshold: The result of `best_threshold` on all of them.
        held_out: The effect on each question of a threshold chosen without it: `precision`, the
            share of the answered questions that have an answer; `recall`, the share of the
            questions with an answer that are answered; `nothing_precision` and `nothing_recall`,
            the same of those for which nothing was found and those without an answer; and Youden's
            J, the recalls' sum - 1: 0 for chance, 1 for no mistake. A precision is None where there
            are no such questions.
        answered: Whether each held-out question was answered, `[n_questions]`.
        auc: Area under the ROC curve: the chance that a question with an answer scores above one
            without, ties counted half.
        intervals: 95% intervals of "auc" (bootstrap over the questions of each kind) and of each
            number of `held_out` (Clopper and Pearson's; of "j" the sum of the two recalls').
    """

    threshold: float
    held_out: Mapping[str, float | None]
    answered: Sequence[bool]
    auc: float
    intervals: Mapping[str, tuple[float, float]]

    @property
    def separates(self) -> bool:
        """Whether the score is informative: the AUC's interval above .5 and held-out J above 0."""
        return self.intervals["auc"][0] > 0.5 and (self.held_out["j"] or 0.0) > 0


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
    """
    kinds = np.asarray(answerable, dtype=bool)
    n, m = int(kinds.sum()), int((~kinds).sum())
    wrong, right, at = roc_curve(kinds, scores, drop_intermediate=False)
    # J n m in whole numbers, so that ties are exact. The first point answers nothing.
    gains = (np.rint(right * n) * m - np.rint(wrong * m) * n)[:0:-1]
    values = at[:0:-1]
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

    Rows of one group (one question asked with and without its articles) are held out together. For
    the intervals the two kinds are taken to be independent. Resampled in pairs, questions asked
    with and without their articles would make any score look certain, since the best of fewer
    articles cannot score higher.

    Args:
        scores: `[n_questions]`, finite.
        answerable: bool `[n_questions]`, in two groups at least of each kind.
        groups: `[n_questions]`; of a kind there is one row in a group.
    """
    numbers, kinds = np.asarray(scores, dtype=np.float64), np.asarray(answerable, dtype=bool)
    threshold, names = best_threshold(numbers, kinds), np.asarray(groups, dtype=str)
    answered = np.empty(len(numbers), dtype=bool)
    for name in np.unique(names):
        own = names == name
        answered[own] = numbers[own] >= best_threshold(numbers[~own], kinds[~own])
    right, refused = int((answered & kinds).sum()), int((~answered & ~kinds).sum())
    counts = {
        "precision": (right, int(answered.sum())),
        "recall": (right, int(kinds.sum())),
        "nothing_precision": (refused, int((~answered).sum())),
        "nothing_recall": (refused, int((~kinds).sum())),
    }
    held_out = {name: k / n if n else None for name, (k, n) in counts.items()}
    intervals: dict[str, tuple[float, float]] = {}
    for name, (k, n) in counts.items():
        low, high = binomtest(k, n).proportion_ci() if n else (0.0, 1.0)
        intervals[name] = (float(low), float(high))
    lows, highs = zip(intervals["recall"], intervals["nothing_recall"], strict=True)
    intervals["j"] = (sum(lows) - 1, sum(highs) - 1)
    held_out["j"] = right / counts["recall"][1] + refused / counts["nothing_recall"][1] - 1

    def auc(positive: Any, negative: Any, axis: int = -1) -> Any:
        pairs = positive.shape[axis] * negative.shape[axis]
        return mannwhitneyu(positive, negative, method="asymptotic", axis=axis).statistic / pairs

    samples = (numbers[kinds], numbers[~kinds])
    drawn = bootstrap(samples, auc, n_resamples=_SAMPLES, method="percentile", rng=0)
    low, high = drawn.confidence_interval
    intervals["auc"] = (float(low), float(high))
    area = float(auc(*samples))
    return Separation(threshold, held_out, answered.tolist(), area, intervals)


# A question with an answer becomes one without, by taking articles out of the law.


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
        everything: all questions known, those among them.

    Raises:
        StoreError: the store cannot be read.
    """
    gold: dict[str, set[str]] = defaultdict(set)
    for question in everything:
        gold[normalised(question.text)].update(question.relevant)
    places: dict[str, list[Any]] = {}
    sharing: dict[Any, set[str]] = defaultdict(set)
    keys = store.keys_matching(None)
    for start in range(0, len(keys), 500):
        for document in store.fetch(keys[start : start + 500]):
            places[document.id] = _places(document)
            for place in places[document.id]:
                sharing[place].add(document.id)

    def without(text: str) -> set[str]:
        own = gold[normalised(text)]
        shared = (sharing[place] for id_ in own for place in places.get(id_, ()))
        return own.union(*shared)

    return {question.id: without(question.text) for question in questions}


def _places(document: Document) -> list[Any]:
    """An article's text and its division, where it has them."""
    text, headings = normalised(document.content or ""), headings_of(document.meta)
    return [*([text] if text else []), *([(law_of(document.meta), headings)] if headings else [])]


_ENOUGH_MARKED = 20
_FEWEST = 10

_ANSWERABLE, _MARKED, _TAKEN_OUT = "answerable", "marked", "taken out"


class Scored(NamedTuple):
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
        separation: computed from `scored`.
    """

    pipeline: str
    scorer: Scorer
    scored: Sequence[Scored]
    separation: Separation

    @property
    def how(self) -> Unanswerable:
        """The kind of questions without an answer."""
        kinds = {each.kind for each in self.scored}
        if _MARKED not in kinds:
            return "taken out"
        return "both" if _TAKEN_OUT in kinds else "marked"


def calibrate(
    name: str, questions: QuestionSet, split: str, *, store: str | Path, model: str | None
) -> Calibration:
    """Ask a pipeline questions with and without an answer, and choose the threshold.

    Questions without an answer are those marked so. Where the split has fewer than 20 of them,
    every answerable question is asked a second time, without its answers (`answers_taken_out`), and
    then counts as one without an answer. All of the law is searched, whether in force or not.
    Questions with the same text are asked once. A question that is itself among the store's
    answered questions is asked without it.

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
    pipeline = load_pipeline(name, store, model)
    scorer = scorer_of(pipeline)
    taken: Mapping[str, set[str]] = {}
    if len(asked) - len(answerable) < _ENOUGH_MARKED:
        with closing(StatuteDocumentStore(str(store))) as opened:
            taken = answers_taken_out(opened, answerable, questions)
    pipeline.warm_up()
    # By text and kind: the question, and filters that leave its articles out.
    runs: dict[tuple[str, str], tuple[Question, Mapping[str, Any] | None]] = {}
    for question in asked:
        text = normalised(question.text)
        runs[text, _ANSWERABLE if question.answerable else _MARKED] = (question, None)
        if question.id in taken:
            filters = {"field": "id", "operator": "not in", "value": sorted(taken[question.id])}
            runs[text, _TAKEN_OUT] = (question, filters)
    retriever: Any = pipeline.get_component(scorer.component)
    answered = retriever.answered_questions() if scorer.stage == "answered" else None
    scored: list[Scored] = []
    for (text, kind), (question, leaving_out) in tqdm(
        runs.items(), desc=f"Asking {name}", disable=None
    ):
        if answered is not None:
            # A question that is in the list itself would look near to it.
            retriever.search_answered(answered.without({text}))
        outputs = run(pipeline, question.text, {scorer.component}, filters=leaving_out, as_of=ANY)
        if (score := scorer.best(outputs)) is not None:
            scored.append(Scored(text, kind, score))
    has_answer = [each.kind == _ANSWERABLE for each in scored]
    for n, which in ((sum(has_answer), "with"), (len(scored) - sum(has_answer), "without")):
        if n < _FEWEST:
            raise LoadingError(
                f"{n} different questions {which} an answer in {spoken(split)} got a score; a "
                f"threshold needs {_FEWEST}."
            )
    texts = [each.question for each in scored]
    measured = separation([each.score for each in scored], has_answer, texts)
    return Calibration(str(pipeline.metadata["name"]), scorer, scored, measured)


def keep_threshold(
    store: StatuteDocumentStore,
    calibration: Calibration,
    source: str,
    questions: QuestionSet,
    split: str,
) -> None:
    """Keep the threshold of a calibration whose score separates, and how it was measured.

    Args:
        store: the law.
        calibration: as measured.
        source: where the questions came from; its name is kept.
        questions: all of them.
        split: which were asked.

    Raises:
        ValueError: the score does not separate.
        StoreError: the store cannot be written.
    """
    found = calibration.separation
    n_answerable = sum(each.kind == _ANSWERABLE for each in calibration.scored)
    rates: dict[str, Any] = {name: value for name, value in found.held_out.items() if name != "j"}
    record = AnswerThreshold(
        stage=calibration.scorer.stage,
        threshold=found.threshold,
        model_digest=calibration.scorer.model_digest,
        questions=Path(source).name or source,
        questions_sha256=questions.sha256,
        split=split,
        corpus_sha256=store.publisher.recorded_corpus(),
        n_answerable=n_answerable,
        n_unanswerable=len(calibration.scored) - n_answerable,
        how=calibration.how,
        **rates,
        auc=found.auc,
        date=date.today().isoformat(),
    )
    save_threshold(store, record)


def report(calibration: Calibration) -> dict[str, Any]:
    """What was measured, as plain values.

    Returns:
        `pipeline`, `stage`, `how`; `kinds`, for each kind of questions its number `n` with a score,
        and their `median`; `auc`, `threshold`, `held_out`
        with `precision`, `recall`, `nothing_precision`, `nothing_recall` and `j`, `intervals` of
        `auc` and of those, and whether it `separates`.
    """
    found = calibration.separation
    kinds: dict[str, list[float]] = {}
    for each in calibration.scored:
        kinds.setdefault(each.kind, []).append(each.score)
    names = ("auc", "threshold", "held_out", "intervals", "separates")
    return {
        "pipeline": calibration.pipeline,
        "stage": calibration.scorer.stage,
        "how": calibration.how,
        "kinds": {kind: {"n": len(own), "median": median(own)} for kind, own in kinds.items()},
        **{name: getattr(found, name) for name in names},
    }


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
            keep_threshold(store, found, "aldermere", questions, "dev")
