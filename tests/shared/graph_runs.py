"""Runs of training.graph on the small law."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from accelerate import Accelerator

from training.data import TrainingData
from training.graph import GraphLearner
from training.settings import GraphSettings

Settings = Callable[..., GraphSettings]

# 6 steps.
GRAPH_SHORT: dict[str, Any] = {
    "max_steps": 6,
    "batch_size": 8,
    "negatives_per_question": 3,
    "learning_rate": 1e-2,
    "temperature": 0.05,
    "device": "cpu",
}


def data_of(chosen: GraphSettings) -> TrainingData:
    return TrainingData.read(chosen.corpus, chosen.questions, dev_share=0.0)


def learner_of(chosen: GraphSettings) -> GraphLearner:
    return GraphLearner(chosen, data_of(chosen), Accelerator(cpu=True))
