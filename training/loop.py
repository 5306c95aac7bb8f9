"""The training loop of bi-encoders and graph networks."""

from __future__ import annotations

import math
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from contextlib import nullcontext
from functools import partial
from pathlib import Path
from statistics import fmean
from typing import Any, TypeVar

import numpy as np
import torch
from accelerate import Accelerator
from accelerate.utils import broadcast_object_list
from torch import Tensor, nn
from tqdm import tqdm

from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device
from components.models.folder import Similarity, check_target
from components.statutes.question import Question
from training.checkpoint import (
    METRICS_FILE,
    Resuming,
    RunState,
    after_no_memory,
    after_no_number,
    compute_as_begun,
    environment,
    finish_output,
    is_already_made,
    only_process,
    own_mass_warning,
    work_folder_of,
    write_metrics,
)
from training.command_line import OutOfTimeError, SettingsError, TrainingError, say
from training.data import (
    TrainingData,
    epoch_order,
    evaluated,
    first_steps,
    say_where_dev_is_learnt,
)
from training.fusion import DevWeight
from training.negatives.sampling import CurriculumNegatives, statistics
from training.objective import (
    LOSSES,
    Batch,
    Optimizer,
    StepLoss,
    Vectors,
    make_batch,
    sum_gradients,
)
from training.plots import plot_run
from training.settings import DEV_DEPTH, CusinesSettings, RunSettings


def from_main(accelerator: Accelerator, value: Any) -> Any:
    """The main process's value, in every process."""
    return value if accelerator.num_processes == 1 else broadcast_object_list([value])[0]


def take_device(name: str | None) -> torch.device:
    """The named device, see `resolve_device`; Accelerate then uses it among several cards.

    Raises:
        ModelError: As in `resolve_device`.
    """
    device = resolve_device(name)
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device


METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (1, 5, 10, 20, 50, 100, 200, 500)),
    "MAP",
    "MAP@10",
    "R-precision",
    "MRR@10",
    "nDCG@10",
    "Exist@1",
)


def validate(
    questions: Sequence[Question],
    vectors: Tensor,
    articles: Tensor,
    article_ids: Sequence[str],
    select_by: str,
    similarity: Similarity = "cosine",
) -> dict[str, float]:
    """Search for every question among the articles exactly, and measure what is found.

    Args:
        questions: `n_questions` of them.
        vectors: float32 `[n_questions, dim]`.
        articles: float32 `[n_articles, dim]`.
        article_ids: Ids by position.
        select_by: A metric that is measured besides `METRICS`.
        similarity: Of the model.

    Returns:
        Each metric's mean over the questions.
    """
    index = DenseIndex(articles.cpu().numpy(), str(articles.device), similarity)
    _, found = index.search(vectors.cpu().numpy(), DEV_DEPTH)
    ids = ([article_ids[position] for position in row] for row in found.tolist())
    by_metric = evaluated(questions, ids, list(dict.fromkeys((*METRICS, select_by))), DEV_DEPTH)
    return {metric: fmean(by_id.values()) for metric, by_id in by_metric.items()}


class Learner(ABC):
    """A model in training: it makes vectors of articles and questions, and learns from batches.

    Attributes:
        model: The model, trained in place.
        articles: Vectors that the articles keep, `[n_articles, dim]`; None where they are trained.
    """

    model: nn.Module
    articles: Tensor | None = None

    @property
    @abstractmethod
    def fixed(self) -> Mapping[str, Any]:
        """What must be the same when a run is resumed, besides settings and data."""

    @abstractmethod
    def optimizer(self, total_steps: int) -> Optimizer:
        """A fresh optimizer of the trained parameters, for a run of so many steps."""

    @abstractmethod
    def encode(self, *, train: bool) -> Vectors:
        """Vectors of everything under the current weights.

        Args:
            train: Whether the training questions' are needed.
        """

    @abstractmethod
    def loss_and_gradient(self, batch: Batch) -> StepLoss:
        """The loss of a batch, and its gradient in the parameters, which hold none before."""

    @abstractmethod
    def save(
        self, output: Path, data: TrainingData, metrics: Mapping[str, Any], *, dense_weight: float
    ) -> None:
        """Write the complete model folder.

        Args:
            output: The folder.
            data: What the model learnt from.
            metrics: Of the end, for the manifest.
            dense_weight: As in `Manifest`.
        """

    def changes(self) -> dict[str, float]:
        """How far parts that began as an identity have moved; an identity has learnt nothing."""
        return {}

    def train_mode(self) -> None:
        """Switch to training mode: dropout is on."""
        self.model.train()

    def state(self) -> dict[str, Any]:
        """The learner's own state besides the weights, as JSON can hold it."""
        return {}

    def restore(self, state: Mapping[str, Any]) -> None:  # noqa: B027
        """Restore what `state` returned; most learners have nothing to restore."""


