"""Which questions a model that training starts from has learnt before.

What a model knows by heart neither measures nor chooses anything that is built on it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from components.models.errors import ModelError
from components.models.folder import MANIFEST_FILE, Manifest, find_model
from training.command_line import say
from training.data import TrainingData
from training.kept_settings import KeptSettings

_STARTS = ("model", "query_model", "passage_model", "start")


@dataclass(frozen=True)
class Training:
    """A training that a model went through.

    Attributes:
        model: The folder that it made.
        config: Its settings.
    """

    model: str
    config: Mapping[str, Any]

    def learnt_of_dev(self, data: TrainingData, dev_share: float) -> str | None:
        """The setting by which it learnt questions that are of dev now, or None.

        Args:
            data: The same questions' file.
            dev_share: What is set aside of it where none is of dev.
        """
        if not data.dev:
            return None
        if self.config.get("final"):
            return "final"
        aside = any(question.split == "train" for question in data.dev)
        own = self.config.get("dev_share", dev_share)
        return f"dev_share {own}" if aside and own < dev_share else None


def trainings_on(questions_sha256: str, settings: KeptSettings) -> list[Training]:
    """The trainings on a questions' file that led to what a run starts from.

    A model's manifest names what it was made from in its turn, which is followed as far as it is
    still there. A model without a manifest has learnt no questions.

    Args:
        questions_sha256: Digest of the file.
        settings: Of the run.

    Raises:
        ModelError: A model that the run starts from cannot be found.
    """
    ahead = [(name, find_model(name)) for name in _starts(settings.to_dict())]
    seen: set[Path] = set()
    found: list[Training] = []
    while ahead:
        name, folder = ahead.pop(0)
        manifest = None if folder in seen else _manifest_in(folder)
        seen.add(folder)
        if manifest is not None:
            if manifest.data.get("questions_sha256") == questions_sha256:
                found.append(Training(name, manifest.config))
            ahead += [(each, Path(each).expanduser()) for each in _starts(manifest.config)]
    return found


def say_where_dev_is_learnt(settings: KeptSettings, data: TrainingData) -> None:
    """Say it loudly where the epoch will be chosen by questions that the start has learnt.

    Raises:
        ModelError: A model that the run starts from cannot be found.
    """
    for training in trainings_on(data.questions_sha256, settings):
        if how := training.learnt_of_dev(data, settings.to_dict()["dev_share"]):
            say(
                f"WARNING: {training.model} has learnt questions of dev ({how}), and dev chooses "
                "the epoch: it will look better than it is, and the choice be a worse one. Start "
                "from a model that was trained on the same questions with the same dev_share and "
                "without final"
            )


def _starts(config: Mapping[str, Any]) -> Iterator[str]:
    return (str(config[name]) for name in _STARTS if config.get(name))


def _manifest_in(folder: Path) -> Manifest | None:
    path = folder / MANIFEST_FILE
    try:
        return Manifest.from_json(path.read_text(encoding="utf-8"), str(path))
    except (OSError, UnicodeDecodeError, ModelError):
        return None  # of what a run does start from, opening it says what is wrong
