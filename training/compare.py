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
import os
import shutil
import sys
import time
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache, cached_property, partial
from itertools import product
from pathlib import Path
from statistics import fmean
from typing import Any, Literal

import rank_bm25
import torch
import yaml
from accelerate import Accelerator
from pydantic import TypeAdapter, ValidationError
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device, resolve_dtype
from components.models.folder import MANIFEST_FILE, DtypeName, file_lock, folder_lock
from components.models.weights import no_progress_bars
from components.statutes.article import TextRule
from components.statutes.corpus import read_questions
from components.statutes.fusion import FUSED_FROM, fuse_ranks
from components.statutes.question import Question
from components.statutes.significance import ArmScore, compare_arms
from components.statutes.sources.corpora import BSARD, HUB_NAME, SOICT
from training import candidates, cusines, graph, pipeline_runs, plots, ranker
from training.checkpoint import RunState, compute_as_begun, environment, open_work_folder
from training.command_line import (
    OutOfTimeError,
    Place,
    SettingsError,
    Target,
    markdown,
    say,
    settings_from,
)
from training.command_line import run as run_command
from training.data import TrainingData, evaluated, folds_of, say_where_dev_is_learnt, trainings_on
from training.fusion import DevWeight
from training.loop import fit, take_device
from training.negatives.views import CountedLaw, Terms
from training.pipeline_runs import PipelineSettings, store_of
from training.settings import (
    CusinesSettings,
    GraphSettings,
    KeptSettings,
    RankerTrainingSettings,
    at_least,
    folder_named,
)

CONFIGS = Path(__file__).parent / "configs"
Settings = dict[str, Any]

_DESCRIPTION = """\
Trains the arms of a comparison, each with several seeds, and measures them on test, on dev or in
folds. Runs found in the results file are not made again. Ends with tables (intervals, paired
significance, published numbers) and figures in the output folder. An arm is a name and a few
settings in the file that --config names; training/configs/papers has those of three papers."""


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
        budget_s: No run is begun after this many seconds, and a training stops with a checkpoint;
            0 makes no runs, only the tables of those already made.
        model: What training starts from, and what a graph network or a ranker stands over.
        device: cpu, cuda, ...; default: the best available.
        train: What arms train unless they name it: cusines, graph, ranker; or what they measure
            without training: bm25, or a pipeline.
        cusines: Settings that all runs of training.cusines share, such as --cusines.epochs 3;
            `preset` names a file of training/configs that has others.
        graph: The same for training.graph.
        ranker: The same for training.ranker.
        bm25: The same for BM25: kind, k1, b, terms, text_rule.
        pipeline: The same for a pipeline: pipeline, answered, learned.
        own: The paper's own data: its `format`, and what then stands in place of cusines, graph,
            ranker, bm25 and pipeline.
        arms: Name to the settings in which an arm differs. Besides, `train`; and `over`, the arm
            whose model it stands over. Arms called untrained and first_stage train nothing.
        tables: Name to `arms`, and optionally `compare`, `published` (arm to metric to value),
            `others` (other systems, data set to name to metric to value), and what a figure shows:
            `by` epoch or a setting, `lines` by another setting. Default: one of all arms.
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
    pipeline: dict[str, Any] = field(default_factory=dict)
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
        _known("own", self.own, ("format", *SYSTEMS))
        for name, table in self.tables.items():
            _known(
                f"tables.{name}", table, ("arms", "compare", "published", "others", "by", "lines")
            )
            _known(f"tables.{name}.arms", table.get("arms", [""]), self.arms)
        self.chosen()

    def chosen(self) -> dict[str, dict[str, Any]]:
        """The tables to make.

        Raises:
            SettingsError: There is no such table or arm.
        """
        tables = self.tables or {"all": {"arms": list(self.arms)}}
        chosen: dict[str, dict[str, Any]] = {}
        single = []
        for name in self.only or tables:
            # A figure's name stands for its panels a, b, ...
            own = {n: table for n, table in tables.items() if name in (n, n[:-1])}
            if not own:
                _known("only", [name], [*tables, *self.arms])
                single.append(name)
            chosen |= own
        return {**chosen, "arms": {"arms": single}} if single else chosen


