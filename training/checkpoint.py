"""The work folder of a run: its records, its checkpoints, and how it is resumed."""

# ruff: noqa: ARG002 - the Trainer calls its callbacks with all that it has
from __future__ import annotations

import glob
import hashlib
import json
import math
import os
import platform
import re
import shutil
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor
from torch.nn.utils import get_total_norm
from transformers import (
    PrinterCallback,
    ProgressCallback,
    Trainer,
    TrainerCallback,
    TrainerState,
    TrainingArguments,
)
from transformers.trainer_utils import get_last_checkpoint

from components.models.devices import BF16, resolve_device, resolve_dtype, settle_way
from components.models.folder import (
    MANIFEST_FILE,
    check_target,
    file_digest,
    folder_lock,
    read_manifest,
    whole_file,
    whole_folder,
)
from components.models.onednn import LINEAR
from components.models.weights import no_progress_bars
from training.command_line import SettingsError, TrainingError, say
from training.negatives.gold import DrawnNegatives
from training.objective import Optimizer
from training.settings import TrainerSettings, folder_named

METRICS_FILE = "metrics.jsonl"

_PACKAGES = ("torch", "transformers", "sentence-transformers", "accelerate", "numpy", "lexarbor")


def write_metrics(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write the records of all epochs so far, one JSON object per line, replacing the file."""
    with whole_file(path) as partial:
        partial.write_text("".join(json.dumps(record) + "\n" for record in records), "utf-8")


LEAST_OWN_MASS = 0.1
"""Below this share of the gradient, where a question's own negatives come from hardly matters."""


def own_mass_warning(records: Sequence[Mapping[str, Any]], n_epochs: int) -> str | None:
    """A warning if the drawn negatives have got almost none of the gradient from the beginning on.

    It comes once: after the second epoch, or the only one.

    Args:
        records: Of the epochs so far, the last one's steps done.
        n_epochs: Epochs of the whole run.
    """
    trained = [each for each in records if each.get("own_mass") is not None]
    masses = [sum(each["own_mass"]) for each in trained if each["negatives"]["drawn"]]
    if len(trained) != min(2, n_epochs) or not masses or max(masses) >= LEAST_OWN_MASS:
        return None
    return (
        f"These negatives teach almost nothing: {max(masses):.3f} at most of the gradient falls on "
        "them. Draw harder ones (candidates 100), or compare with them alone (in_batch false)"
    )


def environment(device: str) -> dict[str, Any]:
    """What a result may depend on besides the settings.

    Args:
        device: The kind of device, such as "cuda".
    """
    packages = {package: _version(package) for package in _PACKAGES}
    name = torch.cuda.get_device_name() if device == "cuda" else platform.machine()
    return {"python": platform.python_version(), "device": name, **packages}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def after_no_number(work: Path) -> str:
    """What to do where a loss or a weight is NaN or infinite: the run cannot continue."""
    return f"{work} has the last good checkpoint. Train again with a lower learning_rate."


def after_no_memory(step: int, remedy: str, work: Path) -> str:
    """What to do where memory ran out at a step: settings that need less."""
    return f"step {step:,}: memory ran out; the run so far is in {work}. Train again with {remedy}."


def check_same_run(work: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to resume a run whose settings, data or machine were different.

    Where a value has a digest (`corpus` and `corpus_sha256`), the digest decides: the same files
    may have moved, or be named from another folder.

    Args:
        work: Its work folder.
        before: What the run depends on, by name, as recorded.
        now: The same as it is now, in the form in which JSON returns it.

    Raises:
        SettingsError: Names the first thing that differs.
    """
    names = before.keys() | now.keys()
    for name in sorted(name for name in names if f"{name}_sha256" not in names):
        if before.get(name) != now.get(name):
            raise SettingsError(
                f"{work} holds an unfinished run with {name} {before.get(name)!r}, not "
                f"{now.get(name)!r}. Give another output."
            )


def work_folder_of(output: Path) -> Path:
    """The work folder of the run that makes the model folder `output`.

    Raises:
        SettingsError: `output` has no name, such as ".".
    """
    folder_named(output)
    return output.with_name(output.name + ".work")


@contextmanager
def only_process(output: Path) -> Iterator[None]:
    """Hold the work folder of `output`, see `folder_lock`.

    Two processes with one work folder would remove each other's checkpoints.

    Raises:
        ModelError: `output` is not empty, and there is no work folder of a run that could be
            finished.
        SettingsError: Another process holds it, or `output` is a file.
    """
    work = work_folder_of(output)
    if output.is_file():
        raise SettingsError(f"output: {output} is a file. Name a folder to make.")
    if not work.is_dir():
        check_target(output)  # before anything is made next to it
    with folder_lock(work, wait=False) as ours:
        if not ours:
            raise SettingsError(f"output: another process is training into {output}.")
        yield


def is_already_made(output: Path, config: Mapping[str, Any]) -> bool:
    """Whether a run of this configuration has saved its model but not removed its work folder.

    Such a run was stopped before the last step, `finish_output`.
    """
    made = work_folder_of(output).is_dir() and (output / MANIFEST_FILE).exists()
    return made and read_manifest(output).config == config


def finish_output(output: Path) -> None:
    """Move a run's metrics and plots into its model folder, then remove the work folder.

    They are in the work folder before the model is saved. So the same command recognises and
    finishes a run that was stopped at any moment in between.
    """
    work = work_folder_of(output)
    for name in (METRICS_FILE, "metrics.png", "metrics.svg"):
        if (work / name).exists():
            (work / name).replace(output / name)
    # Left over from a killed writer: nobody else writes this model while we hold the lock.
    for partial in output.parent.glob(f".{glob.escape(output.name)}.*.partial"):
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(work)
    say(f"The model is in {output}")


RUN_FILE = "run.json"
# Settings that may change when a killed run is resumed: no weight depends on them.
_FREE = ("output", "checkpoint_every", "vectors")


def open_work_folder(work: Path, fixed: Mapping[str, Any]) -> None:
    """Make the work folder of a run of transformers' Trainer, or open the one of the same run.

    The folder of another run that has no checkpoint yet is emptied and reused.

    Args:
        work: The folder.
        fixed: What must be the same when a run is resumed, by name.

    Raises:
        SettingsError: The folder belongs to another run, which has a checkpoint; names what
            differs.
    """
    fixed = {name: value for name, value in fixed.items() if name not in _FREE}
    now = json.loads(json.dumps(fixed))  # a tuple comes back as a list
    visible = list(work.glob("[!.]*"))  # the lock is hidden
    if (work / RUN_FILE).exists():
        before = json.loads((work / RUN_FILE).read_text(encoding="utf-8"))
        if before == now or any(work.glob("checkpoint-*")):
            check_same_run(work, before, now)
            return
        for path in visible:
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
    elif visible:
        raise SettingsError(f"{work} does not hold a run of this command. Give another output.")
    work.mkdir(parents=True, exist_ok=True)
    with whole_file(work / RUN_FILE) as partial:
        partial.write_text(json.dumps(now, indent=1) + "\n", encoding="utf-8")


def compute_as_begun(work: Path) -> None:
    """Use the number format and library that were chosen when the run in a folder began.

    Which of two is faster depends on what else the machine does, and the weights depend on the
    choice. Call it before the choice is made; where no run has begun, it does nothing.

    Args:
        work: The folder of a run's checkpoints.
    """
    begun: Mapping[str, Any] = {}
    if (work / RUN_FILE).exists():
        begun = json.loads((work / RUN_FILE).read_text(encoding="utf-8"))
    for folder in _numbered(work):
        try:
            begun = read_state(folder)["fixed"]
        except TrainingError:
            continue
    BF16.settle(begun.get("dtype"))
    settle_way(begun.get("products"))
    LINEAR.settle(begun.get("linear"))


STATE_FILE = "state.json"
_SEAL = "sha256"
_KEPT = 2


def write_checkpoint(
    folder: Path, parts: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
) -> None:
    """Write a checkpoint: tensors as safetensors, the rest as JSON, no pickle.

    The folder appears only when it is complete, see `whole_folder`; `state.json` has the digests of
    its files.

    Args:
        folder: Where to write; an older checkpoint of this name is replaced.
        parts: File name (without suffix) to tensors by name.
        state: Values that JSON can hold.

    Raises:
        TrainingError: A tensor is not finite, or the disk is full.
    """
    with whole_folder(folder, replace=True) as partial:
        for part, tensors in parts.items():
            for name, tensor in tensors.items():
                if tensor.is_floating_point() and not torch.isfinite(tensor).all():
                    not_finite = f"{part} {name!r} holds NaN or infinity"
                    raise TrainingError(f"{not_finite}. {after_no_number(folder.parent)}")
            kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            try:
                save_file(kept, partial / f"{part}.safetensors")
            except SafetensorError as error:
                raise TrainingError(f"{folder}: cannot be written ({error}).") from error
        digests = {path.name: file_digest(path) for path in sorted(partial.iterdir())}
        whole = {**state, "files": digests}
        (partial / STATE_FILE).write_text(
            json.dumps({**whole, _SEAL: _seal(whole)}) + "\n", encoding="utf-8"
        )


def read_checkpoint(folder: Path) -> dict[str, Any]:
    """The state of a checkpoint after checking that no file has changed.

    Raises:
        TrainingError: A file is missing or changed.
    """
    state = read_state(folder)
    try:
        for name, digest in state.pop("files").items():
            if file_digest(folder / name) != digest:
                raise TrainingError(f"{folder / name}: is not what was written (digest differs)")
    except OSError as error:
        raise TrainingError(f"{folder}: is not complete ({error})") from error
    return state


def newest_checkpoint(work: Path) -> tuple[Path, dict[str, Any]] | None:
    """The newest complete checkpoint and its state; newer broken ones are reported and removed.

    A checkpoint whose best weights are broken is broken too: the run would end with them.
    """
    for folder in reversed(_numbered(work)):
        try:
            state = read_checkpoint(folder)
            if best := state.get("best"):
                read_checkpoint(work / best["folder"])
        except TrainingError as error:
            say(f"{error}; looking for an older checkpoint")
            # Otherwise it would count as one of the newest and push out good ones.
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return folder, state
    return None


def remove_old(work: Path) -> None:
    """Remove all but the newest checkpoints and the best weights that they name."""
    steps = _numbered(work)
    for folder in steps[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
    named = set()
    for folder in steps[-_KEPT:]:
        try:
            # Only the state's own digest is checked: all of them would read every tensor again.
            best = read_state(folder).get("best")
        except TrainingError:
            continue
        if best:
            named.add(best["folder"])
    for folder in work.glob("best-*"):
        if folder.name not in named:
            shutil.rmtree(folder, ignore_errors=True)


def read_state(folder: Path) -> dict[str, Any]:
    """The state of a checkpoint, without reading its tensors.

    Raises:
        TrainingError: It cannot be read.
    """
    try:
        state: dict[str, Any] = json.loads((folder / STATE_FILE).read_text(encoding="utf-8"))
        sealed = state.pop(_SEAL) == _seal(state)
    except (OSError, ValueError, KeyError, TypeError, AttributeError) as error:
        raise TrainingError(
            f"{folder}: is not complete ({type(error).__name__}: {error})"
        ) from error
    if not sealed:
        raise TrainingError(f"{folder / STATE_FILE}: is not what was written (digest differs)")
    return state


def _seal(state: Mapping[str, Any]) -> str:
    """Digest of a state's content, however its JSON is laid out."""
    return hashlib.sha256(json.dumps(state, sort_keys=True).encode()).hexdigest()


def _numbered(work: Path) -> list[Path]:
    """The checkpoint folders, by step."""
    numbers = ((re.fullmatch(r"step-(\d+)", path.name), path) for path in work.glob("step-*"))
    return [path for _, path in sorted((int(m[1]), path) for m, path in numbers if m)]


_DRAWN = "negatives"
_BEST = "weights"


@dataclass
class RunState:
    """Where a run is.

    Attributes:
        epoch: The epoch in training, from 0.
        step: Steps done in the whole run.
        losses: Losses of this epoch's steps so far.
        own_mass: For each bucket the sum of `training.objective.own_mass` over the pairs of these
            steps.
        compared: How many pairs that is.
        encoded: Articles encoded in this epoch's steps.
        listed: Articles that its pairs listed, counting repeats.
        seconds: Time spent on its steps.
        records: One for each epoch boundary passed: metrics, negatives, times.
        described: Description of what was drawn for coming epochs, by epoch; goes into their
            records.
        best: The best weights so far: `{"epoch", "value", "folder", "dense_weight"}`, the last as
            in `Manifest` where one is chosen; None before the first validation.
        finished: Whether the last boundary is passed.
        drawn: Negatives by epoch, of this one and those drawn together with it.
    """

    epoch: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)
    own_mass: list[float] = field(default_factory=list)
    compared: int = 0
    encoded: int = 0
    listed: int = 0
    seconds: float = 0.0
    records: list[dict[str, Any]] = field(default_factory=list)
    described: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] | None = None
    finished: bool = False
    drawn: dict[int, DrawnNegatives] = field(default_factory=dict)

    def trained(self) -> dict[str, Any]:
        """What the preceding boundary's record says of this epoch once its steps are done."""
        own_mass = [total / self.compared for total in self.own_mass] if self.compared else None
        return {
            "loss": math.fsum(self.losses) / len(self.losses),
            "losses": [round(loss, 5) for loss in self.losses],
            "own_mass": own_mass,
            "articles_encoded": self.encoded,
            "articles_listed": self.listed,
            "seconds_training": self.seconds,
        }

    def next_epoch(self) -> None:
        """Begin a new epoch's counts."""
        self.drawn.pop(self.epoch, None)
        self.epoch += 1
        self.losses, self.own_mass = [], []
        self.compared = self.encoded = self.listed = 0
        self.seconds = 0.0


