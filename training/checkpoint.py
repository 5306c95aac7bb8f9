"""The state of a run, its checkpoints, and how it is resumed."""

from __future__ import annotations

import glob
import hashlib
import json
import math
import re
import shutil
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any, Protocol, TypeVar

import numpy as np
import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor, nn

from components.models.devices import BF16, LINEAR, settle_way
from components.models.folder import (
    MANIFEST_FILE,
    check_target,
    digests_of_tree,
    file_digest,
    read_manifest,
    sync_tree,
    whole_file,
    whole_folder,
)
from components.models.locks import folder_lock
from training.command_line import SettingsError, TrainingError, say
from training.negatives.gold import DrawnNegatives
from training.records import METRICS_FILE
from training.settings import folder_named

T = TypeVar("T")


def after_no_number(work: Path) -> str:
    """What to do where a loss or a weight is NaN or infinite: the run cannot go on as it is.

    Args:
        work: The folder that it lies in.
    """
    return (
        f"The last good checkpoint is in {work}. Train again with a lower learning_rate or dtype "
        "float32, and another output."
    )


def after_no_memory(step: int, remedy: str, work: Path) -> str:
    """What to do where memory ran out.

    Args:
        step: At which; in the whole run.
        remedy: Settings that need less.
        work: The folder that the run lies in.
    """
    return (
        f"step {step:,}: memory ran out. Train again with {remedy}, and another output than of "
        f"{work}; or, if other programs held the memory, repeat the command."
    )


def check_same_run(work: Path, before: Mapping[str, Any], now: Mapping[str, Any]) -> None:
    """Refuse to go on with a run whose settings, data or machine were others.

    Of what has a digest among them (`corpus` and `corpus_sha256`) the digest decides: the same
    files may have moved, or be named from another folder.

    Args:
        work: The folder it lies in.
        before: What it depends on, by name, as it was kept.
        now: The same, as it is now and as JSON has it.

    Raises:
        SettingsError: Names the first thing that differs.
    """
    names = before.keys() | now.keys()
    for name in sorted(name for name in names if f"{name}_sha256" not in names):
        if before.get(name) != now.get(name):
            raise SettingsError(
                f"{work} holds an unfinished run with {name} {before.get(name)!r}, not "
                f"{now.get(name)!r}. Use the same settings, or give another output."
            )


_TAKEN_ALONG = (METRICS_FILE, "metrics.png", "metrics.svg")


def work_folder_of(output: Path) -> Path:
    """The work folder of the run that makes the model folder `output`.

    Raises:
        SettingsError: `output` has no name, as "." has none.
    """
    folder_named(output)
    return output.with_name(output.name + ".work")


@contextmanager
def only_process(output: Path) -> Iterator[None]:
    """Hold the work folder of `output`, see `folder_lock`.

    Two processes with one work folder would remove each other's checkpoints.

    Raises:
        ModelError: `output` is not empty, and there is no work folder of a run that could be ended.
        SettingsError: Another process holds it, or `output` is a file.
    """
    work = work_folder_of(output)
    if output.is_file():
        raise SettingsError(f"output: {output} is a file. Name a folder to make.")
    if not work.is_dir():
        check_target(output)  # before anything is made beside it
    with folder_lock(work, wait=False) as ours:
        if not ours:
            raise SettingsError(
                f"output: another process is training into {output}. Wait, or give another output."
            )
        yield


def made(output: Path, config: Mapping[str, Any]) -> bool:
    """Whether the run of this very configuration has made its model, its work folder still there.

    It was stopped when nothing was left but to tidy up: `move_in` ends it.
    """
    if not (work_folder_of(output).is_dir() and (output / MANIFEST_FILE).exists()):
        return False
    return read_manifest(output).config == config


def move_in(output: Path) -> None:
    """Take what a run wrote down into its model folder, and let the work folder go.

    Metrics and plots lie in the work folder before the model is saved, so that a run stopped at any
    moment between is recognised and ended by the same command.
    """
    work = work_folder_of(output)
    for name in _TAKEN_ALONG:
        if (work / name).exists():
            (work / name).replace(output / name)
    # What a writer that was killed has left: nobody else writes this model, the folder is held.
    for partial in output.parent.glob(f".{glob.escape(output.name)}.*.partial"):
        shutil.rmtree(partial, ignore_errors=True)
    shutil.rmtree(work)
    say(f"The model is in {output}")


STATE_FILE = "state.json"
_SEAL = "sha256"
_KEPT = 2


