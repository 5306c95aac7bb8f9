"""python -m training.compare: train the arms of a comparison, and measure what each is worth.

    python -m training.compare --config training/configs/compare.yaml --output comparison
    python -m training.compare --config training/configs/papers/cusines.yaml --data PATH \
        --only table2 --output cusines

Each run adds a line to the results file; the same command makes the missing runs and then writes
the tables.
"""

from __future__ import annotations

import dataclasses
import gc
import hashlib
import json
import math
import os
import shutil
import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import numpy as np
import rank_bm25
import torch
import yaml
from accelerate import Accelerator
from pydantic import TypeAdapter, ValidationError

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device, resolve_dtype
from components.models.folder import MANIFEST_FILE, file_lock, folder_lock, sync
from components.models.learned_fusion import FUSED_FROM
from components.models.similarity import Similarity
from components.models.weights import no_progress_bars
from components.statutes.article import TextRule
from components.statutes.corpus import read_questions
from components.statutes.fusion import fuse_ranks
from components.statutes.question import Question
from components.statutes.significance import ArmScore, compare_arms
from components.statutes.sources.corpora import BSARD, HUB_NAME, SOICT
from training import candidates, cusines, graph, plots, ranker
from training.bm25_table import CountedLaw, Ranking, Terms, Variant
from training.checkpoint import RunState, compute_as_begun, environment, open_work_folder
from training.command_line import (
    OutOfTimeError,
    Place,
    SettingsError,
    Target,
    TrainingError,
    markdown,
    say,
    settings_from,
)
from training.command_line import run as run_command
from training.data import (
    TrainingData,
    evaluated,
    folds_of,
    say_where_dev_is_learnt,
    trainings_on,
)
from training.loop import fit, take_device
from training.negatives.curriculum import CurriculumSettings
from training.objective import Vectors
from training.settings import (
    CusinesSettings,
    GraphSettings,
    KeptSettings,
    RankerTrainingSettings,
    at_least,
    folder_named,
)
from training.starting_model import starting_digests

CONFIGS = Path(__file__).parent / "configs"

_DESCRIPTION = """\
Trains the arms of a comparison, each with several seeds, and measures them on test, on dev or in
folds. Runs found in the results file are not made again. Ends with tables (intervals, paired
significance, published numbers) and figures in the output folder. An arm is a name and a few
settings in the file that --config names; training/configs/papers has those of three papers."""

Settings = dict[str, Any]


@dataclass(frozen=True, kw_only=True)
class CompareSettings:
    """Arms of a comparison x seeds x folds, on one law or several.

    Args:
        data: Laws with their questions: folders, or names that StatuteCorpus.read knows.
        output: Folder of tables and figures, of models that other arms stand over, and of
            unfinished runs until they end.
        results: File to which each finished run adds a line; runs found there are not made again.
            Default: results.jsonl in the output.
        only: Tables or arms to make; figure1 stands for figure1a, figure1b, ... Default: all.
        seeds: Each arm (and fold) runs once for each.
        folds: Parts of the questions of train and dev for cross-validation; 1 measures on the given
            dev split. Default: 5 where there are fewer than 200 such questions and the starting
            model has not learnt them, else 1.
        measure_on: dev (or folds), or test, if there is one. The epoch is chosen on dev, so dev
            flatters every trained arm.
        compare: Metrics that the tables have.
        budget_s: No run is begun that would probably end after this many seconds; 0 makes no runs,
            only the tables of those already made.
        model: What training starts from, and what a graph network or a ranker stands over.
        device: cpu, cuda, ...; default: the best available.
        train: What arms train unless they name it: cusines, graph, ranker, or bm25 (nothing).
        cusines: Settings that all runs of training.cusines share, such as --cusines.epochs 3;
            `preset` names a file of training/configs that has others.
        graph: The same for training.graph.
        ranker: The same for training.ranker.
        bm25: The same for BM25: kind, k1, b, terms, text_rule.
        own: The paper's own data: its `format`, and what then stands in place of cusines, graph,
            ranker and bm25.
        arms: Name to the settings in which an arm differs. Besides, `train`; `over`, the arm whose
            model it stands over; and `same_articles`, for larger and more batches that encode as
            many articles as the negatives of other arms. Arms called untrained and first_stage
            train nothing.
        tables: Name to `arms`, and optionally `compare`, `published` (arm to metric to value), and
            what a figure shows: `by` epoch or a setting, `lines` by another setting. Default: one
            of all arms.
        baselines: The arms that others are compared with; the first that a table has counts.

    Raises:
        SettingsError: A value is out of its range, or a name is unknown.
    """

    data: tuple[Place, ...] | Place
    output: Target
    results: Target | None = None
    only: tuple[str, ...] | str = ()
    seeds: tuple[int, ...] = (0, 1, 2)
    folds: int | None = None
    measure_on: Literal["dev", "test"] = "dev"
    compare: tuple[str, ...] = ("R@10", "MAP")
    budget_s: float | None = None
    model: Place | None = None
    device: str | None = None
    train: str = "cusines"
    cusines: dict[str, Any] = field(default_factory=dict)
    graph: dict[str, Any] = field(default_factory=dict)
    ranker: dict[str, Any] = field(default_factory=dict)
    bm25: dict[str, Any] = field(default_factory=dict)
    own: dict[str, Any] = field(default_factory=dict)
    arms: dict[str, dict[str, Any]]
    tables: dict[str, dict[str, Any]] = field(default_factory=dict)
    baselines: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        for name in ("data", "only"):  # on a command line a single one needs no brackets
            if isinstance(value := getattr(self, name), str):
                object.__setattr__(self, name, (value,))
        for name in ("data", "seeds", "compare", "arms"):
            values = getattr(self, name)
            if not values or len(set(values)) < len(values):
                raise SettingsError(f"{name}: name at least one, and each once.")
        folder_named(self.output)
        at_least(self, 0, "budget_s")
        at_least(self, 1, "folds")
        arms = list(self.arms)
        for place, (arm, own) in enumerate(self.arms.items()):
            _known(f"arms.{arm}.train", [own.get("train", self.train)], SYSTEMS)
            # An arm stands over an earlier one, so no chain of them is a circle.
            _known(f"arms.{arm}.over", [own["over"]] if "over" in own else (), arms[:place])
        for name, table in self.tables.items():
            _known(f"tables.{name}", table, ("arms", "compare", "published", "by", "lines"))
            _known(f"tables.{name}.arms", table.get("arms", [""]), arms)
        _known("own", self.own, ("format", *SYSTEMS))
        self.chosen()

    def chosen(self) -> dict[str, dict[str, Any]]:
        """The tables to make.

        Raises:
            SettingsError: There is no such table or arm.
        """
        tables = self.tables or {"all": {"arms": list(self.arms)}}
        chosen: dict[str, dict[str, Any]] = {}
        for name in self.only or tables:
            # A figure's name stands for its panels a, b, ...
            own = {n: table for n, table in tables.items() if name in (n, n[:-1])}
            if not own:
                _known("only", [name], [*tables, *self.arms])
                own = {"arms": {"arms": [*chosen.get("arms", {"arms": []})["arms"], name]}}
            chosen |= own
        return chosen


