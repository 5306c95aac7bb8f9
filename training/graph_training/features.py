"""The frozen vectors that a graph network is trained on."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch
from safetensors.torch import load_file, save_file
from torch import Tensor

from components.models.artifacts import sync
from components.models.biencoder import BiEncoder
from components.models.digest import model_digest
from components.models.locate import find_model
from components.statutes.article import indexed_text
from components.statutes.graph import LegislativeGraph
from training.command_line import SettingsError, say
from training.data import TrainingData
from training.graph_training.settings import GraphSettings

_SIDES = ("nodes", "train", "dev")


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

    They are found by the digests of the model and of all texts, so no other model's are taken.

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
    articles = [indexed_text(a.headings, a.text, settings.text_rule) for a in data.corpus]
    questions = [[question.text for question in side] for side in (data.train, data.dev)]
    texts = [[*graph.labels, *articles], *questions]
    path = folder / f"{_sha256([digest, texts])[:32]}.safetensors"
    if not path.exists():
        model = BiEncoder.load(settings.start, device=str(device))
        if model.text_rule != settings.text_rule:
            raise SettingsError(
                f"text_rule is {settings.text_rule}, and {settings.start} was trained with "
                f"{model.text_rule}. Leave it as the model has it."
            )
        say(f"Encoding {sum(map(len, texts)):,} articles, headings and questions, once")
        nodes = model.encode_articles(texts[0])
        train, dev = (model.encode_queries(side) for side in texts[1:])
        _keep(path, {"nodes": nodes, "train": train, "dev": dev})
    kept = load_file(path, device=str(device))
    return Features(*(kept[side] for side in _SIDES))


def _keep(path: Path, vectors: dict[str, Tensor]) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    partial = path.with_name(f".{path.name}.partial")
    save_file(vectors, partial)
    sync(partial)
    partial.replace(path)


def _sha256(value: Sequence[object]) -> str:
    return hashlib.sha256(json.dumps(value).encode()).hexdigest()
