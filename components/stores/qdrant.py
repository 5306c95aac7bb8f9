"""Articles in Qdrant, through Haystack's integration."""

from __future__ import annotations

import json
import math
import uuid
import warnings
from collections.abc import Iterator, Mapping, Sequence
from copy import copy
from dataclasses import replace
from functools import cached_property
from typing import Any, cast

import httpx
from haystack import Document
from haystack.dataclasses import SparseEmbedding
from haystack.document_stores.types import DuplicatePolicy
from typing_extensions import override

from components.converters.articles import DAY_FIELDS
from components.models.folder import Similarity
from components.statutes.extras import needs_extra
from components.stores.engines import (
    ALWAYS,
    LAW,
    OPTIONAL,
    Condition,
    Engine,
    Listed,
    Row,
    SharedClients,
    article_meta,
    both,
    retried,
)
from components.stores.filters import compared

with needs_extra("Qdrant", "qdrant"):
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

# What a match is made of, and what a document is.
_MATCHED = ("id", "law", "number", "position", *DAY_FIELDS)
_READ = ("id", "content", *ALWAYS, *OPTIONAL)
_ADDRESS = ("location", "url", "host", "port", "path", "prefix", "api_key")
# A local folder cannot be opened twice.
_clients: SharedClients[QdrantClient] = SharedClients(QdrantClient.close)

# Missing while an alias takes its place, too long, in conflict with another shard that makes the
# same collection, too many.
_MAY_PASS = (404, 408, 409, 429)

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
    "meta.jurisdiction": models.PayloadSchemaType.KEYWORD,
    "meta.valid_from_day": models.PayloadSchemaType.INTEGER,
    "meta.valid_to_day": models.PayloadSchemaType.INTEGER,
}


