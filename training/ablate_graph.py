"""python -m training.ablate_graph: measure what a graph over the tree of the law is worth.

    python -m training.ablate_graph --config training/configs/ablate_graph.yaml --output ablation

Like python -m training.ablate, but for networks on a frozen bi-encoder.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from training.ablate import ablate
from training.ablation.grid import GraphAblationSettings
from training.command_line import run, settings_from

_DESCRIPTION = """\
Trains networks over the tree of the law on one frozen bi-encoder, each with several seeds, and
measures them on dev: with and without the graph, with other edges, other negatives and other
networks. Runs found in the results file are not made again. Ends with tables (intervals, paired
significance) and plots in the output folder."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("ablate_graph", _DESCRIPTION, GraphAblationSettings, arguments)
    return run(lambda: ablate(settings))


if __name__ == "__main__":
    sys.exit(main())