# Fields of a run's state that go into JSON unchanged.
_PLAIN = [own.name for own in fields(RunState) if own.name != "drawn"]


class Resuming:
    """Saves a run in its work folder and resumes it from there.

    Args:
        work: The folder.
        fixed: What must be the same when the run is resumed, by name: settings, data, model and
            what was chosen for the machine.
        optimizer: Its parameters are saved with it.
    """

    def __init__(self, work: Path, fixed: Mapping[str, Any], optimizer: Optimizer) -> None:
        self._work = work
        self._fixed = {name: value for name, value in fixed.items() if name not in _FREE}
        self._parameters = optimizer.parameters
        self._optimizer = optimizer

    def save(self, state: RunState, learner: Mapping[str, Any]) -> None:
        """Write a checkpoint of the current state and the learner's; remove older ones.

        Raises:
            TrainingError: A weight is not finite.
        """
        write_checkpoint(
            self._work / f"step-{state.step}",
            {
                "model": self._parameters,
                "optimizer": self._optimizer.state(),
                _DRAWN: {
                    f"{epoch}/{name}": torch.from_numpy(array)
                    for epoch, negatives in state.drawn.items()
                    for name, array in vars(negatives).items()
                },
            },
            {
                "fixed": self._fixed,
                "learner": learner,
                **{name: getattr(state, name) for name in _PLAIN},
            },
        )
        remove_old(self._work)

    def save_best(self, folder: str) -> None:
        """Save the current weights as the best so far."""
        write_checkpoint(self._work / folder, {_BEST: self._parameters}, {})

    def load_best(self, state: RunState) -> None:
        """Load the best weights into the model.

        Raises:
            TrainingError: Their file is missing or broken.
        """
        assert state.best is not None
        folder = self._work / state.best["folder"]
        read_checkpoint(folder)
        self._put(load_file(folder / f"{_BEST}.safetensors"))

    def newest(self) -> tuple[RunState, Mapping[str, Any]] | None:
        """Load the newest complete checkpoint; return its state and the learner's.

        Raises:
            SettingsError: It belongs to another run.
        """
        newest = newest_checkpoint(self._work)
        if newest is None:
            return None
        folder, kept = newest
        check_same_run(self._work, kept["fixed"], self._fixed)
        self._put(load_file(folder / "model.safetensors"))
        self._optimizer.restore(load_file(folder / "optimizer.safetensors"))
        arrays: dict[int, dict[str, np.ndarray[Any, Any]]] = {}
        for name, tensor in load_file(folder / f"{_DRAWN}.safetensors").items():
            epoch, _, array = name.partition("/")
            arrays.setdefault(int(epoch), {})[array] = tensor.numpy()
        drawn = {epoch: DrawnNegatives(**by_name) for epoch, by_name in arrays.items()}
        return RunState(**{name: kept[name] for name in _PLAIN}, drawn=drawn), kept["learner"]

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(weights[name])


