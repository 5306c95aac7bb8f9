"""The systems that a grid can compare: CuSINeS, networks over the tree, and rankers."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import Field, dataclass, field, replace
from functools import cached_property
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from accelerate import Accelerator
from numpy.typing import NDArray

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device, resolve_dtype
from components.models.learned_fusion import FUSED_FROM
from components.models.similarity import Similarity
from components.models.weights import no_progress_bars
from components.statutes.fusion import fuse_ranks
from components.statutes.question import Question
from training import cusines, graph
from training.ablation.arms import (
    CUSINES_ARMS,
    DENSE_METRICS,
    FIRST_STAGE,
    FUSED,
    GRAPH_ARMS,
    RANKER_ARMS,
    RANKER_METRICS,
    RE_RANKED_METRICS,
    UNTRAINED,
    WITH_FIRST_STAGE,
    Arms,
    Dataset,
    MeasuredOn,
    Split,
    TrainingSettings,
)
from training.ablation.report import LEARNERS, RANKERS, Report
from training.bm25_table import Ranking
from training.candidates import (
    Candidates,
    DevLists,
    FirstStage,
    FusionWeight,
    best_record,
    open_network,
    stage_digest,
)
from training.checkpoint import RunState, compute_as_begun, open_work_folder
from training.data import TrainingData, evaluated, unseen
from training.loop import Learner, Vectors, fit, take_device
from training.ranker import (
    LOGITS_FILE,
    MODEL_FOLDER,
    FirstStageSetup,
    best_folder,
    candidate_lists,
    fixed_by,
    open_ranker,
    passages_read,
    prepare_on,
    quiet_warnings,
    reading_of,
    starting_digest,
    starting_folder,
    train_ranker,
)
from training.records import environment
from training.settings import (
    CusinesSettings,
    GraphSettings,
    RankerTrainingSettings,
    RunSettings,
)
from training.starting_model import starting_digests

DEPTH = 1_000
_FUSED_DEPTH = 10

Perform = Callable[["Run", Path, float | None], dict[str, Any]]
"""Makes a run in a work folder, or stops at a deadline (`time.monotonic`); returns its line."""

# Paths, and what a run's key holds otherwise (digests, the seed).
_NOT_IN_KEY = {
    *("corpus", "questions", "output", "model", "query_model", "passage_model", "run_file"),
    *("seed", "dev_share", "final", "checkpoint_every", "device", "start"),
    "vectors",
}


@dataclass(frozen=True)
class System:
    """One kind of training, as grids use it.

    Attributes:
        name: Name of its command.
        settings: Of one run.
        arms: What is compared.
        report: What its tables show.
        digests: Digests of the models that training starts from.
        performer: Opens what makes runs of these settings, one after the other.
        untrained: The arms that are not trained, and the settings that matter for each.
        decided: Settings that the grid decides for this system, besides those that it decides for
            every system.
    """

    name: str
    settings: type[TrainingSettings]
    arms: Arms
    report: Report
    digests: Callable[[Any], dict[str, str]]
    performer: Callable[[Any], Perform]
    untrained: Mapping[str, frozenset[str]]
    decided: frozenset[str] = frozenset()

    def fields(self, arm: str) -> list[Field[Any]]:
        """The settings that an arm's result depends on, except paths."""
        matter = self.untrained.get(arm)
        return [
            field
            for field in dataclasses.fields(self.settings)
            if field.name not in _NOT_IN_KEY and (matter is None or field.name in matter)
        ]

    def defaults(self, arm: str) -> Mapping[str, Any]:
        """Their defaults, as JSON has them."""
        values = {field.name: field.default for field in self.fields(arm)}
        return {n: list(v) if isinstance(v, tuple) else v for n, v in values.items()}


def _ranker_digests(settings: RankerTrainingSettings) -> dict[str, str]:
    digests = {
        "model_sha256": stage_digest(settings.model),
        "start_sha256": starting_digest(starting_folder(settings.start)),
    }
    # Only where the starting model decides it: earlier lines have no such field.
    if not settings.segmentation and (words := reading_of(settings).segmentation):
        digests["start_segmentation"] = words
    return digests