@dataclass(frozen=True)
class Checkpoint:
    """One complete checkpoint.

    Attributes:
        folder: Where it lies.
        state: Everything in it that is no tensor.
    """

    folder: Path
    state: Mapping[str, Any]

    def tensors(self, part: str) -> dict[str, Tensor]:
        """The tensors of one part by name, on the CPU."""
        loaded: dict[str, Tensor] = load_file(self.folder / f"{part}.safetensors")
        return loaded


def write_checkpoint(
    folder: Path, parts: Mapping[str, Mapping[str, Tensor]], state: Mapping[str, Any]
) -> None:
    """Write a checkpoint: tensors as safetensors, the rest as JSON, nothing as pickle.

    A folder of this name is complete, see `whole_folder`; `state.json` has its files' digests.

    Args:
        folder: Where to; an older checkpoint of this name gives way.
        parts: File name (without suffix) to tensors by name.
        state: What JSON can hold.

    Raises:
        TrainingError: A tensor is not finite, or the disk is full.
    """
    with whole_folder(folder, replace=True) as partial:
        for part, tensors in parts.items():
            for name, tensor in tensors.items():
                if tensor.is_floating_point() and not torch.isfinite(tensor).all():
                    raise TrainingError(
                        f"{part} {name!r} holds NaN or infinity, so nothing is written. "
                        f"{after_no_number(folder.parent)}"
                    )
            kept = {name: tensor.detach().cpu().contiguous() for name, tensor in tensors.items()}
            try:
                save_file(kept, partial / f"{part}.safetensors")
            except SafetensorError as error:
                raise TrainingError(
                    f"{folder}: cannot be written ({error}). Make room on the disk and repeat the "
                    "command."
                ) from error
        digests = {path.name: file_digest(path) for path in sorted(partial.iterdir())}
        whole = {**state, "files": digests}
        (partial / STATE_FILE).write_text(
            json.dumps({**whole, _SEAL: _seal(whole)}) + "\n", encoding="utf-8"
        )


def read_checkpoint(folder: Path) -> Checkpoint:
    """Open a checkpoint whose every file is what was written.

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
    return Checkpoint(folder, state)


def newest_checkpoint(work: Path, say: Callable[[str], object]) -> Checkpoint | None:
    """The newest complete checkpoint in a folder; a newer broken one is named and removed.

    A checkpoint whose best weights are broken is broken too: they are what the run would end with.
    """

    def opened(folder: Path) -> Checkpoint:
        found = read_checkpoint(folder)
        if best := found.state.get("best"):
            read_checkpoint(work / best["folder"])
        return found

    return _newest(work, "step", opened, say)


def newest_state(work: Path) -> dict[str, Any] | None:
    """The state of the newest checkpoint that can be read, its tensors not looked at."""
    for folder in reversed(_numbered(work, "step")):
        try:
            return read_state(folder)
        except TrainingError:
            continue
    return None


def remove_old(work: Path) -> None:
    """Keep the newest checkpoints, and the best weights that they name."""
    steps = _numbered(work, "step")
    for folder in steps[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
    named = set()
    for folder in steps[-_KEPT:]:
        # The digests are not checked here: that would read every state again at each checkpoint.
        try:
            best = json.loads((folder / STATE_FILE).read_text(encoding="utf-8")).get("best")
        except (OSError, ValueError, AttributeError):
            continue
        if best:
            named.add(best["folder"])
    for folder in work.glob("best-*"):
        if folder.name not in named:
            shutil.rmtree(folder, ignore_errors=True)


def read_state(folder: Path) -> dict[str, Any]:
    """The state of a checkpoint, its tensors not looked at.

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


def _numbered(work: Path, kind: str) -> list[Path]:
    """The folders of checkpoints, in the order of their steps."""
    pattern = re.compile(rf"{kind}-(\d+)")
    found = [(int(m[1]), p) for p in work.glob(f"{kind}-*") if (m := pattern.fullmatch(p.name))]
    return [path for _, path in sorted(found)]


def _newest(
    work: Path, kind: str, opened: Callable[[Path], T], say: Callable[[str], object]
) -> T | None:
    """The newest checkpoint that can be opened; newer ones are named and removed."""
    for folder in reversed(_numbered(work, kind)):
        try:
            return opened(folder)
        except TrainingError as error:
            say(f"{error}; an older checkpoint is looked for")
            # Or it would count among the newest that are kept, and push out good ones.
            shutil.rmtree(folder, ignore_errors=True)
    return None


# The work folder of a run whose checkpoints transformers' Trainer writes.
#
# The Trainer neither syncs what it writes nor marks it as complete, and resumes from the highest
# number it finds. Here a checkpoint counts once its `complete.json` names the digest of every file.


