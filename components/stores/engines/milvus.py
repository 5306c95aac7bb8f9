"""Articles in Milvus, through Haystack's integration.

Its document store holds the connection and gives the client; searches ask that client directly,
since the integration's retrievers send every vector back and wait without end.
"""

from __future__ import annotations

import json
import logging
import math
from collections.abc import Callable, Iterator, Mapping, Sequence
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
from components.stores.engines.base import (
    MATCHED,
    ArticleEngine,
    Condition,
    Listed,
    Weighting,
    article_meta,
    check_version,
    retried,
    states_of,
)

_METRICS: Mapping[Similarity, str] = {"cosine": "COSINE", "dot": "IP", "l2": "L2"}
_LONGEST = 65_535  # bytes of a text field
_PIECE = _LONGEST // 4  # characters, of four bytes at most
MOST_TERMS = (_LONGEST + 1) // 9  # of eight letters and a space each

_TEXTS = (
    "law",
    "number",
    "headings",
    "language",
    "valid_from",
    "valid_to",
    "source_url",
    "core",
    "text_digest",
    "row_digest",
)
_NUMBERS = ("position", "valid_from_day", "valid_to_day")

# What an article is read from.
READ = ["id", "text", "more", *_TEXTS[:7], "position"]


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
    schema.add_field("id", DataType.VARCHAR, is_primary=True, max_length=_LONGEST)
    schema.add_field("text", DataType.VARCHAR, max_length=_LONGEST)
    schema.add_field(
        "more",
        DataType.ARRAY,
        element_type=DataType.VARCHAR,
        max_length=_LONGEST,
        max_capacity=4_096,
    )
    for name in _TEXTS:
        schema.add_field(name, DataType.VARCHAR, max_length=_LONGEST)
    for name in _NUMBERS:
        schema.add_field(name, DataType.INT64)
    schema.add_field("vector", DataType.FLOAT_VECTOR, dim=dim)
    # Terms come analysed and spelled as plain letters: the engine only has to part them.
    schema.add_field(
        "terms",
        DataType.VARCHAR,
        max_length=_LONGEST,
        enable_analyzer=True,
        analyzer_params={"tokenizer": "standard"},
    )
    schema.add_field("sparse", DataType.SPARSE_FLOAT_VECTOR)
    bm25 = Function(
        name="bm25",
        function_type=FunctionType.BM25,
        input_field_names=["terms"],
        output_field_names=["sparse"],
    )
    schema.add_function(bm25)
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
    """A row: the document's meta is one of `rows.as_row`, its sparse embedding counts terms."""
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


def as_document(row: dict[str, Any], score: float | None = None) -> Document:
    """The article of a row that was read by the fields `READ`."""
    meta = article_meta({**row, "headings": json.loads(row["headings"])})
    return Document(
        id=row["id"], content="".join([row["text"], *(row["more"] or [])]), meta=meta, score=score
    )


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


def may_pass(error: Exception) -> bool | None:
    """Whether an error of pymilvus may pass by itself; None for an error of another origin."""
    if isinstance(error, MilvusException):
        return error.code in _MAY_PASS
    if isinstance(error, grpc.RpcError):
        return error.code() in _MAY_PASS
    return None


_retried = retried(may_pass)


