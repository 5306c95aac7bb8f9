"""An engine by its address."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from components.stores.engines import engine_of
from components.stores.engines.base import ArticleEngine, tried
from pipelines.engines.addresses import QDRANT_STORE, local_folder
from pipelines.files import LoadingError

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
    return tried(
        lambda: engine_of(MilvusDocumentStore.from_dict(_copied(serialised)), pauses),
        where,
        may_pass,
        pauses,
    )


def default_parameters(kind: str) -> dict[str, Any]:
    """A store's parameters as the pipeline files that come with Lexarbor have them."""
    if kind == QDRANT_STORE:
        return {"index": COLLECTION, "api_key": _secret("QDRANT_API_KEY"), "timeout": 30}
    arguments = {"uri": None, "token": _secret("MILVUS_TOKEN"), "timeout": 10}
    return {"collection_name": COLLECTION, "connection_args": arguments}


def not_installed(kind: str, error: ImportError) -> str:
    """What to say where an engine's packages are missing."""
    extra = "qdrant" if kind == QDRANT_STORE else "milvus"
    return f"{error}: install what this engine needs with pip install 'lexarbor[{extra}]'."


def _secret(variable: str) -> dict[str, Any]:
    return {"type": "env_var", "env_vars": [variable], "strict": False}


def _copied(serialised: dict[str, Any]) -> dict[str, Any]:
    # The integration replaces secrets in the mapping that it is given.
    parameters = dict(serialised["init_parameters"])
    parameters["connection_args"] = dict(parameters["connection_args"])
    return {**serialised, "init_parameters": parameters}
