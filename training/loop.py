"""The training loop of bi-encoders and graph networks."""

from __future__ import annotations

import math
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
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
from components.models.folder import check_target
from components.models.similarity import Similarity
from components.statutes.question import Question
from training.checkpoint import (
    Resuming,
    RunState,
    after_no_memory,
    after_no_number,
    compute_as_begun,
    finish_output,
    is_already_made,
    only_process,
    work_folder_of,
)
from training.command_line import OutOfTimeError, SettingsError, TrainingError, say
from training.data import (
    TrainingData,
    epoch_order,
    evaluated,
    first_steps,
    say_where_dev_is_learnt,
    steps_in_epoch,
)
from training.fusion import DevWeight
from training.negatives.sampling import CurriculumNegatives, examples, statistics
from training.objective import (
    LOSSES,
    Batch,
    StepLoss,
    everywhere,
    make_batch,
    question_ids,
    sum_gradients,
)
from training.plots import plot_run
from training.records import (
    METRICS_FILE,
    environment,
    own_mass_warning,
    refresh_shares,
    write_metrics,
)
from training.settings import DEV_DEPTH, CusinesSettings, RunSettings


def from_main(accelerator: Accelerator, value: Any) -> Any:
    """The main process's value, in every process."""
    if accelerator.num_processes == 1:
        return value
    box = [value]
    broadcast_object_list(box)
    return box[0]


def sees_what_main_writes(accelerator: Accelerator, folder: Path) -> bool:
    """Whether every process sees what the main process writes into a folder.

    Args:
        accelerator: The processes.
        folder: Created if missing.
    """
    if accelerator.num_processes == 1:
        return True
    token = folder / f".seen-{from_main(accelerator, secrets.token_hex(8))}"
    if accelerator.is_main_process:
        folder.mkdir(parents=True, exist_ok=True)
        token.touch()
    accelerator.wait_for_everyone()
    shared = everywhere(accelerator, token.exists())
    if accelerator.is_main_process:
        token.unlink()
    return shared


def take_device(name: str | None) -> torch.device:
    """The named device, see `resolve_device`; Accelerate then uses it among several cards.

    Raises:
        ModelError: As in `resolve_device`.
    """
    device = resolve_device(name)
    if device.type == "cuda" and device.index is not None:
        torch.cuda.set_device(device)
    return device


@dataclass(frozen=True)
class Vectors:
    """Unit vectors of a run's texts, float32 `[n_texts, dim]` on the model's device."""

    articles: Tensor
    train: Tensor
    dev: Tensor

    def are_finite(self) -> bool:
        """Whether no vector holds NaN or infinity."""
        return all(bool(side.isfinite().all()) for side in (self.articles, self.train, self.dev))


METRICS: tuple[str, ...] = (
    *(f"R@{k}" for k in (1, 5, 10, 20, 50, 100, 200, 500)),
    "MAP",
    "MAP@10",
    "R-precision",
    "MRR@10",
    "nDCG@10",
    "Exist@1",
)


@dataclass(frozen=True)
class Validation:
    """One model's results on some questions.

    Attributes:
        values: Metric to question id to value.
        unseen: Ids of the questions none of whose articles is a training positive: they show what
            carries over to law that was not trained on.
    """

    values: dict[str, dict[str, float]]
    unseen: list[str]

    def means(self) -> dict[str, float]:
        """Each metric's mean over the questions."""
        return {metric: fmean(of.values()) for metric, of in self.values.items()}

    def unseen_means(self) -> dict[str, float]:
        """The same over the `unseen` questions; empty where there are none."""
        if not self.unseen:
            return {}
        return {
            metric: fmean(of[question] for question in self.unseen)
            for metric, of in self.values.items()
        }


def validate(
    questions: Sequence[Question],
    vectors: Tensor,
    articles: Tensor,
    article_ids: Sequence[str],
    trained_on: Collection[str],
    select_by: str,
    similarity: Similarity = "cosine",
) -> Validation:
    """Search for every question among the articles exactly, and measure what is found.

    Args:
        questions: `n_questions` of them.
        vectors: float32 `[n_questions, dim]`.
        articles: float32 `[n_articles, dim]`.
        article_ids: Ids by position.
        trained_on: Ids of the training positives.
        select_by: A metric that is measured besides `METRICS`.
        similarity: Of the model.
    """
    index = DenseIndex(articles.cpu().numpy(), str(articles.device), similarity)
    _, found = index.search(vectors.cpu().numpy(), DEV_DEPTH)
    ids = ([article_ids[position] for position in row] for row in found.tolist())
    values = evaluated(questions, ids, list(dict.fromkeys((*METRICS, select_by))), DEV_DEPTH)
    trained = set(trained_on)
    unseen = [question.id for question in questions if trained.isdisjoint(question.relevant)]
    return Validation(values, unseen)