CUSINES = System(
    "cusines",
    CusinesSettings,
    CUSINES_ARMS,
    LEARNERS,
    starting_digests,
    lambda settings: learner_runs(settings, cusines.BiEncoderLearner),
    {
        UNTRAINED: frozenset(
            {
                *("pooling", "max_tokens", "head", "passage_tokens", "max_passages"),
                *("head_pooling", "text_rule", "segmentation", "bm25_k1", "bm25_b", "dtype"),
            }
        )
    },
)
GRAPH = System(
    "graph",
    GraphSettings,
    GRAPH_ARMS,
    LEARNERS,
    graph.starting_digests,
    lambda settings: learner_runs(settings, graph.GraphLearner),
    {UNTRAINED: frozenset({"text_rule", "bm25_k1", "bm25_b"})},
    frozenset({"network", "neighbours", "citations", "schedule", "buckets", "candidates"}),
)
_LISTS = frozenset({"candidates", "dev_candidates", "dtype"})
RANKER = System(
    "ranker",
    RankerTrainingSettings,
    RANKER_ARMS,
    RANKERS,
    _ranker_digests,
    lambda _: _ranker_runs(),
    {
        FIRST_STAGE: _LISTS,
        # select_by chooses only the weight of the first stage's rank.
        UNTRAINED: _LISTS | {"passages", "passage_tokens", "segmentation", "select_by"},
    },
    frozenset({"strategy", "negatives"}),
)
SYSTEMS = {system.name: system for system in (CUSINES, GRAPH, RANKER)}

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
    system = SYSTEMS[line["system"]] if "system" in line else CUSINES
    identity = {name: line[name] for name in _IDENTITY}
    defaults = system.defaults(line["arm"])
    values = identity["settings"] = {**defaults, **line["settings"]}
    for name, default in _REMOVED_SETTINGS.items():
        if values.get(name) == default:
            values.pop(name, None)
    if system is not CUSINES:
        identity["system"] = system.name
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]


PLACES = 4


@dataclass(frozen=True)
class Run:
    """An arm on a fold of a dataset, with a seed.

    Attributes:
        system: What is trained.
        arm: Its name.
        dataset: The law and all its questions.
        settings: Settings of the training.
        starting_digests: Digests of the models that training starts from.
        fold: Which part of the questions it is measured on, from 0.
        folds: How many parts there are; 1 for the given splits.
        measured_on: The split that is measured, dev or test.
    """

    system: System
    arm: str
    dataset: Dataset
    settings: TrainingSettings
    starting_digests: Mapping[str, str]
    fold: int
    folds: int
    measured_on: MeasuredOn = "dev"

    @property
    def trained(self) -> bool:
        """False for the untrained model."""
        return self.arm not in self.system.untrained

    @cached_property
    def split(self) -> Split:
        """The questions to learn from and to measure on."""
        if self.measured_on == "test":
            return self.dataset.test_split
        return self.dataset.split(self.folds, self.fold, seed=self.settings.seed)

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
            **self.dataset.given.digests(),
            "split_sha256": self.split.sha256,
            "start": dict(self.starting_digests),
            "settings": {field.name: values[field.name] for field in self.system.fields(self.arm)},
        }

    @cached_property
    def key(self) -> str:
        """Identifies the run on every machine."""
        return key_of(self.about)

    def __str__(self) -> str:
        fold = f", fold {self.fold + 1} of {self.folds}" if self.folds > 1 else ""
        return f"{self.dataset.name}, seed {self.settings.seed}{fold}: {self.arm}"


Values = dict[str, list[float]]
"""Metric to its values, `[n_questions]` each."""


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
        fuse_ranks([words.tolist(), meaning[:FUSED_FROM]])[:_FUSED_DEPTH]
        for words, meaning in zip(lexical, dense, strict=True)
    ]
    ids = data.corpus.ids
    by_vector, by_both = ([[ids[p] for p in row] for row in rows] for rows in (dense, fused))
    values = values_of(data.dev, by_vector, DENSE_METRICS, DEPTH)
    values[FUSED] = values_of(data.dev, by_both, ("R@10",), _FUSED_DEPTH)["R@10"]
    return values


def values_of(
    asked: Sequence[Question], found: Sequence[Sequence[str]], metrics: Sequence[str], depth: int
) -> Values:
    """As `training.data.evaluated`, but one list of values per metric."""
    by_metric = evaluated(asked, found, metrics, depth)
    return {metric: list(of_question.values()) for metric, of_question in by_metric.items()}