class MilvusEngine(ArticleEngine):
    """The articles of one Milvus collection; see `ArticleEngine`.

    Args:
        store: names the address and the collection.
        pauses: seconds between tries.
    """

    weighting: Weighting = "count"
    most_terms: int | None = MOST_TERMS

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

    @_retried
    def exists(self) -> bool:
        """See `ArticleEngine.exists`."""
        version = str(self._client.get_server_version(timeout=self._seconds))
        check_version(self.where, version, (2, 5), "computes BM25")
        return bool(self._client.has_collection(self.name, timeout=self._seconds))

    @_retried
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

    @_retried
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

    @_retried
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """See `ArticleEngine.states`."""
        if not self._client.has_collection(self._states, timeout=self._seconds):
            return {}
        # Milvus Lite opens its folder with nothing loaded, and the store loads its own only.
        self._client.load_collection(self._states, timeout=self._seconds)
        found = self._queried(self._states, f"kind == {json.dumps(kind)}", ["key", "value"])
        return {each["key"]: json.loads(each["value"]) for each in found}

    @_retried
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

    def drop_state(self, kind: str, key: str) -> None:
        """See `ArticleEngine.drop_state`."""
        self._delete(self._states, {"field": "id", "operator": "==", "value": f"{kind}/{key}"})

    @_retried
    def listed(self, law: str) -> dict[str, Listed]:
        """See `ArticleEngine.listed`."""
        found = self._queried(self.name, _of(law), ["id", *Listed._fields])
        return {
            each["id"]: Listed(**{name: each[name] for name in Listed._fields}) for each in found
        }

    def text_digests(self, ids: Sequence[str]) -> dict[str, str]:
        """See `ArticleEngine.text_digests`."""
        return {each["id"]: each["text_digest"] for each in self._got(ids, ["id", "text_digest"])}

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """See `ArticleEngine.vectors`."""
        found = self._got(ids, ["id", "vector"])
        return {each["id"]: list(each["vector"]) for each in found}

    @_retried
    def write(self, documents: Sequence[Document]) -> None:
        """See `ArticleEngine.write`."""
        rows = [as_entity(document) for document in documents]
        self._client.upsert(self.name, rows, timeout=self._seconds)

    def remove(self, law: str, ids: Sequence[str] | None = None) -> None:
        """See `ArticleEngine.remove`."""
        condition: Condition = {"field": "law", "operator": "==", "value": law}
        if ids is not None:
            listed = {"field": "id", "operator": "in", "value": list(ids)}
            condition = {"operator": "AND", "conditions": [condition, listed]}
        self._delete(self.name, condition)

    @_retried
    def _stands_for(self) -> str | None:
        if self.name not in self._aliases():
            return None
        found = self._client.describe_alias(self.name, timeout=self._seconds)
        return str(found["collection_name"])

    @_retried
    def _name_it(self, collection: str, *, instead: bool) -> None:  # noqa: ARG002
        known = self._aliases()
        for alias, name in ((self.name, collection), (self._states, states_of(collection))):
            if alias in known:
                self._client.alter_alias(name, alias, timeout=self._seconds)
            else:
                self._client.create_alias(name, alias, timeout=self._seconds)

    @_retried
    def _drop(self, collection: str) -> None:
        for name in (collection, states_of(collection)):
            if self._client.has_collection(name, timeout=self._seconds):
                self._client.drop_collection(name, timeout=self._seconds)

    def _aliases(self) -> list[str]:
        return list(self._client.list_aliases(timeout=self._seconds)["aliases"])

    @_retried
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

    @_retried
    def matching(self, condition: Condition, limit: int) -> list[Document]:
        """See `ArticleEngine.matching`."""
        fields = ["id", *MATCHED]
        found = self._queried(self.name, parse_filters(condition), fields, limit)
        return [Document(id=each["id"], meta=article_meta(each)) for each in found]

    def fetch(self, ids: Sequence[str]) -> list[Document]:
        """See `ArticleEngine.fetch`."""
        return [as_document(each) for each in self._got(ids, READ)]

    def close(self) -> None:
        """See `ArticleEngine.close`: pymilvus keeps its one connection to the process's end."""

    @_retried
    def _found(
        self, asked: list[float] | str, field: str, k: int, condition: Condition | None
    ) -> list[Document]:
        hits = self._client.search(
            self.name,
            data=[asked],
            anns_field=field,
            filter=parse_filters(condition) if condition else "",
            limit=min(k, _MOST_FOUND),
            output_fields=READ,
            timeout=self._seconds,
        )
        if field == "sparse":
            score: Callable[[float], float] = abs  # Milvus Lite hands out BM25 with its sign turned
        else:
            score = _negative_root if self._by_distance else float
        return [as_document(each["entity"], score(each["distance"])) for each in hits[0]]

    @cached_property
    def _by_distance(self) -> bool:
        """Whether the collection orders by distance."""
        index = self._client.describe_index(self.name, "vector", timeout=self._seconds)
        return bool(index["metric_type"] == _METRICS["l2"])

    def _queried(
        self, name: str, expression: str, fields: list[str], limit: int | None = None
    ) -> Iterator[dict[str, Any]]:
        """Rows in the order of their ids, asked for as pymilvus's iterator asks.

        The iterator itself writes the last id unescaped into the next expression.
        """
        wanted, left = expression, limit
        while left is None or left > 0:
            page = self._client.query(
                name,
                filter=wanted,
                output_fields=fields,
                limit=_PAGE if left is None else min(_PAGE, left),
                consistency_level="Strong",
                timeout=self._seconds,
                iterator="True",
                reduce_stop_for_best="True",
            )
            if not page:
                return
            after = parse_filters({"field": "id", "operator": ">", "value": page[-1]["id"]})
            wanted = f"{after} and ({expression})"
            left = None if left is None else left - len(page)
            yield from page

    @_retried
    def _got(self, ids: Sequence[str], fields: list[str]) -> list[dict[str, Any]]:
        if not ids:
            return []
        # Not with the client's `get`, which puts ids unescaped between quotes.
        wanted = parse_filters({"field": "id", "operator": "in", "value": list(ids)})
        found = self._client.query(
            self.name, filter=wanted, output_fields=fields, timeout=self._seconds
        )
        return list(found)

    @_retried
    def _delete(self, name: str, condition: Condition) -> None:
        expression = parse_filters(condition)
        self._client.delete(name, filter=expression, timeout=self._seconds)


def _negative_root(squared_distance: float) -> float:
    return -math.sqrt(max(squared_distance, 0.0))


def _of(law: str) -> str:
    expression: str = parse_filters({"field": "law", "operator": "==", "value": law})
    return expression
