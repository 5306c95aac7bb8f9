"""Whether a work folder holds the run that is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from training.command_line import SettingsError


def after_no_number(work: Path) -> str:
    """What to do where a loss or a weight is NaN or infinite: the run cannot go on as it is.

    Args:
        work: The folder that it lies in.
    """
    return (
        f"The last good checkpoint is kept in {work}. Train anew, with a lower learning_rate or "
        "dtype float32: give another output, or remove that folder."
    )


def after_no_memory(step: int, mend: str, work: Path) -> str:
    """What to do where memory ran out.

    Args:
        step: At which; in the whole run.
        mend: Settings that need less.
        work: The folder that the run lies in.
    """
    return (
        f"step {step:,}: memory ran out. Train anew with {mend}: give another output, or remove "
        f"{work}. If other programs held the memory, the same command goes on from the last "
        "checkpoint."
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
                f"{work} holds a run that is not finished, with {name} {before.get(name)!r}; now "
                f"it is {now.get(name)!r}. Go on with the same settings, or remove that folder, "
                "or give another output."
            )
