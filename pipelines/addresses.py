"""Addresses of engines: in pipeline files, on the command line and in a store's parameters."""

from __future__ import annotations

import copy
import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from components.stores.engines import engine_of
from components.stores.engines.base import ArticleEngine, tried
from pipelines.files import LoadingError, components_in, pipeline_file, read_pipeline_file

QDRANT_STORE = "haystack_integrations.document_stores.qdrant.document_store.QdrantDocumentStore"
MILVUS_STORE = "milvus_haystack.document_store.MilvusDocumentStore"


def engine_address(pipeline: str | None, store: str | None) -> str | None:
    """The engine's address if a pipeline asks one, else None.

    Args:
        pipeline: name or file, as given by the user.
        store: as given by the user; the file's own address otherwise.

    Raises:
        LoadingError: there is no such pipeline, its file is refused, or nothing names an address.
    """
    if pipeline is None:
        return None
    for _, kind, parameters in engine_stores(read_pipeline_file(pipeline_file(pipeline))):
        address = store if store is not None else address_in(kind, parameters)
        if address is None:
            raise LoadingError(
                f"The pipeline {pipeline} asks an engine: name its address, such as --store "
                f"{example(kind)} (with '#name' after it for a collection that is not called "
                "lexarbor)."
            )
        return address
    return None


def engine_stores(definition: dict[str, Any]) -> Iterator[tuple[str, str, dict[str, Any]]]:
    """Component, class and parameters of every engine's document store in a definition."""
    for name, _, parameters in components_in(definition):
        for value in parameters.values():
            if isinstance(value, dict) and value.get("type") in (QDRANT_STORE, MILVUS_STORE):
                inner = value.setdefault("init_parameters", {})
                if isinstance(inner, dict):
                    yield name, str(value["type"]), inner


def address_in(kind: str, parameters: dict[str, Any]) -> str | None:
    """The address that a store's parameters give, or None."""
    if kind == MILVUS_STORE:
        arguments = parameters.get("connection_args")
        named = arguments.get("uri") if isinstance(arguments, dict) else None
    else:
        places = (parameters.get(name) for name in ("url", "path", "location", "host"))
        named = next((place for place in places if place), None)
    return None if named is None else str(named)


def as_address(store: str | Path) -> str:
    """An address as it was before it went through a Path, which removes one slash of "://"."""
    text = store.as_posix() if isinstance(store, Path) else store
    return re.sub(r"^(\w{2,}):/+(?=[^/])", r"\1://", text)


def place_in(kind: str, parameters: dict[str, Any], address: str) -> None:
    """Put an address into a store's parameters.

    Args:
        kind: the store's class, `QDRANT_STORE` or `MILVUS_STORE`.
        parameters: changed in place.
        address: a URL, or for an engine within this process a folder (Qdrant), for Milvus Lite one
            that ends in .db; with "#" and a collection to override the parameters' one.

    Raises:
        LoadingError: the address is not one of this engine.
    """
    given, _, collection = address.partition("#")
    local = "://" not in given
    place = str(Path(given).expanduser()) if local else given
    if kind == QDRANT_STORE:
        for name in ("location", "url", "host", "path"):
            parameters.pop(name, None)
        parameters["path" if local else "url"] = place
        if collection:
            parameters["index"] = collection
        return
    if local and not place.endswith(".db"):
        raise LoadingError(
            f"{given} is not an address of Milvus. Give its URL ({example(kind)}), or for Milvus "
            "Lite a folder that ends in .db."
        )
    parameters["connection_args"] = {**(parameters.get("connection_args") or {}), "uri": place}
    if collection:
        parameters["collection_name"] = collection


def example(kind: str) -> str:
    """An address as in the engine's own documentation."""
    return "http://localhost:6333" if kind == QDRANT_STORE else "http://localhost:19530"


def local_folder(kind: str, parameters: dict[str, Any]) -> Path | None:
    """The folder in which an engine within this process keeps its files; None for a server."""
    if kind == QDRANT_STORE:
        place = parameters.get("path")
    else:
        place = address_in(kind, parameters)
        if place is None or not place.endswith(".db"):
            return None
    return None if not place or "://" in place else Path(place).expanduser()


def is_folder_of(kind: str, folder: Path) -> bool:
    """Whether an engine within a process has kept its files there."""
    # Whatever else is in a folder, Qdrant puts its own files next to it.
    return (folder / "meta.json").is_file() if kind == QDRANT_STORE else folder.is_dir()


def engine_of_folder(path: Path) -> str | None:
    """The pipeline that asks the engine whose folder is named as a store, or None."""
    if not path.is_dir():
        return None
    if path.suffix == ".db":
        return "milvus"
    return "qdrant" if is_folder_of(QDRANT_STORE, path) else None


COLLECTION = "lexarbor"


def opened(kind: str, parameters: dict[str, Any], pauses: Sequence[float]) -> ArticleEngine:
    """The engine that a document store with these parameters would read.

    Args:
        kind: the store's class.
        parameters: as a pipeline file has them.
        pauses: seconds between tries.

    Raises:
        LoadingError: the engine's packages are not installed, or the address is a file.
        StoreError: the engine does not answer.
    """
    serialised = {"type": kind, "init_parameters": parameters}
    folder = local_folder(kind, parameters)
    if folder is not None and folder.is_file():
        name = "Qdrant" if kind == QDRANT_STORE else "Milvus Lite"
        raise LoadingError(
            f"{folder} is a file (a Lexarbor store?); {name} keeps a folder: give another name, or "
            "ask the store with a pipeline over stores, such as hybrid."
        )
    try:
        if kind == QDRANT_STORE:
            from haystack_integrations.document_stores.qdrant import QdrantDocumentStore

            return engine_of(QdrantDocumentStore.from_dict(serialised), pauses)
        from milvus_haystack import MilvusDocumentStore

        from components.stores.engines.milvus import may_pass
    except ImportError as error:
        raise LoadingError(not_installed(kind, error)) from error
    address = str(parameters["connection_args"]["uri"])
    if address.endswith(".db"):
        try:
            import milvus_lite  # noqa: F401
        except ImportError as error:
            raise LoadingError(not_installed(kind, error)) from error
    where = f"Milvus at {address}"

    def connect() -> ArticleEngine:
        # The integration replaces secrets in the mapping that it receives.
        return engine_of(MilvusDocumentStore.from_dict(copy.deepcopy(serialised)), pauses)

    return tried(connect, where, may_pass, pauses)


def default_parameters(kind: str) -> dict[str, Any]:
    """A store's parameters as in Lexarbor's own pipeline files."""
    if kind == QDRANT_STORE:
        return {"index": COLLECTION, "api_key": _secret("QDRANT_API_KEY"), "timeout": 30}
    arguments = {"uri": None, "token": _secret("MILVUS_TOKEN"), "timeout": 10}
    return {"collection_name": COLLECTION, "connection_args": arguments}


def not_installed(kind: str, error: ImportError) -> str:
    """The message if an engine's packages are missing."""
    extra = "qdrant" if kind == QDRANT_STORE else "milvus"
    return f"{error}: install what this engine needs with pip install 'lexarbor[{extra}]'."


def _secret(variable: str) -> dict[str, Any]:
    return {"type": "env_var", "env_vars": [variable], "strict": False}
