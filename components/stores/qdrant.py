"""Articles in Qdrant, through Haystack's integration."""

from __future__ import annotations

import atexit
import json
import math
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, cast
from weakref import WeakKeyDictionary, WeakSet, WeakValueDictionary

import httpx
from haystack import Document
from haystack.dataclasses import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy
from haystack_integrations.components.retrievers.qdrant import (
    QdrantEmbeddingRetriever,
    QdrantSparseEmbeddingRetriever,
)
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from haystack_integrations.document_stores.qdrant.converters import (
    DENSE_VECTORS_NAME,
    convert_id,
)
from haystack_integrations.document_stores.qdrant.filters import convert_filters_to_qdrant
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse

from components.models.similarity import Similarity
from components.stores.database import StoreError
from components.stores.engines import (
    ArticleEngine,
    Condition,
    Row,
    Weighting,
    article_meta,
    retried,
    states_of,
)

_ADDRESS = ("location", "url", "host", "port", "path", "prefix", "api_key")
# Missing while an alias takes its place, too long, in conflict with another shard that makes the
# same collection, too many.
_MAY_PASS = (404, 408, 409, 429)

_clients: WeakValueDictionary[str, QdrantClient] = WeakValueDictionary()
_holders: WeakKeyDictionary[QdrantClient, WeakSet[QdrantDocumentStore]] = WeakKeyDictionary()
_opening = threading.Lock()


def shared_client(store: QdrantDocumentStore) -> QdrantClient:
    """The process's one client of a store's address, held until `let_go`.

    A local folder cannot be opened twice.

    Args:
        store: names the address.
    """
    parameters = store._prepare_client_params()
    # The engine's version is checked where it is used, with an error in place of a warning.
    parameters.setdefault("check_compatibility", False)
    key = json.dumps([parameters[name] for name in _ADDRESS])
    with _opening:
        client = _clients.get(key)
        if client is None:
            client = _clients[key] = QdrantClient(**parameters)
        _holders.setdefault(client, WeakSet()).add(store)
        return client


def let_go(client: QdrantClient, store: QdrantDocumentStore) -> None:
    """Close a client, unless other stores hold it, too."""
    with _opening:
        holders = _holders[client]
        holders.discard(store)
        if not holders:
            for key in [key for key, each in _clients.items() if each is client]:
                del _clients[key]
            client.close()


@atexit.register
def _close_clients() -> None:
    # One that is left to the interpreter's end complains that it comes too late.
    for client in list(_clients.values()):
        client.close()


_DISTANCES: Mapping[Similarity, models.Distance] = {
    "cosine": models.Distance.COSINE,
    "dot": models.Distance.DOT,
    "l2": models.Distance.EUCLID,
}
_PAGE = 1_000
_INDEXED = {
    "id": models.PayloadSchemaType.KEYWORD,
    "meta.law": models.PayloadSchemaType.KEYWORD,
    "meta.core": models.PayloadSchemaType.KEYWORD,
    "meta.valid_from_day": models.PayloadSchemaType.INTEGER,
    "meta.valid_to_day": models.PayloadSchemaType.INTEGER,
}


