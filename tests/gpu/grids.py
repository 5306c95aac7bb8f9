"""The grids of training.ablate that want a GPU, in parts of some minutes."""

from __future__ import annotations

import shutil
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from starting_model import minilm

from training.ablate import ablate
from training.ablation.settings import AblationSettings
from training.clean_questions import CleanQuestionsSettings, clean_questions
from training.command_line import Place, Target
from training.pretrain import pretrain
from training.pretraining.settings import PretrainSettings

SHARED: dict[str, Any] = {
    "select_by": "R@100",
    "learning_rate": 1e-4,
    "temperature": 0.05,
    "negatives_per_question": 8,
    "seeds": (0, 1, 2),
}


@dataclass(frozen=True)
class Grid:
    """One law's grid.

    Attributes:
        law: Name of its folder.
        scratch: Whether training starts from an encoder made of the law itself, not from MiniLM.
        settings: Beside `SHARED`.
    """

    law: str
    scratch: bool
    settings: dict[str, Any]


# The order in which time is spent.
GRIDS = (
    Grid("obliqa_en", False, {"epochs": 10}),
    Grid("stard_zh", True, {"epochs": 10, "max_tokens": 256}),
    Grid("code_du_travail_fr", True, {"epochs": 5, "max_tokens": 256}),
)
PRETRAINING: dict[str, Any] = {"max_steps": 4_000, "batch_size": 128, "layers": 6, "width": 384}
PRETRAINING_HEADS = 6


def go_on(data: Path, out: Path, results: Path, budget_s: float) -> None:
    """Make the next runs on each law that is there, until time is up.

    An encoder made from scratch goes to `out/models`; put beside the laws, as `data/models`, it is
    the one that the next part goes on with. Without it the next part would compare other models.

    Args:
        data: A folder for each law, and `models`, with MiniLM as `minilm` where its package is not
            installed.
        out: Tables and encoders.
        results: The file that runs are added to.
        budget_s: Seconds; a run that would not end within them is not begun.
    """
    end = time.monotonic() + budget_s
    for grid in GRIDS:
        if not (data / grid.law).is_dir():
            print(f"{data / grid.law} is not there: no grid on it", flush=True)
            continue
        if time.monotonic() >= end:
            print(f"no time is left for {grid.law}", flush=True)
            continue
        model = str(_encoder(data, out, grid.law)) if grid.scratch else minilm(data)
        with tempfile.TemporaryDirectory() as folder:
            ablate(
                AblationSettings(
                    **SHARED,
                    **grid.settings,
                    model=model,
                    datasets=(Place(str(_cleaned(data / grid.law, Path(folder)))),),
                    output=Target(str(out / "ablate")),
                    results=Target(str(results)),
                    budget_s=max(0.0, end - time.monotonic()),
                )
            )


def _cleaned(law: Path, folder: Path) -> Path:
    """The law with each question in one split: itself, or a copy by its name in `folder`."""
    copy = folder / law.name
    copy.mkdir()
    questions = Target(str(copy / "questions.jsonl"))
    if not clean_questions(CleanQuestionsSettings(questions=Place(str(law)), output=questions)):
        return law
    for articles in law.glob("articles.jsonl*"):
        (copy / articles.name).symlink_to(articles.resolve())
    return copy


def _encoder(data: Path, out: Path, law: str) -> Path:
    """The encoder made of a law, from an earlier part or now."""
    kept, made = data / "models" / law, out / "models" / law
    if not kept.is_dir() and not made.is_dir():
        pretrain(
            PretrainSettings(
                corpus=Place(str(data / law)),
                output=Target(str(made)),
                model=Place("scratch"),
                heads=PRETRAINING_HEADS,
                **PRETRAINING,
            )
        )
    elif kept.is_dir() and not made.is_dir():
        shutil.copytree(kept, made)
    return made