COMPLETE_FILE = "complete.json"
RUN_FILE = "run.json"
# The only setting that may change between a kill and the next start.
_FREE_SETTING = "output"


def claim(work: Path, fixed: Mapping[str, Any]) -> None:
    """Make a work folder, or take up the one of the same run.

    Args:
        work: The folder.
        fixed: What must be the same when a run is taken up again, by name.

    Raises:
        SettingsError: The folder is of another run that has a checkpoint; the message names what
            differs. One without is forgotten.
    """
    # As JSON has them: a tuple comes back as a list.
    now = json.loads(
        json.dumps({name: value for name, value in fixed.items() if name != _FREE_SETTING})
    )
    if not (work / RUN_FILE).exists():
        if work.is_dir() and any(not path.name.startswith(".") for path in work.iterdir()):
            raise SettingsError(f"{work} does not hold a run of this command. Give another output.")
        work.mkdir(parents=True, exist_ok=True)
        _write(work / RUN_FILE, now)
        return
    before = json.loads((work / RUN_FILE).read_text(encoding="utf-8"))
    if before != now and not any(work.glob("checkpoint-*")):
        # It failed before it had learnt anything, so other settings may take its place.
        for path in work.iterdir():
            if path.is_dir():
                shutil.rmtree(path)
            elif not path.name.startswith("."):
                path.unlink()
        _write(work / RUN_FILE, now)
        return
    check_same_run(work, before, now)


def seal(checkpoint: Path) -> None:
    """Bring a checkpoint to the disk, then say that it is complete."""
    (checkpoint / COMPLETE_FILE).unlink(missing_ok=True)
    digests = digests_of_tree(checkpoint)
    sync_tree(checkpoint)
    _write(checkpoint / COMPLETE_FILE, digests)


def newest_complete(work: Path, say: Callable[[str], object]) -> Path | None:
    """The newest complete checkpoint; a newer one that is not is named and removed.

    It is removed because the Trainer keeps the newest ones by number or age.
    """
    return _newest(work, "checkpoint", _checked, say)


