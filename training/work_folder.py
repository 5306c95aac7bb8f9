"""The folder beside a model folder in which a run keeps what it needs to go on."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from components.models.artifacts import check_target
from components.models.locks import folder_lock
from training.command_line import SettingsError


def work_folder_of(output: Path) -> Path:
    """The work folder of the run that makes the model folder `output`."""
    return output.with_name(output.name + ".work")


@contextmanager
def only_process(output: Path) -> Iterator[None]:
    """Hold the work folder of `output`, see `folder_lock`.

    Two processes with one work folder would remove each other's checkpoints.

    Raises:
        ModelError: `output` is not empty, and there is no work folder of a run that could be ended.
        SettingsError: Another process holds it.
    """
    work = work_folder_of(output)
    if not work.is_dir():
        check_target(output)  # before anything is made beside it
    with folder_lock(work, wait=False) as ours:
        if not ours:
            raise SettingsError(
                f"output: another process is training into {output}, and holds {work}. Wait until "
                "it has ended, or give another output."
            )
        yield