def _known(what: str, names: Iterable[str], known: Iterable[str]) -> None:
    """Refuse an unknown name."""
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
RANKER_METRICS = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10")
DEPTH, FUSED_DEPTH = 1_000, 10

# Paths, and what a run's key holds otherwise (digests, the seed).
_NOT_IN_KEY = {
    *("corpus", "questions", "output", "model", "query_model", "passage_model", "run_file"),
    *("seed", "dev_share", "final", "checkpoint_every", "device", "start", "vectors", "store"),
}


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
        return self.name in ("cusines", "graph", "ranker") and arm not in self.untrained

    def defaults(self, arm: str) -> Settings:
        """The settings that an arm's result depends on, paths left out, with their defaults."""
        matter = self.untrained.get(arm)
        return {
            f.name: list(f.default) if isinstance(f.default, tuple) else f.default
            for f in dataclasses.fields(self.settings)
            if f.name not in _NOT_IN_KEY and (matter is None or f.name in matter)
        }


def _ranker_digests(settings: RankerTrainingSettings) -> dict[str, str]:
    return {
        "model_sha256": candidates.stage_digest(settings.model),
        "start_sha256": ranker.starting_digest(ranker.starting_folder(settings.start)),
    }


def _pipeline_digests(settings: PipelineSettings) -> dict[str, str]:
    return {"model_sha256": candidates.stage_digest(settings.model)}


_STARTS = ("model", "query_model", "passage_model", "start")
_LISTS = {"candidates", "dev_candidates", "dtype"}
_READ = {
    *("pooling", "max_tokens", "head", "passage_tokens", "max_passages", "head_pooling"),
    *("text_rule", "segmentation", "bm25_k1", "bm25_b", "dtype"),
}
_RE_READ = _LISTS | {"passages", "passage_tokens", "segmentation", "select_by"}
_ENRICHED = {"text_rule", "bm25_k1", "bm25_b"}
SYSTEMS = {
    "cusines": System("cusines", CusinesSettings, cusines.starting_digests, {UNTRAINED: _READ}),
    "graph": System("graph", GraphSettings, graph.starting_digests, {UNTRAINED: _ENRICHED}),
    "ranker": System(
        *("ranker", RankerTrainingSettings, _ranker_digests),
        {FIRST_STAGE: _LISTS, UNTRAINED: _RE_READ},
    ),
    "bm25": System("bm25", Bm25Settings, lambda _: {}, {}),
    "pipeline": System("pipeline", PipelineSettings, _pipeline_digests, {}),
}

# Settings that a key holds at other values only. The first three are of earlier versions: no run of
# today is taken for one of theirs. The last is younger than the keys of what stands over a ranker.
_IN_KEY_UNLESS = {
    "patience": None,
    "question_order": "random",
    "teacher": None,
    "fused_candidates": 90,
}
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
    values = {**system.defaults(line["arm"]), **line["settings"]}
    identity["settings"] = {
        name: value
        for name, value in values.items()
        if name not in _IN_KEY_UNLESS or value != _IN_KEY_UNLESS[name]
    }
    if system.name != "cusines":
        identity["system"] = system.name
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


# The law and its questions.


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
        known: Vectors of the articles, as `BiEncoderLearner` shares them between runs.

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
        self.known: dict[Hashable, Tensor] = {}


