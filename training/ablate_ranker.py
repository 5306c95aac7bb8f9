"""python -m training.ablate_ranker: measure what a ranker's negatives are worth.

    python -m training.ablate_ranker --config training/configs/ablate_ranker.yaml --output ablation

Like python -m training.ablate, but for cross-encoders over one first stage: the paper's Table 2.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from training.ablate import ablate
from training.ablation.grid import RankerAblationSettings
from training.command_line import run, settings_from

_DESCRIPTION = """\
Trains cross-encoders over one bi-encoder, with easy, semi-hard and hard negatives, 2, 5 and 10 for
each question, with several seeds, and measures them on dev or test next to the bi-encoder's own
order. Runs found in the results file are not made again. Ends with tables (intervals, paired
significance) and plots in the output folder."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("ablate_ranker", _DESCRIPTION, RankerAblationSettings, arguments)
    return run(lambda: ablate(settings))


if __name__ == "__main__":
    sys.exit(main())