def learner_runs(settings: RunSettings, make_learner: Callable[..., Learner]) -> Perform:
    """Makes a performer for runs of `training.cusines` and `training.graph`.

    Args:
        settings: Of any of the runs; only the device counts.
        make_learner: Opens the learner that is trained.
    """
    accelerator = Accelerator(cpu=take_device(settings.device).type == "cpu")
    return lambda run, work, deadline: perform(run, accelerator, make_learner, work, deadline)


def perform(
    run: Run,
    accelerator: Accelerator,
    make_learner: Callable[..., Learner],
    work: Path,
    deadline: float | None = None,
) -> dict[str, Any]:
    """Train, or resume in the work folder; measure; return the run's line.

    Raises:
        SettingsError: A setting does not fit the data, or the work folder.
        TrainingError: A loss or weight is not finite.
    """
    started = time.perf_counter()
    data, settings = run.split.data, run.settings
    assert isinstance(settings, RunSettings)
    if run.trained:
        work.mkdir(parents=True, exist_ok=True)
        learner, state = fit(settings, data, accelerator, work, make_learner, deadline=deadline)
    else:
        learner, state = make_learner(settings, data, accelerator), RunState()
    measuring = time.perf_counter()
    rankings = run.dataset.lexical(
        k1=settings.bm25_k1, b=settings.bm25_b, text_rule=settings.text_rule
    )
    vectors = learner.encode()
    lexical = [rankings[row] for row in run.split.rows]
    values = measure(vectors, data, lexical, settings.similarity)

    def total(name: str) -> Any:
        return sum(record.get(name, 0) for record in state.records)

    seconds = {
        "training": total("seconds_training"),
        "encoding": total("seconds_encoding"),
        "drawing": total("seconds_measuring_and_drawing"),
        "measuring": time.perf_counter() - measuring,
    }
    # A resumed run took longer than this process has measured.
    seconds["total"] = max(sum(seconds.values()), time.perf_counter() - started)
    encoded, listed = total("articles_encoded"), total("articles_listed")
    return {
        "key": run.key,
        **run.about,
        "environment": surroundings(learner.fixed["dtype"], accelerator.device.type),
        "n_train": len(data.train),
        "n_pairs": len(data.pairs),
        "steps": state.step,
        "articles_encoded": encoded,
        "articles_listed": listed,
        "passes_saved": round(1 - encoded / listed, PLACES) if listed else 0,
        "seconds": rounded(seconds, 1),
        "epoch": state.best["epoch"] if state.best else 0,
        "epochs": [_epoch(record) for record in state.records],
        **found(run, values),
    }


def rounded(value: Any, places: int) -> Any:
    """Round all floats in a JSON value; integral ones become integers."""
    if isinstance(value, Mapping):
        return {name: rounded(each, places) for name, each in value.items()}
    if isinstance(value, list | tuple):
        return [rounded(each, places) for each in value]
    if isinstance(value, float):
        near = round(value, places)
        return int(near) if near.is_integer() else near
    return value


def found(run: Run, values: Values) -> dict[str, Any]:
    """The result as it stands in a run's line."""
    rows = list(run.split.rows)
    return {
        "means": rounded({metric: fmean(each) for metric, each in values.items()}, PLACES),
        # Positions among the questions, split by split in the file's order: ids would be longer.
        "questions": rows,
        "unseen": [rows[row] for row in unseen(run.split.data.train, run.split.measured)],
        "values": rounded(values, PLACES),
    }


def surroundings(dtype: str, device: str) -> dict[str, Any]:
    """The machine and versions that made a run, and its number format."""
    return {
        **environment(device),
        "runs_on": device,
        "dtype": dtype,
        "threads": torch.get_num_threads(),
    }


def _epoch(record: Mapping[str, Any]) -> dict[str, Any]:
    """What the results keep of an epoch: dev metrics before it, its loss and its negatives."""
    names = ("epoch", "loss", "own_mass", "negatives")
    kept = {name: record[name] for name in names if record.get(name) is not None}
    if "dev" in record:
        kept["dev"] = {metric: record["dev"][metric] for metric in DENSE_METRICS}
    return rounded(kept, PLACES)  # type: ignore[no-any-return]


# Runs of a grid of rankers: the first stage searches once, then each arm trains.


