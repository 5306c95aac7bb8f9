"""Choosing the score below which nothing was found, on questions with and without an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import closing
from dataclasses import asdict, dataclass
from datetime import date
from pathlib import Path
from statistics import fmean, median
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import ArrayLike, NDArray
from sklearn.metrics import roc_auc_score, roc_curve
from sklearn.utils import check_consistent_length
from tqdm import tqdm

from components.converters.articles import headings_of, law_of
from components.rankers.gate import AnswerThreshold, Unanswerable, load_threshold, save_threshold
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

Interval = tuple[float, float]

_SAMPLES = 2_000


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
    kinds = np.asarray(answerable, dtype=bool)
    n, m = int(kinds.sum()), int((~kinds).sum())
    if not n or not m:
        missing = "with" if m or not n else "without"
        raise ValueError(f"a threshold needs questions of both kinds; none {missing} an answer.")
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
    check_consistent_length(scores, groups)
    numbers, kinds = np.asarray(scores, dtype=np.float64), np.asarray(answerable, dtype=bool)
    threshold = best_threshold(numbers, kinds)
    names = np.asarray(groups, dtype=str)
    if min(len(np.unique(names[kinds])), len(np.unique(names[~kinds]))) < 2:
        raise ValueError("two groups of each kind are needed to hold one of them out.")
    held_out = np.empty(len(numbers), dtype=bool)
    for name in np.unique(names):
        own = names == name
        held_out[own] = numbers[own] >= best_threshold(numbers[~own], kinds[~own])
    return Separation(
        threshold=threshold,
        in_sample=_decided(numbers >= threshold, kinds),
        held_out=_decided(held_out, kinds),
        answered=tuple(held_out.tolist()),
        auc=float(roc_auc_score(kinds, numbers)),
        intervals=_intervals(numbers, kinds, names, held_out),
    )


def _decided(answered: NDArray[np.bool_], kinds: NDArray[np.bool_]) -> Decided:
    right, refused = int((answered & kinds).sum()), int((~answered & ~kinds).sum())
    n_answered, n_with = int(answered.sum()), int(kinds.sum())
    n_refused, n_without = len(kinds) - n_answered, len(kinds) - n_with
    return Decided(
        precision=right / n_answered if n_answered else None,
        recall=right / n_with,
        nothing_precision=refused / n_refused if n_refused else None,
        nothing_recall=refused / n_without,
    )


def _intervals(
    numbers: NDArray[np.float64],
    kinds: NDArray[np.bool_],
    names: NDArray[np.str_],
    answered: NDArray[np.bool_],
) -> dict[str, Interval]:
    """The 95% bootstrap interval of each number of `held_out`, of J and of the AUC.

    The number of groups of each kind stays the same, since the author of the set decided it.
    """
    generator = np.random.default_rng(0)
    weights = []  # of each kind, how often a row is drawn: [n_samples, n_rows]
    for kind in (kinds, ~kinds):
        group = np.unique(names[kind], return_inverse=True)[1]
        n_groups = int(group.max()) + 1
        drawn = generator.multinomial(n_groups, np.full(n_groups, 1 / n_groups), _SAMPLES)
        weights.append(drawn[:, group].astype(np.float64))
    positive, negative = weights
    n, m = positive.sum(axis=1), negative.sum(axis=1)
    right, refused = positive @ answered[kinds], negative @ ~answered[~kinds]
    wins = np.greater.outer(numbers[kinds], numbers[~kinds]).astype(np.float64)
    wins += np.equal.outer(numbers[kinds], numbers[~kinds]) / 2
    with np.errstate(invalid="ignore"):
        shares = {
            "precision": right / (right + m - refused),
            "recall": right / n,
            "nothing_precision": refused / (refused + n - right),
            "nothing_recall": refused / m,
            "j": right / n + refused / m - 1,
            "auc": ((positive @ wins) * negative).sum(axis=1) / (n * m),
        }
    intervals = {}
    for name, values in shares.items():
        there = values[~np.isnan(values)]  # without any, the interval is the whole range
        low, high = np.quantile(there, [0.025, 0.975]) if len(there) else (0.0, 1.0)
        intervals[name] = (float(low), float(high))
    return intervals


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
        everything: all questions known, which may repeat the text of those.

    Raises:
        StoreError: the store cannot be read.
    """
    gold: dict[str, set[str]] = {normalised(question.text): set() for question in questions}
    for question in [*questions, *everything]:
        if (text := normalised(question.text)) in gold:
            gold[text].update(question.relevant)
    relevant = store.fetch(store.keys_of(sorted(set().union(*gold.values()))))
    # The ids of each text and of each division that a relevant article has.
    sharing: dict[Any, set[str]] = {
        place: set() for document in relevant for place in _places(document)
    }
    keys = store.keys_matching(None)
    for start in range(0, len(keys), 500):
        for document in store.fetch(keys[start : start + 500]):
            for place in _places(document):
                if place in sharing:
                    sharing[place].add(document.id)
    around = {
        document.id: {document.id}.union(*(sharing[place] for place in _places(document)))
        for document in relevant
    }
    taken = {text: ids.union(*(around.get(id_, ()) for id_ in ids)) for text, ids in gold.items()}
    return {question.id: taken[normalised(question.text)] for question in questions}