@cache
def counted(dataset: Dataset, terms: Terms, rule: TextRule) -> CountedLaw:
    """The words of a law and of its questions of train, dev and test."""
    asked = [*dataset.questions, *dataset.test]
    return CountedLaw(dataset.given.corpus, asked, terms=terms, text_rule=rule)


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

    @cached_property
    def split(self) -> tuple[TrainingData, Sequence[int]]:
        """What it learns from, and the places of what it measures among train, dev and test."""
        data, rows = self._divided
        return data.holding_out(self.settings.to_dict().get("hold_out", 0.0)), rows

    @property
    def _divided(self) -> tuple[TrainingData, Sequence[int]]:
        given, questions = self.dataset.given, self.dataset.questions
        if self.measured_on == "test":
            return given, range(len(questions), len(questions) + len(self.dataset.test))
        if self.folds == 1:
            return given, range(len(given.train), len(questions))
        fold_of = folds_of(questions, self.folds, seed=self.settings.seed)
        numbered = list(enumerate(zip(fold_of, questions, strict=True)))
        dev = [(row, q) for row, (own, q) in numbered if own == self.fold and not q.synthetic]
        train = [question for _, (own, question) in numbered if own != self.fold]
        data = replace(given, train=train, dev=[question for _, question in dev])
        return data, [row for row, _ in dev]

    @property
    def measured(self) -> Sequence[Question]:
        """The questions that are measured; of test, dev only chooses the epoch."""
        return self.dataset.test if self.measured_on == "test" else self.split[0].dev

    @cached_property
    def about(self) -> dict[str, Any]:
        """The part of its line that is known before it is made: names, data, settings."""
        values, data = self.settings.to_dict(), self.split[0]
        sides = [data.train, data.dev, *([self.measured] if self.measured_on == "test" else [])]
        ids = json.dumps([[question.id for question in side] for side in sides])
        return {
            "system": self.system.name,
            "dataset": self.dataset.name,
            "seed": self.settings.seed,
            "trained": self.system.trains(self.arm),
            **{name: getattr(self, name) for name in ("arm", "fold", "folds", "measured_on")},
            **data.digests(),
            "split_sha256": hashlib.sha256(ids.encode()).hexdigest(),
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
        name = settings.own.get("format")
        known = {"bsard": BSARD, "soict": SOICT}.get(str(name))
        named = name == "bsard" and place == HUB_NAME
        self.own_data = known is not None and (named or known.matches(Path(place)))

    def system_of(self, arm: str) -> System:
        """What an arm trains."""
        name = self._settings.arms[arm].get("train", self._settings.train)
        _known(f"arms.{arm}.train", [name], SYSTEMS)
        return SYSTEMS[name]

    def _base(self, system: System) -> Settings:
        """What all runs of a system have in common."""
        given = dict(getattr(self._settings, system.name))
        if self.own_data:
            given = dict(self._settings.own.get(system.name, given))
        if preset := given.pop("preset", None):
            _known(f"{system.name}.preset", [preset], [f.stem for f in CONFIGS.glob("*.yaml")])
            values = yaml.safe_load((CONFIGS / f"{preset}.yaml").read_text("utf-8"))
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
        system, base = self.system_of(arm), self._base(self.system_of(arm))
        own = {n: v for n, v in self._settings.arms[arm].items() if n not in ("train", "over")}
        over = self._settings.arms[arm].get("over")
        if (model := self._settings.model) is not None and system.name != "bm25":
            base = {n: v for n, v in base.items() if n not in ("query_model", "passage_model")}
            if over is None or system.name == "ranker":
                base["model" if over is None else "start"] = model
        values = {**base, **own, "seed": seed}
        _known(f"arms.{arm}", values, [f.name for f in dataclasses.fields(system.settings)])
        try:
            return TypeAdapter(system.settings).validate_python(values)
        except ValidationError as error:
            first = error.errors()[0]
            where = "".join(f"{part}: " for part in first["loc"])
            raise SettingsError(f"arms.{arm}: {where}{first['msg']}") from error


def runs_of(settings: CompareSettings) -> dict[str, list[Run]]:
    """All runs by dataset, seed by seed and fold by fold, all arms each time.

    A comparison that stops early still compares the arms on equal terms.

    Raises:
        SettingsError: A setting is out of its range, or does not fit the dataset; or two datasets
            have the same name.
        ModelError: There is no such model.
        CorpusError: A file cannot be read.
    """
    named = {arm for table in settings.chosen().values() for arm in table["arms"]}
    over = {arm: own["over"] for arm, own in settings.arms.items() if "over" in own}
    needed: list[str] = []  # the named ones and those below, which stand before them
    for n_above, arm in reversed(list(enumerate(settings.arms))):
        if arm in named or arm in (over[each] for each in needed if each in over):
            above = [*settings.arms][:n_above]
            _known(f"arms.{arm}.over", [over[arm]] if arm in over else [], above)
            needed.insert(0, arm)
    runs: dict[str, list[Run]] = {}
    for place in settings.data:
        plan = Plan(settings, place)
        lowest = [arm for arm in needed if arm not in over]
        starts = {plan.system_of(arm).name: plan.settings_of(arm) for arm in lowest}
        dataset = Dataset(place, dev_share=next(iter(starts.values())).dev_share)
        if dataset.name in runs:
            raise SettingsError(f"data: two are called {dataset.name}. Rename one.")
        on_test = settings.measure_on == "test" and bool(dataset.test)
        in_one = ("ranker", "pipeline")
        one = on_test or any(plan.system_of(arm).name in in_one for arm in needed)
        starts.pop("bm25", None)
        folds = n_folds(dataset, 1 if one else settings.folds, starts.values(), on_test=on_test)
        if settings.own and not plan.own_data:
            say(f"{place} is not the paper's data: the numbers say nothing about the paper")
        runs[dataset.name] = []
        digests: dict[Any, dict[str, str]] = {}
        for seed, fold in product(settings.seeds, range(folds)):
            made: dict[str, Run] = {}
            for arm in needed:
                system, own, below = plan.system_of(arm), plan.settings_of(arm, seed), None
                if arm in over:
                    below = made[over[arm]]
                    start = {"over": below.key}
                    if system.name == "ranker":
                        folder = ranker.starting_folder(own.start)
                        start["start_sha256"] = ranker.starting_digest(folder)
                else:
                    models = (system.name, *(getattr(own, name, None) for name in _STARTS))
                    if models not in digests:
                        digests[models] = system.digests(own)
                    start = digests[models]
                split, kept = "test" if on_test else "dev", arm in over.values()
                made[arm] = Run(system, arm, dataset, own, start, fold, folds, split, below, kept)
            runs[dataset.name] += [run for arm, run in made.items() if arm in named]
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
                    f"folds, {dataset.place}: {training.model} has learnt what is measured "
                    f"({how or 'train'}). Set folds to 1, or start from another model."
                )
            folds = 1  # dev alone is not learnt
    if folds == 1 and not dataset.given.dev:
        raise SettingsError(f"{dataset.place}: has no question of the split dev. Set folds.")
    folds_of(dataset.questions, folds, seed=0)  # refuses too few questions
    return folds