class QdrantEngine(Engine):
    """A collection of articles in Qdrant, and next to it a small one of states.

    Stores with the same address share one client, so that several components can read a local
    folder, which Qdrant locks.

    Args:
        store: names the address and, as `index`, the collection.
        patient: wait half a minute for an engine that restarts, not a second.
    """

    # RuntimeError: a local folder that another process holds; ValueError: a vector of another size.
    _refusals = (ApiException, RuntimeError, ValueError)

    def __init__(self, store: QdrantDocumentStore, *, patient: bool = False) -> None:
        address = store.url or store.path or store.location or store.host or "localhost"
        where = f"Qdrant at {address}, collection '{store.index}',"
        super().__init__(store.index, where, patient=patient)
        # A copy, since it gets a client of its own, and the caller's stays as it was made.
        self._store = copy(store)
        self._store.progress_bar = False
        self._store.use_sparse_embeddings = True
        self._client: QdrantClient | None = None
        # No warning of the engine's version: docs/scale.md names those that work.
        self._parameters = {"check_compatibility": False, **self._store._prepare_client_params()}
        self._key = json.dumps([self._parameters[name] for name in _ADDRESS])
        self._states = _states_of(store.index)

    @override
    @retried
    def exists(self) -> bool:
        return self._opened().collection_exists(self.name)

    @override
    @retried
    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        client = self._opened()
        if not client.collection_exists(self.name):
            vectors, sparse = self._store._prepare_collection_config(
                dim, _DISTANCES[similarity], None, True, True
            )
            parameters = self._store._prepare_collection_params()
            client.create_collection(
                self.name, vectors_config=vectors, sparse_vectors_config=sparse, **parameters
            )
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)  # of no effect in a local folder
            for field, schema in _INDEXED.items():
                client.create_payload_index(self.name, field, schema)
        # A collection made before articles had the field: a missing one is "" (`as_row`).
        without = models.IsEmptyCondition(is_empty=models.PayloadField(key="meta.jurisdiction"))
        client.set_payload(
            self.name, {"jurisdiction": ""}, models.Filter(must=[without]), key="meta", wait=True
        )
        if not client.collection_exists(self._states):
            client.create_collection(self._states, vectors_config={})

    @override
    @retried
    def count(self) -> int:
        return self._opened().count(self.name, exact=True).count

    @override
    @retried
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        if not self._opened().collection_exists(self._states):
            return {}
        found = self._scrolled(self._states, {"field": "kind", "operator": "==", "value": kind})
        return {each["key"]: json.loads(each["value"]) for each in found}

    @override
    @retried
    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        payload = {"kind": kind, "key": key, "value": json.dumps(value, ensure_ascii=False)}
        point = models.PointStruct(id=_state_id(kind, key), vector={}, payload=payload)
        self._opened().upsert(self._states, [point], wait=True)

    @override
    @retried
    def drop_state(self, kind: str, key: str) -> None:
        self._opened().delete(self._states, [_state_id(kind, key)], wait=True)

    @override
    def listed(self, law: str) -> dict[str, Listed]:
        found = self._rows_where(compared("law", "==", law), ("id", *Listed._fields))
        return {row["id"]: Listed(*(row[name] for name in Listed._fields)) for row in found}

    @override
    def vectors(self, digests: Mapping[str, str]) -> dict[str, list[float]]:
        found = self._rows_of([*digests], ("id", "text_digest", "vector"))
        return {
            row["id"]: list(row["vector"])
            for row in found
            if row["text_digest"] == digests[row["id"]]
        }

    @override
    @retried
    def write(self, documents: Sequence[Document]) -> None:
        self._opened()
        self._store.write_documents(list(documents), DuplicatePolicy.OVERWRITE)

    @override
    def begin_law(self, law: str, unfinished: dict[str, Any]) -> None:
        self.put_state(LAW, law, unfinished)

    @override
    def finish_law(self, law: str, state: dict[str, Any], stale: Sequence[str]) -> None:
        for start in range(0, len(stale), _PAGE):
            self._remove(law, stale[start : start + _PAGE])
        self.put_state(LAW, law, state)

    @override
    def drop_law(self, law: str) -> None:
        self._remove(law, None)
        self.drop_state(LAW, law)

    @retried
    def _remove(self, law: str, ids: Sequence[str] | None) -> None:
        """Remove articles of a law: those with these ids, or all."""
        listed = True if ids is None else compared("id", "in", list(ids))
        condition = cast("Condition", both(compared("law", "==", law), listed))
        wanted = cast("models.Filter", convert_filters_to_qdrant(condition))
        self._opened().delete(self.name, models.FilterSelector(filter=wanted), wait=True)

    @override
    def successor(self) -> str:
        # The one of two names that the alias does not stand for.
        first, second = f"{self.name}_1", f"{self.name}_2"
        return second if self._stands_for() == first else first

    @override
    def point_to(self, collection: str) -> None:
        # A name that stands for itself is dropped first: for a moment there is no such collection.
        old = self._stands_for()
        if old is None:
            self._drop(self.name)
        self._name_it(collection, instead=old is not None)
        if old not in (None, collection):
            self._drop(str(old))

    @override
    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        # Those of a collection of one's own may have no name.
        self._store.use_sparse_embeddings = isinstance(self._vectors, dict)
        retriever = QdrantEmbeddingRetriever(self._store)
        found = self._found(retriever, embedding, filters=condition, top_k=k)
        dense = self._vectors
        dense = dense[DENSE_VECTORS_NAME] if isinstance(dense, dict) else dense
        # A distance is smaller for what is nearer.
        sign = -1.0 if dense.distance == models.Distance.EUCLID else 1.0
        return [replace(each, score=sign * (each.score or 0.0)) for each in found]

    @override
    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        retriever = QdrantSparseEmbeddingRetriever(self._store)
        return self._found(retriever, terms, filters=condition, top_k=k)

    @override
    def matching(self, condition: Condition, limit: int) -> list[Document]:
        found = self._rows_where(condition, _MATCHED, limit)
        return [Document(id=row["id"], meta=article_meta(row)) for row in found]

    @override
    def fetch(self, ids: Sequence[str]) -> list[Document]:
        return [
            Document(id=row["id"], content=row["content"], meta=article_meta(row))
            for row in self._rows_of(ids, _READ)
        ]

    @override
    def close(self) -> None:
        _clients.release(self._key, self._store)
        self._client = self._store._client = None

    @override
    def _may_pass(self, error: BaseException) -> bool:
        if isinstance(error, UnexpectedResponse):
            return error.status_code in _MAY_PASS or (error.status_code or 0) >= 500
        # grpc where the file says prefer_grpc
        is_grpc = type(error).__module__.startswith("grpc")
        return is_grpc or isinstance(error, ApiException | httpx.TransportError)

    @cached_property
    @retried
    def _vectors(self) -> Any:
        """How the collection keeps its vectors: by name, or one kind without a name."""
        return self._opened().get_collection(self.name).config.params.vectors

    def _opened(self) -> QdrantClient:
        """The client of this address, also put into the store.

        The integration has no other door: its own way in would make a missing collection, and a
        second client could not open a local folder.
        """
        if self._client is None:
            self._client = _clients.acquire(
                self._key, lambda: QdrantClient(**self._parameters), self._store
            )
            self._store._client = self._client
        return self._client

    @retried
    def _found(self, retriever: Any, asked: Any, **options: Any) -> list[Document]:
        self._opened()
        found = retriever.run(asked, **options)["documents"]
        return [replace(each, meta=article_meta(each.meta)) for each in found]

    @retried
    def _stands_for(self) -> str | None:
        """The collection that its name is an alias of; None if it is the collection's own."""
        aliases = self._opened().get_aliases().aliases
        named = (each for each in aliases if each.alias_name == self.name)
        return next((each.collection_name for each in named), None)

    @retried
    def _name_it(self, collection: str, *, instead: bool) -> None:
        """Make its name an alias of a collection, in place of another alias where there is one."""
        operations: list[models.AliasOperations] = []
        for alias, name in ((self.name, collection), (self._states, _states_of(collection))):
            if instead:
                gone = models.DeleteAlias(alias_name=alias)
                operations.append(models.DeleteAliasOperation(delete_alias=gone))
            made = models.CreateAlias(collection_name=name, alias_name=alias)
            operations.append(models.CreateAliasOperation(create_alias=made))
        self._opened().update_collection_aliases(operations)

    @retried
    def _drop(self, collection: str) -> None:
        for name in (collection, _states_of(collection)):
            self._opened().delete_collection(name)

    @retried
    def _rows_where(
        self, condition: Condition, fields: Sequence[str], limit: int | None = None
    ) -> list[Row]:
        """These fields of the articles that match."""
        return list(map(_as_row, self._scrolled(self.name, condition, _paths(fields), limit)))

    @retried
    def _rows_of(self, ids: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """These fields of the articles with these ids that are there."""
        vectors = [DENSE_VECTORS_NAME] if "vector" in fields else False
        found: list[Any] = []
        for start in range(0, len(ids), _PAGE):
            points = [convert_id(each) for each in ids[start : start + _PAGE]]
            found += self._opened().retrieve(
                self.name, points, with_payload=_paths(fields), with_vectors=vectors
            )
        return [
            {**_as_row(each.payload), "vector": each.vector and each.vector[DENSE_VECTORS_NAME]}
            for each in found
        ]

    def _scrolled(
        self,
        collection: str,
        condition: Condition,
        fields: list[str] | bool = True,
        limit: int | None = None,
    ) -> Iterator[dict[str, Any]]:
        offset: Any = None
        left = math.inf if limit is None else limit
        while left > 0:
            records, offset = self._opened().scroll(
                collection,
                scroll_filter=convert_filters_to_qdrant(condition),
                limit=int(min(_PAGE, left)),
                offset=offset,
                with_payload=fields,
                with_vectors=False,
            )
            yield from (record.payload or {} for record in records)
            left = 0 if offset is None else left - len(records)


def _states_of(collection: str) -> str:
    """The name of the collection of states that belongs to one of articles."""
    return f"{collection}_states"


def _paths(fields: Sequence[str]) -> list[str]:
    """Where these fields of an article are in a payload."""
    return [name if name in ("id", "content") else f"meta.{name}" for name in fields]


def _as_row(payload: Row) -> Row:
    return {**payload, **payload.get("meta", {})}


def _state_id(kind: str, key: str) -> str:
    return str(uuid.uuid5(uuid.NAMESPACE_OID, f"{kind}/{key}"))
