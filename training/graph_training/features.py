"""The frozen vectors that a graph network is trained on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import load_file, save_file
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.devices import DtypeName
from components.models.folder import find_model, model_digest, whole_file
from components.models.graph import node_texts
from components.models.locks import folder_lock
from components.statutes.graph import LegislativeGraph
from training.command_line import SettingsError, say
from training.data import TrainingData
from training.graph_training.settings import GraphSettings

DTYPE: DtypeName = "float32"
"""Of the encoder. What "auto" is, a CPU measures anew in each process: two alike could differ."""

_VECTORS = "vectors"


@dataclass(frozen=True)
class Features:
    """Unit vectors of a bi-encoder, float32.

    Attributes:
        nodes: Of the graph's nodes: titles and headings, then articles, `[n_nodes, dim]`.
        train: Of the training questions, `[n_train, dim]`.
        dev: Of the dev questions, `[n_dev, dim]`.
    """

    nodes: Tensor
    train: Tensor
    dev: Tensor


def start_digests(settings: GraphSettings) -> dict[str, str]:
    """Digest of the bi-encoder below, by the setting that names it.

    Raises:
        ModelError: There is no such model.
    """
    return {"model_sha256": model_digest(find_model(settings.start))}


def features_of(
    settings: GraphSettings,
    data: TrainingData,
    graph: LegislativeGraph,
    folder: Path,
    device: torch.device,
) -> Features:
    """Encode every text once, or find the vectors that an earlier run has kept.

    They are found by the digests of the model and of their texts and by the number format, so no
    other model's are taken.
    Articles and questions are kept apart: other questions on the same law, as in a fold of a
    cross-validation, do not have it encoded again.

    Args:
        settings: Name the model.
        data: Articles and questions.
        graph: Its labels are encoded too.
        folder: Where vectors are kept.
        device: Where they are computed and go.

    Raises:
        ModelError: The model cannot be opened.
        SettingsError: `text_rule` is not the model's.
    """
    digest = start_digests(settings)
    texts = {
        "nodes": list(node_texts(graph, data.corpus, settings.text_rule)),
        "train": [question.text for question in data.train],
        "dev": [question.text for question in data.dev],
    }
    # An encoder reads an article and a question of the same words in different ways.
    paths = {
        side: folder / f"{_sha256([digest, DTYPE, side == 'nodes', read])[:32]}.safetensors"
        for side, read in texts.items()
    }
    with folder_lock(folder, wait=True):  # of several processes of a grid one encodes
        missing = {side: path for side, path in paths.items() if not _is_whole(path)}
        if missing:
            _encode({side: (texts[side], path) for side, path in missing.items()}, settings, device)
    return Features(**{side: _kept(path, device) for side, path in paths.items()})


def _encode(
    wanted: Mapping[str, tuple[Sequence[str], Path]], settings: GraphSettings, device: torch.device
) -> None:
    """Encode the texts of some sides, and keep the vectors of each in its file."""
    model = BiEncoder.load(settings.start, device=str(device), dtype=DTYPE)
    if model.text_rule != settings.text_rule:
        raise SettingsError(
            f"text_rule is {settings.text_rule}, and {settings.start} was trained with "
            f"{model.text_rule}. Leave it as the model has it."
        )
    number = sum(len(texts) for texts, _ in wanted.values())
    say(f"Encoding {number:,} articles, headings and questions, once")
    for side, (texts, path) in wanted.items():
        encode = model.encode_articles if side == "nodes" else model.encode_queries
        _keep(path, encode(texts))


def _keep(path: Path, vectors: Tensor) -> None:
    with whole_file(path) as partial:
        save_file({_VECTORS: vectors}, partial)


def _is_whole(path: Path) -> bool:
    """Whether vectors are kept here; a file that was damaged gives way to a new one."""
    try:
        with safe_open(path, framework="pt"):
            return True
    except (FileNotFoundError, SafetensorError):
        return False


def _kept(path: Path, device: torch.device) -> Tensor:
    return load_file(path, device=str(device))[_VECTORS]


def _sha256(value: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
