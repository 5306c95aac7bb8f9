"""Articles in Milvus, through Haystack's integration.

Its document store holds the connection and gives the client; searches ask that client directly,
since the integration's retrievers send every vector back and wait without end.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property
from typing import Any

import grpc
from haystack import Document
from haystack.dataclasses import SparseEmbedding
from milvus_haystack import MilvusDocumentStore
from milvus_haystack.filters import parse_filters
from pymilvus import DataType, Function, FunctionType, MilvusClient, MilvusException

from components.models.similarity import Similarity
from components.statutes.lexical import K1, B, spelled
from components.stores.engines import (
    READ,
    ArticleEngine,
    Condition,
    Row,
    Weighting,
    article_meta,
    compared,
    retried,
    states_of,
)

_METRICS: Mapping[Similarity, str] = {"cosine": "COSINE", "dot": "IP", "l2": "L2"}
_LONGEST = 65_535  # bytes of a text field
_PIECE = _LONGEST // 4  # characters, of four bytes at most
MOST_TERMS = (_LONGEST + 1) // 9  # of eight letters and a space each

_TEXTS = (
    *("law", "number", "headings", "language", "valid_from", "valid_to", "source_url"),
    *("core", "text_digest", "row_digest"),
)
_NUMBERS = ("position", "valid_from_day", "valid_to_day")


def articles_plan(
    client: MilvusClient, dim: int, *, exact: bool, similarity: Similarity = "cosine"
) -> tuple[Any, Any]:
    """Schema and indexes of the collection of articles.

    A text longer than a field holds continues in `more`. `terms` is what BM25 is computed of.

    Args:
        client: makes both.
        dim: length of the vectors.
        exact: compare with every vector, in place of an approximate index.
        similarity: how vectors are compared.
    """
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    text: dict[str, Any] = {"datatype": DataType.VARCHAR, "max_length": _LONGEST}
    pieces = {"datatype": DataType.ARRAY, "element_type": DataType.VARCHAR, "max_capacity": 4_096}
    fields: dict[str, dict[str, Any]] = {
        "id": {**text, "is_primary": True},
        "text": text,
        "more": {**text, **pieces},
        **dict.fromkeys(_TEXTS, text),
        **{name: {"datatype": DataType.INT64} for name in _NUMBERS},
        "vector": {"datatype": DataType.FLOAT_VECTOR, "dim": dim},
        # Terms come analysed and spelled as plain letters: the engine only has to part them.
        "terms": {**text, "enable_analyzer": True, "analyzer_params": {"tokenizer": "standard"}},
        "sparse": {"datatype": DataType.SPARSE_FLOAT_VECTOR},
    }
    for name, options in fields.items():
        schema.add_field(name, **options)
    schema.add_function(Function("bm25", FunctionType.BM25, ["terms"], ["sparse"]))
    indexes = client.prepare_index_params()
    kind = "FLAT" if exact else "AUTOINDEX"
    indexes.add_index("vector", index_type=kind, metric_type=_METRICS[similarity])
    weights = {"bm25_k1": K1, "bm25_b": B}
    indexes.add_index(
        "sparse", index_type="SPARSE_INVERTED_INDEX", metric_type="BM25", params=weights
    )
    for name in ("law", "core"):
        indexes.add_index(name, index_type="INVERTED")
    return schema, indexes


def states_plan(client: MilvusClient) -> tuple[Any, Any]:
    """Schema and indexes of the collection of states."""
    schema = client.create_schema(auto_id=False, enable_dynamic_field=False)
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_LONGEST)
    for name in ("kind", "key", "value"):
        schema.add_field(name, DataType.VARCHAR, max_length=_LONGEST)
    # Milvus has no collection without vectors.
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=2)
    indexes = client.prepare_index_params()
    indexes.add_index("vector", index_type="FLAT", metric_type="COSINE")
    return schema, indexes


def as_entity(document: Document) -> dict[str, Any]:
    """A row: the document's meta is one of `as_row`, its sparse embedding counts terms."""
    text = document.content or ""
    pieces = [text[start : start + _PIECE] for start in range(0, len(text), _PIECE)]
    counts = document.sparse_embedding or SparseEmbedding([], [])
    numbers = [
        number
        for number, count in zip(counts.indices, counts.values, strict=True)
        for _ in range(int(count))
    ]
    return {
        **document.meta,
        "headings": json.dumps(document.meta["headings"], ensure_ascii=False),
        "id": document.id,
        "text": pieces[0],
        "more": pieces[1:],
        "vector": document.embedding,
        "terms": spelled(numbers[:MOST_TERMS]),
    }


