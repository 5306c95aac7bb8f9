"""Checkpoints: complete or not at all, and the newest complete one is found again."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from components.models.folder import file_digest, whole_folder
from training.command_line import TrainingError
from training.same_run import after_no_number

STATE_FILE = "state.json"
_SEAL = "sha256"
_KEPT = 2
_STEP = re.compile(r"step-(\d+)")


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
                    f"{folder}: cannot be written ({error}). Make room on the disk; the same "
                    f"command then goes on from the last checkpoint in {folder.parent}."
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
    for folder in reversed(_steps(work)):
        try:
            found = read_checkpoint(folder)
            if best := found.state.get("best"):
                read_checkpoint(work / best["folder"])
        except TrainingError as error:
            say(f"{error}; an older checkpoint is looked for")
            # Or it would count among the newest that are kept, and push out good ones.
            shutil.rmtree(folder, ignore_errors=True)
        else:
            return found
    return None


def newest_state(work: Path) -> dict[str, Any] | None:
    """The state of the newest checkpoint that can be read, its tensors not looked at."""
    for folder in reversed(_steps(work)):
        try:
            return read_state(folder)
        except TrainingError:
            continue
    return None


def remove_old(work: Path) -> None:
    """Keep the newest checkpoints, and the best weights that they name."""
    steps = _steps(work)
    for folder in steps[:-_KEPT]:
        shutil.rmtree(folder, ignore_errors=True)
    named = set()
    for folder in steps[-_KEPT:]:
        # Not its seal: this comes with each checkpoint, and states grow with a run.
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


def _steps(work: Path) -> list[Path]:
    found = [(int(m[1]), path) for path in work.glob("step-*") if (m := _STEP.fullmatch(path.name))]
    return [path for _, path in sorted(found)]
