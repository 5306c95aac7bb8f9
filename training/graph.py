"""python -m training.graph: train a graph network over the tree of the law, G-DSR's.

    python -m training.graph --config training/configs/demo_graph.yaml --model models/demo \
        --output models/graph

The same command goes on where it was interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from training.command_line import run, settings_from
from training.graph_training.settings import GraphSettings
from training.running import train

if TYPE_CHECKING:
    from accelerate import Accelerator

    from training.data import TrainingData
    from training.graph_training.learner import GraphLearner

_DESCRIPTION = """\
Trains a graph network that enriches a bi-encoder's vectors of articles by their place in the law.
The bi-encoder stays as it is. Writes a model folder with both, for python -m pipelines.index
--graph."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("graph", _DESCRIPTION, GraphSettings, arguments)

    def work() -> None:
        settings.check_views()
        train("graph", settings, start)

    return run(work)


def start(settings: GraphSettings, data: TrainingData, accelerator: Accelerator) -> GraphLearner:
    """The graph network that training starts from.

    Raises:
        ModelError: The bi-encoder cannot be opened.
        SettingsError: A setting does not fit the bi-encoder; or there are several processes.
    """
    # Imported here, so that --help answers without waiting for torch.
    from training.graph_training.learner import GraphLearner
    from training.learnt_questions import say_where_dev_is_learnt

    say_where_dev_is_learnt(settings, data)
    return GraphLearner(settings, data, accelerator)


if __name__ == "__main__":
    sys.exit(main())