# Making a run


Values = dict[str, dict[str, float]]
"""Metric to question id to value."""

_Made = tuple[Values, dict[str, Any]]  # with what the run's line says besides
_Trained = tuple[Any, RunState, Path]  # the learner, its state and its model folder

PLACES = 4


def rounded(value: Any) -> Any:
    """Round all floats in a JSON value; integral ones become integers."""

    def short(text: str) -> float:
        near = round(float(text), PLACES)
        return int(near) if near.is_integer() else near

    return json.loads(json.dumps(value), parse_float=short)


def perform(models: Path, run: Run, work: Path, deadline: float | None = None) -> dict[str, Any]:
    """Train, or resume in the work folder; measure; return the run's line.

    A ranker's run that has begun is made to its end, whatever the deadline.

    Args:
        models: Folder of the models that other runs stand over.
        run: What is made.
        work: Its checkpoints.
        deadline: As for `TrainingLoop`.

    Raises:
        SettingsError: A setting does not fit the data, or the work folder.
        ModelError: A model cannot be opened.
        TrainingError: A loss or weight is not finite.
        OutOfTimeError: The deadline has passed.
    """
    started = time.perf_counter()
    makers: dict[str, Callable[..., _Made]] = {
        "bm25": _searched,
        "ranker": _ranked,
        "pipeline": _asked,
    }
    by_question, own = makers.get(run.system.name, _learned)(models, run, work, deadline)
    values = {metric: list(of_it.values()) for metric, of_it in by_question.items()}
    device = resolve_device(run.settings.device).type
    surroundings = {"dtype": own.pop("dtype"), "threads": torch.get_num_threads()}
    return {
        "key": run.key,
        **run.about,
        "environment": {**environment(device), "runs_on": device, **surroundings},
        **own,
        "seconds": {"total": round(time.perf_counter() - started, 1)},
        "means": rounded({metric: fmean(of_it) for metric, of_it in values.items()}),
        # Places among all questions, in the order of the file: ids would be longer.
        "questions": list(run.split[1]),
        "values": rounded(values),
    }