def _columns(fields: Sequence[str]) -> list[str]:
    """Milvus's fields that hold these of an article."""
    names = [name for name in fields if name != "content"]
    return [*names, "text", "more"] if "content" in fields else names


def _as_row(entity: dict[str, Any]) -> Row:
    """The fields of an article from those of Milvus."""
    row = dict(entity)
    if "headings" in row:
        row["headings"] = json.loads(row["headings"])
    if "text" in row:
        row["content"] = "".join([row.pop("text"), *(row.pop("more") or [])])
    return row


_SECONDS = 10.0  # a call's time, within which pymilvus tries again by itself
_PAGE = 1_000
_MOST_FOUND = 16_384  # Milvus's own limit of one search
_MAY_PASS = (
    grpc.StatusCode.UNAVAILABLE,
    grpc.StatusCode.DEADLINE_EXCEEDED,
    grpc.StatusCode.RESOURCE_EXHAUSTED,
    2,  # no connection
    8,  # too many requests
    100,  # no such collection: while an alias takes its place
    MilvusException().code,  # pymilvus gave up after trying again
)


class MilvusEngine(ArticleEngine):
    """The articles of one Milvus collection; see `ArticleEngine`.

    Args:
        store: names the address and the collection.
        pauses: seconds between tries.
    """

    weighting: Weighting = "count"
    most_terms: int | None = MOST_TERMS

    @staticmethod
    def may_pass(error: Exception) -> bool | None:
        """See `ArticleEngine.may_pass`."""
        if isinstance(error, MilvusException):
            return error.code in _MAY_PASS
        if isinstance(error, grpc.RpcError):
            return error.code() in _MAY_PASS
        return None

    def __init__(self, store: MilvusDocumentStore, pauses: Sequence[float]) -> None:
        # It logs each failed call with its traceback; what is raised says it in one line.
        logging.getLogger("pymilvus").setLevel(logging.CRITICAL)
        self._client: MilvusClient = store.client
        self.name: str = store.collection_name
        self._states = states_of(self.name)
        self._seconds = store.timeout or _SECONDS
        self.pauses = pauses
        address = str(store.connection_args["uri"])
        self._local = "://" not in address
        self.where = f"Milvus at {address}, collection '{self.name}',"

    @retried
    def exists(self) -> bool:
        """See `ArticleEngine.exists`."""
        return bool(self._client.has_collection(self.name, timeout=self._seconds))

    @retried
    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        """See `ArticleEngine.create`."""
        # The approximate index of Milvus Lite hands out fewer articles than are asked for.
        plan = articles_plan(self._client, dim, exact=self._local, similarity=similarity)
        plans = {self.name: plan}
        plans[self._states] = states_plan(self._client)
        for name, (schema, indexes) in plans.items():
            if not self._client.has_collection(name, timeout=self._seconds):
                self._client.create_collection(
                    name, schema=schema, index_params=indexes, timeout=self._seconds
                )

    @retried
    def count(self) -> int:
        """See `ArticleEngine.count`."""
        found = self._client.query(
            self.name,
            filter="",
            output_fields=["count(*)"],
            consistency_level="Strong",
            timeout=self._seconds,
        )
        return int(found[0]["count(*)"])

    @retried
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """See `ArticleEngine.states`."""
        if not self._client.has_collection(self._states, timeout=self._seconds):
            return {}
        # Milvus Lite opens its folder with nothing loaded, and the store loads its own only.
        self._client.load_collection(self._states, timeout=self._seconds)
        expression = parse_filters({"field": "kind", "operator": "==", "value": kind})
        found = self._pages(self._states, expression, ["id", "key", "value"])
        return {each["key"]: json.loads(each["value"]) for each in found}

    @retried
    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """See `ArticleEngine.put_state`."""
        row = {
            "id": f"{kind}/{key}",
            "kind": kind,
            "key": key,
            "value": json.dumps(value, ensure_ascii=False),
            "vector": [1.0, 0.0],
        }
        self._client.upsert(self._states, [row], timeout=self._seconds)

    @retried
    def drop_state(self, kind: str, key: str) -> None:
        """See `ArticleEngine.drop_state`."""
        expression = parse_filters(compared("id", "==", f"{kind}/{key}"))
        self._client.delete(self._states, filter=expression, timeout=self._seconds)

    @retried
    def write(self, documents: Sequence[Document]) -> None:
        """See `ArticleEngine.write`."""
        rows = [as_entity(document) for document in documents]
        self._client.upsert(self.name, rows, timeout=self._seconds)

    @retried
    def _stands_for(self) -> str | None:
        if self.name not in self._aliases():
            return None
        found = self._client.describe_alias(self.name, timeout=self._seconds)
        return str(found["collection_name"])

    @retried
    def _name_it(self, collection: str, *, instead: bool) -> None:  # noqa: ARG002
        known = self._aliases()
        for alias, name in ((self.name, collection), (self._states, states_of(collection))):
            if alias in known:
                self._client.alter_alias(name, alias, timeout=self._seconds)
            else:
                self._client.create_alias(name, alias, timeout=self._seconds)

    @retried
    def _drop(self, collection: str) -> None:
        for name in (collection, states_of(collection)):
            if self._client.has_collection(name, timeout=self._seconds):
                self._client.drop_collection(name, timeout=self._seconds)

    def _aliases(self) -> list[str]:
        return list(self._client.list_aliases(timeout=self._seconds)["aliases"])

    @retried
    def settle(self) -> None:
        """See `ArticleEngine.settle`.

        Until then Milvus Lite counts a term's articles among those that a filter lets through.
        """
        self._client.flush(self.name, timeout=self._seconds)

    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        """See `ArticleEngine.nearest`."""
        return self._found(embedding, "vector", k, condition)

    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        """See `ArticleEngine.by_words`."""
        return self._found(spelled(terms.indices), "sparse", k, condition)

    def close(self) -> None:
        """See `ArticleEngine.close`: pymilvus keeps its one connection to the process's end."""

    @retried
    def _found(
        self, asked: list[float] | str, field: str, k: int, condition: Condition | None
    ) -> list[Document]:
        hits = self._client.search(
            self.name,
            data=[asked],
            anns_field=field,
            filter=parse_filters(condition) if condition else "",
            limit=min(k, _MOST_FOUND),
            output_fields=_columns(READ),
            timeout=self._seconds,
        )
        documents = []
        for hit in hits[0]:
            row, score = _as_row(hit["entity"]), float(hit["distance"])
            if field == "sparse":
                score = abs(score)  # Milvus Lite hands out BM25 with its sign turned
            elif self._by_distance:  # of a distance it gives the square
                score = -math.sqrt(max(score, 0.0))
            meta = article_meta(row)
            documents.append(Document(id=row["id"], content=row["content"], meta=meta, score=score))
        return documents

    @cached_property
    def _by_distance(self) -> bool:
        """Whether the collection orders by distance."""
        index = self._client.describe_index(self.name, "vector", timeout=self._seconds)
        return bool(index["metric_type"] == _METRICS["l2"])

    @retried
    def _rows_where(
        self, condition: Condition, fields: Sequence[str], limit: int | None = None
    ) -> list[Row]:
        found = self._pages(self.name, parse_filters(condition), _columns(fields), limit)
        return [_as_row(each) for each in found]

    @retried
    def _rows_of(self, ids: Sequence[str], fields: Sequence[str]) -> list[Row]:
        if not ids:
            return []
        # Not with the client's `get`, which puts ids unescaped between quotes.
        wanted = parse_filters(compared("id", "in", list(ids)))
        found = self._client.query(
            self.name, filter=wanted, output_fields=_columns(fields), timeout=self._seconds
        )
        return [_as_row(each) for each in found]

    @retried
    def _delete(self, condition: Condition) -> None:
        self._client.delete(self.name, filter=parse_filters(condition), timeout=self._seconds)

    def _pages(
        self, name: str, expression: str, fields: list[str], limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Rows in the order of their ids, asked for as pymilvus's iterator asks.

        The iterator itself writes the last id unescaped into the next expression.
        """
        wanted, left = expression, math.inf if limit is None else limit
        while left > 0:
            page = self._client.query(
                name,
                filter=wanted,
                output_fields=fields,
                limit=int(min(_PAGE, left)),
                consistency_level="Strong",
                timeout=self._seconds,
                iterator="True",
                reduce_stop_for_best="True",
            )
            if not page:
                return
            after = parse_filters(compared("id", ">", page[-1]["id"]))
            wanted = f"{after} and ({expression})"
            left -= len(page)
            yield from page