def _known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an unknown name."""
    known = tuple(known)
    for name in names:
        if name not in known:
            raise SettingsError(f"{what}: unknown name {name!r}; choose among {', '.join(known)}.")


# What an arm trains.


@dataclass(frozen=True, kw_only=True)
class Bm25Settings(KeptSettings):
    """rank-bm25's BM25 as an arm: nothing is trained."""

    corpus: Place
    questions: Place
    output: Target
    kind: Literal["BM25Okapi", "BM25Plus"] = "BM25Okapi"
    k1: float = 1.5
    b: float = 0.75
    terms: Terms = "lower_cased"
    text_rule: TextRule = "headings_text"
    seed: int = 0
    dev_share: float = 0.1
    device: str | None = None


UNTRAINED, FIRST_STAGE = "untrained", "first_stage"
FUSED = "fused R@10"
"""R@10 of the dense ranking and BM25's, fused."""
DENSE_METRICS = (
    *(f"R@{k}" for k in (5, 10, 20, 100, 200, 500)),
    *("R-precision", "MAP", "MRR@10", "Exist@90"),
)
METRICS = (*DENSE_METRICS, FUSED)
RE_RANKED_METRICS = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10")
WITH_FIRST_STAGE = ("R@10", "MRR@10", "MAP@10")
"""Measured of the ranker's order and the first stage's, fused."""
RANKER_METRICS = (*RE_RANKED_METRICS, *(f"fused {metric}" for metric in WITH_FIRST_STAGE))
DEPTH, FUSED_DEPTH = 1_000, 10

# Paths, and what a run's key holds otherwise (digests, the seed).
_NOT_IN_KEY = {
    *("corpus", "questions", "output", "model", "query_model", "passage_model", "run_file"),
    *("seed", "dev_share", "final", "checkpoint_every", "device", "start", "vectors"),
}
_LISTS = {"candidates", "dev_candidates", "dtype"}


@dataclass(frozen=True)
class System:
    """One kind of training, as comparisons use it.

    Attributes:
        name: Name of its command.
        settings: Of one run.
        digests: Digests of the models that training starts from.
        untrained: The arms that are not trained, and the settings that matter for each.
    """

    name: str
    settings: type[KeptSettings]
    digests: Callable[[Any], dict[str, str]]
    untrained: Mapping[str, set[str]]

    def trains(self, arm: str) -> bool:
        """Whether an arm is trained."""
        return self.settings is not Bm25Settings and arm not in self.untrained

    def defaults(self, arm: str) -> Settings:
        """The settings that an arm's result depends on, paths left out, with their defaults."""
        matter = self.untrained.get(arm)
        fields = [f for f in dataclasses.fields(self.settings) if f.name not in _NOT_IN_KEY]
        return {
            f.name: list(f.default) if isinstance(f.default, tuple) else f.default
            for f in fields
            if matter is None or f.name in matter
        }


def _ranker_digests(settings: RankerTrainingSettings) -> dict[str, str]:
    digests = {
        "model_sha256": candidates.stage_digest(settings.model),
        "start_sha256": ranker.starting_digest(ranker.starting_folder(settings.start)),
    }
    # Only where the starting model decides it: earlier lines have no such field.
    if not settings.segmentation and (words := ranker.reading_of(settings).segmentation):
        digests["start_segmentation"] = words
    return digests


_READ = {
    *("pooling", "max_tokens", "head", "passage_tokens", "max_passages", "head_pooling"),
    *("text_rule", "segmentation", "bm25_k1", "bm25_b", "dtype"),
}
_RE_READ = _LISTS | {"passages", "passage_tokens", "segmentation", "select_by"}
SYSTEMS = {
    system.name: system
    for system in (
        System("cusines", CusinesSettings, starting_digests, {UNTRAINED: _READ}),
        System(
            *("graph", GraphSettings, graph.starting_digests),
            {UNTRAINED: {"text_rule", "bm25_k1", "bm25_b"}},
        ),
        System(
            *("ranker", RankerTrainingSettings, _ranker_digests),
            {FIRST_STAGE: _LISTS, UNTRAINED: _RE_READ},
        ),
        System("bm25", Bm25Settings, lambda _: {}, {}),
    )
}

# Settings of earlier versions and what they were by default. Lines that record another value keep
# it in their key, so that no run of today is taken for one of theirs.
_REMOVED_SETTINGS = {"patience": None, "question_order": "random", "teacher": None}
_IDENTITY = (
    *("corpus_sha256", "questions_sha256", "split_sha256", "start"),
    *("trained", "settings", "seed", "fold", "folds"),
)


def key_of(line: Mapping[str, Any]) -> str:
    """The key of a run, computed from its line in the results.

    A setting that did not exist when the line was written has its default, so that a new setting
    does not invalidate old results. Lines that name no system are CuSINeS runs.

    Raises:
        KeyError: The line lacks a field.
    """
    system = SYSTEMS[line.get("system", "cusines")]
    identity = {name: line[name] for name in _IDENTITY}
    values = identity["settings"] = {**system.defaults(line["arm"]), **line["settings"]}
    for name, default in _REMOVED_SETTINGS.items():
        if values.get(name) == default:
            values.pop(name, None)
    if system.name != "cusines":
        identity["system"] = system.name
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


_STARTS = ("model", "query_model", "passage_model", "start")

# The law and its questions.


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


SMALL, SMALL_FOLDS = 200, 5