BETAS = (0.9, 0.999)
EPSILON = 1e-7

Rates = Callable[[int], float]
"""Share of the highest learning rate at a step, from 0."""


def warm_up_and_decay(total_steps: int, warmup: float) -> Rates:
    """A rate that rises over the first steps, then falls to zero, both linearly.

    Args:
        total_steps: Steps of the whole run.
        warmup: Share of them in which the rate rises.
    """
    warm = max(1, round(warmup * total_steps))

    def rate(step: int) -> float:
        if step < warm:
            return (step + 1) / warm
        return max(0.0, (total_steps - step) / max(1, total_steps - warm))

    return rate


def constant(_: int) -> float:
    """The highest rate at every step."""
    return 1.0


class Optimizer:
    """AdamW over the trainable parameters, with a learning rate per step.

    Biases and the weights of norms are not decayed. A head has a learning rate of its own.

    Args:
        model: Its parameters that require a gradient are trained.
        learning_rate: The highest.
        weight_decay: AdamW's.
        rates: Share of the highest rate at each step.
        head_lr: The highest rate of the module named "head", if it has its own.
    """

    def __init__(
        self,
        model: nn.Module,
        *,
        learning_rate: float,
        weight_decay: float,
        rates: Rates,
        head_lr: float | None = None,
    ) -> None:
        # The tower of a siamese model is listed under one name only.
        self.parameters = {n: p for n, p in model.named_parameters() if p.requires_grad}
        self._rates = rates
        groups: dict[tuple[float, float], list[nn.Parameter]] = {}
        for name, parameter in self.parameters.items():
            rate = learning_rate
            if head_lr is not None and name.startswith("head."):
                rate = head_lr
            decay = weight_decay if parameter.ndim > 1 else 0.0
            groups.setdefault((rate, decay), []).append(parameter)
        self._adamw = torch.optim.AdamW(
            [
                {"params": parameters, "lr": rate, "weight_decay": decay, "highest": rate}
                for (rate, decay), parameters in groups.items()
            ],
            betas=BETAS,
            eps=EPSILON,
        )

    def step(self, step: int) -> None:
        """Take one step along the gradients, then clear them."""
        for group in self._adamw.param_groups:
            group["lr"] = group["highest"] * self._rates(step)
        self._adamw.step()
        self._adamw.zero_grad(set_to_none=True)

    def state(self) -> dict[str, Tensor]:
        """The moments, as "<moment>/<parameter>"."""
        return {
            f"{moment}/{name}": value
            for name, parameter in self.parameters.items()
            for moment, value in self._adamw.state[parameter].items()
        }

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave."""
        for name, parameter in self.parameters.items():
            for moment in ("step", "exp_avg", "exp_avg_sq"):
                value = state.get(f"{moment}/{name}")
                if value is not None:
                    # AdamW counts its steps on the CPU.
                    device = "cpu" if moment == "step" else parameter.device
                    self._adamw.state[parameter][moment] = value.to(device)


class Learner(ABC):
    """A model in training: it makes vectors of articles and questions, and learns from batches.

    Attributes:
        model: The model, trained in place.
    """

    model: nn.Module

    @property
    @abstractmethod
    def fixed(self) -> Mapping[str, Any]:
        """What must be the same when a run is resumed, besides settings and data."""

    @abstractmethod
    def optimizer(self, total_steps: int) -> Optimizer:
        """A fresh optimizer of the trained parameters, for a run of so many steps."""

    @abstractmethod
    def encode(self) -> Vectors:
        """Vectors of everything under the current weights."""

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

    def eval_mode(self) -> None:
        """Switch to evaluation mode."""
        self.model.eval()

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
        self._accelerator = accelerator
        self._work = work
        self._epoch_steps = steps_in_epoch(len(data.pairs), settings.batch_size)
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
        self._learner.eval_mode()
        return self._state

    def _run(self) -> None:
        if self._settings.max_steps is None and self._last_epoch > self._settings.epochs:
            say(
                f"{self._last_epoch} epochs in place of {self._settings.epochs}, "
                "because of min_steps"
            )
        self._resume()
        if not self._state.drawn and not self._state.finished:
            self._between_epochs()
        while not self._state.finished:
            self._stop_if_late()
            self._epoch()
            self._state.next_epoch()
            self._between_epochs()
        if self._state.best is not None:
            self._resuming.load_best(self._state)

    def _resume(self) -> None:
        found = self._resuming.newest()
        if found is None:
            return
        self._state, learner = found
        self._learner.restore(learner)
        if self._state.step:
            say(f"Resuming from step {self._state.step:,} of {self._steps:,}")

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
            vectors = self._learner.encode()
            if not vectors.are_finite():  # finite weights may have products that are not
                raise TrainingError(
                    f"after step {state.step}: vectors hold NaN or infinity. "
                    f"{after_no_number(self._work)}"
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
            drawn = state.drawn[state.epoch]
            record["examples"] = examples(drawn, self._negatives, self._data.train)
        record["seconds_measuring_and_drawing"] = time.perf_counter() - encoded
        state.records.append(record)
        self._save()
        if self._accelerator.is_main_process:
            write_metrics(self._work / METRICS_FILE, state.records)

    def _measure(self, vectors: Vectors) -> dict[str, Any]:
        state, metric = self._state, self._settings.select_by
        validation = validate(
            self._data.dev,
            vectors.dev,
            vectors.articles,
            self._data.corpus.ids,
            {article for question in self._data.train for article in question.relevant},
            metric,
            self._settings.similarity,
        )
        means = validation.means()
        say(f"Epoch {state.epoch}: {metric} {means[metric]:.3f} on {len(self._data.dev)} questions")
        if state.best is None or means[metric] > state.best["value"]:
            folder = f"best-{state.epoch}"
            if self._accelerator.is_main_process:
                self._resuming.save_best(folder)
            state.best = {
                "epoch": state.epoch,
                "value": means[metric],
                "folder": folder,
            }
            if self._dev_weight is not None:
                weight = self._dev_weight.of(vectors.articles, vectors.dev)
                state.best["dense_weight"] = weight
        return {"dev": means, "dev_unseen": validation.unseen_means()}

    def _draw(self, vectors: Vectors | None) -> None:
        """Draw for the epochs from this one to the next refresh, and describe what was drawn."""
        state = self._state
        until = min(state.epoch + self._settings.refresh_every, self._last_epoch)
        seen = {} if vectors is None else {"questions": vectors.train, "articles": vectors.articles}
        previous = state.previous
        for epoch in range(state.epoch, until):
            drawn = self._negatives.draw(epoch, self._progress_of(epoch), **seen)
            drawn = state.drawn[epoch] = from_main(self._accelerator, drawn)
            described = statistics(drawn, previous, self._negatives, **seen)
            state.described[str(epoch)], previous = described, drawn

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
        self._learner.eval_mode()
        record = state.records[-1]
        record |= state.trained()
        record |= refresh_shares(record, len(self._data.corpus), len(self._data.pairs))
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
            pairs, state.drawn[state.epoch], self._negatives.gold, in_batch=settings.in_batch
        )
        self._seed(step)
        loss, own_mass, compared = self._learner.loss_and_gradient(batch)
        parameters = list(self._optimizer.parameters.values())
        sum_gradients(self._accelerator, parameters)
        norm = float(torch.nn.utils.clip_grad_norm_(parameters, settings.clip))
        weight = math.nan
        if math.isfinite(loss) and math.isfinite(norm):
            self._optimizer.step(step)
            weight = float(torch.nn.utils.get_total_norm(parameters))
        if not math.isfinite(weight):
            raise TrainingError(
                f"step {step}: the loss is {loss}, the gradient's norm {norm} and the weights' "
                f"{weight}, with the questions "
                f"{', '.join(question_ids(batch, self._negatives.gold))}. "
                f"{after_no_number(self._work)}"
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
        if self._accelerator.is_main_process:
            self._resuming.save(self._state, self._learner.state())
        self._accelerator.wait_for_everyone()


S = TypeVar("S", bound=RunSettings)
L = TypeVar("L", bound=Learner)


def train(
    settings: S,
    make_learner: Callable[[S, TrainingData, Accelerator], Learner],
    *,
    deadline: float | None = None,
) -> None:
    """Train from the settings' files to the settings' model folder.

    Args:
        settings: Of the run.
        make_learner: Opens the learner that is trained.
        deadline: As for `TrainingLoop`.

    Raises:
        SettingsError: A setting does not fit the data, or another process trains into the output.
        CorpusError: A file cannot be read.
        ModelError: A model cannot be opened, or the output folder is not empty.
        TrainingError: A loss or weight is not finite.
        OutOfTimeError: The deadline has passed.
    """
    output = Path(settings.output)
    accelerator = Accelerator(cpu=take_device(settings.device).type == "cpu")
    if not sees_what_main_writes(accelerator, output.parent):
        accelerator.end_training()
        raise SettingsError(
            f"output: {output} is not one folder for all processes. Name one on a file system "
            "that all machines share."
        )
    with only_process(output) if accelerator.is_main_process else nullcontext():
        if not from_main(accelerator, is_already_made(output, settings.to_dict())):
            _train(settings, accelerator, make_learner, deadline)
        if accelerator.is_main_process:
            finish_output(output)
        accelerator.wait_for_everyone()
    accelerator.end_training()


def _train(
    settings: S,
    accelerator: Accelerator,
    make_learner: Callable[[S, TrainingData, Accelerator], Learner],
    deadline: float | None,
) -> None:
    """Train and write the model folder."""
    output = Path(settings.output)
    work = work_folder_of(output)
    check_target(output)
    data = TrainingData.read(
        settings.corpus,
        settings.questions,
        dev_share=settings.dev_share,
        hold_out=settings.hold_out if isinstance(settings, CusinesSettings) else 0.0,
        run_file=settings.run_file,
        final=settings.final,
    )
    if settings.final and not data.dev:
        raise SettingsError(
            "final: there are no dev questions to choose the epoch by. Leave final out."
        )
    say_where_dev_is_learnt(settings, data)
    run = (settings, data, accelerator, work, make_learner)
    weight = DevWeight(data, settings.text_rule, settings.similarity) if data.dev else None
    if settings.final:
        learner, state, records = _fit_twice(*run, dev_weight=weight, deadline=deadline)
    else:
        learner, state = fit(*run, dev_weight=weight, deadline=deadline)
        records = state.records
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
    learner.save(output, data, metrics, dense_weight=dense_weight)


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
    if settings.loss not in LOSSES:
        raise SettingsError(f"loss is {settings.loss!r}; choose among {', '.join(LOSSES)}.")
    if negatives is None:
        negatives = curriculum_negatives(settings, data, str(accelerator.device))
    compute_as_begun(work)
    learner = make_learner(settings, data, accelerator)
    work.mkdir(parents=True, exist_ok=True)
    loop = TrainingLoop(settings, data, negatives, learner, accelerator, work, **of_loop)
    return learner, loop.run()


def _fit_twice(
    settings: S,
    data: TrainingData,
    accelerator: Accelerator,
    work: Path,
    make_learner: Callable[[S, TrainingData, Accelerator], L],
    *,
    dev_weight: DevWeight | None,
    deadline: float | None,
) -> tuple[L, RunState, list[dict[str, Any]]]:
    """`final`: choose the epoch on dev, then train again on train and dev up to it.

    Returns:
        The learner of the second training, the state of the first, the records of both.
    """
    joined = data.joined()
    # Draw both before any work starts: the second training must not be the one to find bad data.
    chosen, whole = (
        curriculum_negatives(settings, each, str(accelerator.device)) for each in (data, joined)
    )
    state = fit(
        *(settings, data, accelerator, work, make_learner),
        negatives=chosen,
        dev_weight=dev_weight,
        deadline=deadline,
    )[1]
    assert state.best is not None
    epoch = state.best["epoch"]
    say(f"Training again on train and dev, up to epoch {epoch}, which was best on dev")
    learner, final = fit(
        *(settings, joined, accelerator, work / "final", make_learner),
        negatives=whole,
        stop_after=epoch,
        deadline=deadline,
    )
    return learner, state, [*state.records, *({**each, "final": True} for each in final.records)]


def curriculum_negatives(
    settings: RunSettings, data: TrainingData, device: str
) -> CurriculumNegatives:
    """The negatives that the settings describe, for the training questions.

    Raises:
        SettingsError: The data does not allow them.
    """
    try:
        return CurriculumNegatives(data.corpus, data.train, settings=settings, device=device)
    except ValueError as error:
        raise SettingsError(str(error)) from error