def _searched(_: Path, run: Run, *__: Any) -> _Made:
    """BM25, of which nothing is trained."""
    settings, ids = run.settings, run.dataset.given.corpus.ids
    law = counted(run.dataset, settings.terms, settings.text_rule)
    weights = law.weights(getattr(rank_bm25, settings.kind), settings.k1, settings.b)
    ranked = ([ids[p] for p in row] for row in law.rankings(weights, DEPTH, run.split[1]))
    values = evaluated(run.measured, ranked, DENSE_METRICS, DEPTH)
    return values, {"dtype": "float64", "steps": 0, "epoch": 0, "epochs": []}


def _asked(models: Path, run: Run, work: Path, deadline: float | None) -> _Made:
    """A pipeline, over a store that the arms of a law share."""
    model = run.settings.model
    if run.below is not None:
        model = _model_of(models, run.below, deadline)
    work.mkdir(parents=True, exist_ok=True)
    own = run.settings, model, run.measured, run.measured_on
    return pipeline_runs.measure(*own, _stores(models, run), work)


def _stores(models: Path, run: Run) -> Path:
    """Folder of the stores that the pipelines of a law share."""
    return models.parent / "stores" / run.dataset.name


def _model_of(models: Path, run: Run, deadline: float | None) -> Place:
    """The model folder of a run that others stand over, trained unless it is there."""
    folder, work = models / run.key, models / f"{run.key}.work"
    with folder_lock(work, wait=True):
        if not (folder / MANIFEST_FILE).exists():
            say(f"Training the model below: {run}")
            if run.system.name == "ranker":
                settings = replace(
                    _ranker_settings(models, run, deadline), output=Target(str(folder))
                )
                ranker.train_on(settings, run.split[0], work)
            else:
                _trained(models, run, work, deadline)
    shutil.rmtree(work, ignore_errors=True)
    return Place(str(folder))


def _trained(models: Path, run: Run, work: Path, deadline: float | None) -> _Trained:
    """Train a bi-encoder or a graph network, or resume; save the model."""
    settings, data = run.settings, run.split[0]
    if run.below is not None:
        settings = replace(settings, model=_model_of(models, run.below, deadline))
    accelerator = Accelerator(cpu=take_device(settings.device).type == "cpu")
    make: Any = graph.GraphLearner
    if run.system.name == "cusines":
        make = partial(cusines.BiEncoderLearner, known=run.dataset.known)
        if settings.towers == "question" and settings.store is None:
            stores = _stores(models, run)
            settings = replace(settings, store=store_of(stores, settings.starting_model))
    work.mkdir(parents=True, exist_ok=True)
    if run.system.trains(run.arm):
        dev_weight = None
        if run.kept and data.dev:  # a pipeline over it goes by the weight
            dev_weight = DevWeight(data, settings.text_rule, settings.similarity)
        learner, state = fit(
            *(settings, data, accelerator, work, make), dev_weight=dev_weight, deadline=deadline
        )
    else:
        learner, state = make(settings, data, accelerator), RunState()
    folder = models / run.key if run.kept else work / "model"
    if not (folder / MANIFEST_FILE).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        weight = state.best.get("dense_weight", 1.0) if state.best else 1.0
        learner.save(folder, data, {}, dense_weight=weight)
    return learner, state, folder


