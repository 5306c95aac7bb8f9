"""Shares one instance of a model among everything in the process that uses it."""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Hashable
from pathlib import Path
from typing import Any, TypeVar, cast

from components.models.folder import (
    GRAPH_PART,
    DtypeName,
    find_model,
    graph_model_digest,
    model_digest,
)
from components.statutes.extras import needs_extra

with needs_extra("A model", "models"):
    import torch

    from components.models import devices
    from components.models.biencoder import BiEncoder
    from components.models.cross_encoder import CrossEncoderRanker, ranker_digest
    from components.models.graph import LegislativeGraphEncoder

Model = TypeVar("Model")

_models: weakref.WeakValueDictionary[Hashable, Any] = weakref.WeakValueDictionary()
_lock = threading.Lock()


def shared_model(
    name_or_path: str | Path, device: str | None = None, dtype: DtypeName = "auto"
) -> BiEncoder:
    """The bi-encoder of a model, shared if the same digest, dtype and device are in use.

    A folder whose files changed is another model. Thread-safe: one thread loads, the others wait
    for it. The model is freed with its last user. It is for inference only: it
    must not be trained, moved or copied, since its layers keep packed copies of their weights.

    Raises:
        ModelError: As `BiEncoder.load`.
    """

    def load(folder: Path, target: torch.device) -> BiEncoder:
        resolved = devices.resolve_dtype(dtype, target)
        model = BiEncoder.load(folder, device=str(target), dtype=devices.dtype_name(resolved))
        model.name = str(name_or_path)
        for tower in {model.query, model.passage}:
            devices.pack_linear_layers(tower, target, resolved)
        return model

    return _shared(load, model_digest, name_or_path, device, dtype)


def shared_graph(name_or_path: str | Path, device: str | None = None) -> LegislativeGraphEncoder:
    """The graph network of a model, as `shared_model` shares the bi-encoder.

    Raises:
        ModelError: The model cannot be found, or its graph network is missing or broken.
    """

    def load(folder: Path, target: torch.device) -> LegislativeGraphEncoder:
        return LegislativeGraphEncoder.load(folder / GRAPH_PART).to(target)

    return _shared(load, graph_model_digest, name_or_path, device)


def shared_ranker(
    name_or_path: str | Path, device: str | None = None, dtype: DtypeName = "auto"
) -> CrossEncoderRanker:
    """The cross-encoder of a model, as `shared_model` shares the bi-encoder.

    Raises:
        ModelError: As `CrossEncoderRanker.load`.
    """

    def load(folder: Path, target: torch.device) -> CrossEncoderRanker:
        resolved = devices.resolve_dtype(dtype, target)
        ranker = CrossEncoderRanker.load(
            folder, device=str(target), dtype=devices.dtype_name(resolved)
        )
        ranker.name = str(name_or_path)
        devices.pack_linear_layers(ranker.encoder, target, resolved)
        return ranker

    return _shared(load, ranker_digest, name_or_path, device, dtype)


def _shared(
    load: Callable[[Path, torch.device], Model],
    digest: Callable[[Path], str],
    name_or_path: str | Path,
    device: str | None,
    dtype: str = "",
) -> Model:
    with _lock:
        folder = find_model(name_or_path).resolve()
        target = devices.resolve_device(device)
        # The function that computes the digest stands for the kind of model.
        key = (digest, folder, digest(folder), dtype, str(target))
        model = _models.get(key)
        if model is None:
            model = _models[key] = load(folder, target)
        return cast(Model, model)
