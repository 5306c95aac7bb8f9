"""The grid of training.ablate_ranker on a GPU, in parts of some minutes."""

from __future__ import annotations

import json
import shutil
import tempfile
import time
from pathlib import Path

from training.ablate import ablate
from training.ablation.settings import RankerAblationSettings
from training.command_line import settings_from

PRESET = Path(__file__).resolve().parents[2] / "training" / "configs" / "ablate_ranker.yaml"
MINILM = "sentence-transformers/all-MiniLM-L6-v2"
# Law and the split that is measured, in the order in which time is spent.
LAWS = {"obliqa_en": "dev", "pdpa_en": "test"}


def go_on(data: Path, out: Path, results: Path, budget_s: float) -> None:
    """Make the next runs on each law that is there, until time is up.

    Tables and plots go to `out/ranker`; no weights are kept.

    Args:
        data: A folder for each law; `first_stage/LAW` is the bi-encoder over a law, else MiniLM.
        out: See above.
        results: The file that runs are added to.
        budget_s: Seconds; a run that would not end within them is not begun.
    """
    end = time.monotonic() + budget_s
    for law, split in LAWS.items():
        if not (data / law).is_dir():
            print(f"{data / law} is not there: no grid on it", flush=True)
            continue
        own = data / "first_stage" / law
        with tempfile.TemporaryDirectory() as folder:
            values = {
                "config": PRESET,
                "datasets": json.dumps([str(data / law)]),
                "measure_on": split,
                "model": own if own.is_dir() else MINILM,
                "output": folder,
                "results": results,
                "budget_s": max(0.0, end - time.monotonic()),
            }
            flags = [f"--{name}={value}" for name, value in values.items()]
            try:
                ablate(settings_from("ablate_ranker", "", RankerAblationSettings, flags))
            finally:
                kept = out / "ranker"
                kept.mkdir(parents=True, exist_ok=True)
                for file in Path(folder).glob(f"{law}*"):
                    shutil.copy(file, kept)