def _learned(models: Path, run: Run, work: Path, deadline: float | None) -> _Made:
    """A bi-encoder or a graph network."""
    settings, (data, rows) = run.settings, run.split
    learner, state, folder = _trained(models, run, work, deadline)
    # On test a model is opened as in use, on dev as it was trained.
    dtype: DtypeName = "auto" if run.measured_on == "test" else learner.fixed["dtype"]
    model = BiEncoder.load(folder, device=settings.device, dtype=dtype)
    network = candidates.open_network(str(folder), settings.device)
    shown = replace(data, train=data.train[:1], dev=run.measured)
    articles = None if learner.articles is None else learner.articles.cpu().numpy()
    stage = candidates.FirstStage.search(model, shown, DEPTH, network, articles=articles)
    dense = stage.dev.found.tolist()
    law = counted(run.dataset, "analysed", settings.text_rule)
    weights = law.weights(rank_bm25.BM25Okapi, settings.bm25_k1, settings.bm25_b)
    fused = [
        fuse_ranks([words.tolist(), meaning[:FUSED_FROM]])[:FUSED_DEPTH]
        for words, meaning in zip(law.rankings(weights, FUSED_FROM, rows), dense, strict=True)
    ]
    ids = data.corpus.ids
    by_vector, by_both = ([[ids[p] for p in row] for row in found] for found in (dense, fused))
    values = evaluated(run.measured, by_vector, DENSE_METRICS, DEPTH)
    values[FUSED] = evaluated(run.measured, by_both, ("R@10",), FUSED_DEPTH)["R@10"]
    return values, {
        "dtype": learner.fixed["dtype"],
        "steps": state.step,
        "articles_listed": sum(each.get("articles_listed", 0) for each in state.records),
        "epoch": state.best["epoch"] if state.best else 0,
        "epochs": _epochs(state.records),
    }


def _epochs(records: Sequence[Mapping[str, Any]]) -> Any:
    """What the results keep of the epochs: dev metrics, loss and negatives."""
    names = ("step", "epoch", "loss", "own_mass", "first_stage", "dev", "negatives")
    return rounded([{n: each[n] for n in names if each.get(n) is not None} for each in records])


def _ranker_settings(models: Path, run: Run, deadline: float | None) -> RankerTrainingSettings:
    settings: RankerTrainingSettings = run.settings
    if run.below is not None:
        settings = replace(settings, model=_model_of(models, run.below, deadline))
    store = settings.store or store_of(_stores(models, run), settings.model)
    return replace(settings, store=store)


@no_progress_bars()
def _ranked(models: Path, run: Run, work: Path, deadline: float | None) -> _Made:
    """A cross-encoder over the first stage's candidates."""
    settings, data = _ranker_settings(models, run, deadline), run.split[0]
    trained = run.system.trains(run.arm)
    work.mkdir(parents=True, exist_ok=True)
    if trained:
        compute_as_begun(work)
        open_work_folder(work, ranker.fixed_by(settings, data))
    prepared = ranker.prepare(settings, data, work)
    stage, model, scorer = prepared.stage, prepared.biencoder, prepared.ranker
    asked = stage.dev
    if run.measured_on == "test":
        vectors = model.encode_queries([each.text for each in run.measured]).numpy()
        index = DenseIndex(stage.articles, str(model.device.type), stage.similarity)
        found = index.search(vectors, settings.candidates)[1]
        asked = candidates.Candidates(run.measured, vectors, found)
    lists = ranker.candidate_lists(data, asked, settings.candidates, prepared.passages)
    dtype = resolve_dtype(settings.dtype, resolve_device(settings.device))
    own = {"dtype": str(dtype).removeprefix("torch."), "steps": 0, "epoch": 0, "epochs": []}
    if trained:
        records = ranker.train_ranker(settings, prepared, work)
        record = ranker.best_record(records, settings.select_by)
        assert record is not None
        scorer = ranker.open_ranker(settings, model, ranker.weights_of(record, work))
        own |= {"steps": records[-1]["step"], "epoch": record["epoch"], "epochs": _epochs(records)}
    ranked = lists.found
    if run.arm != FIRST_STAGE:
        ranked = lists.re_ranked(lists.logits(scorer.logits))
    return evaluated(run.measured, ranked, RANKER_METRICS, settings.candidates), own


# The results of all runs: one JSON object a line, append-only.