class Dataset:
    """A law, and its questions.

    Args:
        place: As for `StatuteCorpus.read`.
        dev_share: As for `TrainingData.read`.

    Attributes:
        given: The questions of train and dev.
        test: Those of test.
        name: Its folder's name.

    Raises:
        CorpusError: A file cannot be read.
        SettingsError: There is no training question, or a dev question is also in train.
    """

    def __init__(self, place: str, *, dev_share: float = 0.0) -> None:
        self.place = place
        self.given = TrainingData.read(place, place, dev_share=dev_share)
        self.name = Path(place).resolve().name
        self.questions = [*self.given.train, *self.given.dev]
        asked = read_questions(place, corpus_ids=self.given.corpus.ids)
        self.test = [q for q in asked if q.split == "test" and q.relevant]
        self._counted: dict[tuple[Terms, TextRule], CountedLaw] = {}

    def split(self, n_folds: int, fold: int, *, seed: int, on_test: bool = False) -> Split:
        """The questions of one run: all folds but one to learn from, that one to measure on."""
        n_train, n_questions = len(self.given.train), len(self.questions)
        if on_test:
            rows = range(n_questions, n_questions + len(self.test))
            return Split(self.given, rows, self.test)
        if n_folds == 1:
            return Split(self.given, range(n_train, n_questions))
        fold_of = folds_of(self.questions, n_folds, seed=seed)
        numbered = list(enumerate(zip(fold_of, self.questions, strict=True)))
        dev = [(row, q) for row, (own, q) in numbered if own == fold and not q.synthetic]
        train = [question for _, (own, question) in numbered if own != fold]
        data = replace(self.given, train=train, dev=[question for _, question in dev])
        return Split(data, [row for row, _ in dev])

    def lexical(
        self, variant: Variant, terms: Terms, rule: TextRule, rows: Sequence[int], depth: int
    ) -> list[Ranking]:
        """BM25's ranking of the articles for some questions of train, dev and test."""
        if (terms, rule) not in self._counted:
            asked = [*self.questions, *self.test]
            law = CountedLaw(self.given.corpus, asked, terms=terms, text_rule=rule)
            self._counted[terms, rule] = law
        return self._counted[terms, rule].rankings(variant, depth, rows)


# Runs


@dataclass(frozen=True)
class Run:
    """An arm on a fold of a dataset, with a seed.

    Attributes:
        system: What is trained.
        arm: Its name.
        dataset: The law and all its questions.
        settings: Settings of the training.
        start: Digests of the models that training starts from, or the key of the run below.
        fold: Which part of the questions it is measured on, from 0.
        folds: How many parts there are; 1 for the given splits.
        measured_on: The split that is measured, dev or test.
        below: The run whose model it stands over.
        kept: Whether another run stands over its model.
    """

    system: System
    arm: str
    dataset: Dataset
    settings: Any
    start: Mapping[str, str]
    fold: int
    folds: int
    measured_on: str = "dev"
    below: Run | None = None
    kept: bool = False

    @property
    def trained(self) -> bool:
        """False for the untrained model, a first stage alone, and BM25."""
        return self.system.trains(self.arm)

    @cached_property
    def split(self) -> Split:
        """The questions to learn from and to measure on."""
        on_test = self.measured_on == "test"
        seed = self.settings.seed
        return self.dataset.split(self.folds, self.fold, seed=seed, on_test=on_test)

    @cached_property
    def about(self) -> dict[str, Any]:
        """The part of its line that is known before it is made: names, data, settings."""
        values = self.settings.to_dict()
        return {
            "system": self.system.name,
            "dataset": self.dataset.name,
            "arm": self.arm,
            "seed": self.settings.seed,
            "fold": self.fold,
            "folds": self.folds,
            "trained": self.trained,
            "measured_on": self.measured_on,
            **self.dataset.given.digests(),
            "split_sha256": self.split.sha256,
            "start": dict(self.start),
            "settings": {name: values[name] for name in self.system.defaults(self.arm)},
        }

    @cached_property
    def key(self) -> str:
        """Identifies the run on every machine."""
        return key_of(self.about)

    def __str__(self) -> str:
        fold = f", fold {self.fold + 1} of {self.folds}" if self.folds > 1 else ""
        return f"{self.dataset.name}, seed {self.settings.seed}{fold}: {self.arm}"


class Plan:
    """The settings of a comparison's runs on one law.

    Args:
        settings: Of the comparison.
        place: The law.
    """

    def __init__(self, settings: CompareSettings, place: str) -> None:
        self._settings, self._place = settings, place
        own = settings.own.get("format")
        self.own_data = own is not None and _is_of_format(place, own)

    def system_of(self, arm: str) -> System:
        """What an arm trains."""
        return SYSTEMS[self._settings.arms[arm].get("train", self._settings.train)]

    def base(self, system: System) -> Settings:
        """What all runs of a system have in common."""
        given = dict(getattr(self._settings, system.name))
        if self.own_data:
            given = dict(self._settings.own.get(system.name, given))
        if preset := given.pop("preset", None):
            _known(
                f"{system.name}.preset", [preset], (file.stem for file in CONFIGS.glob("*.yaml"))
            )
            path = CONFIGS / f"{preset}.yaml"
            values = yaml.safe_load(path.read_text("utf-8"))
            known = {f.name for f in dataclasses.fields(system.settings)} - {"final"}
            given = {**{n: v for n, v in values.items() if n in known}, **given}
        if self._settings.device is not None:
            given["device"] = self._settings.device
        place = {"corpus": self._place, "questions": self._place}
        return {**given, **place, "output": str(self._settings.output)}

    def settings_of(self, arm: str, seed: int = 0) -> Any:
        """The settings of an arm's run.

        Raises:
            SettingsError: A value is out of its range, a name is unknown, or two do not fit.
        """
        system = self.system_of(arm)
        own = {n: v for n, v in self._settings.arms[arm].items() if n not in ("train", "over")}
        over = self._settings.arms[arm].get("over")
        base = self.base(system)
        if (model := self._settings.model) is not None and system.name != "bm25":
            base = {n: v for n, v in base.items() if n not in ("query_model", "passage_model")}
            if over is None or system.name == "ranker":
                base["model" if over is None else "start"] = model
        if over is not None and system.name == "graph":
            # A network draws its negatives as the arm below does.
            curriculum = {f.name for f in dataclasses.fields(CurriculumSettings)}
            below = self._settings.arms[over].items()
            own = {**{n: v for n, v in below if n in curriculum}, **own}
        if own.pop("same_articles", False):
            # The other arms encode a pair's positive and n negatives. Here a batch has 1 + n times
            # the pairs, and they are seen 1 + n times as often. Measured as often as the others,
            # it gets no more epochs to choose the best from.
            shared = _checked(system, arm, base)
            for name in ("batch_size", "epochs", "measure_every"):
                own[name] = getattr(shared, name) * (1 + shared.negatives_per_question)
        return _checked(system, arm, {**base, **own, "seed": seed})

    def runs(
        self, arms: Sequence[str], dataset: Dataset, folds: int, *, on_test: bool
    ) -> Iterator[Run]:
        """All runs, seed by seed and fold by fold, all arms each time.

        A comparison that stops early still compares the arms on equal terms.
        """
        carrying = {own.get("over") for own in self._settings.arms.values()}
        split = "test" if on_test else "dev"
        digests: dict[Any, dict[str, str]] = {}

        def run_of(arm: str, seed: int, fold: int) -> Run:
            system, settings = self.system_of(arm), self.settings_of(arm, seed)
            over = self._settings.arms[arm].get("over")
            below = None if over is None else run_of(over, seed, fold)
            if below is None:
                values = settings.to_dict()
                models = (system.name, *(values.get(name) for name in _STARTS))
                if models not in digests:
                    digests[models] = system.digests(settings)
                start = digests[models]
            else:
                start = {"over": below.key}
                if system.name == "ranker":
                    folder = ranker.starting_folder(settings.start)
                    start["start_sha256"] = ranker.starting_digest(folder)
            return Run(
                *(system, arm, dataset, settings, start, fold, folds, split, below),
                kept=arm in carrying,
            )

        for seed in self._settings.seeds:
            for fold in range(folds):
                yield from (run_of(arm, seed, fold) for arm in arms)


