"""The part "ranker" of a model folder: a cross-encoder's files and `ranker.json` beside them."""

from __future__ import annotations

import dataclasses
import hashlib
import json
import math
from dataclasses import dataclass
from pathlib import Path
from typing import Any, get_args

import torch
from torch import Tensor

from components.models.digest import model_digest
from components.models.errors import ModelError
from components.models.manifest import MANIFEST_FILE, RANKER_PART, Manifest, read_manifest
from components.models.text_encoder import checked_segmentation
from components.statutes.lexical import Segmentation

SETTINGS_FILE = "ranker.json"


@dataclass(frozen=True)
class Calibration:
    """From a logit to the probability that the article answers: p = sigmoid(scale logit + offset).

    Attributes:
        scale: Above 0, so that the order stays.
        offset: Lower where few candidates answer.
    """

    scale: float
    offset: float

    def probabilities(self, logits: Tensor) -> Tensor:
        """float32 of the shape of `logits`, each in [0, 1]."""
        return torch.sigmoid(self.scale * logits.float() + self.offset)


@dataclass(frozen=True)
class RankerSettings:
    """How a cross-encoder is used on articles; the contents of `ranker.json`.

    Attributes:
        passages: Passages of an article that are read at most.
        passage_tokens: Longest passage in tokens, without the question and special tokens.
        calibration: Fitted on lists of candidates at their natural rate, article by article.
        fusion_weight: What the first stage's rank counts beside the ranker's, which counts 1.
        segmentation: Language whose words are joined by "_" before a question or passage is read;
            None for texts as they are, and in folders from before there was any.

    Raises:
        ModelError: A value is out of its range, or what tells words apart is not installed.
    """

    passages: int = 2
    passage_tokens: int = 128
    calibration: Calibration | None = None
    fusion_weight: float | None = None
    segmentation: Segmentation | None = None

    def __post_init__(self) -> None:
        if self.segmentation not in (None, *get_args(Segmentation)):
            known = ", ".join(get_args(Segmentation))
            raise ModelError(f"segmentation is {known} or null, not {self.segmentation!r}.")
        checked_segmentation(self.segmentation)
        for name in ("passages", "passage_tokens"):
            value = getattr(self, name)
            if type(value) is not int or value < 1:
                raise ModelError(f"{name} must be a whole number from 1, not {value!r}.")
        if self.calibration is not None and not (
            0 < self.calibration.scale < math.inf and math.isfinite(self.calibration.offset)
        ):
            raise ModelError(
                f"calibration must have a scale above 0 and a finite offset, not "
                f"{self.calibration.scale!r} and {self.calibration.offset!r}."
            )
        if self.fusion_weight is not None and not 0 <= self.fusion_weight < math.inf:
            raise ModelError(f"fusion_weight must be 0 or more, not {self.fusion_weight!r}.")

    def save(self, folder: Path) -> None:
        """Write `ranker.json` into the part's folder."""
        text = json.dumps(dataclasses.asdict(self), indent=2) + "\n"
        (folder / SETTINGS_FILE).write_text(text, encoding="utf-8")

    @classmethod
    def load(cls, folder: Path) -> RankerSettings:
        """Read `ranker.json` of the part's folder.

        Raises:
            ModelError: It is missing, not JSON, or a field is missing, unknown or ill-typed.
        """
        path = folder / SETTINGS_FILE
        try:
            fields = json.loads(path.read_text(encoding="utf-8"))
            return cls._from_fields(fields)
        except (OSError, ValueError, TypeError) as error:
            raise ModelError(
                f"{path}: {error} Copy the model folder again, or train the ranker again."
            ) from error

    @classmethod
    def _from_fields(cls, fields: Any) -> RankerSettings:
        names = {field.name for field in dataclasses.fields(cls)}
        if isinstance(fields, dict):
            fields = {"segmentation": None, **fields}
        if not isinstance(fields, dict) or fields.keys() != names:
            raise ModelError(f"must have the fields {', '.join(sorted(names))}, and no others.")
        calibration = fields["calibration"]
        if calibration is not None:
            if not isinstance(calibration, dict) or calibration.keys() != {"scale", "offset"}:
                raise ModelError("field 'calibration' must be null or have 'scale' and 'offset'.")
            calibration = Calibration(float(calibration["scale"]), float(calibration["offset"]))
        return cls(**{**fields, "calibration": calibration})


def ranker_manifest(folder: Path) -> Manifest | None:
    """The manifest of a Lexarbor folder that holds a ranker; None of any other model's folder.

    Raises:
        ModelError: The folder is one of Lexarbor and has no ranker, or is broken.
    """
    if not (folder / MANIFEST_FILE).exists():
        if (folder / RANKER_PART).is_dir():
            raise ModelError(
                f"{folder}: has no {MANIFEST_FILE}, so it was not written to the end or not copied "
                "whole. Copy it again, or train the model again."
            )
        if (folder / SETTINGS_FILE).exists():
            raise ModelError(
                f"{folder}: is the part of a model folder, whose {MANIFEST_FILE} says what the "
                f"ranker reads of an article. Give that folder, {folder.parent}."
            )
        return None
    manifest = read_manifest(folder)
    if RANKER_PART not in manifest.parts:
        raise ModelError(
            f"{folder}: holds {', '.join(manifest.kind)}, but no ranker. Train one over it (python "
            f"-m training.ranker --model {folder} ...) and give the folder that this writes."
        )
    return manifest


def ranker_digest(folder: Path) -> str:
    """sha256 that names the cross-encoder in a folder, its settings included.

    Raises:
        ModelError: As `ranker_manifest`.
    """
    manifest = ranker_manifest(folder)
    return model_digest(folder) if manifest is None else _digest(manifest)


def _digest(manifest: Manifest) -> str:
    files = json.dumps(manifest.files_of(RANKER_PART), sort_keys=True)
    return hashlib.sha256(files.encode()).hexdigest()
