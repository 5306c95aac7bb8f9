"""Filling the open places of a pipeline over an engine, from what its collection records."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from components.models.folder import find_model, model_digest
from components.stores.engines.base import (
    ASKING,
    ArticleEngine,
    EngineRecord,
    is_complete,
    read_record,
)
from pipelines.bundled import place_now
from pipelines.engines.addresses import (
    QDRANT_STORE,
    address_in,
    as_address,
    engine_stores,
    is_folder_of,
    local_folder,
    place_in,
)
from pipelines.engines.connecting import opened
from pipelines.files import LoadingError

_TEXT_EMBEDDER = "components.embedders.text.StatuteTextEmbedder"
_SPARSE_EMBEDDER = "components.embedders.sparse_text.StatuteSparseTextEmbedder"
_NOT_THERE = (
    "is not there, or was not made by Lexarbor. Make it with python -m pipelines.index --corpus "
    "... --engine ... --url ..., or check the address and the collection."
)


def bind_engines(
    definition: dict[str, Any],
    where: str,
    store: str | Path | None,
    model: str | Path | None,
) -> None:
    """Fill in address, model and languages of components over an engine, in place.

    Nothing is done where no component's `document_store` is an engine's.

    Args:
        definition: checked.
        where: the file, as messages name it.
        store: the engine's address, in place of the one that the file gives.
        model: folder or name of the model, in place of the one that the file gives.

    Raises:
        LoadingError: no address is named; there is no such collection, or it is not yet indexed
            to its end; it was indexed with another model, or its model is gone.
        StoreError: the engine does not answer.
    """
    stores = list(engine_stores(definition))
    if not stores:
        return
    for name, kind, parameters in stores:
        if store is not None:
            place_in(kind, parameters, as_address(store))
        elif address_in(kind, parameters) is None:
            raise LoadingError(
                f"{where}: {name}: no address of the engine is named. Give it with --store URL (in "
                "Python store=URL), or write it into a copy of the file."
            )
    _, kind, parameters = stores[0]
    _check_folder(kind, parameters)
    engine = opened(kind, parameters, ASKING)
    try:
        record = _checked_record(engine)
    finally:
        engine.close()
    for _, kind, parameters in stores:
        if kind == QDRANT_STORE:
            parameters |= {
                "embedding_dim": record.model.dim,
                "use_sparse_embeddings": True,
                "sparse_idf": True,
            }
    for name, fields in definition["components"].items():
        given = fields.setdefault("init_parameters", {})
        if fields["type"] == _SPARSE_EMBEDDER and given.get("languages") is None:
            given["languages"] = list(record.languages)
        elif fields["type"] == _TEXT_EMBEDDER:
            chosen = given.get("model") if model is None else str(model)
            if chosen is None:
                given["model"] = _place_of(record, engine.where)
            else:
                _check_model(f"{where}: {name}.model", chosen, record, engine.where)


def _check_folder(kind: str, parameters: dict[str, Any]) -> None:
    """Refuse a folder that is not the engine's: opening it would make one, for a question."""
    folder = local_folder(kind, parameters)
    if folder is None or folder.is_file() or is_folder_of(kind, folder):
        return  # of a file the connection says what it is
    name = "Qdrant" if kind == QDRANT_STORE else "Milvus Lite"
    raise LoadingError(f"{name} at {folder} {_NOT_THERE}")


def _checked_record(engine: ArticleEngine) -> EngineRecord:
    record = read_record(engine) if engine.exists() else None
    if record is None:
        raise LoadingError(f"{engine.where} {_NOT_THERE}")
    if not is_complete(engine):
        raise LoadingError(
            f"{engine.where} is not yet indexed to its end. Wait for the indexing to finish; if it "
            "was interrupted, run the same command again (every shard of it)."
        )
    return record


def _place_of(record: EngineRecord, where: str) -> str:
    place = place_now(record.model.path)
    if place is None:
        raise LoadingError(
            f"{where} was indexed with the model {record.model.path}, which is not on this "
            "machine. Give its place here with --model DIR (in Python, model=DIR)."
        )
    _check_model("the model on record", place, record, where)
    return place


def _check_model(label: str, place: str, record: EngineRecord, where: str) -> None:
    digest = model_digest(find_model(place))
    if digest != record.model.biencoder_digest:
        raise LoadingError(
            f"{label} {place} (digest {digest[:12]}) is not the model that {where} was indexed "
            f"with, {record.model.path} (digest {record.model.biencoder_digest[:12]}). Ask with "
            "that one, or index again with this one into a new collection."
        )