# The same for transformers' Trainer, which writes checkpoints of its own.

A = TypeVar("A", bound=TrainingArguments)
History = Sequence[Mapping[str, Any]]
"""What the Trainer logged, in order."""


def trainer_arguments(
    kind: type[A], settings: TrainerSettings, work: Path, *, steps: int, rate: float, **others: Any
) -> A:
    """Arguments of a quiet run on one device that keeps its checkpoints.

    Args:
        kind: The trainer's class of arguments.
        settings: Of the run.
        work: Folder of the checkpoints.
        steps: Of the whole run.
        rate: Highest learning rate, reached after the warm-up; then it falls to zero.
        others: Further arguments of this kind of training.
    """
    device = resolve_device(settings.device)
    arguments = kind(
        output_dir=str(work),
        max_steps=steps,
        per_device_train_batch_size=settings.batch_size,
        learning_rate=rate,
        lr_scheduler_type="linear",
        warmup_steps=settings.warmup,
        weight_decay=settings.weight_decay,
        max_grad_norm=settings.clip,
        bf16=resolve_dtype(settings.dtype, device) is torch.bfloat16,
        use_cpu=device.type == "cpu",
        seed=settings.seed,
        eval_on_start=last_checkpoint(work) is None,
        logging_steps=10,
        logging_nan_inf_filter=False,
        save_strategy="steps",
        save_steps=settings.checkpoint_every,
        save_total_limit=2,
        dataloader_pin_memory=device.type == "cuda",
        disable_tqdm=True,
        report_to="none",
        **others,
    )
    if device.type == "cuda":
        # Otherwise it would spread each batch over all cards and enlarge it.
        arguments._n_gpu = 1
    return arguments