class Results:
    """The lines of a results file by the key of their run.

    A line is written in one piece and synced; several processes may add to one file.

    Args:
        path: The file; made where there is none.

    Attributes:
        lines: Key to line. Of repeated keys the first counts.

    Raises:
        SettingsError: A line is not a run's; names it.
        OSError: The file cannot be written.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        self.refresh()

    def refresh(self) -> None:
        """Read what this process or another has added since."""
        with file_lock(self.path, wait=True):  # nobody is half-way through a line
            raw_lines = self.path.read_bytes().splitlines()
        for number, raw in enumerate(raw_lines, 1):
            try:
                line = json.loads(raw)
                self.lines.setdefault(key_of(line), line)
            except (ValueError, KeyError, TypeError, AttributeError) as error:
                raise SettingsError(
                    f"{self.path}:{number}: is not a result of a run ({error!r}). Remove the line, "
                    "or give another file."
                ) from error

    def add(self, line: Mapping[str, Any]) -> None:
        """Append a run's line."""
        text = json.dumps(line, ensure_ascii=False, separators=(",", ":")).encode() + b"\n"
        with file_lock(self.path, wait=True), self.path.open("ab") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        self.refresh()


def make_missing(
    runs: Sequence[Run],
    results: Results,
    perform: Callable[[Run, Path, float | None], dict[str, Any]],
    work: Path,
    deadline: float | None = None,
) -> None:
    """Make the runs that the results lack, in order.

    A run that fails ends the comparison, and keeps its work folder. Several processes may make the
    runs of one comparison, with the same results and work folder: each skips what another has made
    or is making.

    Args:
        runs: Two with the same key count as one.
        results: Where finished runs are looked up and recorded.
        perform: Makes one.
        work: Each run has a folder in it, locked by the process that makes the run until its line
            is written.
        deadline: On `time.monotonic`'s clock: no run is begun afterwards, and a training stops with
            a checkpoint.

    Raises:
        SettingsError: The results file holds something else, or a setting does not fit the data.
        TrainingError: A run failed.
    """
    distinct = {run.key: run for run in runs}
    for number, (key, run) in enumerate(distinct.items(), 1):
        folder = work / key
        try:
            with folder_lock(folder, wait=False) as ours:
                results.refresh()  # the process that held the lock may just have added the line
                if not ours:
                    say(f"{run} is made by another process")
                elif key not in results.lines:
                    if deadline is not None and time.monotonic() >= deadline:
                        raise OutOfTimeError("not begun")
                    say(f"Run {number} of {len(distinct)}: {run}")
                    results.add(perform(run, folder, deadline))
                    gc.collect()
                if ours:
                    shutil.rmtree(folder, ignore_errors=True)
        except OutOfTimeError as stopped:
            left = len(distinct.keys() - results.lines.keys())
            say(f"Time is up: {run}: {stopped}. {left} runs are left; the same command goes on")
            break


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
        lines = {arm: of_arm for arm, of_arm in lines.items() if of_arm}
        parts.append(f"### {title}")
        if not lines:
            parts.append("Nothing is measured yet.")
            continue
        flat = [line for of_arm in lines.values() for line in of_arm]
        metrics = table.get("compare", settings.compare)
        common = [name for name in metrics if all(name in line["values"] for line in flat)]
        if not common:
            raise SettingsError(f"compare: none of {metrics} is measured of every arm.")
        baseline = next((arm for arm in settings.baselines if arm in made), next(iter(made)))
        scores = {metric: compare_arms(lines, metric, baseline) for metric in common}
        published = table.get("published", {})
        compared = (each for m in common for each in (m, f"{m}, difference to {baseline}"))
        timed = ["ms a question"] if any("ms_a_question" in line for line in flat) else []
        rows = [["arm", "runs", *compared, "epoch", "seconds", *timed]]
        for arm, *of_arm in zip(lines, *scores.values(), strict=True):
            row = [f"**{arm}**" if arm == baseline else arm]
            row.append(f"{len(lines[arm])}/{len(made[arm])}")
            for metric, score in zip(common, of_arm, strict=True):
                row += _cells(score, published.get(arm, {}).get(metric))
            row.append(_mean((line["epoch"] for line in lines[arm]), ".1f"))
            row.append(_mean((line["seconds"]["total"] for line in lines[arm]), ",.0f"))
            if timed:
                row.append(_mean((line.get("ms_a_question") for line in lines[arm]), ".0f"))
            rows.append(row)
        for other, known in table.get("others", {}).get(name, {}).items():
            cells = (
                each for m in common for each in (f"{known[m]:.3f}" if m in known else NONE, NONE)
            )
            rows.append([f"{other}, as published", NONE, *cells, *[NONE] * (2 + len(timed))])
        parts += [_caption(flat), markdown(rows), *_scored_negatives(lines)]
        if len(lines) > 1:
            stem = Path(settings.output) / f"{name}-{title}"
            plots.plot_arms(stem, scores, baseline, published, stem.name)
            if "by" in table:
                _draw_by(stem, lines, table, scores)
    return "\n\n".join(parts) + "\n"


