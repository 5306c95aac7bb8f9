"""A retrieval pipeline as an arm of a comparison, measured as its users run it.

Training imports neither Haystack nor the stores. So the law is indexed, and the pipeline asked, by
the commands of `pipelines`, each in a process of its own: what is measured is what people use.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.models.folder import (
    MANIFEST_FILE,
    articles_digest,
    find_model,
    folder_lock,
)
from components.statutes.metrics import read_trec_run
from components.statutes.question import Question
from training import fusion
from training.command_line import Place, Target, TrainingError
from training.data import evaluated
from training.settings import BUNDLED, FusionSettings, KeptSettings

METRICS = ("Exist@1", "Exist@3", "R@10", "R@100", "MAP@10", "MRR@10")
_DEPTH = 100


@dataclass(frozen=True, kw_only=True)
class PipelineSettings(KeptSettings):
    """A pipeline over a store of the law.

    Args:
        corpus: The law.
        questions: Questions with their articles and splits.
        output: As of the comparison.
        model: That encodes the law and the questions.
        pipeline: One of `pipelines`, such as hybrid.
        answered: Whether the questions of train are kept with the store as answered ones.
        learned: Whether a fusion is learnt from them first (`training.fusion`).
        dev_share: Share of train that is set aside where no question is of dev.
        device: That the fusion is learnt on.
        seed: Of the fusion.
    """

    corpus: Place
    questions: Place
    output: Target
    model: Place = BUNDLED
    pipeline: str = "hybrid"
    answered: bool = False
    learned: bool = False
    dev_share: float = 0.1
    device: str | None = None
    seed: int = 0


def store_of(stores: Path, model: str) -> Place | None:
    """The store that `measure` has made of the law with a model, if it has.

    Args:
        stores: As there.
        model: Name or folder.
    """
    path = stores / f"{articles_digest(find_model(model))[:16]}.db"
    return Place(str(path)) if path.exists() else None


def measure(
    settings: PipelineSettings,
    model: Place,
    questions: Sequence[Question],
    split: str,
    stores: Path,
    work: Path,
) -> tuple[dict[str, dict[str, float]], dict[str, Any]]:
    """Index the law where the store lacks it, and ask the pipeline.

    Args:
        settings: What is measured.
        model: Name or folder of the model.
        questions: Those of the split that have an answer.
        split: Its name.
        stores: Folder of stores, one for each way in which the articles are encoded, that the arms
            share.
        work: Folder for what else is made.

    Returns:
        Metric to question id to value, and what the run's line says besides.

    Raises:
        TrainingError: One of the commands failed.
    """
    place = settings.corpus
    if settings.learned:
        fused = work / "fused"
        if not (fused / MANIFEST_FILE).exists():
            fusion.train(
                FusionSettings(
                    corpus=place,
                    questions=settings.questions,
                    output=Target(str(fused)),
                    model=model,
                    store=store_of(stores, model),
                    dev_share=settings.dev_share,
                    device=settings.device,
                    seed=settings.seed,
                )
            )
        model = Place(str(fused))
    answered = ("--answered", settings.questions) if settings.answered else ()
    name = f"{articles_digest(find_model(model))[:16]}{'-answered' if answered else ''}"
    with folder_lock(stores / name, wait=True):
        store = str(stores / f"{name}.db")
        _run("index", "--corpus", place, "--store", store, "--model", model, *answered)
        asked = ("--questions", settings.questions, "--split", split, "--depth", str(_DEPTH))
        written = ("--run-dir", str(work), "--json")
        own = ("--store", store, "--pipeline", settings.pipeline)
        report = json.loads(_run("evaluate", *own, *asked, *written))
    run = read_trec_run(work / f"{report['pipeline']}.trec")
    found = (run.get(question.id, []) for question in questions)
    values = evaluated(questions, found, METRICS, _DEPTH)
    untrained = {"dtype": "auto", "steps": 0, "epoch": 0, "epochs": []}
    return values, {**untrained, "ms_a_question": report["p50_ms"]}


def _run(command: str, *arguments: str) -> str:
    """What a command of `pipelines` prints; its messages go where ours do."""
    done = subprocess.run(  # noqa: S603 - our own commands
        [sys.executable, "-m", f"pipelines.{command}", *arguments],
        stdout=subprocess.PIPE,
        text=True,
        check=False,
    )
    if done.returncode:
        raise TrainingError(f"python -m pipelines.{command} failed (exit {done.returncode})")
    return done.stdout
