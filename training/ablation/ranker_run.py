"""Runs of a grid of rankers: what their first stage finds once, then arm by arm."""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
from numpy.typing import NDArray

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker
from components.models.devices import resolve_device, resolve_dtype
from components.models.tower import no_progress_bars
from training.ablation.arms import FIRST_STAGE
from training.ablation.dataset import Split
from training.ablation.measuring import Measured, unseen, values_of
from training.ablation.metrics import RANKER_METRICS, RE_RANKED_METRICS, WITH_FIRST_STAGE
from training.ablation.run import PLACES, Run, found, rounded, surroundings
from training.as_begun import compute_as_begun
from training.data import TrainingData
from training.hf_trainer.checkpoints import claim
from training.ranking.examples import Passages
from training.ranking.first_stage import Candidates, FirstStage, open_network
from training.ranking.fusion_weight import FusionWeight
from training.ranking.measuring import DevLists
from training.ranking.preparing import (
    FirstStageSetup,
    candidate_lists,
    fixed_by,
    open_ranker,
    passages_read,
    prepare_on,
)
from training.ranking.quiet import quiet_warnings
from training.ranking.records import best_record
from training.ranking.settings import RankerTrainingSettings
from training.ranking.training_run import train_ranker
from training.ranking.watch import LOGITS_FILE, MODEL_FOLDER, best_folder

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
        setup: First stage, what it finds, what is read.
        dev: The lists that choose, of `dev_candidates`.
        measured: The lists that are measured, of all candidates; dev's own where they are the same.
    """

    setup: FirstStageSetup
    dev: DevLists
    measured: DevLists

    @property
    def is_on_dev(self) -> bool:
        """Whether the questions that choose are measured too."""
        return self.measured.questions == self.dev.questions

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
        return cls._on(settings, split, biencoder, stage, passages)

    def kept_in(
        self, work: Path, settings: RankerTrainingSettings, split: Split
    ) -> SharedOnDataset:
        """The same with what was found when the run began, see `FirstStage.kept_in`."""
        setup = self.setup
        stage = setup.stage.kept_in(work)
        if np.array_equal(stage.dev.found, setup.stage.dev.found):
            return replace(self, setup=replace(setup, stage=stage))
        return self._on(settings, split, setup.biencoder, stage, setup.passages)

    @classmethod
    def _on(
        cls,
        settings: RankerTrainingSettings,
        split: Split,
        biencoder: BiEncoder,
        stage: FirstStage,
        passages: Passages,
    ) -> SharedOnDataset:
        data = split.data
        asked = stage.dev.questions

        def lists(rows: slice, depth: int) -> DevLists:
            own = Candidates(asked[rows], stage.dev.vectors[rows], stage.dev.found[rows])
            return candidate_lists(data, own, depth, passages)

        of_dev = slice(len(data.dev))
        of_measured = slice(len(data.dev), None) if split.test else of_dev
        dev = measured = lists(of_dev, settings.re_ranked)
        if split.test or settings.re_ranked < settings.candidates:
            measured = lists(of_measured, settings.candidates)
        return cls(FirstStageSetup(biencoder, stage, passages, dev), dev, measured)


@dataclass(frozen=True)
class Order:
    """How the candidates of the measured questions are ranked, and how that came to be.

    Attributes:
        re_ranked: Ids by question, best first.
        fused: The same with the first stage's ranks.
        weight: What these count beside the ranker's; None for the first stage itself.
        records: By epoch, see `training.ranking.records.make_records`; none of an untrained one.
        mined: How many examples and negatives there were.
        epoch: Of the weights, 0 for an untrained one.
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
        measured: Logits,
        **about: Any,
    ) -> Order:
        """By logits, fused with the weight that is best on dev; of dev itself, each question with
        the weight that is best on four fifths of the others.

        Args:
            settings: Of the run.
            shared: The lists.
            dev: Of dev's lists, float32 `[n_dev, depth]`.
            measured: Of those that are measured, float32 `[n_measured, depth]`.
            about: The other attributes.
        """
        weight = FusionWeight.choose(shared.dev, dev, settings.select_by)
        lists = shared.measured
        n_measured = len(lists.questions)
        weights = weight.of_others if shared.is_on_dev else [weight.chosen] * n_measured
        by_weight = {each: lists.re_ranked(measured, each) for each in set(weights)}
        fused = [by_weight[each][row] for row, each in enumerate(weights)]
        return cls(lists.re_ranked(measured), fused, weight.chosen, **about)


class RankerRuns:
    """Makes the runs of a grid. A law is searched once, not once a run.

    All runs on a dataset have the same first stage, start and passages.
    """

    def __init__(self) -> None:
        quiet_warnings()
        self._shared: tuple[str, SharedOnDataset] | None = None

    @no_progress_bars()
    def perform(self, run: Run, work: Path) -> dict[str, Any]:
        """Train, or go on in the work folder; measure; the run's line.

        Its seconds are those of the process that ended it; the search of the law counts as the
        first stage's.

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
                dev = measured = _logits(ranker, shared.dev)
                if shared.measured is not shared.dev:
                    measured = _logits(ranker, shared.measured)
                order = Order.of(settings, shared, dev, measured)
        depth = settings.candidates
        values = values_of(split.measured, order.re_ranked, RE_RANKED_METRICS, depth)
        with_first = values_of(split.measured, order.fused, _FUSED, depth)
        values |= {WITH_FIRST_STAGE + metric: own for metric, own in with_first.items()}
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
            "ceiling": _ceiling(shared.measured, settings),
            **found(run, Measured(values, unseen(split.data, split.measured))),
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
    """Train, or go on in the work folder; what the weights that are best on dev make of it."""
    data = split.data
    compute_as_begun(work)
    claim(work, fixed_by(settings, data))
    shared = shared.kept_in(work, settings, split)
    setup = shared.setup
    prepared = prepare_on(setup, settings, data, open_ranker(settings, setup.biencoder))
    records = train_ranker(settings, prepared, work)
    best = best_folder(work, records, settings.select_by)
    record = best_record(records, settings.select_by)
    assert best is not None and record is not None
    dev: Logits = np.load(best / LOGITS_FILE, allow_pickle=False)
    measured = dev
    if shared.measured is not shared.dev:
        weights = open_ranker(settings, setup.biencoder, best / MODEL_FOLDER)
        measured = _logits(weights, shared.measured)
    return Order.of(
        *(settings, shared, dev, measured),
        records=records,
        mined=prepared.mined,
        epoch=record["epoch"],
    )


def _logits(ranker: CrossEncoderRanker, lists: DevLists) -> Logits:
    return lists.logits(lambda pairs: ranker.logits(pairs).numpy())


def _ceiling(lists: DevLists, settings: RankerTrainingSettings) -> dict[str, float]:
    """What no order of the candidates can be better than."""
    names = [f"{metric}@{settings.candidates}" for metric in ("R", "Exist")]
    values = values_of(lists.questions, lists.found, names, settings.candidates)
    return {name: round(fmean(own), PLACES) for name, own in values.items()}
