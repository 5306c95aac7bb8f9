"""python -m training.pretrain: let an encoder read a law before it is trained to search it.

    python -m training.pretrain --corpus aldermere --output models/read
    python -m training.pretrain --corpus aldermere --model scratch --output models/fresh

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence

from training.command_line import run, settings_from
from training.pretraining import PretrainSettings, pretrain

_DESCRIPTION = """\
Lets an encoder read a law by guessing hidden words (masked-language modelling), either a model at
hand or, with --model scratch, a fresh one with a tokenizer trained on that law. Writes a model
folder that training.cusines starts from."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("pretrain", _DESCRIPTION, PretrainSettings, arguments)
    return run(lambda: pretrain(settings))


if __name__ == "__main__":
    sys.exit(main())
