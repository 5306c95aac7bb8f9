"""Grids over the small law whose runs are made up."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from training.ablation.dataset import Dataset
from training.ablation.grid import runs_of
from training.ablation.metrics import DENSE_METRICS, METRICS
from training.ablation.run import Run
from training.ablation.settings import AblationSettings, GridSettings
from training.records import environment


@pytest.fixture
def grid_settings(small_law: Path, tiny_bert: Path, tmp_path: Path) -> Callable[..., GridSettings]:
    """`grid_settings(field=value, ...)`: two arms and one seed on the small law's dev split."""

    def of(**fields: Any) -> GridSettings:
        values = {
            "datasets": (str(small_law),),
            "output": str(tmp_path / "grid"),
            "results": str(tmp_path / "results.jsonl"),
            "model": str(tiny_bert),
            "arms": ("bm25_fixed", "cusines"),
            "seeds": (0,),
            "folds": 1,
            "negatives_per_question": 3,
            "epochs": 2,
            "batch_size": 8,
            "dtype": "float32",
            "device": "cpu",
            **fields,
        }
        return AblationSettings(**values)

    return of


@pytest.fixture
def runs(grid_settings: Callable[..., GridSettings]) -> Callable[..., list[Run]]:
    """`runs(field=value, ...)`: the runs of a grid."""

    def of(**fields: Any) -> list[Run]:
        settings = grid_settings(**fields)
        return runs_of(settings, [Dataset.read(place) for place in settings.datasets])

    return of


def a_line(run: Run, *, value: float = 0.5, seconds: float = 1.0, **fields: Any) -> dict[str, Any]:
    """What a run's line could be, every question's value the same."""
    rows = list(run.split.rows)
    epoch = {"epoch": 0, "dev": dict.fromkeys(DENSE_METRICS, value), "negatives": NEGATIVES}
    return {
        "key": run.key,
        **run.about,
        "environment": {**environment("cpu"), "dtype": "float32", "runs_on": "cpu"},
        "articles_encoded": 40,
        "passes_saved": 0.25,
        "steps": 6,
        "seconds": {"total": seconds},
        "epoch": 1,
        "epochs": [epoch, {**epoch, "epoch": 1}] if run.trained else [],
        "means": dict.fromkeys(METRICS, value),
        "questions": rows,
        "unseen": rows[:1],
        "values": {metric: [value] * len(rows) for metric in METRICS},
        **fields,
    }


NEGATIVES = {
    "drawn": 30,
    "buckets": [10, 0, 20],
    "views": {"tree": 30},
    "mean_tree_distance": 4.0,
    "overlap": 0.5,
    "ties": {"tree": 0.9},
    "audit": {"above_best_positive": [0.3, None, 0.6], "above_a_positive": [0.3, None, 0.6]},
}


@pytest.fixture(scope="session")
def line() -> Callable[..., dict[str, Any]]:
    """`line(run, value=, seconds=, **fields)`: a made-up line of a run."""
    return a_line