def _is_of_format(place: str, name: str) -> bool:
    _known("own.format", [name], ("bsard", "soict"))
    known = {"bsard": BSARD, "soict": SOICT}[name]
    is_named = name == "bsard" and place == HUB_NAME
    return is_named or (Path(place).is_dir() and known.matches(Path(place)))


def _checked(system: System, arm: str, values: Settings) -> Any:
    """Values from a file as the system's settings."""
    _known(f"arms.{arm}", values, [f.name for f in dataclasses.fields(system.settings)])
    try:
        return TypeAdapter(system.settings).validate_python(values)
    except ValidationError as error:
        first = error.errors()[0]
        where = "".join(f"{part}: " for part in first["loc"])
        raise SettingsError(f"arms.{arm}: {where}{first['msg']}") from error


def runs_of(settings: CompareSettings) -> dict[str, list[Run]]:
    """All runs by dataset, in the order in which they are made.

    Raises:
        SettingsError: A setting is out of its range, or does not fit the dataset; or two datasets
            have the same name.
        ModelError: There is no such model.
        CorpusError: A file cannot be read.
    """
    named = {arm for table in settings.chosen().values() for arm in table["arms"]}
    arms = [arm for arm in settings.arms if arm in named]
    runs: dict[str, list[Run]] = {}
    for place in settings.data:
        plan = Plan(settings, place)
        starts = {}
        for arm in arms:
            while over := settings.arms[arm].get("over"):
                arm = over
            starts[plan.system_of(arm).name] = plan.settings_of(arm)
        dataset = Dataset(place, dev_share=next(iter(starts.values())).dev_share)
        if dataset.name in runs:
            raise SettingsError(f"data: two are called {dataset.name}. Rename one.")
        starts.pop("bm25", None)
        on_test = settings.measure_on == "test" and bool(dataset.test)
        one = on_test or any(plan.system_of(arm).name == "ranker" for arm in arms)
        folds = n_folds(dataset, 1 if one else settings.folds, starts.values(), on_test=on_test)
        if settings.own and not plan.own_data:
            say(f"{place} is not the paper's data: the numbers say nothing about the paper")
        runs[dataset.name] = list(plan.runs(arms, dataset, folds, on_test=on_test))
    return runs


def n_folds(
    dataset: Dataset, requested: int | None, starts: Iterable[Any], *, on_test: bool = False
) -> int:
    """By the settings, or by the number of questions and what the starting models have learnt.

    Args:
        dataset: What is measured.
        requested: By the settings; 1 means the given dev split.
        starts: Settings of runs, which name the models that training starts from.
        on_test: Whether test is measured, and dev only chooses the epoch.

    Raises:
        SettingsError: It has no dev split, or too few questions for so many folds; or a starting
            model has learnt what would be measured.
        ModelError: There is no such model.
    """
    n_real = sum(not question.synthetic for question in dataset.questions)
    folds = requested or (SMALL_FOLDS if n_real < SMALL else 1)
    for own in starts:
        if on_test:
            say_where_dev_is_learnt(own, dataset.given)
            continue
        for training in trainings_on(dataset.given.questions_sha256, own):
            how = training.learnt_of_dev(dataset.given, own.dev_share)
            if how or (requested or 1) > 1:
                raise SettingsError(
                    f"folds, {dataset.place}: {training.model} has learnt questions that are "
                    f"measured ({how or 'train'}). Set folds to 1, and start from a model that was "
                    "trained without final and with the same dev_share."
                )
            folds = 1  # dev alone is not learnt
    if folds == 1 and not dataset.given.dev:
        raise SettingsError(f"{dataset.place}: has no question of the split dev. Set folds.")
    try:
        folds_of(dataset.questions, folds, seed=0)
    except ValueError as error:
        raise SettingsError(f"folds, {dataset.place}: {error}.") from error
    return folds


# Making a run


Values = dict[str, list[float]]
"""Metric to its values, `[n_questions]` each."""


def values_of(
    asked: Sequence[Question], found: Iterable[Sequence[str]], metrics: Sequence[str], depth: int
) -> Values:
    """As `training.data.evaluated`, but one list of values per metric."""
    by_metric = evaluated(asked, found, metrics, depth)
    return {metric: list(values.values()) for metric, values in by_metric.items()}


def measure(
    vectors: Vectors,
    data: TrainingData,
    lexical: Sequence[Ranking],
    similarity: Similarity = "cosine",
) -> Values:
    """Search for every dev question among the articles exactly, and measure what is found.

    Args:
        vectors: Of the articles and of the dev questions.
        data: The law and the questions.
        lexical: BM25's ranking for each dev question.
        similarity: Of the model.
    """
    articles = vectors.articles
    index = DenseIndex(articles.cpu().numpy(), str(articles.device), similarity)
    dense = index.search(vectors.dev.cpu().numpy(), DEPTH)[1].tolist()
    fused = [
        fuse_ranks([words.tolist(), meaning[:FUSED_FROM]])[:FUSED_DEPTH]
        for words, meaning in zip(lexical, dense, strict=True)
    ]
    ids = data.corpus.ids
    by_vector, by_both = ([[ids[p] for p in row] for row in rows] for rows in (dense, fused))
    values = values_of(data.dev, by_vector, DENSE_METRICS, DEPTH)
    values[FUSED] = values_of(data.dev, by_both, ("R@10",), FUSED_DEPTH)["R@10"]
    return values


PLACES = 4


def rounded(value: Any) -> Any:
    """Round all floats in a JSON value; integral ones become integers."""

    def short(text: str) -> float:
        near = round(float(text), PLACES)
        return int(near) if near.is_integer() else near

    return json.loads(json.dumps(value), parse_float=short)


