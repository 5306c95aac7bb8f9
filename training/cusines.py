"""python -m training.cusines: train a bi-encoder with CuSINeS.

    python -m training.cusines --config training/configs/demo.yaml --output models/demo

The same command goes on where it was interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING

from training.command_line import run, settings_from
from training.running import train
from training.settings import CusinesSettings

if TYPE_CHECKING:
    from accelerate import Accelerator

    from training.biencoder_learner import BiEncoderLearner
    from training.data import TrainingData

_DESCRIPTION = """\
Trains a bi-encoder on questions with known articles, with negatives whose difficulty comes from the
tree of the law, its sequence and the model itself, from easy to difficult. Writes a model folder
that every pipeline takes."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("cusines", _DESCRIPTION, CusinesSettings, arguments)

    def work() -> None:
        settings.check_views()
        train("cusines", settings, start)

    return run(work)


def start(
    settings: CusinesSettings, data: TrainingData, accelerator: Accelerator
) -> BiEncoderLearner:
    """The bi-encoder that training starts from.

    Raises:
        ModelError: A model cannot be opened, or the parts do not fit together.
        SettingsError: More layers are to be frozen than a tower has, or nothing is left to train.
    """
    # Imported here, so that --help answers without waiting for torch.
    from training.biencoder_learner import BiEncoderLearner
    from training.learnt_questions import say_where_dev_is_learnt

    say_where_dev_is_learnt(settings, data)
    return BiEncoderLearner(settings, data, accelerator)


if __name__ == "__main__":
    sys.exit(main())
