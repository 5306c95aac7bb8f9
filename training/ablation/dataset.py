"""A law with its questions, split by seed and fold for a grid."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np
from rank_bm25 import BM25Okapi

from components.models.learned_fusion import FUSED_FROM
from components.statutes.article import TextRule, normalised
from components.statutes.corpus import read_questions
from components.statutes.question import Question
from training.bm25 import CountedLaw, Ranking, Variant
from training.command_line import SettingsError
from training.data import TrainingData

# Questions in parts for cross-validation.


def folds_of(questions: Sequence[Question], n_folds: int, *, seed: int) -> list[int]:
    """The fold of each question, `[n_questions]`, from 0; -1 for one that is always learnt.

    Questions with the same words stay in one fold, so that no measured question was learnt by
    heart. Folds are as equal in size as that allows. A question that a model wrote has a fold only
    if another one has its words.

    Args:
        questions: In a fixed order.
        n_folds: How many.
        seed: Decides which questions share a fold.

    Raises:
        ValueError: There are fewer different questions than folds.
    """
    groups: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        if not question.synthetic:
            groups.setdefault(normalised(question.text), []).append(place)
    if len(groups) < n_folds:
        raise ValueError(f"{len(groups)} different questions cannot be put into {n_folds} folds")
    members = list(groups.values())
    folds = [-1] * len(questions)
    sizes = [0] * n_folds
    for group in np.random.default_rng([seed, n_folds]).permutation(len(members)).tolist():
        smallest = sizes.index(min(sizes))
        sizes[smallest] += len(members[group])
        for place in members[group]:
            folds[place] = smallest
    for place, question in enumerate(questions):
        if question.synthetic and (same := groups.get(normalised(question.text))):
            folds[place] = folds[same[0]]
    return folds


SMALL, SMALL_FOLDS = 200, 5


@dataclass(frozen=True)
class Split:
    """What one run learns from and is measured on.

    Attributes:
        data: The questions to learn from, and dev's.
        rows: For each measured question its place among those of train, dev and test,
            `[n_measured]`.
        test: Measured instead of dev, which then only chooses the epoch.
    """

    data: TrainingData
    rows: Sequence[int]
    test: Sequence[Question] = ()

    @property
    def measured(self) -> Sequence[Question]:
        """The questions that are measured, `[n_measured]`."""
        return self.test or self.data.dev

    @property
    def sha256(self) -> str:
        """Digest of which question is on which side."""
        sides = [self.data.train, self.data.dev, *([self.test] if self.test else [])]
        ids = [[question.id for question in side] for side in sides]
        return hashlib.sha256(json.dumps(ids).encode()).hexdigest()


@dataclass(frozen=True)
class Dataset:
    """A law, and its questions of the splits train and dev.

    Attributes:
        place: Where it was read from.
        given: The questions by their own split.
    """

    place: str
    given: TrainingData
    _lexical: dict[tuple[float, float, TextRule], list[Ranking]] = field(
        default_factory=dict, repr=False, compare=False
    )

    @classmethod
    def read(cls, place: str, *, dev_share: float = 0.0) -> Dataset:
        """Read a dataset.

        Args:
            place: As for `StatuteCorpus.read`.
            dev_share: As for `TrainingData.read`.

        Raises:
            CorpusError: A file cannot be read.
            SettingsError: There is no training question, or a dev question is also in train.
        """
        return cls(place, TrainingData.read(place, place, dev_share=dev_share))

    @property
    def name(self) -> str:
        """Its folder's name."""
        return Path(self.place).resolve().name

    @cached_property
    def questions(self) -> list[Question]:
        """Train, then dev."""
        return [*self.given.train, *self.given.dev]

    def n_folds(self, asked: int | None) -> int:
        """How many folds it is measured in; 1 means its own dev split.

        Raises:
            SettingsError: It has no dev split, or too few questions for so many folds.
        """
        real = [question for question in self.questions if not question.synthetic]
        folds = asked or (SMALL_FOLDS if len(real) < SMALL else 1)
        if folds == 1 and not self.given.dev:
            n = min(SMALL_FOLDS, len({normalised(each.text) for each in real}))
            cure = f"Set folds to {n}" if n > 1 else "Give more questions, or one of that split"
            raise SettingsError(
                f"{self.place}: has no question of the split dev to measure by. {cure}."
            )
        if folds > 1:
            try:
                folds_of(self.questions, folds, seed=0)
            except ValueError as error:
                raise SettingsError(f"folds, {self.place}: {error}.") from error
        return folds

    def split(self, n_folds: int, fold: int, *, seed: int) -> Split:
        """The questions of one run: all folds but one to learn from, that one to measure on."""
        if n_folds == 1:
            n_train = len(self.given.train)
            return Split(self.given, range(n_train, len(self.questions)))
        fold_of = folds_of(self.questions, n_folds, seed=seed)
        rows = [
            row
            for row, each in enumerate(fold_of)
            if each == fold and not self.questions[row].synthetic
        ]
        train = [self.questions[row] for row, each in enumerate(fold_of) if each != fold]
        dev = [self.questions[row] for row in rows]
        return Split(TrainingData(self.given.corpus, train, dev, self.given.questions_sha256), rows)

    @cached_property
    def test_split(self) -> Split:
        """The given splits: train to learn from, dev to choose the epoch by, test to measure on.

        Raises:
            SettingsError: No question is of test.
            CorpusError: The questions can no longer be read.
        """
        given = self.given
        asked = read_questions(self.place, corpus_ids=given.corpus.ids)
        test = [question for question in asked if question.split == "test" and question.relevant]
        if not test:
            raise SettingsError(
                f"{self.place}: has no question of the split test to measure on. Set measure_on "
                "to dev."
            )
        before = len(self.questions)
        return Split(given, range(before, before + len(test)), test)

    def lexical(self, *, k1: float, b: float, text_rule: TextRule) -> list[Ranking]:
        """BM25's ranking for every question: positions, best first, of articles that share a word.

        Equal scores keep the order of the law; at most `FUSED_FROM` articles per question.
        """
        options = (k1, b, text_rule)
        if options not in self._lexical:
            law = CountedLaw(
                self.given.corpus, self.questions, terms="analysed", text_rule=text_rule
            )
            self._lexical[options] = law.rankings(Variant(BM25Okapi, k1, b), FUSED_FROM)
        return self._lexical[options]
