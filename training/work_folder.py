"""The folder beside a model folder in which a run keeps what it needs to go on."""

from __future__ import annotations

import glob
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from components.models.folder import MANIFEST_FILE, check_target, read_manifest
from components.models.locks import folder_lock
from training.command_line import SettingsError, say
from training.records import METRICS_FILE
from training.setting_checks import folder_named

TRACKERS = "trackers"

_TAKEN_ALONG = (METRICS_FILE, "metrics.png", "metrics.svg", TRACKERS)


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
                f"output: another process is training into {output}, and holds {work}. Wait until "
                "it has ended, or give another output."
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
