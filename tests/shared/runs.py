"""Training runs: one that is small, and what two of the same run must have in common."""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from components.models.folder import read_manifest

Records = list[dict[str, Any]]


def steady(records: Iterable[dict[str, Any]]) -> Records:
    """Records without what a clock says."""
    return [{k: v for k, v in record.items() if "seconds" not in k} for record in records]


def outcome(model: Path) -> tuple[dict[str, str], Records]:
    """Digests of a model's files, and its metrics without what a clock says."""
    lines = (model / "metrics.jsonl").read_text().splitlines()
    return dict(read_manifest(model).files), steady(json.loads(line) for line in lines)


def work_of(output: Path) -> Path:
    """Where a run keeps what it needs to go on."""
    return output.with_name(output.name + ".work")


def of_aldermere(start: Path, output: Path) -> list[str]:
    """Flags of `training.cusines`: 12 steps on the demo law, a checkpoint every 2."""
    values = {
        "corpus": "aldermere",
        "questions": "aldermere",
        "model": start,
        "output": output,
        "max_steps": 12,
        "checkpoint_every": 2,
        "negatives_per_question": 4,
        "learning_rate": 1e-3,
        "temperature": 0.05,
        "device": "cpu",
        # "auto" measures which format is faster, and a busy machine may answer either way.
        "dtype": "float32",
    }
    return [part for name, value in values.items() for part in (f"--{name}", str(value))]
