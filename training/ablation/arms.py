"""What grids compare: arms, each one training run that differs in one switch, and the law and
questions that they share.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import numpy as np
from rank_bm25 import BM25Okapi

from components.models.learned_fusion import FUSED_FROM
from components.statutes.article import TextRule, normalised
from components.statutes.corpus import read_questions
from components.statutes.question import Question
from training.bm25_table import CountedLaw, Ranking, Variant
from training.command_line import SettingsError
from training.data import TrainingData
from training.negatives.curriculum import MAX_BUCKETS
from training.settings import RankerTrainingSettings, RunSettings

# What is measured of each run.


MeasuredOn = Literal["dev", "test"]
"""The split that is measured."""

DENSE_METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (5, 10, 20, 100, 200, 500)),
    "R-precision",
    "MAP",
    "MRR@10",
)
FUSED = "fused R@10"
"""R@10 of the dense ranking and BM25's, fused."""
METRICS = (*DENSE_METRICS, FUSED)

RE_RANKED_METRICS: tuple[str, ...] = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10")
RE_RANKED_DEPTH = 10
WITH_FIRST_STAGE = "fused "
"""Before the metrics of the ranker's order and the first stage's, fused."""
RANKER_METRICS = (
    *RE_RANKED_METRICS,
    *(WITH_FIRST_STAGE + metric for metric in ("R@10", "MRR@10", "MAP@10")),
)

TrainingSettings = RunSettings | RankerTrainingSettings
"""Settings of one training run, whatever it trains."""

S = TypeVar("S", bound=TrainingSettings)

UNTRAINED = "untrained"
IN_BATCH = "in_batch"


@dataclass(frozen=True)
class Arms:
    """What grids of one system compare.

    Attributes:
        baselines: The arms that the others are compared with; the first that a grid has counts.
        full: Settings in which arms may differ, with the value for arms that do not name them.
        arms: Arm to the settings in which it differs from `full`.
        tables: Name of a table to its arms.
    """

    baselines: Sequence[str]
    full: Mapping[str, Any]
    arms: Mapping[str, Mapping[str, Any]]
    tables: Mapping[str, Sequence[str]]

    def chosen(self, tables: Sequence[str], arms: Sequence[str]) -> tuple[str, ...]:
        """The arms of some tables and further named ones, each once, in order.

        With neither, those of the first table.

        Raises:
            SettingsError: There is no such table or arm.
        """
        for option, names, known in (("tables", tables, self.tables), ("arms", arms, self.arms)):
            for name in names:
                if name not in known:
                    raise SettingsError(
                        f"{option}: unknown name {name!r}; choose among {', '.join(known)}."
                    )
        if not tables and not arms:
            tables = tuple(self.tables)[:1]
        wanted = {*arms, *(arm for table in tables for arm in self.tables[table])}
        return tuple(arm for arm in self.arms if arm in wanted)

    def baseline_of(self, arms: Collection[str]) -> str:
        """The baseline of a grid of these arms; the last one even if the grid lacks it."""
        return next((arm for arm in self.baselines if arm in arms), self.baselines[-1])

    def settings_of(self, arm: str, base: S) -> S:
        """The settings of an arm's run.

        Args:
            arm: A name of `arms`.
            base: What all arms have in common.
        """
        changes = {**self.full, **self.arms[arm]}
        if isinstance(base, RunSettings) and arm == IN_BATCH:
            # The other arms encode a pair's positive and n negatives. Here a batch has 1 + n times
            # the pairs, and they are seen 1 + n times as often: as many articles per step and in
            # all, and, except for short last batches, as many steps.
            times = 1 + base.negatives_per_question
            # Measured as often as the others, it gets no more epochs to choose the best from.
            changes |= {
                "batch_size": base.batch_size * times,
                "epochs": base.epochs * times,
                "measure_every": base.measure_every * times,
            }
        return replace(base, **changes)


# The hardest of the fused list, the same in each epoch.
_FIXED = {"schedule": "fixed", "buckets": 1, "candidates": None}
# Any of the list with equal chances, others in each epoch: one bucket has one share.
_UNIFORM = {"schedule": "curriculum", "buckets": 1}
_STATIC = ("tree", "sequence", "bm25")

# An arm without "schedule" follows the grid's own.
_CUSINES: Mapping[str, Mapping[str, Any]] = {
    # The model as training starts from it.
    UNTRAINED: {},
    # No negatives of its own; `settings_of` makes the batches larger instead.
    IN_BATCH: {"negatives_per_question": 0, "views": (), "candidates": None, **_UNIFORM},
    # Over the whole corpus.
    "random": {"views": (), "candidates": None, **_UNIFORM},
    # The papers' baseline: one of BM25's ten best.
    "bm25_rotating": {
        "views": ("bm25",),
        "candidates": 10,
        "negatives_per_question": 1,
        **_UNIFORM,
    },
    "bm25_fixed": {"views": ("bm25",), **_FIXED},
    # As hard, or nearly, but different ones in each epoch.
    "bm25_drawn": {"views": ("bm25",), "candidates": 40, **_UNIFORM},
    # Without a curriculum, by views that do not change: BM25 for meaning, structure, and both.
    "static_fixed": {"views": ("bm25",), **_FIXED},
    "tree_fixed": {"views": ("tree",), **_FIXED},
    "sequence_fixed": {"views": ("sequence",), **_FIXED},
    "structural_fixed": {"views": ("tree", "sequence"), **_FIXED},
    "static_structural_fixed": {"views": _STATIC, **_FIXED},
    "bm25_curriculum": {"views": ("bm25",)},
    "tree": {"views": ("tree",)},
    "sequence": {"views": ("sequence",)},
    "semantic": {"views": ("semantic",)},
    "structural": {"views": ("tree", "sequence")},
    # A control: neighbours in the law are not neighbours here; all else is CuSINeS.
    "permuted": {"permute_tree": True},
    "constant": {"schedule": "constant"},
    "reversed": {"schedule": "reversed"},
    "hardest": _FIXED,
    "static": {"views": _STATIC},
    "cusines": {},
    # Not in the paper: words are a view of their own next to the trained model.
    "mixed": {"views": ("tree", "sequence", "semantic", "bm25")},
    **{f"buckets_{buckets}": {"buckets": buckets} for buckets in range(1, MAX_BUCKETS + 1)},
}

