"""What makes two runs the same run: an old line of the results is found by it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping
from typing import Any

from training.ablation.arms import TrainingSettings
from training.ablation.systems import CUSINES, SYSTEMS, System

_IDENTITY = (
    *("corpus_sha256", "questions_sha256", "split_sha256", "start"),
    *("trained", "settings", "seed", "fold", "folds"),
)


def keyed_settings(system: System, arm: str, settings: TrainingSettings) -> dict[str, Any]:
    """The settings that an arm's result depends on, without paths, as JSON has them."""
    values = settings.to_dict()
    return {name: values[name] for name in system.keyed(arm)}


def key_of(line: Mapping[str, Any]) -> str:
    """The key of a run, from what its line in the results says of it.

    A setting that did not exist when the line was written has its default, so that a new one does
    not make old results void. Lines that name no system are of CuSINeS.

    Raises:
        KeyError: The line lacks a field.
    """
    system = SYSTEMS[line["system"]] if "system" in line else CUSINES
    identity = {name: line[name] for name in _IDENTITY}
    defaults = system.defaults(line["arm"])
    identity["settings"] = {**defaults, **line["settings"]}
    if system is not CUSINES:
        identity["system"] = system.name
    text = json.dumps(identity, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:16]
