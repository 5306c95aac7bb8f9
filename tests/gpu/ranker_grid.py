"""The grid of training.ablate_ranker on a GPU, in parts of some minutes."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starting_model import minilm

from training.ablate import ablate
from training.ablation.settings import RankerAblationSettings
from training.command_line import settings_from

PRESET = Path(__file__).resolve().parents[2] / "training" / "configs" / "ablate_ranker.yaml"


@dataclass(frozen=True)
class Grid:
    """One law's grid, with the settings of its table in docs/benchmarks.md.

    Attributes:
        law: Name of its folder.
        trained: Whether the first stage has to be one that learnt the law's questions of train.
        settings: Beside the preset's.
    """

    law: str
    trained: bool
    settings: dict[str, Any]


# The order in which time is spent.
GRIDS = (
    Grid("obliqa_en", True, {"measure_on": "dev", "epochs": 2, "dev_candidates": 20}),
    Grid("pdpa_en", False, {"measure_on": "test", "epochs": 4, "dev_candidates": 20}),
)


def go_on(data: Path, out: Path, results: Path, budget_s: float) -> None:
    """Make the next runs on each law that is there, until time is up.

    Tables and plots go to `out/ranker`; no weights are kept.

    Args:
        data: A folder for each law; `first_stage/LAW` is the bi-encoder over a law, else MiniLM,
            which is looked for as `models/minilm` first.
        out: See above.
        results: The file that runs are added to.
        budget_s: Seconds; a run that would not end within them is not begun.
    """
    end = time.monotonic() + budget_s
    for grid in GRIDS:
        own = data / "first_stage" / grid.law
        wanted = [data / grid.law, *([own] if grid.trained else [])]
        if missing := [folder for folder in wanted if not folder.is_dir()]:
            print(f"{missing[0]} is not there: no grid on {grid.law}", flush=True)
            continue
        start = minilm(data)
        with tempfile.TemporaryDirectory() as folder:
            values = {
                "config": PRESET,
                "datasets": json.dumps([str(data / grid.law)]),
                "model": own if own.is_dir() else start,
                "start": start,
                "output": folder,
                "results": results,
                "budget_s": max(0.0, end - time.monotonic()),
                **grid.settings,
            }
            flags = [f"--{name}={value}" for name, value in values.items()]
            try:
                ablate(settings_from("ablate_ranker", "", RankerAblationSettings, flags))
            finally:
                kept = out / "ranker"
                kept.mkdir(parents=True, exist_ok=True)
                for file in Path(folder).glob(f"{grid.law}*"):
                    shutil.copy(file, kept)