def last_checkpoint(work: Path) -> str | None:
    """The newest complete checkpoint; a newer one that a kill has cut off is removed."""
    while newest := get_last_checkpoint(str(work)):  # type: ignore[no-untyped-call]
        if (Path(newest) / "trainer_state.json").exists():  # the Trainer writes it last
            return str(newest)
        say(f"{newest}: is not complete; looking for an older checkpoint")
        shutil.rmtree(newest)
    return None


def make_records(
    history: History, measured: Callable[[Mapping[str, Any]], Mapping[str, Any]]
) -> list[dict[str, Any]]:
    """One record for each measurement of a run.

    Args:
        history: What the Trainer logged, in order.
        measured: The measured values of a log entry; empty if nothing was measured.

    Returns:
        `step` and the measured values; after step 0 also `loss`, the mean of the training steps
        since the last record, and `learning_rate` of the last of them.
    """
    records = []
    summed, last_logged, last_measured, rate = 0.0, 0, 0, 0.0
    for entry in history:
        step = entry["step"]
        if "loss" in entry:
            summed += entry["loss"] * (step - last_logged)
            last_logged, rate = step, entry["learning_rate"]
        if not (values := measured(entry)):
            continue
        record = {"step": step, **values}
        if step > last_measured:
            record |= {"loss": summed / (step - last_measured), "learning_rate": rate}
            summed, last_measured = 0.0, step
        records.append(record)
    return records