_FUSED = tuple(
    name.removeprefix(WITH_FIRST_STAGE)
    for name in RANKER_METRICS
    if name.startswith(WITH_FIRST_STAGE)
)
Logits = NDArray[np.float32]
_RECORDED = ("step", "epoch", "loss", "first_stage", "dev", "negatives")
Ids = Sequence[Sequence[str]]


@dataclass(frozen=True)
class SharedOnDataset:
    """What all runs on a dataset share.

    Attributes:
        setup: The first stage, what it finds, and what is read; its dev lists choose.
        measured: The lists that are measured, with all candidates; dev's own where they are the
            same.
    """

    setup: FirstStageSetup
    measured: DevLists

    @property
    def dev(self) -> DevLists:
        """The dev lists that choose the epoch, of `dev_candidates` each."""
        assert self.setup.dev is not None
        return self.setup.dev

    @classmethod
    def of(cls, settings: RankerTrainingSettings, split: Split) -> SharedOnDataset:
        """Search the law.

        Raises:
            ModelError: A model cannot be opened.
        """
        data = split.data
        biencoder = BiEncoder.load(settings.model, device=settings.device, dtype=settings.dtype)
        # Dev and test in one search, so that the law is encoded once.
        asked = [*data.dev, *split.test]
        both = TrainingData(data.corpus, data.train, asked, data.questions_sha256)
        network = open_network(settings.model, settings.device)
        stage = FirstStage.search(biencoder, both, settings.candidates, network)
        passages = passages_read(data, biencoder, open_ranker(settings, biencoder))
        return cls._on(settings, split, FirstStageSetup(biencoder, stage, passages, None))

    def kept_in(
        self, work: Path, settings: RankerTrainingSettings, split: Split
    ) -> SharedOnDataset:
        """The same with the candidates found when the run began, see `FirstStage.kept_in`."""
        stage = self.setup.stage.kept_in(work)
        setup = replace(self.setup, stage=stage)
        if np.array_equal(stage.dev.found, self.setup.stage.dev.found):
            return replace(self, setup=setup)
        return self._on(settings, split, setup)

    @classmethod
    def _on(
        cls, settings: RankerTrainingSettings, split: Split, setup: FirstStageSetup
    ) -> SharedOnDataset:
        data, found = split.data, setup.stage.dev

        def lists(rows: slice, depth: int) -> DevLists:
            own = Candidates(found.questions[rows], found.vectors[rows], found.found[rows])
            return candidate_lists(data, own, depth, setup.passages)

        of_dev = slice(len(data.dev))
        dev = measured = lists(of_dev, settings.re_ranked)
        if split.test or settings.re_ranked < settings.candidates:
            of_measured = slice(len(data.dev), None) if split.test else of_dev
            measured = lists(of_measured, settings.candidates)
        return cls(replace(setup, dev=dev), measured)


@dataclass(frozen=True)
class Order:
    """How the candidates of the measured questions are ranked, and how that was chosen.

    Attributes:
        re_ranked: Ids by question, best first.
        fused: The same, fused with the first stage's ranks.
        weight: Weight of these ranks; None for the first stage itself.
        records: By epoch, see `training.candidates.make_records`; empty if untrained.
        mined: How many examples and negatives there were.
        epoch: Epoch of the weights, 0 if untrained.
    """

    re_ranked: Ids
    fused: Ids
    weight: float | None = None
    records: Sequence[Mapping[str, Any]] = ()
    mined: Mapping[str, int] = field(default_factory=dict)
    epoch: float = 0

    @classmethod
    def of(
        cls,
        settings: RankerTrainingSettings,
        shared: SharedOnDataset,
        dev: Logits,
        open_weights: Callable[[], CrossEncoderRanker],
        **about: Any,
    ) -> Order:
        """Rank by logits, fused with the weight that is best on dev.

        On dev itself, each question gets the weight that is best on the other four fifths.

        Args:
            settings: Of the run.
            shared: The lists.
            dev: Logits of the dev lists, float32 `[n_dev, depth]`.
            open_weights: Opens the ranker; called if other lists than dev's are measured.
            about: The other attributes.
        """
        weight = FusionWeight.choose(shared.dev, dev, settings.select_by)
        lists = shared.measured
        logits = dev if lists is shared.dev else lists.logits(open_weights().logits)
        on_dev = lists.questions == shared.dev.questions
        weights = weight.of_others if on_dev else [weight.chosen] * len(lists.questions)
        by_weight = {each: lists.re_ranked(logits, each) for each in set(weights)}
        fused = [by_weight[each][row] for row, each in enumerate(weights)]
        return cls(lists.re_ranked(logits), fused, weight.chosen, **about)


