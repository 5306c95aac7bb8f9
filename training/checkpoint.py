"""The work folder of a run: its records, its checkpoints, and how it is resumed."""

from __future__ import annotations

import glob
import hashlib
import json
import math
import platform
import re
import shutil
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np
import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from components.models.devices import BF16, settle_way
from components.models.folder import (
    MANIFEST_FILE,
    PartWriter,
    check_target,
    file_digest,
    find_model,
    folder_lock,
    manifest_of,
    read_manifest,
    whole_file,
    whole_folder,
)
from components.models.onednn import LINEAR
from training.command_line import SettingsError, TrainingError, say
from training.negatives.gold import DrawnNegatives
from training.objective import Optimizer
from training.settings import folder_named

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


def kept_parts(model: str, without: Collection[str]) -> dict[str, Path | PartWriter]:
    """Parts of a model's folder to carry over; none from a model that is not Lexarbor's.

    Args:
        model: Name or folder.
        without: Parts that are left out.
    """
    folder = find_model(model)
    manifest = manifest_of(folder)
    parts = () if manifest is None else manifest.parts
    return {part: folder / part for part in sorted(parts) if part not in without}


RUN_FILE = "run.json"
# Settings that may change when a killed run is resumed: no weight depends on them.
_FREE = ("output", "checkpoint_every", "vectors", "store")


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
            shutil.rmtree(path) if path.is_dir() else path.unlink()
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
        TrainingError: A tensor is not finite.
        SafetensorError: The disk is full.
    """
    with whole_folder(folder, replace=True) as partial:
        for part, tensors in parts.items():
            for name, tensor in tensors.items():
                if tensor.is_floating_point() and not torch.isfinite(tensor).all():
                    not_finite = f"{part} {name!r} holds NaN or infinity"
                    raise TrainingError(f"{not_finite}. {after_no_number(folder.parent)}")
            kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            save_file(kept, partial / f"{part}.safetensors")
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
        learner: `Learner.state` when last saved.
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
    learner: dict[str, Any] = field(default_factory=dict)
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

    def save(self, state: RunState) -> None:
        """Write a checkpoint of the current state; remove older ones.

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
            {"fixed": self._fixed, **{name: getattr(state, name) for name in _PLAIN}},
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

    def newest(self) -> RunState | None:
        """Load the newest complete checkpoint; return its state.

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
        return RunState(**{name: kept[name] for name in _PLAIN}, drawn=drawn)

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(weights[name])
