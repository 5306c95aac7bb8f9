"""The work folder of a run whose checkpoints transformers' Trainer writes.

The Trainer neither syncs what it writes nor says when it is complete, and goes on from the highest
number it finds. Here a checkpoint counts once `complete.json` in it names the digest of every file.
"""

from __future__ import annotations

import json
import re
import shutil
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from components.models.folder import digests_of_tree, sync_tree, whole_file
from training.command_line import SettingsError
from training.same_run import check_same_run

COMPLETE_FILE = "complete.json"
RUN_FILE = "run.json"
_CHECKPOINT = re.compile(r"checkpoint-(\d+)")
# The only setting that may change between a kill and the next start.
_FREE = "output"


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
    now = json.loads(json.dumps({name: value for name, value in fixed.items() if name != _FREE}))
    if not (work / RUN_FILE).exists():
        if work.is_dir() and any(not path.name.startswith(".") for path in work.iterdir()):
            raise SettingsError(
                f"{work} holds something else than a run of this command. Remove that folder, or "
                "give another output."
            )
        work.mkdir(parents=True, exist_ok=True)
        _write(work / RUN_FILE, now)
        return
    before = json.loads((work / RUN_FILE).read_text(encoding="utf-8"))
    if before != now and not any(work.glob("checkpoint-*")):
        # It failed before it had learnt anything: what it was told does not bind anybody.
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
    found = [
        (int(m[1]), p) for p in work.glob("checkpoint-*") if (m := _CHECKPOINT.fullmatch(p.name))
    ]
    for _, folder in sorted(found, reverse=True):
        if fault := _fault(folder):
            say(f"{folder}: {fault}; it is passed over and removed")
            shutil.rmtree(folder)
        else:
            return folder
    return None


def _fault(checkpoint: Path) -> str | None:
    """What is wrong with a checkpoint, if anything."""
    try:
        expected = json.loads((checkpoint / COMPLETE_FILE).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return "was not written to the end"
    found = digests_of_tree(checkpoint)
    found.pop(COMPLETE_FILE)
    for name in sorted(found.keys() | expected.keys()):
        if found.get(name) != expected.get(name):
            return f"{name} is not what was written"
    return None


def _write(path: Path, value: Any) -> None:
    with whole_file(path) as partial:
        partial.write_text(json.dumps(value, indent=1) + "\n", encoding="utf-8")
