"""A run that is taken up again computes as it began."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from components.models.cpu import settle_linear_library, settle_way
from components.models.devices import settle_bf16
from training.checkpoints import newest_state
from training.hf_trainer.checkpoints import RUN_FILE


def compute_as_begun(work: Path) -> None:
    """Settle number format and library as they were measured when the run in a folder began.

    Which of two is the faster hangs on what else the machine does at that moment, and the weights
    hang on which it is. To be called before anything asks; where no run is, nothing is settled.

    Args:
        work: The folder of a run's checkpoints, whoever writes them.
    """
    begun = _begun(work)
    settle_bf16(begun.get("dtype"))
    settle_way(begun.get("products"))
    settle_linear_library(begun.get("linear"))


def _begun(work: Path) -> Mapping[str, Any]:
    """What the run depends on, by name, as it was kept."""
    if (work / RUN_FILE).exists():
        kept: dict[str, Any] = json.loads((work / RUN_FILE).read_text(encoding="utf-8"))
        return kept
    state = newest_state(work)
    return {} if state is None else state["fixed"]