class Performer:
    """Makes the runs of a comparison; what several of them share is computed once.

    Args:
        models: Folder of the models that other runs stand over.
    """

    def __init__(self, models: Path) -> None:
        self._models = models
        # Of the last law and model: two laws at once may not fit.
        self._first_stage: dict[Any, tuple[ranker.FirstStageSetup, candidates.DevLists]] = {}

    def __call__(self, run: Run, work: Path, deadline: float | None = None) -> dict[str, Any]:
        """Train, or resume in the work folder; measure; return the run's line.

        A ranker's run that has begun is made to its end, whatever the deadline.

        Raises:
            SettingsError: A setting does not fit the data, or the work folder.
            ModelError: A model cannot be opened.
            TrainingError: A loss or weight is not finite.
            OutOfTimeError: The deadline has passed.
        """
        started = time.perf_counter()
        if run.system.name == "bm25":
            values, own = self._searched(run)
        elif run.system.name == "ranker":
            values, own = self._ranked(run, work, deadline)
        else:
            values, own = self._learned(run, work, deadline)
        device = resolve_device(run.settings.device).type
        # A resumed run took longer than this process has measured.
        seconds = max(own.pop("seconds", 0.0), time.perf_counter() - started)
        surroundings = {"dtype": own.pop("dtype", "float64"), "threads": torch.get_num_threads()}
        return {
            "key": run.key,
            **run.about,
            "environment": {**environment(device), "runs_on": device, **surroundings},
            "n_train": len(run.split.data.train),
            **own,
            "seconds": {"total": round(seconds, 1)},
            "means": rounded({metric: fmean(of_it) for metric, of_it in values.items()}),
            # Places among all questions, in the order of the file: ids would be longer.
            "questions": list(run.split.rows),
            "values": rounded(values),
        }

    def _searched(self, run: Run) -> tuple[Values, dict[str, Any]]:
        """BM25, of which nothing is trained."""
        settings, ids = run.settings, run.split.data.corpus.ids
        variant = Variant(getattr(rank_bm25, settings.kind), settings.k1, settings.b)
        options = (variant, settings.terms, settings.text_rule)
        found = run.dataset.lexical(*options, run.split.rows, DEPTH)
        ranked = ([ids[place] for place in row] for row in found)
        values = values_of(run.split.measured, ranked, DENSE_METRICS, DEPTH)
        return values, {"steps": 0, "epoch": 0, "epochs": []}

    def model_of(self, run: Run, deadline: float | None) -> Path:
        """The model folder of a run that others stand over, trained unless it is there."""
        folder = self._models / run.key
        work = self._models / f"{run.key}.work"
        with folder_lock(work, wait=True):
            if not (folder / MANIFEST_FILE).exists():
                say(f"Training the model below: {run}")
                self._learner(run, work, deadline)
        shutil.rmtree(work, ignore_errors=True)
        return folder

    def _learner(self, run: Run, work: Path, deadline: float | None) -> tuple[Any, RunState, Path]:
        """Train, or resume; save the model where it will be used again or measured on test."""
        settings, data = run.settings, run.split.data
        if run.below is not None:
            settings = replace(settings, model=str(self.model_of(run.below, deadline)))
        accelerator = Accelerator(cpu=take_device(settings.device).type == "cpu")
        make: Any = cusines.BiEncoderLearner if run.system.name == "cusines" else graph.GraphLearner
        if run.trained:
            work.mkdir(parents=True, exist_ok=True)
            learner, state = fit(settings, data, accelerator, work, make, deadline=deadline)
        else:
            learner, state = make(settings, data, accelerator), RunState()
        folder = self._models / run.key if run.kept else work / "model"
        if (run.kept or run.split.test) and not (folder / MANIFEST_FILE).exists():
            folder.parent.mkdir(parents=True, exist_ok=True)
            learner.save(folder, data, {}, dense_weight=1.0)
        return learner, state, folder

    def _learned(
        self, run: Run, work: Path, deadline: float | None
    ) -> tuple[Values, dict[str, Any]]:
        """A bi-encoder or a graph network."""
        settings, split, data = run.settings, run.split, run.split.data
        learner, state, folder = self._learner(run, work, deadline)
        measuring = time.perf_counter()
        if split.test:
            model = BiEncoder.load(folder, device=settings.device)
            network = None
            if run.system.name == "graph":
                network = candidates.open_network(str(folder), settings.device)
            shown = replace(data, train=data.train[:1], dev=split.test)
            found = candidates.FirstStage.search(model, shown, DEPTH, network).dev.found
            ids = ([data.corpus.ids[place] for place in row] for row in found.tolist())
            values = values_of(split.test, ids, DENSE_METRICS, DEPTH)
        else:
            variant = Variant(rank_bm25.BM25Okapi, settings.bm25_k1, settings.bm25_b)
            rule = settings.text_rule
            lexical = run.dataset.lexical(variant, "analysed", rule, split.rows, FUSED_FROM)
            values = measure(learner.encode(), data, lexical, settings.similarity)
        records = state.records
        seconds = [v for each in records for name, v in each.items() if name.startswith("seconds")]
        return values, {
            "dtype": learner.fixed["dtype"],
            "n_pairs": len(data.pairs),
            "steps": state.step,
            "articles_encoded": sum(each.get("articles_encoded", 0) for each in records),
            "articles_listed": sum(each.get("articles_listed", 0) for each in records),
            "seconds": sum(seconds) + time.perf_counter() - measuring,
            "epoch": state.best["epoch"] if state.best else 0,
            "epochs": [_epoch(record) for record in records],
        }

    @no_progress_bars()
    def _ranked(
        self, run: Run, work: Path, deadline: float | None
    ) -> tuple[Values, dict[str, Any]]:
        """A cross-encoder over the first stage's candidates."""
        settings, split, depth = run.settings, run.split, run.settings.candidates
        if run.below is not None:
            settings = replace(settings, model=Place(str(self.model_of(run.below, deadline))))
        setup, measured = self._candidates(run, settings)
        own: dict[str, Any] = {"fusion_weight": None, "epoch": 0, "epochs": [], "mined": {}}
        re_ranked = fused = measured.found
        assert setup.dev is not None
        if run.arm != FIRST_STAGE:
            if run.trained:
                compute_as_begun(work)
                open_work_folder(work, ranker.fixed_by(settings, split.data))
                # A resumed run keeps the candidates that it began with.
                kept = setup.stage.kept_in(work)
                if not np.array_equal(kept.dev.found, setup.stage.dev.found):
                    setup, measured = _with_lists(settings, split, replace(setup, stage=kept))
                setup = replace(setup, stage=kept)
                logits, scorer, own = _trained_on(settings, split.data, setup, work)
            else:
                scorer = ranker.open_ranker(settings, setup.biencoder)
                assert setup.dev is not None
                logits = setup.dev.logits(scorer.logits)
            assert setup.dev is not None
            weight = candidates.FusionWeight.choose(setup.dev, logits, settings.select_by)
            if measured is not setup.dev:
                logits = measured.logits(scorer.logits)
            # On dev itself, each question gets the weight that is best on the other four fifths.
            weights = [weight.chosen] * len(measured.questions) if split.test else weight.of_others
            by_weight = {each: measured.re_ranked(logits, each) for each in set(weights)}
            fused = [by_weight[each][row] for row, each in enumerate(weights)]
            re_ranked = measured.re_ranked(logits)
            own["fusion_weight"] = weight.chosen
        values = values_of(split.measured, re_ranked, RE_RANKED_METRICS, depth)
        with_first = values_of(split.measured, fused, WITH_FIRST_STAGE, depth)
        values |= {f"fused {metric}": of_it for metric, of_it in with_first.items()}
        # The ceiling: no order of the candidates can be better.
        best = values_of(split.measured, measured.found, (f"R@{depth}", f"Exist@{depth}"), depth)
        dtype = resolve_dtype(settings.dtype, resolve_device(settings.device))
        return values, {
            "dtype": str(dtype).removeprefix("torch."),
            **own,
            "steps": own["epochs"][-1]["step"] if own["epochs"] else 0,
            "ceiling": {name: round(fmean(of_it), PLACES) for name, of_it in best.items()},
        }

    def _candidates(
        self, run: Run, settings: RankerTrainingSettings
    ) -> tuple[ranker.FirstStageSetup, candidates.DevLists]:
        """The first stage with its dev lists, and the lists that are measured."""
        of_these = (run.dataset.place, settings.model)
        if of_these not in self._first_stage:
            self._first_stage.clear()
            split, data = run.split, run.split.data
            model = BiEncoder.load(settings.model, device=settings.device, dtype=settings.dtype)
            # Dev and test in one search, so that the law is encoded once.
            both = replace(data, dev=[*data.dev, *split.test])
            network = candidates.open_network(settings.model, settings.device)
            stage = candidates.FirstStage.search(model, both, settings.candidates, network)
            passages = ranker.passages_read(data, model, ranker.open_ranker(settings, model))
            setup = ranker.FirstStageSetup(model, stage, passages, None)
            self._first_stage[of_these] = _with_lists(settings, split, setup)
        return self._first_stage[of_these]


