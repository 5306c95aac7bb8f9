"""python -m training.ranker: train a cross-encoder that re-ranks what a bi-encoder finds.

    python -m training.ranker --config training/configs/ranker_demo.yaml --output models/ranker

The same command resumes where it was interrupted.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

from training.command_line import run, settings_from
from training.settings import RankerTrainingSettings

_DESCRIPTION = """\
Trains a cross-encoder on questions with known articles, with negatives drawn from what a bi-encoder
ranks best. Writes a model folder that holds the bi-encoder as it was and the ranker. To compare
strategies and numbers of negatives, seed by seed: python -m training.ablate_ranker."""


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the command; returns its exit code."""
    settings = settings_from("ranker", _DESCRIPTION, RankerTrainingSettings, arguments)
    return run(lambda: train(settings))


def train(settings: RankerTrainingSettings) -> None:
    """Train from the settings' files to the settings' model folder.

    Raises:
        SettingsError: A setting does not fit the data or the run to resume, or another process
            trains into the output.
        CorpusError: A file cannot be read.
        ModelError: A model cannot be opened, or the output folder is not empty.
        TrainingError: A loss, weight or logit is not finite.
    """
    # Imported here, so that --help answers without waiting for sentence-transformers.
    from training.checkpoint import compute_as_begun, open_work_folder
    from training.data import TrainingData, say_where_dev_is_learnt
    from training.hf import train_alone
    from training.ranking.run import fixed_by, prepare, publish, quiet_warnings, train_ranker

    def work_in(work: Path) -> None:
        data = TrainingData.read(settings.corpus, settings.questions, dev_share=settings.dev_share)
        say_where_dev_is_learnt(settings, data)
        compute_as_begun(work)
        open_work_folder(work, fixed_by(settings, data))
        prepared = prepare(settings, data, work)
        records = train_ranker(settings, prepared, work)
        publish(settings, data, prepared, records, work)

    quiet_warnings()
    train_alone(settings, work_in)


if __name__ == "__main__":
    sys.exit(main())
