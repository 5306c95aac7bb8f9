"""The model that is trained on the demo law, and the store of the law under it."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
import sys
import time
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from components.models.errors import ModelError
from components.models.folder import file_digest, manifest_digest, model_digest, read_manifest
from components.statutes.sources import opening
from pipelines.bundled import bundled_model

# No graph and no ranker: learnt from a hundred questions they find less than the bi-encoder alone.
_MODULE, _SETTINGS = "training.cusines", "demo.yaml"

_NAME = re.compile(r"demo-[0-9a-f]{12}")
_UNUSED_SECONDS = 30 * 24 * 3600


@dataclass(frozen=True)
class TrainedModel:
    """A complete model.

    Attributes:
        folder: absolute.
        digest: as a store records it.
    """

    folder: Path
    digest: str


@dataclass(frozen=True)
class TrainedDemo:
    """Where everything about the training on the demo law lies.

    The folder is named after the digest of what goes into them: law, questions, base model and
    settings. When one of them changes it is another folder, so what is in a folder never goes
    stale, and Lexarbors of two versions do not disturb each other.

    Attributes:
        folder: `demo-<digest>` in Lexarbor's home; may not be made yet.
        settings: of the training, a file.
    """

    folder: Path
    settings: Path

    @classmethod
    def under(cls, home: Path) -> TrainedDemo | None:
        """The one for this Lexarbor, or None where nothing can be trained.

        That is where no base model is at hand, and on Windows, which has neither the locks nor the
        syncing of folders that the training relies on.

        Args:
            home: folder of Lexarbor's own files.
        """
        base = bundled_model()
        if base is None or sys.platform == "win32":
            return None
        # Named, not imported: pipelines stand on components alone, and train only as a process.
        settings = Path(str(files("training") / "configs" / _SETTINGS))
        parts = {
            "articles": file_digest(opening.articles_path()),
            "questions": file_digest(opening.questions_path()),
            _MODULE: file_digest(settings),
            "base": model_digest(Path(base)),
        }
        digest = hashlib.sha256(json.dumps(parts, sort_keys=True).encode()).hexdigest()
        return cls(home / f"demo-{digest[:12]}", settings)

    @property
    def command(self) -> tuple[str, ...]:
        """The training's command line; started again after an interruption, it goes on."""
        config = ("--config", str(self.settings))
        return (sys.executable, "-m", _MODULE, *config, "--output", str(self.model))

    @property
    def model(self) -> Path:
        """The model's folder; it appears when the training is complete."""
        return self.folder / "model"

    @property
    def work(self) -> Path:
        """Where the training keeps what it needs to go on after an interruption."""
        return self.model.with_name(f"{self.model.name}.work")

    @property
    def progress(self) -> Path:
        """What the training says about how far it is: JSON with `step` and `steps`."""
        return self.work / "progress.json"

    @property
    def store(self) -> Path:
        """The store of the demo law under the trained model."""
        return self.folder / "demo.db"

    @property
    def log(self) -> Path:
        """What the latest training wrote."""
        return self.folder / "training.log"

    @property
    def lock(self) -> Path:
        """Held by whoever trains."""
        return self.folder / "training.lock"

    @property
    def begun(self) -> bool:
        """Whether something is there to go on with."""
        return not self.model.exists() and self.work.exists()

    def trained(self) -> TrainedModel | None:
        """The model, or None while it is not there or a file of it is not what was written."""
        try:
            return TrainedModel(self.model.resolve(), manifest_digest(read_manifest(self.model)))
        except ModelError:
            return None

    def clear(self) -> None:
        """Take away a model that is broken, and what was kept for going on."""
        for folder in (self.model, self.work):
            shutil.rmtree(folder, ignore_errors=True)

    def remove_unused(self) -> None:
        """Take away what nobody has used for 30 days."""
        for folder in self.folder.parent.iterdir():
            if folder == self.folder or not _NAME.fullmatch(folder.name):
                continue
            # Opening a store in it, even to read, renews the folder's time.
            ours = (folder / self.lock.name).is_file()
            if ours and time.time() - folder.stat().st_mtime > _UNUSED_SECONDS:
                shutil.rmtree(folder, ignore_errors=True)