def _caption(lines: Sequence[Mapping[str, Any]]) -> str:
    n_questions = len({question for line in lines for question in line["questions"]})
    seeds = ", ".join(map(str, sorted({line["seed"] for line in lines})))
    split, folds = lines[0].get("measured_on", "dev"), max(line["folds"] for line in lines)
    flatters = "" if split == "test" else ", which flatters whatever was trained"
    if folds > 1:
        split = f"{folds}-fold cross-validation over train and dev"
    return (
        f"Questions: {n_questions} ({split}); seeds: {seeds}. The epoch, 0 for none, is chosen on "
        f"dev{flatters}. In square brackets: the 95% interval (bootstrap over questions). In round "
        "ones: the published number and the difference to it; next to p (paired randomisation, by "
        "Holm over the arms) the smallest difference that could have been detected."
    )


def _cells(score: ArmScore, known: float | None) -> tuple[str, str]:
    """An arm's mean in one metric, with the published number; and its difference."""
    mean = f"{score.mean:.3f} [{score.interval[0]:.3f}, {score.interval[1]:.3f}]"
    if known is not None:
        mean += f" ({known:.3f}, {score.mean - known:+.3f})"
    if (own := score.against) is None:
        return mean, NONE
    (low, high), p = own.interval, f"{score.p:.4f}"
    least = NONE if own.detectable is None else f"{own.detectable:.3f}"
    return mean, f"{own.difference:+.3f} [{low:+.3f}, {high:+.3f}], p {p} ({least})"


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
    """The epochs at which an arm's runs were measured on dev, and its mean there over questions."""
    measured: dict[float, list[tuple[float, int]]] = {}
    for line in lines:
        for epoch in line["epochs"]:
            if metric in (dev := epoch.get("dev", {})):
                point = (dev[metric], len(line["questions"]))
                measured.setdefault(epoch["epoch"], []).append(point)
    return [
        (epoch, sum(value * n for value, n in own) / sum(n for _, n in own))
        for epoch, own in sorted(measured.items())
    ]


def _draw_by(
    stem: Path,
    lines: Lines,
    table: Mapping[str, Any],
    scores: Mapping[str, Sequence[ArmScore]],
) -> None:
    """Draw a table's first metric by epoch, or by a setting."""
    by, metric = table["by"], next(iter(scores))
    figure = stem.with_name(f"{stem.name}-{by}")
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
    output = Path(settings.output)
    results = Results(Path(settings.results or output / "results.jsonl"))
    datasets = runs_of(settings)
    output.mkdir(parents=True, exist_ok=True)
    runs = [run for of_dataset in datasets.values() for run in of_dataset]
    deadline = None if settings.budget_s is None else time.monotonic() + settings.budget_s
    make = partial(perform, output / "models")
    make_missing(runs, results, make, output / "work", deadline)
    for name, of_dataset in datasets.items():
        text = page(name, of_dataset, results, settings)
        (output / f"{name}.md").write_text(text, encoding="utf-8")
        print(text)  # noqa: T201


if __name__ == "__main__":
    sys.exit(main())