def _checked(checkpoint: Path) -> Path:
    """A checkpoint all of whose files are what was written.

    Raises:
        TrainingError: One is not.
    """
    try:
        expected = json.loads((checkpoint / COMPLETE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise TrainingError(f"{checkpoint}: is not complete") from error
    found = digests_of_tree(checkpoint)
    found.pop(COMPLETE_FILE)
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            raise TrainingError(f"{checkpoint / name}: is not what was written (digest differs)")
    return checkpoint


def _write(path: Path, value: Any) -> None:
    with whole_file(path) as partial:
        partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")


def compute_as_begun(work: Path) -> None:
    """Use the number format and library that were measured when the run in a folder began.

    Which of two is faster depends on what else the machine does, and the weights depend on which
    of them computed. Call it before anything asks; without a run, nothing is decided.

    Args:
        work: The folder of a run's checkpoints, whoever writes them.
    """
    begun = _begun(work)
    BF16.settle(begun.get("dtype"))
    settle_way(begun.get("products"))
    LINEAR.settle(begun.get("linear"))


def _begun(work: Path) -> Mapping[str, Any]:
    """What the run depends on, by name, as it was kept."""
    if (work / RUN_FILE).exists():
        kept: dict[str, Any] = json.loads((work / RUN_FILE).read_text(encoding="utf-8"))
        return kept
    state = newest_state(work)
    return {} if state is None else state["fixed"]


# Settings that may change between a kill and the next start: no weight depends on them.
_FREE = ("output", "checkpoint_every", "vectors")
_DRAWN = "negatives"
_BEST = "weights"


@dataclass
class RunState:
    """Where a run is.

    Attributes:
        epoch: The epoch that is being trained, from 0.
        step: Steps done in the whole run.
        losses: Of the steps of this epoch so far.
        encoded: Articles encoded in this epoch's steps.
        listed: Articles that its pairs listed, repeats counted.
        seconds: Spent on its steps.
        records: One for each epoch boundary passed: metrics, negatives, times.
        described: What was drawn for epochs to come, by epoch; goes into their records.
        best: Of the best weights so far `{"epoch", "value", "folder", "values", "unseen"}`, the
            last two as in `Validation`; None before the first.
        finished: Whether the last boundary is passed.
        drawn: Negatives by epoch, of this one and of those drawn with it.
        previous: The last epoch's; what a new epoch's are compared with, at once.
    """

    epoch: int = 0
    step: int = 0
    losses: list[float] = field(default_factory=list)
    encoded: int = 0
    listed: int = 0
    seconds: float = 0.0
    records: list[dict[str, Any]] = field(default_factory=list)
    described: dict[str, Any] = field(default_factory=dict)
    best: dict[str, Any] | None = None
    finished: bool = False
    drawn: dict[int, DrawnNegatives] = field(default_factory=dict)
    previous: DrawnNegatives | None = None

    def trained(self) -> dict[str, Any]:
        """What the record of the boundary before says of this epoch, once its steps are done."""
        return {
            "loss": math.fsum(self.losses) / len(self.losses),
            "losses": [round(loss, 5) for loss in self.losses],
            "articles_encoded": self.encoded,
            "articles_listed": self.listed,
            "seconds_training": self.seconds,
        }

    def next_epoch(self) -> None:
        """Begin a new epoch's counts."""
        self.previous = self.drawn.pop(self.epoch, None)
        self.epoch += 1
        self.losses = []
        self.encoded = self.listed = 0
        self.seconds = 0.0


# What of a run's state goes into JSON as it is.
_PLAIN = [each.name for each in fields(RunState) if each.name not in ("drawn", "previous")]


class KeptOptimizer(Protocol):
    """What a checkpoint needs of an optimizer."""

    def state(self) -> Mapping[str, Tensor]:
        """Its tensors by name."""

    def restore(self, state: Mapping[str, Tensor]) -> None:
        """Put back what `state` gave."""


class Resuming:
    """Keeps a run in its work folder, and finds it there again.

    Args:
        work: The folder.
        fixed: What must be the same when the run is taken up again: settings, data, model and
            what was resolved from the machine, by name.
        parameters: Trained parameters by name.
        optimizer: Over the same parameters.
    """

    def __init__(
        self,
        work: Path,
        fixed: Mapping[str, Any],
        parameters: Mapping[str, nn.Parameter],
        optimizer: KeptOptimizer,
    ) -> None:
        self._work = work
        self._fixed = {name: value for name, value in fixed.items() if name not in _FREE}
        self._parameters = parameters
        self._optimizer = optimizer

    def save(self, state: RunState, learner: Mapping[str, Any]) -> None:
        """Write a checkpoint of this moment, the learner's own state in it; older ones go.

        Raises:
            TrainingError: A weight is not finite.
        """
        drawn = {str(epoch): each for epoch, each in state.drawn.items()}
        write_checkpoint(
            self._work / f"step-{state.step}",
            {
                "model": self._parameters,
                "optimizer": self._optimizer.state(),
                _DRAWN: {
                    f"{when}/{name}": torch.from_numpy(array)
                    for when, each in drawn.items()
                    for name, array in vars(each).items()
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
        """Keep the weights of this moment as the best so far."""
        write_checkpoint(self._work / folder, {_BEST: self._parameters}, {})

    def load_best(self, state: RunState) -> None:
        """Put the best weights into the model.

        Raises:
            TrainingError: Their file is missing or broken.
        """
        assert state.best is not None
        best = read_checkpoint(self._work / state.best["folder"])
        self._put(best.tensors(_BEST))

    def newest(self, say: Callable[[str], object]) -> tuple[RunState, Mapping[str, Any]] | None:
        """Load the newest complete checkpoint: its state, and that of the learner.

        Raises:
            SettingsError: It is of another run.
        """
        checkpoint = newest_checkpoint(self._work, say)
        if checkpoint is None:
            return None
        check_same_run(self._work, checkpoint.state["fixed"], self._fixed)
        self._put(checkpoint.tensors("model"))
        self._optimizer.restore(checkpoint.tensors("optimizer"))
        kept = checkpoint.state
        drawn = _drawn(checkpoint.tensors(_DRAWN))
        state = RunState(
            **{name: kept[name] for name in _PLAIN},
            drawn={int(epoch): each for epoch, each in drawn.items()},
        )
        return state, kept["learner"]

    def _put(self, weights: Mapping[str, Tensor]) -> None:
        with torch.no_grad():
            for name, parameter in self._parameters.items():
                parameter.copy_(weights[name])


def _drawn(tensors: Mapping[str, Tensor]) -> dict[str, DrawnNegatives]:
    arrays: dict[str, dict[str, np.ndarray[Any, Any]]] = {}
    for name, tensor in tensors.items():
        when, _, array = name.partition("/")
        arrays.setdefault(when, {})[array] = tensor.numpy()
    return {when: DrawnNegatives(**each) for when, each in arrays.items()}