def train_alone(settings: TrainerSettings, train: Callable[[Path], None]) -> None:
    """Train in one process, in a locked work folder, unless the model is already made.

    Args:
        settings: Of the run.
        train: Makes the model folder, given the work folder.
    """
    if int(os.environ.get("WORLD_SIZE", "1")) > 1:
        raise SettingsError("this training runs in one process: run it without torchrun.")
    output = Path(settings.output)
    # A progress bar for each file read or written would hide our own lines.
    with no_progress_bars(), only_process(output):
        if not is_already_made(output, settings.to_dict()):
            check_target(output)
            train(work_folder_of(output))
        finish_output(output)


def train_from_last_checkpoint(trainer: Trainer, work: Path) -> list[dict[str, Any]]:
    """Train to the end, from the newest checkpoint if there is one; returns the Trainer's log.

    Raises:
        TrainingError: Memory ran out.
    """
    trainer.remove_callback(PrinterCallback)
    if sys.stderr.isatty():
        trainer.add_callback(_Progress)
    if (checkpoint := last_checkpoint(work)) is not None:
        say(f"Resuming from {Path(checkpoint).name} of {trainer.args.max_steps:,} steps")
    try:
        trainer.train(resume_from_checkpoint=checkpoint)
    except torch.OutOfMemoryError as error:
        step = trainer.state.global_step
        raise TrainingError(after_no_memory(step, "a smaller batch_size", work)) from error
    history: list[dict[str, Any]] = trainer.state.log_history
    return history