def _with_lists(
    settings: RankerTrainingSettings, split: Split, setup: ranker.FirstStageSetup
) -> tuple[ranker.FirstStageSetup, candidates.DevLists]:
    """Cut what was found into the lists of dev, and into those that are measured."""
    data, found = split.data, setup.stage.dev

    def lists(rows: slice, depth: int) -> candidates.DevLists:
        own = candidates.Candidates(found.questions[rows], found.vectors[rows], found.found[rows])
        return ranker.candidate_lists(data, own, depth, setup.passages)

    rows = slice(len(data.dev))
    dev = measured = lists(rows, settings.re_ranked)
    if split.test or settings.re_ranked < settings.candidates:
        measured = lists(slice(len(data.dev), None) if split.test else rows, settings.candidates)
    return replace(setup, dev=dev), measured


def _trained_on(
    settings: RankerTrainingSettings,
    data: TrainingData,
    setup: ranker.FirstStageSetup,
    work: Path,
) -> tuple[Any, Any, dict[str, Any]]:
    """Train a ranker, or resume; returns the best weights' logits of dev, and the ranker."""
    opened = ranker.open_ranker(settings, setup.biencoder)
    prepared = ranker.prepare_on(setup, settings, data, opened)
    records = ranker.train_ranker(settings, prepared, work)
    best = ranker.best_folder(work, records, settings.select_by)
    record = ranker.best_record(records, settings.select_by)
    assert best is not None and record is not None
    names = ("step", "epoch", "loss", "first_stage", "dev", "negatives")
    epochs = rounded([{n: each[n] for n in names if n in each} for each in records])
    logits = np.load(best / ranker.LOGITS_FILE, allow_pickle=False)
    scorer = ranker.open_ranker(settings, setup.biencoder, best / ranker.MODEL_FOLDER)
    return logits, scorer, {"epoch": record["epoch"], "epochs": epochs, "mined": prepared.mined}