class TrainingLoop:
    """Trains a model on (question, positive) pairs with negatives that grow harder.

    Between two epochs it encodes the law under the current weights, measures them on dev, draws the
    next epoch's negatives and writes a checkpoint. One encoding serves the dynamic view and the
    measurement. An epoch is every pair once, in batches.

    Args:
        settings: Of the run.
        data: What to learn from and to choose by.
        negatives: Draws the negatives of `data.train`.
        learner: The model; it is trained in place.
        accelerator: Device and processes.
        work: Folder of the checkpoints.
        dev_weight: Chooses the best model's weight in a fusion; without it none is chosen.
        stop_after: Epoch to stop after, before the settings' last one; learning rate and curriculum
            run as if it did not stop.
        deadline: When to stop (`time.monotonic`), with a checkpoint after the step that passes it.
    """

    def __init__(
        self,
        settings: RunSettings,
        data: TrainingData,
        negatives: CurriculumNegatives,
        learner: Learner,
        accelerator: Accelerator,
        work: Path,
        *,
        dev_weight: DevWeight | None = None,
        stop_after: int | None = None,
        deadline: float | None = None,
    ) -> None:
        self._deadline = deadline
        self._settings = settings
        self._dev_weight = dev_weight
        self._data = data
        self._negatives = negatives
        self._learner = learner
        self._whole_law = settings.compares_whole_law
        self._accelerator = accelerator
        self._work = work
        self._epoch_steps = -(-len(data.pairs) // settings.batch_size)  # the last may be short
        self._steps = settings.total_steps(self._epoch_steps)
        epochs = -(-self._steps // self._epoch_steps)  # max_steps may cut the last one short
        self._last_epoch = epochs if stop_after is None else min(stop_after, epochs)
        self._optimizer = learner.optimizer(self._steps)
        fixed = {
            **settings.to_dict(),
            **learner.fixed,
            **data.digests(),
            # The kind of device, not its index: cards of one kind compute alike.
            "device": accelerator.device.type,
            "threads": torch.get_num_threads(),
            "processes": accelerator.num_processes,
        }
        self._resuming = Resuming(work, fixed, self._optimizer)
        self._state = RunState()

    def run(self) -> RunState:
        """Train to the end, from the newest checkpoint if there is one, and keep the best weights.

        Returns:
            The state at the end. The model holds the best weights, or with nothing to choose by
            the last.

        Raises:
            SettingsError: The checkpoint belongs to another run.
            TrainingError: A loss, a weight or a vector is not finite, or memory ran out.
            OutOfTimeError: The deadline has passed.
        """
        try:
            self._run()
        except torch.OutOfMemoryError as error:
            remedy = "gradient_caching true, a smaller token_budget or a smaller batch_size"
            raise TrainingError(after_no_memory(self._state.step, remedy, self._work)) from error
        # The first process to continue removes the folder.
        self._accelerator.wait_for_everyone()
        self._learner.model.eval()
        return self._state

    def _run(self) -> None:
        if (newest := self._resuming.newest()) is not None:
            self._state = newest
            self._learner.restore(newest.learner)
            if self._state.step:
                say(f"Resuming from step {self._state.step:,} of {self._steps:,}")
        if not self._state.drawn and not self._state.finished:
            self._between_epochs()
        while not self._state.finished:
            self._stop_if_late()
            self._epoch()
            self._state.next_epoch()
            self._between_epochs()
        if self._state.best is not None:
            self._resuming.load_best(self._state)

    def _between_epochs(self) -> None:
        """Encode, measure, draw and save: everything that needs the current weights."""
        state = self._state
        started = time.perf_counter()
        due = state.epoch < self._last_epoch and state.epoch not in state.drawn
        measured = bool(self._data.dev) and (
            state.epoch % self._settings.measure_every == 0 or state.epoch >= self._last_epoch
        )
        vectors = None
        if measured or (due and self._negatives.needs_vectors):
            vectors = self._learner.encode(train=due and self._negatives.needs_vectors)
            if not vectors.are_finite():  # finite weights may have products that are not
                raise TrainingError(
                    f"after step {state.step}: vectors are NaN. {after_no_number(self._work)}"
                )
        encoded = time.perf_counter()
        record: dict[str, Any] = {
            "epoch": state.epoch,
            "step": state.step,
            "seconds_encoding": encoded - started,
            **self._learner.changes(),
        }
        if vectors is not None and measured:
            record |= self._measure(vectors)
        state.finished = state.epoch >= self._last_epoch
        if not state.finished and due:
            self._draw(vectors)
        if not state.finished:
            record["negatives"] = state.described.pop(str(state.epoch))
        record["seconds_measuring_and_drawing"] = time.perf_counter() - encoded
        state.records.append(record)
        self._save()
        if self._accelerator.is_main_process:
            write_metrics(self._work / METRICS_FILE, state.records)

    def _measure(self, vectors: Vectors) -> dict[str, Any]:
        state, data, metric = self._state, self._data, self._settings.select_by
        dev = validate(
            *(data.dev, vectors.dev, vectors.articles, data.corpus.ids, metric),
            self._settings.similarity,
        )
        value = dev[metric]
        say(f"Epoch {state.epoch}: {metric} {value:.3f} on {len(data.dev)} questions")
        if state.best is None or value > state.best["value"]:
            state.best = {"epoch": state.epoch, "value": value, "folder": f"best-{state.epoch}"}
            if self._accelerator.is_main_process:
                self._resuming.save_best(state.best["folder"])
            if self._dev_weight is not None:
                state.best["dense_weight"] = self._dev_weight.of(vectors.articles, vectors.dev)
        return {"dev": dev}

    def _draw(self, vectors: Vectors | None) -> None:
        """Draw for the epochs from this one to the next refresh, and describe what was drawn."""
        state = self._state
        until = min(state.epoch + self._settings.refresh_every, self._last_epoch)
        seen = {} if vectors is None else {"questions": vectors.train, "articles": vectors.articles}
        for epoch in range(state.epoch, until):
            drawn = self._negatives.draw(epoch, self._progress_of(epoch), **seen)
            state.drawn[epoch] = from_main(self._accelerator, drawn)
            state.described[str(epoch)] = statistics(state.drawn[epoch], self._negatives)

    def _progress_of(self, epoch: int) -> np.ndarray[Any, np.dtype[np.float64]]:
        """Share of the run that is done when each question is first asked in an epoch."""
        steps = first_steps(
            self._data.pairs,
            self._order(epoch),
            self._settings.batch_size,
            len(self._data.train),
        )
        steps = np.minimum(epoch * self._epoch_steps + steps, self._steps - 1)
        return steps / self._steps

    def _order(self, epoch: int) -> np.ndarray[Any, np.dtype[np.int64]]:
        return epoch_order(len(self._data.pairs), seed=self._settings.seed, epoch=epoch)

    def _epoch(self) -> None:
        state, settings = self._state, self._settings
        order = self._order(state.epoch)
        first = state.epoch * self._epoch_steps
        stop = min(first + self._epoch_steps, self._steps)
        bar = tqdm(
            desc=f"Epoch {state.epoch + 1}",
            initial=state.step - first,
            total=stop - first,
            unit="step",
            disable=not self._accelerator.is_main_process or None,
        )
        self._learner.train_mode()
        with bar:
            for step in range(state.step, stop):
                start = (step - first) * settings.batch_size
                pairs = self._data.pairs[order[start : start + settings.batch_size]]
                self._step(step, pairs)
                bar.update()
                bar.set_postfix(loss=f"{state.losses[-1]:.3f}", refresh=False)
                if state.step == stop:
                    break
                if self._late or state.step % settings.checkpoint_every == 0:
                    self._save()
                self._stop_if_late()
        self._learner.model.eval()
        record = state.records[-1]
        record |= state.trained()
        if (warning := own_mass_warning(state.records, self._last_epoch)) is not None:
            say(warning)

    @property
    def _late(self) -> bool:
        return self._deadline is not None and time.monotonic() >= self._deadline

    def _stop_if_late(self) -> None:
        """Stop after the deadline; what was trained is saved."""
        if self._late:
            raise OutOfTimeError(f"step {self._state.step:,} of {self._steps:,}")

    def _step(self, step: int, pairs: np.ndarray[Any, np.dtype[np.int64]]) -> None:
        state, settings = self._state, self._settings
        started = time.perf_counter()
        batch = make_batch(
            pairs,
            state.drawn[state.epoch],
            self._negatives.gold,
            in_batch=settings.in_batch,
            whole_law=self._whole_law,
        )
        self._seed(step)
        loss, own_mass, compared = self._learner.loss_and_gradient(batch)
        parameters = self._optimizer.parameters.values()
        sum_gradients(self._accelerator, parameters)
        norm, weight = self._optimizer.clip(settings.clip), math.nan
        if math.isfinite(loss) and math.isfinite(norm):
            self._optimizer.step(step)
            weight = float(torch.nn.utils.get_total_norm(parameters))
        if not math.isfinite(weight):
            asked = ", ".join(self._negatives.gold.question_ids[q] for q in batch.questions)
            raise TrainingError(
                f"step {step}: the loss is {loss}, the gradient's norm {norm} and the weights' "
                f"{weight}, with the questions {asked}. {after_no_number(self._work)}"
            )
        state.step = step + 1
        state.losses.append(loss)
        so_far = state.own_mass or [0.0] * settings.buckets
        state.own_mass = [a + b for a, b in zip(so_far, own_mass.tolist(), strict=True)]
        state.compared += compared
        state.encoded += len(batch.articles)
        state.listed += batch.n_listed
        state.seconds += time.perf_counter() - started

    def _seed(self, step: int) -> None:
        """Seed dropout by seed, step and process alone, so that there is no state to save."""
        words = [self._settings.seed, step, self._accelerator.process_index]
        torch.manual_seed(int(np.random.SeedSequence(words).generate_state(1, np.uint64)[0] >> 1))

    def _save(self) -> None:
        self._state.learner = self._learner.state()
        if self._accelerator.is_main_process:
            self._resuming.save(self._state)
        self._accelerator.wait_for_everyone()


S = TypeVar("S", bound=RunSettings)
L = TypeVar("L", bound=Learner)


def train(settings: S, make_learner: Callable[[S, TrainingData, Accelerator], Learner]) -> None:
    """Train from the settings' files to the settings' model folder.

    Args:
        settings: Of the run.
        make_learner: Opens the learner that is trained.

    Raises:
        SettingsError: A setting does not fit the data, or another process trains into the output.
        CorpusError: A file cannot be read.
        ModelError: A model cannot be opened, or the output folder is not empty.
        TrainingError: A loss or weight is not finite.
    """
    output = Path(settings.output)
    accelerator = Accelerator(cpu=take_device(settings.device).type == "cpu")
    with only_process(output) if accelerator.is_main_process else nullcontext():
        if not from_main(accelerator, is_already_made(output, settings.to_dict())):
            check_target(output)
            _train(settings, accelerator, make_learner)
        if accelerator.is_main_process:
            finish_output(output)
        accelerator.wait_for_everyone()
    accelerator.end_training()


def _train(
    settings: S,
    accelerator: Accelerator,
    make_learner: Callable[[S, TrainingData, Accelerator], Learner],
) -> None:
    """Train and write the model folder."""
    work = work_folder_of(Path(settings.output))
    data = TrainingData.read(
        settings.corpus,
        settings.questions,
        dev_share=settings.dev_share,
        hold_out=settings.hold_out if isinstance(settings, CusinesSettings) else 0.0,
        run_file=settings.run_file,
        final=settings.final,
    )
    if settings.final and not data.dev:
        raise SettingsError("final: there are no dev questions to choose the epoch by.")
    say_where_dev_is_learnt(settings, data)
    joined = data.joined() if settings.final else None
    # Both trainings' negatives are made before any work starts: bad data is found now.
    device = str(accelerator.device)
    negatives = curriculum_negatives(settings, data, device)
    of_all = None if joined is None else curriculum_negatives(settings, joined, device)
    fit_to = partial(fit, settings, accelerator=accelerator, make_learner=make_learner)
    weight = DevWeight(data, settings.text_rule, settings.similarity) if data.dev else None
    learner, state = fit_to(data, work=work, negatives=negatives, dev_weight=weight)
    records = state.records
    if joined is not None:
        assert state.best is not None
        epoch = state.best["epoch"]
        say(f"Training again on train and dev, up to epoch {epoch}, which was best on dev")
        learner, final = fit_to(joined, work=work / "final", negatives=of_all, stop_after=epoch)
        records = [*records, *({**record, "final": True} for record in final.records)]
    if not accelerator.is_main_process:
        return
    write_metrics(work / METRICS_FILE, records)
    plot_run(records, work, settings.select_by)
    metrics: dict[str, Any] = {"environment": environment(accelerator.device.type)}
    dense_weight = 1.0
    if state.best is not None:
        best = next(record for record in records if record["epoch"] == state.best["epoch"])
        metrics |= {"epoch": state.best["epoch"], "dev": best["dev"]}
        dense_weight = state.best["dense_weight"]
        say(f"In a fusion its list has the weight {dense_weight:g}, where words have 1")
    learner.save(Path(settings.output), data, metrics, dense_weight=dense_weight)


def fit(
    settings: S,
    data: TrainingData,
    accelerator: Accelerator,
    work: Path,
    make_learner: Callable[[S, TrainingData, Accelerator], L],
    *,
    negatives: CurriculumNegatives | None = None,
    **of_loop: Any,
) -> tuple[L, RunState]:
    """Train one model; wrong settings and data are found before any model is opened.

    Args:
        settings: Of the run.
        data: What to learn from and to choose by.
        accelerator: Device and processes.
        work: Folder of the checkpoints.
        make_learner: Opens the learner that is trained.
        negatives: Default: those that the settings describe.
        of_loop: `dev_weight`, `stop_after` and `deadline`, as for `TrainingLoop`.

    Returns:
        The learner with its best weights, and the state at the end.
    """
    if negatives is None:
        negatives = curriculum_negatives(settings, data, str(accelerator.device))
    compute_as_begun(work)
    learner = make_learner(settings, data, accelerator)
    work.mkdir(parents=True, exist_ok=True)
    loop = TrainingLoop(settings, data, negatives, learner, accelerator, work, **of_loop)
    return learner, loop.run()


def curriculum_negatives(
    settings: RunSettings, data: TrainingData, device: str
) -> CurriculumNegatives:
    """The negatives that the settings describe, for the training questions.

    Raises:
        SettingsError: The data does not allow them.
    """
    if settings.loss not in LOSSES:
        raise SettingsError(f"loss is {settings.loss!r}; choose among {', '.join(LOSSES)}.")
    try:
        return CurriculumNegatives(data.corpus, data.train, settings=settings, device=device)
    except ValueError as error:
        raise SettingsError(str(error)) from error