class RankerRuns:
    """Makes the runs of a grid. A law is searched once, not once per run.

    All runs on a dataset have the same first stage, starting model and passages.
    """

    def __init__(self) -> None:
        quiet_warnings()
        self._shared: tuple[str, SharedOnDataset] | None = None

    @no_progress_bars()
    def perform(self, run: Run, work: Path, deadline: float | None = None) -> dict[str, Any]:  # noqa: ARG002
        """Train, or resume in the work folder; measure; return the run's line.

        A run that has begun is made to its end, whatever the deadline.

        The seconds are those of the process that finished it; searching the law counts for the
        first stage.

        Raises:
            SettingsError: A setting does not fit the data, or the work folder.
            ModelError: A model cannot be opened.
            TrainingError: A loss is not finite.
        """
        started = time.perf_counter()
        settings, split = run.settings, run.split
        assert isinstance(settings, RankerTrainingSettings)
        shared = self._shared_for(run, settings)
        if run.arm == FIRST_STAGE:
            order = Order(shared.measured.found, shared.measured.found)
        else:
            started = time.perf_counter()
            if run.trained:
                order = _trained(settings, split, shared, work)
            else:
                ranker = open_ranker(settings, shared.setup.biencoder)
                logits = shared.dev.logits(ranker.logits)
                order = Order.of(settings, shared, logits, lambda: ranker)
        depth = settings.candidates
        values = values_of(split.measured, order.re_ranked, RE_RANKED_METRICS, depth)
        with_first = values_of(split.measured, order.fused, _FUSED, depth)
        values |= {WITH_FIRST_STAGE + metric: own for metric, own in with_first.items()}
        # The ceiling: no order of the candidates can be better.
        ceiling = values_of(
            split.measured, shared.measured.found, (f"R@{depth}", f"Exist@{depth}"), depth
        )
        device = resolve_device(settings.device)
        dtype = str(resolve_dtype(settings.dtype, device)).removeprefix("torch.")
        epochs = [{n: each[n] for n in _RECORDED if n in each} for each in order.records]
        return {
            "key": run.key,
            **run.about,
            "measured_on": run.measured_on,
            "environment": surroundings(dtype, device.type),
            "n_train": len(split.data.train),
            "mined": dict(order.mined),
            "steps": epochs[-1]["step"] if epochs else 0,
            "seconds": {"total": rounded(time.perf_counter() - started, 1)},
            "epoch": order.epoch,
            "epochs": rounded(epochs, PLACES),
            "fusion_weight": order.weight,
            "ceiling": {name: round(fmean(own), PLACES) for name, own in ceiling.items()},
            **found(run, values),
        }

    def _shared_for(self, run: Run, settings: RankerTrainingSettings) -> SharedOnDataset:
        place = run.dataset.place
        if self._shared is None or self._shared[0] != place:
            self._shared = None  # two laws at once may not fit
            self._shared = (place, SharedOnDataset.of(settings, run.split))
        return self._shared[1]


def _trained(
    settings: RankerTrainingSettings, split: Split, shared: SharedOnDataset, work: Path
) -> Order:
    """Train, or resume in the work folder; return the order by the weights that are best on dev."""
    data = split.data
    compute_as_begun(work)
    open_work_folder(work, fixed_by(settings, data))
    shared = shared.kept_in(work, settings, split)
    setup = shared.setup
    prepared = prepare_on(setup, settings, data, open_ranker(settings, setup.biencoder))
    records = train_ranker(settings, prepared, work)
    best = best_folder(work, records, settings.select_by)
    record = best_record(records, settings.select_by)
    assert best is not None and record is not None
    return Order.of(
        settings,
        shared,
        np.load(best / LOGITS_FILE, allow_pickle=False),
        lambda: open_ranker(settings, setup.biencoder, best / MODEL_FOLDER),
        records=records,
        mined=prepared.mined,
        epoch=record["epoch"],
    )


def _ranker_runs() -> Perform:
    return RankerRuns().perform