class _Progress(ProgressCallback):
    """A bar; what is logged goes into the metrics, not between our own lines."""

    def on_log(self, *arguments: Any, **named: Any) -> None:
        """Print nothing."""


class RunWatch(TrainerCallback):
    """Writes a run's metrics and checks its values.

    Losses and weights are checked before each checkpoint: broken weights never replace good ones.

    Args:
        work: Folder of the checkpoints.
        records_of: From the Trainer's log to the records of its measurements.
    """

    def __init__(self, work: Path, records_of: Callable[[History], list[dict[str, Any]]]) -> None:
        self._work = work
        self._records_of = records_of

    def on_step_end(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Log the loss where it is needed: the Trainer logs before it measures and saves."""
        control.should_log |= control.should_save or control.should_evaluate

    def on_log(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Stop if a value is not a number.

        Raises:
            TrainingError: A loss, the gradient's norm or a weight is not finite.
        """
        for name in ("loss", "grad_norm", "eval_loss"):
            self._check_finite(name, (kwargs["logs"] or {}).get(name, 0.0), state)
        # The logged loss is of the weights before the last step: check those after it too.
        weights = float(get_total_norm(kwargs["model"].parameters()))
        self._check_finite("the weights' norm", weights, state)

    def on_evaluate(self, args: Any, state: TrainerState, control: Any, **kwargs: Any) -> None:
        """Write what was measured so far."""
        write_metrics(self._work / METRICS_FILE, self._records_of(state.log_history))

    def _check_finite(self, name: str, value: float, state: TrainerState) -> None:
        if not math.isfinite(value):
            where = f"up to step {state.global_step}: {name} is {value}"
            raise TrainingError(f"{where}. {after_no_number(self._work)}")