def _epoch(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the results keep of an epoch: dev metrics before it, its loss and its negatives."""
    names = ("epoch", "loss", "own_mass", "negatives")
    kept = {name: record[name] for name in names if record.get(name) is not None}
    if "dev" in record:
        kept["dev"] = {m: record["dev"][m] for m in DENSE_METRICS if m in record["dev"]}
    return rounded(kept)  # type: ignore[no-any-return]


# The results of all runs: one JSON object a line, append-only.


class Results:
    """The lines of a results file by the key of their run.

    A line is written in one piece and synced; several processes may add to one file. A last line
    that a kill cut off is removed, with a message, if it follows results of runs; a file with any
    other content is refused and left as it is.

    Args:
        path: The file; made with the first line.

    Attributes:
        lines: Key to line. Of repeated keys the first counts.

    Raises:
        SettingsError: A line is not a run's; names it. Or the file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, dict[str, Any]] = {}
        self.refresh()

    def refresh(self) -> None:
        """Read what this process or another has added since."""
        if self.path.exists():
            with file_lock(self.path, wait=True):  # nobody is half-way through a line
                self._read()

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a run's line."""
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        self.check_writable()
        with file_lock(self.path, wait=True):
            self._read()
            with self.path.open("ab") as file:
                file.write(text)
                file.flush()
                os.fsync(file.fileno())
            self._read()
        sync(self.path.parent)

    def check_writable(self) -> None:
        """Refuse a file that cannot be written, before anything is computed for it."""
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            self.path.open("ab").close()
        except OSError as error:
            raise SettingsError(f"results: {self.path} cannot be written ({error}).") from error

    def _read(self) -> None:
        whole, end, torn = self.path.read_bytes().rpartition(b"\n")
        raw_lines = whole.splitlines()
        # Nothing is removed from a file that is not ours.
        for number, raw in enumerate(raw_lines or [torn] * bool(torn), 1):
            try:
                line = json.loads(raw)
                key, n_questions = key_of(line), len(line["questions"])
                for values in line["values"].values():
                    if len(values) != n_questions or not all(map(math.isfinite, values)):
                        raise ValueError("not one finite number for each question")
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise SettingsError(
                    f"{self.path}:{number}: is not a result of a run ({type(error).__name__}: "
                    f"{error}). Remove the line, or give another file."
                ) from error
            self.lines.setdefault(key, line)
        if torn:
            say(f"{self.path}: line {len(raw_lines) + 1} was cut off; removing it")
            os.truncate(self.path, len(whole + end))


@dataclass
class Outcome:
    """How a comparison ended.

    Attributes:
        left: How many runs are still missing because time was up.
        failed: What went wrong, one message per failed run.
        elsewhere: How many runs other processes are making.
    """

    left: int = 0
    failed: list[str] = field(default_factory=list)
    elsewhere: int = 0


def make_missing(
    runs: Sequence[Run],
    results: Results,
    perform: Callable[[Run, Path, float | None], dict[str, Any]],
    work: Path,
    *,
    budget_s: float | None = None,
    clock: Callable[[], float] = time.monotonic,
) -> Outcome:
    """Make the runs that the results lack, in order.

    A run that fails is reported and keeps its work folder; the others are still made. Several
    processes may make the runs of one comparison, with the same results and work folder: each skips
    what another has made or is making.

    Args:
        runs: Two with the same key count as one.
        results: Where finished runs are looked up and recorded.
        perform: Makes one.
        work: Each run has a folder in it, locked by the process that makes the run until its line
            is written.
        budget_s: Seconds to stop within. A run is expected to take as long as the longest on the
            same dataset. A first run begins on any budget except 0, and stops with a checkpoint.
        clock: Gives the time in seconds.

    Raises:
        SettingsError: The results file cannot be written, or holds something else.
    """
    end = None if budget_s is None else clock() + budget_s
    distinct = list({run.key: run for run in runs}.values())
    missing = [run for run in distinct if run.key not in results.lines]
    for run in distinct:
        if run.key in results.lines:
            # A kill may have come between writing the line and removing the folder.
            shutil.rmtree(work / run.key, ignore_errors=True)
    if n_found := len(distinct) - len(missing):
        say(f"{n_found} of {len(distinct)} runs are already in {results.path}")
    outcome = Outcome()
    for number, run in enumerate(missing):
        folder = work / run.key
        # One that was begun goes on, however long it takes in all.
        expected = 0.0 if folder.is_dir() else _expected(run, results)
        try:
            if end is not None and clock() + expected >= end:
                raise OutOfTimeError("not begun")
            with folder_lock(folder, wait=False) as ours:
                if not ours:
                    outcome.elsewhere += 1
                    continue
                # Look once more: the process that held the lock may just have added the line.
                results.refresh()
                if run.key not in results.lines:
                    results.check_writable()
                    say(f"Run {n_found + number + 1} of {len(distinct)}: {run}")
                    results.add(perform(run, folder, end))
                    gc.collect()
                shutil.rmtree(folder, ignore_errors=True)
        except OutOfTimeError as stopped:
            say(f"Time is up: {run}: {stopped}; the same command goes on from there")
            results.refresh()
            outcome.left = sum(each.key not in results.lines for each in missing[number:])
            break
        except (SettingsError, TrainingError) as error:
            say(f"error: {run}: {error}")
            outcome.failed.append(f"{run}: {error}")
    return outcome


def _expected(run: Run, results: Results) -> float:
    """Seconds that a run is expected to take; 0 where nothing is known."""
    took = [
        line["seconds"]["total"]
        for line in results.lines.values()
        if line["trained"] and line["corpus_sha256"] == run.about["corpus_sha256"]
    ]
    return max(took, default=0.0) if run.trained else 0.0


# Tables and figures

NONE = "–"
Lines = dict[str, list[Mapping[str, Any]]]


def page(name: str, runs: Sequence[Run], results: Results, settings: CompareSettings) -> str:
    """The tables of a dataset, from the finished runs; its figures are drawn next to them."""
    parts = [f"## {name}"]
    for title, table in settings.chosen().items():
        made = {arm: [run.key for run in runs if run.arm == arm] for arm in table["arms"]}
        lines: Lines = {
            arm: [results.lines[key] for key in keys if key in results.lines]
            for arm, keys in made.items()
        }
        counts = {arm: f"{len(lines[arm])}/{len(keys)}" for arm, keys in made.items()}
        lines = {arm: of_arm for arm, of_arm in lines.items() if of_arm}
        parts.append(f"### {title}")
        if not lines:
            parts.append("Nothing is measured yet.")
            continue
        metrics = _compared(table.get("compare", settings.compare), lines)
        baseline = next((arm for arm in settings.baselines if arm in made), next(iter(made)))
        scores = {metric: compare_arms(lines, metric, baseline) for metric in metrics}
        published = table.get("published", {})
        parts += [_caption(lines), _means(scores, counts, published, baseline, lines)]
        parts += [_differences(scores, baseline), *_scored_negatives(lines)]
        if len(lines) > 1:
            stem = Path(settings.output) / f"{name}-{title}"
            plots.plot_arms(stem, scores, baseline, published, stem.name)
            _draw_by(stem, lines, table, scores)
    return "\n\n".join(parts) + "\n"


def _compared(metrics: Sequence[str], lines: Lines) -> list[str]:
    """Those of the metrics that all lines have."""
    common = set.intersection(*(set(line["values"]) for own in lines.values() for line in own))
    compared = [metric for metric in metrics if metric in common]
    if not compared:
        raise SettingsError(f"compare: {metrics[0]!r} is not measured of every arm.")
    return compared


def _caption(lines: Lines) -> str:
    flat = [line for of_arm in lines.values() for line in of_arm]
    n_questions = len({question for line in flat for question in line["questions"]})
    seeds = ", ".join(map(str, sorted({line["seed"] for line in flat})))
    folds = max(line["folds"] for line in flat)
    split = flat[0].get("measured_on", "dev")
    flatters = "" if split == "test" else ", which flatters whatever was trained"
    if folds > 1:
        split = f"{folds}-fold cross-validation over train and dev"
    form = "{device} ({dtype}, torch {torch})"
    machines = "; ".join(sorted({form.format(**line["environment"]) for line in flat}))
    return (
        f"Questions: {n_questions} ({split}); seeds: {seeds}. Each run's epoch, 0 for none, is "
        f"chosen on dev{flatters}. In square brackets the 95% interval (bootstrap over "
        "questions), in round ones the published number and the difference to it, where it is "
        f"known. Measured on {machines}."
    )


def _means(
    scores: Mapping[str, Sequence[ArmScore]],
    counts: Mapping[str, str],
    published: Mapping[str, Mapping[str, float]],
    baseline: str,
    lines: Lines,
) -> str:
    by_arm = {metric: {score.arm: score for score in own} for metric, own in scores.items()}
    rows = [["arm", "runs", *scores, "epoch", "seconds"]]
    for arm, runs in counts.items():
        cells = [_cell(own.get(arm), published.get(arm, {}).get(m)) for m, own in by_arm.items()]
        epoch = _mean((line["epoch"] for line in lines.get(arm, ())), ".1f")
        seconds = _mean((line["seconds"]["total"] for line in lines.get(arm, ())), ",.0f")
        name = f"**{arm}**" if arm == baseline else arm
        rows.append([name, runs, *cells, epoch, seconds])
    return markdown(rows)


def _cell(score: ArmScore | None, known: float | None) -> str:
    if score is None:
        return NONE if known is None else f"{NONE} ({known:.3f})"
    cell = f"{score.mean:.3f} [{score.interval[0]:.3f}, {score.interval[1]:.3f}]"
    return cell if known is None else f"{cell} ({known:.3f}, {score.mean - known:+.3f})"


def _differences(scores: Mapping[str, Sequence[ArmScore]], baseline: str) -> str:
    rows = [["arm", *(f"{metric}, difference to {baseline}" for metric in scores)]]
    for of_arm in zip(*scores.values(), strict=True):
        cells = [_difference(score) for score in of_arm if score.against is not None]
        if cells:
            rows.append([of_arm[0].arm, *cells])
    return (
        "Differences with their interval, the p of a paired randomisation test by Holm over the "
        "arms, and in round brackets the smallest difference that could have been detected:\n\n"
        + markdown(rows)
    )


def _difference(score: ArmScore) -> str:
    own = score.against
    assert own is not None
    (low, high), p = own.interval, f"{score.p:.4f}"
    least = NONE if own.detectable is None else f"{own.detectable:.3f}"
    return f"{own.difference:+.3f} [{low:+.3f}, {high:+.3f}], p {p} ({least})"


def _mean(values: Iterable[float | None], form: str) -> str:
    known = [value for value in values if value is not None]
    return format(fmean(known), form) if known else NONE


def _scored_negatives(lines: Lines) -> list[str]:
    """How rankers score their negatives, before training and after one epoch (SoICT's Table 3)."""
    parts = ("below_0.5", "0.5_to_0.8", "0.8_to_0.9", "from_0.9", "mean")
    rows = [["arm", "scored by", *(part.replace("_", " ") for part in parts)]]
    for arm, of_arm in lines.items():
        scored = [[e["negatives"] for e in line["epochs"] if "negatives" in e] for line in of_arm]
        scored = [epochs for epochs in scored if epochs and "ranker" in epochs[0]]
        judges = {
            "ranker, before": [epochs[0]["ranker"] for epochs in scored],
            # A run shorter than an epoch has no score after it.
            "ranker, one epoch": [own["ranker"] for epochs in scored for own in epochs[1:]],
            "bi-encoder": [epochs[0]["biencoder"] for epochs in scored],
        }
        for judge, own in judges.items() if scored else ():
            rows.append([arm, judge, *(_mean((e[part] for e in own), ".3f") for part in parts)])
    return [f"How high the negatives score:\n\n{markdown(rows)}"] if len(rows) > 1 else []


def by_epoch(lines: Sequence[Mapping[str, Any]], metric: str) -> list[tuple[float, float]]:
    """The epochs at which an arm's runs were measured on dev, and its mean there.

    Each question counts the same; a run that stopped early keeps its last value.
    """
    runs = []
    for line in lines:
        measured = [epoch for epoch in line["epochs"] if metric in epoch.get("dev", {})]
        if measured:
            runs.append((len(line["questions"]), {e["epoch"]: e["dev"][metric] for e in measured}))
    points = []
    for epoch in sorted({epoch for _, values in runs for epoch in values}):
        # Runs may be measured at different epochs: take each one's latest value.
        there = [
            (n, values[max(each for each in values if each <= epoch)])
            for n, values in runs
            if min(values) <= epoch
        ]
        points.append((epoch, sum(n * v for n, v in there) / sum(n for n, _ in there)))
    return points


def _draw_by(
    stem: Path,
    lines: Lines,
    table: Mapping[str, Any],
    scores: Mapping[str, Sequence[ArmScore]],
) -> None:
    """Draw a table's first metric by epoch, or by a setting."""
    if (by := table.get("by")) is None:
        return
    metric, figure = next(iter(scores)), stem.with_name(f"{stem.name}-{by}")
    if by == "epoch":
        curves = {arm: by_epoch(of_arm, metric) for arm, of_arm in lines.items()}
        plots.plot_epochs(figure, {arm: own for arm, own in curves.items() if own}, metric)
        return
    drawn: dict[str, list[tuple[float, ArmScore]]] = {}
    for score in scores[metric]:
        values = {**lines[score.arm][0], **lines[score.arm][0]["settings"]}
        if values["trained"] and by in values:
            label = str(values.get(table.get("lines", ""), ""))
            drawn.setdefault(label, []).append((values[by], score))
    flat = next((score for score in scores[metric] if score.arm == FIRST_STAGE), None)
    plots.plot_setting(figure, drawn, by, metric, flat)


# The command


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("compare", _DESCRIPTION, CompareSettings, arguments)
    return run_command(lambda: compare(settings))


def compare(settings: CompareSettings) -> None:
    """Make the missing runs, then write tables and figures.

    Raises:
        SettingsError: A setting does not fit the data.
        CorpusError: A file cannot be read.
        ModelError: There is no such model.
        TrainingError: A run failed.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise SettingsError("a comparison runs in one process: run it without torchrun.")
    output = Path(settings.output)
    results = Results(Path(settings.results or output / "results.jsonl"))
    datasets = runs_of(settings)
    runs = [run for of_dataset in datasets.values() for run in of_dataset]
    output.mkdir(parents=True, exist_ok=True)
    work, perform = output / "work", Performer(output / "models")
    outcome = make_missing(runs, results, perform, work, budget_s=settings.budget_s)
    results.refresh()
    with suppress(OSError):  # there is none, or it holds runs that are not finished
        work.rmdir()
    for name, of_dataset in datasets.items():
        text = page(name, of_dataset, results, settings)
        (output / f"{name}.md").write_text(text, encoding="utf-8")
        print(text)  # noqa: T201
    if outcome.left:
        say(f"Left: {outcome.left} of {len(runs)} runs; the same command goes on")
    if outcome.elsewhere:
        say(f"Left to other processes: {outcome.elsewhere} of {len(runs)} runs")
    if outcome.failed:
        raise TrainingError("runs that failed:\n  " + "\n  ".join(outcome.failed))


if __name__ == "__main__":
    sys.exit(main())
