"""One instance of a model for everybody in the process who asks for the same one."""

from __future__ import annotations

import threading
import weakref
from pathlib import Path

from components.models.biencoder import BiEncoder
from components.models.cross_encoder import CrossEncoderRanker, ranker_digest
from components.models.devices import DtypeName, resolve_device
from components.models.folder import GRAPH_PART, find_model, graph_model_digest, model_digest
from components.models.graph import LegislativeGraphEncoder

_models: weakref.WeakValueDictionary[tuple[Path, str, str, str], BiEncoder] = (
    weakref.WeakValueDictionary()
)
_graphs: weakref.WeakValueDictionary[tuple[Path, str, str], LegislativeGraphEncoder] = (
    weakref.WeakValueDictionary()
)
_rankers: weakref.WeakValueDictionary[tuple[Path, str, str, str], CrossEncoderRanker] = (
    weakref.WeakValueDictionary()
)
_lock = threading.Lock()


def shared_model(
    name_or_path: str | Path, device: str | None = None, dtype: DtypeName = "auto"
) -> BiEncoder:
    """The model, loaded unless somebody holds it with the same path, digest, dtype and device.

    A folder whose files changed is another model. Safe to call from several threads: one loads, the
    others wait for it. The model is let go with its last holder.

    Raises:
        ModelError: As `BiEncoder.load`.
    """
    with _lock:
        folder = find_model(name_or_path).resolve()
        key = (folder, model_digest(folder), dtype, str(resolve_device(device)))
        model = _models.get(key)
        if model is None:
            model = BiEncoder.load(folder, device=device, dtype=dtype)
            model.name = str(name_or_path)
            _models[key] = model
        return model


def shared_graph(name_or_path: str | Path, device: str | None = None) -> LegislativeGraphEncoder:
    """The graph network in a model folder, as `shared_model` shares the bi-encoder.

    Raises:
        ModelError: There is no such model within reach, it has no graph network, or this is broken.
    """
    with _lock:
        folder = find_model(name_or_path).resolve()
        target = resolve_device(device)
        key = (folder, graph_model_digest(folder), str(target))
        network = _graphs.get(key)
        if network is None:
            network = LegislativeGraphEncoder.load(folder / GRAPH_PART).to(target)
            _graphs[key] = network
        return network


def shared_ranker(
    name_or_path: str | Path, device: str | None = None, dtype: DtypeName = "auto"
) -> CrossEncoderRanker:
    """The cross-encoder of a model, as `shared_model` shares the bi-encoder.

    Raises:
        ModelError: As `CrossEncoderRanker.load`.
    """
    with _lock:
        folder = find_model(name_or_path).resolve()
        key = (folder, ranker_digest(folder), dtype, str(resolve_device(device)))
        ranker = _rankers.get(key)
        if ranker is None:
            ranker = CrossEncoderRanker.load(folder, device=device, dtype=dtype)
            ranker.name = str(name_or_path)
            _rankers[key] = ranker
        return ranker