def _places(document: Document) -> list[Any]:
    """An article's text and its division, where it has them."""
    text, headings = normalised(document.content or ""), headings_of(document.meta)
    return [*([text] if text else []), *([(law_of(document.meta), headings)] if headings else [])]


def without(ids: Iterable[str]) -> Mapping[str, Any]:
    """Haystack filters that leave these articles out of the candidates."""
    return {"field": "id", "operator": "not in", "value": sorted(ids)}


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
        if not self.n(_MARKED):
            return "taken out"
        return "both" if self.n(_TAKEN_OUT) else "marked"

    def n(self, kind: str) -> int:
        """How many questions of a kind have a score."""
        return sum(scored.kind == kind for scored in self.scored)


def calibrate(
    name: str, questions: QuestionSet, split: str, *, store: str | Path, model: str | None
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
    pipeline = load_pipeline(name, store, model)
    scorer = scorer_of(pipeline)
    _check_enough("with an answer", [normalised(each.text) for each in answerable], split)
    taken: Mapping[str, set[str]] = {}
    if len(asked) - len(answerable) < _ENOUGH_MARKED:
        with closing(StatuteDocumentStore(str(store))) as opened:
            taken = answers_taken_out(opened, answerable, questions)
    pipeline.warm_up()
    runs: list[tuple[str, Question, Mapping[str, Any] | None]] = []
    for question in asked:
        runs.append((_ANSWERABLE if question.answerable else _MARKED, question, None))
        if question.id in taken:
            runs.append((_TAKEN_OUT, question, without(taken[question.id])))
    retriever: Any = pipeline.get_component(scorer.component)
    answered = retriever.answered_questions() if scorer.stage == "answered" else None
    scored: list[Scored] = []
    n_without_score: Counter[str] = Counter()
    for kind, question, filters in tqdm(runs, desc=f"Asking {name}", disable=None):
        text = normalised(question.text)
        if answered is not None:
            # A question that is in the list itself would look near to it.
            retriever.search_answered(answered.without({text}))
        outputs = run(pipeline, question.text, {scorer.component}, filters=filters, as_of=ANY)
        score = scorer.best(outputs)
        if score is None:
            n_without_score[kind] += 1
        else:
            scored.append(Scored(text, kind, score))
    has_answer = [each.kind == _ANSWERABLE for each in scored]
    texts = [each.question for each in scored]
    for wanted, which in ((True, "with"), (False, "without")):
        of_kind = [text for text, has in zip(texts, has_answer, strict=True) if has == wanted]
        _check_enough(f"{which} an answer that got a score", of_kind, split)
    measured = separation([each.score for each in scored], has_answer, texts)
    return Calibration(str(pipeline.metadata["name"]), scorer, scored, n_without_score, measured)


def _check_enough(which: str, texts: Sequence[str], split: str) -> None:
    if (different := len(set(texts))) < _FEWEST:
        raise LoadingError(
            f"There are {different} different questions {which} in {spoken(split)}; a threshold "
            f"needs {_FEWEST}."
        )


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
    n_answerable = calibration.n(_ANSWERABLE)
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
        **asdict(found.held_out),
        auc=found.auc,
        date=date.today().isoformat(),
    )
    save_threshold(store, record)


def report(calibration: Calibration) -> dict[str, Any]:
    """What was measured, as plain values.

    Returns:
        `pipeline`, `stage`, `how`; `kinds`, for each kind of questions its number `n` with a score,
        `n_without_score`, the `median` and the share `nothing_found` of those held out; `auc`,
        `threshold`, `held_out` and `in_sample` with `precision`, `recall`, `nothing_precision`,
        `nothing_recall` and `j`, and `intervals` of `auc` and of those held out.
    """
    found = calibration.separation
    kinds = {}
    for kind in (_ANSWERABLE, _MARKED, _TAKEN_OUT):
        own = [
            (scored.score, answered)
            for scored, answered in zip(calibration.scored, found.answered, strict=True)
            if scored.kind == kind
        ]
        if own or calibration.n_without_score[kind]:
            kinds[kind] = {
                "n": len(own),
                "n_without_score": calibration.n_without_score[kind],
                "median": median(score for score, _ in own) if own else None,
                "nothing_found": fmean(not answered for _, answered in own) if own else None,
            }
    return {
        "pipeline": calibration.pipeline,
        "stage": calibration.scorer.stage,
        "how": calibration.how,
        "kinds": kinds,
        "auc": found.auc,
        "threshold": found.threshold,
        "held_out": {**asdict(found.held_out), "j": found.held_out.j},
        "in_sample": {**asdict(found.in_sample), "j": found.in_sample.j},
        "intervals": dict(found.intervals),
        "separates": found.separates,
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