BUCKETS = tuple(name for name in _CUSINES if name.startswith("buckets_"))
SCHEDULES = ("hardest", "constant", "reversed", "cusines")
DYNAMICS = ("static", "cusines")

# CuSINeS's tables and figure, over a bi-encoder alone (DR) and with a graph network (DR+GNN).
PAPER_TABLES: Mapping[str, Sequence[str]] = {
    # The published baseline against CuSINeS.
    "table2": (UNTRAINED, "bm25_rotating", "cusines"),
    # Fixed against curriculum, by views that do not change.
    "table3": (
        *("bm25_rotating", "static_fixed", "tree_fixed", "sequence_fixed", "structural_fixed"),
        *("static_structural_fixed", "bm25_curriculum", "tree", "sequence", "structural", "static"),
    ),
    # Static against dynamic, under the curriculum.
    "table4": ("bm25_rotating", "bm25_curriculum", "semantic", "static", "cusines"),
    # Schedules, static against dynamic, numbers of buckets; by epoch.
    "figure1": (
        *("bm25_rotating", "hardest", "constant", "reversed", "static", "cusines"),
        *BUCKETS,
    ),
}
_PAPER_ARMS = tuple(dict.fromkeys(arm for table in PAPER_TABLES.values() for arm in table))

# `main` has an arm for each part of the method, and the controls.
_CUSINES_TABLES: Mapping[str, Sequence[str]] = {
    "main": (
        *(UNTRAINED, IN_BATCH, "random", "bm25_fixed", "structural"),
        *("permuted", "constant", "static", "cusines"),
    ),
    **PAPER_TABLES,
}

CUSINES_ARMS = Arms(
    ("bm25_rotating", "bm25_fixed"),
    {"views": ("tree", "sequence", "semantic"), "permute_tree": False},
    _CUSINES,
    _CUSINES_TABLES,
)
"""Negatives of a bi-encoder: where they come from, in what order."""

_DYNAMIC = {"views": ("tree", "sequence", "semantic"), "schedule": "curriculum", "buckets": 3}

GRAPH_ARMS = Arms(
    ("bm25_rotating", UNTRAINED),
    {
        "network": "gatv2",
        "views": ("bm25",),
        "schedule": "fixed",
        "buckets": 1,
        "candidates": None,
        "permute_tree": False,
        "neighbours": False,
        "citations": False,
    },
    {
        # The bi-encoder alone.
        UNTRAINED: {"init": "identity"},
        # A control of the same size, in which no node sees another.
        "mlp": {"network": "mlp"},
        # A control: every article takes another one's place in the tree.
        "permuted": {"permute_tree": True},
        # With BM25's best negatives; init, hidden, heads and dropout are the grid's.
        "gdsr": {},
        "gdsr_cusines": _DYNAMIC,
        "neighbours": {**_DYNAMIC, "neighbours": True},
        "citations": {**_DYNAMIC, "neighbours": True, "citations": True},
        **{network: {"network": network} for network in ("gat", "gcn", "sage", "kgnn")},
        **{arm: {**_DYNAMIC, **_CUSINES[arm]} for arm in _PAPER_ARMS if arm != UNTRAINED},
    },
    {
        "main": (
            *(UNTRAINED, "mlp", "permuted", "gdsr", "gdsr_cusines", "neighbours", "citations"),
        ),
        "networks": (UNTRAINED, "mlp", "gat", "gcn", "sage", "kgnn", "gdsr"),
        **PAPER_TABLES,
    },
)
"""Networks over the tree on a frozen bi-encoder: G-DSR's Table 4, and CuSINeS's tables."""

FIRST_STAGE = "first_stage"
STRATEGIES = ("easy", "semi_hard", "hard")
NUMBERS = (2, 5, 10)


def ranker_arm(strategy: str, number: int) -> str:
    """The arm of a strategy with this number of negatives per question."""
    return f"{strategy}_{number}"


RANKER_ARMS = Arms(
    (FIRST_STAGE,),
    {},
    {
        # The candidates as the bi-encoder ranks them.
        FIRST_STAGE: {},
        # Re-ranked by the untrained model; a fresh head ranks at random.
        UNTRAINED: {},
        **{
            ranker_arm(strategy, number): {"strategy": strategy, "negatives": number}
            for strategy in STRATEGIES
            for number in NUMBERS
        },
    },
    {
        "table2": (
            *(FIRST_STAGE, UNTRAINED),
            *(ranker_arm(strategy, number) for strategy in STRATEGIES for number in NUMBERS),
        ),
    },
)
"""Negatives of a cross-encoder: the paper's Table 2 (Le et al., 2025)."""

SEMI_HARD: Mapping[str, str] = {
    ranker_arm(strategy, number): ranker_arm("semi_hard", number)
    for strategy in STRATEGIES
    for number in NUMBERS
}
"""Each strategy's arm to the semi-hard one with as many negatives."""


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
