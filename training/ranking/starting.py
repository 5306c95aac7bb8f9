"""What a ranker starts from."""

from __future__ import annotations

from pathlib import Path

import torch
from safetensors import safe_open
from sentence_transformers import CrossEncoder
from sentence_transformers.base.modules import Transformer
from torch import nn

from components.models.cross_encoder import SETTINGS_FILE, RankerSettings
from components.models.folder import (
    MANIFEST_FILE,
    QUERY_PART,
    RANKER_PART,
    find_model,
    model_digest,
    read_manifest,
)
from components.models.tower import OPENED_SAFELY, check_weight_files, opening, token_limit
from components.models.weights import check_loaded
from training.ranking.settings import RankerTrainingSettings

# What encoders of before 2019 call the weights of a LayerNorm; transformers renames them.
_RENAMED = {"LayerNorm.gamma": "LayerNorm.weight", "LayerNorm.beta": "LayerNorm.bias"}


def start_folder(name: str) -> Path:
    """The folder of the encoder or cross-encoder that a name stands for.

    Of a Lexarbor folder it is the ranker, or the tower of questions where there is none.

    Raises:
        ModelError: There is no such model within reach.
    """
    folder = find_model(name)
    if not (folder / MANIFEST_FILE).exists():
        return folder
    parts = read_manifest(folder).parts
    return folder / (RANKER_PART if RANKER_PART in parts else QUERY_PART)


def start_reading(name: str) -> RankerSettings | None:
    """What a ranker that training starts from reads of an article, and how; of a Lexarbor folder
    without a ranker how its bi-encoder reads words. None for any other model.

    Raises:
        ModelError: There is no such model within reach, or its `ranker.json` is broken.
    """
    folder = start_folder(name)
    if (folder / SETTINGS_FILE).exists():
        return RankerSettings.load(folder)
    whole = find_model(name)
    if (whole / MANIFEST_FILE).exists():
        return RankerSettings(segmentation=read_manifest(whole).segmentation)
    return None


def reading_of(settings: RankerTrainingSettings) -> RankerSettings:
    """What the ranker will read of an article; its words as the start reads them, if not told.

    Raises:
        ModelError: As `start_reading`, or what tells words apart is not installed.
    """
    before = start_reading(settings.start)
    return RankerSettings(
        passages=settings.passages,
        passage_tokens=settings.passage_tokens,
        segmentation=settings.segmentation or (before.segmentation if before else None),
    )


def start_digest(folder: Path) -> str:
    """sha256 that names what training starts from: weights, configuration and tokenizer.

    Raises:
        ModelError: The folder has no safetensors weights.
    """
    check_weight_files(folder)
    return model_digest(folder)


def head_parameters(model: CrossEncoder, folder: Path) -> list[str]:
    """Names of the parameters of a head that is still to be learnt, in the model's order.

    Those that the start's folder lacks; where it lacks some, also the pooler below them: the
    folder's, if it has one, was trained for another task, or is what was left when its encoder was
    trained with mean pooling. Empty for a cross-encoder.

    Args:
        model: As `open_start` gives it.
        folder: What it was opened from.
    """
    stored: set[str] = set()
    for path in folder.rglob("*.safetensors"):
        with safe_open(path, framework="pt") as file:
            stored.update(_as_loaded(key) for key in file.keys())  # noqa: SIM118
    names = [name for name, _ in model.named_parameters()]
    # An encoder's own names begin where the encoder of a cross-encoder does ("bert.").
    lacking = {
        name
        for name in names
        if not any(name == known or name.endswith(f".{known}") for known in stored)
    }
    return [name for name in names if lacking and (name in lacking or ".pooler." in name)]


def _as_loaded(key: str) -> str:
    for before, now in _RENAMED.items():
        key = key.replace(before, now)
    return key


def open_start(folder: Path, device: torch.device, seed: int) -> CrossEncoder:
    """A cross-encoder of one label in float32; a head that the folder lacks is made from `seed`.

    Raises:
        ModelError: It cannot be opened, or its files do not hold exactly the encoder's weights (of
            a cross-encoder, the head's too).
    """
    torch.manual_seed(seed)
    with opening(folder, "cross-encoder"):
        model: CrossEncoder = CrossEncoder(
            str(folder),
            # What is trained and served are logits.
            activation_fn=nn.Identity(),
            **{**OPENED_SAFELY, "device": str(device)},
        )
        check_loaded(model, folder, fresh_head=True)
    reader: object = model[0]
    if isinstance(reader, Transformer):
        # Where a tokenizer states no limit, the library takes RoBERTa's rows of positions for it,
        # the first of which are the padding's.
        reader.max_seq_length = token_limit(reader)
    return model