class QdrantEngine(ArticleEngine):
    """The articles of one Qdrant collection; see `ArticleEngine`.

    Stores with the same address share one client, so that several components can read a local
    folder, which Qdrant locks.

    Args:
        store: names the address and, as `index`, the collection.
        pauses: seconds between tries.
    """

    weighting: Weighting = "bm25"
    most_terms: int | None = None

    @staticmethod
    def may_pass(error: Exception) -> bool | None:
        """See `ArticleEngine.may_pass`."""
        if isinstance(error, UnexpectedResponse):
            return error.status_code in _MAY_PASS or (error.status_code or 0) >= 500
        if isinstance(error, ApiException | httpx.TransportError):
            return True
        if type(error).__module__.startswith("grpc"):  # where the file says prefer_grpc
            return True
        if isinstance(error, StoreError):
            return None
        # A local folder that another process holds, a vector of another size.
        return False if isinstance(error, RuntimeError | ValueError) else None

    def __init__(self, store: QdrantDocumentStore, pauses: Sequence[float]) -> None:
        # A copy, since it gets a client of its own, and the caller's stays as it was made.
        self._store = copy(store)
        self._store.progress_bar = False
        self._store.use_sparse_embeddings = True
        self.pauses = pauses
        self._client: QdrantClient | None = None
        self.name = store.index
        self._states = states_of(store.index)
        address = store.url or store.path or store.location or store.host or "localhost"
        self.where = f"Qdrant at {address}, collection '{store.index}',"

    @retried
    def exists(self) -> bool:
        """See `ArticleEngine.exists`."""
        return self._opened().collection_exists(self.name)

    @retried
    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        """See `ArticleEngine.create`."""
        client = self._opened()
        if not client.collection_exists(self.name):
            vectors, sparse = self._store._prepare_collection_config(
                dim, _DISTANCES[similarity], None, True, True
            )
            parameters = self._store._prepare_collection_params()
            client.create_collection(
                self.name,
                vectors_config=vectors,
                sparse_vectors_config=sparse,
                **parameters,
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of no effect in a local folder
            for field, schema in _INDEXED.items():
                client.create_payload_index(self.name, field, schema)
        if not client.collection_exists(self._states):
            client.create_collection(self._states, vectors_config={})

    @retried
    def count(self) -> int:
        """See `ArticleEngine.count`."""
        return self._opened().count(self.name, exact=True).count

    @retried
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """See `ArticleEngine.states`."""
        if not self._opened().collection_exists(self._states):
            return {}
        wanted = convert_filters_to_qdrant({"field": "kind", "operator": "==", "value": kind})
        found = self._scrolled(self._states, wanted, True)
        return {each["key"]: json.loads(each["value"]) for each in found}

    @retried
    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """See `ArticleEngine.put_state`."""
        payload = {"kind": kind, "key": key, "value": json.dumps(value, ensure_ascii=False)}
        point = models.PointStruct(id=_state_id(kind, key), vector={}, payload=payload)
        self._opened().upsert(self._states, [point], wait=True)

    @retried
    def drop_state(self, kind: str, key: str) -> None:
        """See `ArticleEngine.drop_state`."""
        self._opened().delete(self._states, [_state_id(kind, key)], wait=True)

    @retried
    def write(self, documents: Sequence[Document]) -> None:
        """See `ArticleEngine.write`."""
        self._opened()
        self._store.write_documents(list(documents), DuplicatePolicy.OVERWRITE)

    @retried
    def _stands_for(self) -> str | None:
        aliases = self._opened().get_aliases().aliases
        named = (each for each in aliases if each.alias_name == self.name)
        return next((each.collection_name for each in named), None)

    @retried
    def _name_it(self, collection: str, *, instead: bool) -> None:
        operations: list[models.AliasOperations] = []
        for alias, name in (
            (self.name, collection),
            (self._states, states_of(collection)),
        ):
            if instead:
                gone = models.DeleteAlias(alias_name=alias)
                operations.append(models.DeleteAliasOperation(delete_alias=gone))
            made = models.CreateAlias(collection_name=name, alias_name=alias)
            operations.append(models.CreateAliasOperation(create_alias=made))
        self._opened().update_collection_aliases(operations)

    @retried
    def _drop(self, collection: str) -> None:
        for name in (collection, states_of(collection)):
            self._opened().delete_collection(name)

    def settle(self) -> None:
        """See `ArticleEngine.settle`: Qdrant answers a write when that is so."""

    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        """See `ArticleEngine.nearest`."""
        # Those of a collection of one's own may have no name.
        self._store.use_sparse_embeddings = isinstance(self._vectors, dict)
        retriever = QdrantEmbeddingRetriever(self._store)
        found = self._found(lambda: retriever.run(embedding, filters=condition, top_k=k))
        # A distance is smaller for what is nearer.
        sign = -1.0 if self._by_distance else 1.0
        return [replace(each, score=sign * (each.score or 0.0)) for each in found]

    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        """See `ArticleEngine.by_words`."""
        retriever = QdrantSparseEmbeddingRetriever(self._store)
        return self._found(lambda: retriever.run(terms, filters=condition, top_k=k))

    def close(self) -> None:
        """See `ArticleEngine.close`."""
        if self._client is not None:
            let_go(self._client, self._store)
        self._client = self._store._client = None

    @cached_property
    @retried
    def _vectors(self) -> Any:
        """How the collection keeps its vectors: by name, or one kind without a name."""
        return self._opened().get_collection(self.name).config.params.vectors

    @property
    def _by_distance(self) -> bool:
        """Whether the collection orders by distance."""
        kept = self._vectors
        dense = kept[DENSE_VECTORS_NAME] if isinstance(kept, dict) else kept
        return bool(dense.distance == models.Distance.EUCLID)

    def _opened(self) -> QdrantClient:
        """The client of this address, also put into the store.

        The integration has no other door: its own way in would make a missing collection, and a
        second client could not open a local folder.
        """
        if self._client is None:
            self._client = self._store._client = shared_client(self._store)
        return self._client

    @retried
    def _found(self, search: Callable[[], dict[str, list[Document]]]) -> list[Document]:
        self._opened()
        return [replace(each, meta=article_meta(each.meta)) for each in search()["documents"]]

    @retried
    def _rows_where(
        self, condition: Condition, fields: Sequence[str], limit: int | None = None
    ) -> list[Row]:
        wanted = convert_filters_to_qdrant(condition)
        return list(map(_as_row, self._scrolled(self.name, wanted, _paths(fields), limit)))

    @retried
    def _rows_of(self, ids: Sequence[str], fields: Sequence[str]) -> list[Row]:
        points = [convert_id(each) for each in ids]
        vectors = [DENSE_VECTORS_NAME] if "vector" in fields else False
        found = self._opened().retrieve(
            self.name, points, with_payload=_paths(fields), with_vectors=vectors
        )
        return [{**_as_row(each.payload or {}), "vector": _dense(each.vector)} for each in found]

    @retried
    def _delete(self, condition: Condition) -> None:
        wanted = cast("models.Filter", convert_filters_to_qdrant(condition))
        self._opened().delete(self.name, models.FilterSelector(filter=wanted), wait=True)

    def _scrolled(
        self,
        collection: str,
        wanted: models.Filter | None,
        fields: list[str] | bool,
        limit: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        offset: Any = None
        left = math.inf if limit is None else limit
        while left > 0:
            records, offset = self._opened().scroll(
                collection,
                scroll_filter=wanted,
                limit=int(min(_PAGE, left)),
                offset=offset,
                with_payload=fields,
                with_vectors=False,
            )
            yield from (record.payload or {} for record in records)
            left = 0 if offset is None else left - len(records)


def _paths(fields: Sequence[str]) -> list[str]:
    """Where these fields of an article are in a payload."""
    return [name if name in ("id", "content") else f"meta.{name}" for name in fields]


def _as_row(payload: Row) -> Row:
    return {**payload, **payload.get("meta", {})}


def _dense(vectors: Any) -> Any:
    return vectors[DENSE_VECTORS_NAME] if vectors else None


def _state_id(kind: str, key: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}/{key}"))
