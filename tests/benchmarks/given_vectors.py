"""Indexing with vectors that cost nothing, so that everything but the model is measured."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from pathlib import Path
from types import SimpleNamespace
from unittest import mock

import numpy as np
import synthetic
import torch

from components.models.encoding import EncodingReport
from components.stores.journal import StoreModel
from pipelines.indexing import IndexReport, index_corpus
from pipelines.model_choice import ChosenModel


class GivenVectors:
    """Stands for an encoder: random directions, made block by block and not kept."""

    device = SimpleNamespace(type="cpu")

    def __init__(self, dim: int) -> None:
        self._dim = dim
        self._random = np.random.default_rng(0)

    def encode_articles_report(
        self, texts: Sequence[str], *, progress: Callable[[int], object]
    ) -> tuple[torch.Tensor, EncodingReport]:
        vectors = self._random.standard_normal((len(texts), self._dim), dtype=np.float32)
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        progress(len(texts))
        return torch.from_numpy(vectors), EncodingReport(n_texts=len(texts))


def write_corpus(path: Path) -> None:
    """The synthetic corpus as a native file."""
    with path.open("w", encoding="utf-8") as file:
        for document in synthetic.articles():
            meta = {key: value for key, value in document.meta.items() if key != "position"}
            file.write(json.dumps({"id": document.id, "text": document.content, **meta}) + "\n")


def index(
    corpus: Path, store: Path, model: StoreModel, say: Callable[[str], object]
) -> IndexReport:
    """`index_corpus` with given vectors."""
    chosen = ChosenModel(model, GivenVectors(model.dim))  # type: ignore[arg-type]
    with mock.patch("pipelines.indexing.choose_model", lambda *_: chosen):
        return index_corpus(corpus, store, say=say)
