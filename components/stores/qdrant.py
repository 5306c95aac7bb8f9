"""Articles in Qdrant, through Haystack's integration: filters, rows and the engine itself."""

from __future__ import annotations

import atexit
import json
import math
import threading
import uuid
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from copy import copy
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import cached_property, wraps
from hashlib import blake2b
from typing import Any, NamedTuple, TypeVar, cast
from weakref import WeakSet

import httpx
import numpy as np
from haystack import Document
from haystack.dataclasses import SparseEmbedding
from haystack.document_stores.types import DocumentStore, DuplicatePolicy
from haystack.errors import FilterError
from haystack_integrations.components.retrievers.qdrant import (
    QdrantEmbeddingRetriever,
    QdrantSparseEmbeddingRetriever,
)
from haystack_integrations.document_stores.qdrant import QdrantDocumentStore
from haystack_integrations.document_stores.qdrant.converters import DENSE_VECTORS_NAME, convert_id
from haystack_integrations.document_stores.qdrant.filters import convert_filters_to_qdrant
from qdrant_client import QdrantClient, models
from qdrant_client.http.exceptions import ApiException, UnexpectedResponse
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from components.converters.articles import DAY_FIELDS, STUB
from components.models.folder import Similarity
from components.statutes.citations.patterns import parse_number
from components.statutes.lexical import analysis_version
from components.stores.database import StoreError
from components.stores.filters import ORDERINGS, plain_filters
from components.stores.publishing import StoreModel

# Haystack's metadata filters in a form that means the same to Qdrant.
#
# Qdrant differs where Haystack is exact: a missing field, a date held as text, a NOT of several
# conditions. So each article is written with all its fields (a missing one as "", a missing day
# as 0) and its dates also as whole numbers, and filters are rewritten to match: what stays is ==,
# in and their negations on text, and comparisons of whole numbers.


Condition = dict[str, Any]

_TEXT_FIELDS = ("id", "law", "number", "language", "source_url")
_NO_DAY = 0
# The last day of a stub: it ended before any law, so that no other field need be kept of it.
_STUB_DAY = 1
# Beyond any article's position; an engine's integers end there.
_FAR = 2**62


def engine_filters(filters: dict[str, Any] | None) -> Condition | bool:
    """Filters with Haystack's meaning on articles as `as_row` writes them.

    Args:
        filters: Haystack filters over id, law, number, language, source_url, position, valid_from
            and valid_to, and over `state` and `in_force_on` (`components.stores.filters`).

    Returns:
        Filters of the same form; True where every article matches, False where none can.

    Raises:
        FilterError: they are malformed, or over another field; the message shows the faulty part.
    """
    if not filters:
        return True
    return _rewritten(plain_filters(filters))


def day_number(iso: str) -> int:
    """The day as a whole number (days since the year 1), or 0 for no day."""
    return date.fromisoformat(iso).toordinal() if iso else _NO_DAY


def compared(field: str, operator: str, value: Any) -> Condition:
    """One comparison of a stored field."""
    name = field if field == "id" else f"meta.{field}"
    return {"field": name, "operator": operator, "value": value}


def both(*conditions: Condition | bool) -> Condition | bool:
    """The conjunction of the conditions."""
    return _joined("AND", list(conditions))


def _rewritten(condition: Condition) -> Condition | bool:
    operator = condition["operator"]
    if "field" not in condition:
        parts = [_rewritten(part) for part in condition["conditions"]]
        joined = _joined("OR" if operator == "OR" else "AND", parts)
        return _negated(joined) if operator == "NOT" else joined
    value, field = condition["value"], str(condition["field"]).removeprefix("meta.")
    if operator in ORDERINGS:
        return _ordering(field, operator, value)
    values = value if operator in ("in", "not in") else [value]
    found = _joined("OR", [_equal(field, each) for each in values])
    return _negated(found) if operator in ("!=", "not in") else found


def _joined(operator: str, parts: list[Condition | bool]) -> Condition | bool:
    absorbing = operator == "OR"
    if any(part is absorbing for part in parts):
        return absorbing
    left = [part for part in parts if isinstance(part, dict)]
    if len(left) < 2:
        return left[0] if left else not absorbing
    return {"operator": operator, "conditions": left}


def _negated(condition: Condition | bool) -> Condition | bool:
    # Of one condition only: Qdrant's "must not" of several means none of them, not "not all".
    if isinstance(condition, bool):
        return not condition
    return {"operator": "NOT", "conditions": [condition]}


def _equal(field: str, value: Any) -> Condition | bool:
    if field in _TEXT_FIELDS:
        if value is None:
            return compared(field, "==", "") if field != "id" else False
        # An empty text is never stored: "" stands for a missing one.
        return compared(field, "==", value) if isinstance(value, str) and value else False
    if field == STUB and value is True:
        return compared("valid_to_day", "==", _STUB_DAY)
    if field in DAY_FIELDS:
        day, is_midnight = (_NO_DAY, True) if value is None else _moment(value)
        return compared(f"{field}_day", "==", day) if is_midnight else False
    if field == "position":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return compared(field, "==", int(value)) if whole and abs(value) < _FAR else False
    raise FilterError(f"An engine cannot filter by {field!r}.")


def _ordering(field: str, operator: str, value: Any) -> Condition | bool:
    if value is None and field in (*DAY_FIELDS, "position"):
        return False
    if field in DAY_FIELDS:
        day, is_midnight = _moment(value)
        if not is_midnight:  # a moment within a day is after that day's beginning
            operator = {">=": ">", "<": "<="}.get(operator, operator)
        known = compared(f"{field}_day", ">", _NO_DAY) if operator.startswith("<") else True
        return both(known, compared(f"{field}_day", operator, day))
    if field == "position" and isinstance(value, int | float) and not isinstance(value, bool):
        return compared(field, operator, max(-_FAR, min(_FAR, value)))
    raise FilterError(f"An engine cannot compare {field!r} with {value!r} by '{operator}'.")


def _moment(value: Any) -> tuple[int, bool]:
    """Day of a moment in UTC, and whether the moment is the beginning of the day."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return date.toordinal(moment), True
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
        return moment.toordinal(), moment.time() == time.min
    except (TypeError, ValueError, OverflowError) as error:
        raise FilterError(f"{value!r} is not an ISO date.") from error


_OPTIONAL = ("language", "valid_from", "valid_to", "source_url")
_ALWAYS = ("law", "number", "headings", "position")
# What a match is made of, and what a document is.
_MATCHED = ("id", "law", "number", "position", *DAY_FIELDS)
_READ = ("id", "content", *_ALWAYS, *_OPTIONAL)

Row = Mapping[str, Any]


def as_row(document: Document, text_digest: str) -> dict[str, Any]:
    """The metadata that an engine keeps of an article, all fields set.

    More than the article's own (a missing one is ""): `valid_from_day` and `valid_to_day` as whole
    numbers (a stub's last is `_STUB_DAY`), `core` for citations (the canonical number; "" where
    none can name it), `text_digest` of what was encoded, and `row_digest` of everything.

    Args:
        document: with the metadata that `as_document` gives.
        text_digest: digest of the text that its vector encodes.
    """
    meta = document.meta
    row: dict[str, Any] = {key: meta[key] for key in _ALWAYS}
    row |= {key: meta.get(key) or "" for key in _OPTIONAL}
    row |= {f"{field}_day": day_number(row[field]) for field in DAY_FIELDS}
    if meta.get(STUB):
        row["valid_to_day"] = _STUB_DAY
    number = parse_number(row["number"])
    row |= {"core": number.core if number else "", "text_digest": text_digest}
    return {**row, "row_digest": digest_of([row, document.content])}


def article_meta(row: Row) -> dict[str, Any]:
    """The article's own metadata, as the embedded store has it; of another writer's, all."""
    if "law" not in row:
        return dict(row)
    optional = {key: row[key] for key in _OPTIONAL if row.get(key)}
    return {**{key: row[key] for key in _ALWAYS if key in row}, **optional}


def digest_of(value: object) -> str:
    """128 bits of the digest of a JSON value, in hexadecimal."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


class Listed(NamedTuple):
    """What the engine has of one article."""

    text_digest: str
    row_digest: str
    position: int


_FORMAT = 1
RECORD, LAW, SHARD = "record", "law", "shard"


@dataclass(frozen=True)
class EngineRecord:
    """What a collection was indexed with.

    Attributes:
        model: whose vectors it holds.
        average_length: mean number of terms of the texts at the first indexing; it stays the same,
            so that all weights are comparable.
        languages: of the articles; questions are analysed by the rules of each.
        analysis: version of the rules that make terms of text.
        format: version of what is kept and how.
    """

    model: StoreModel
    average_length: float
    languages: tuple[str | None, ...]
    analysis: str
    format: int = _FORMAT


# A client for each address, with the stores that hold it: a local folder cannot be opened twice.
_clients: dict[str, tuple[QdrantClient, WeakSet[QdrantDocumentStore]]] = {}
_opening = threading.Lock()
_ADDRESS = ("location", "url", "host", "port", "path", "prefix", "api_key")


@atexit.register
def _close_clients() -> None:
    # One that is left to the interpreter's end complains that it comes too late.
    for client, _ in _clients.values():
        client.close()


# Seconds between tries: a person waits for an answer, a long indexing run for a restarted engine.
_ASKING = (0.2, 0.8)
_INDEXING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)
# Missing while an alias takes its place, too long, in conflict with another shard that makes the
# same collection, too many.
_MAY_PASS = (404, 408, 409, 429)
# RuntimeError: a local folder that another process holds; ValueError: a vector of another size.
_REFUSALS = (ApiException, RuntimeError, ValueError)

Method = TypeVar("Method", bound=Callable[..., Any])


def _may_pass(error: BaseException) -> bool:
    """Whether an error of Qdrant may pass by itself."""
    if isinstance(error, UnexpectedResponse):
        return error.status_code in _MAY_PASS or (error.status_code or 0) >= 500
    # grpc where the file says prefer_grpc
    is_grpc = type(error).__module__.startswith("grpc")
    return is_grpc or isinstance(error, ApiException | httpx.TransportError)


def _retried(method: Method) -> Method:
    """Decorate an engine's method: it is repeated while its error may be temporary.

    Raises:
        StoreError: it failed every time, or with a permanent error.
    """

    @wraps(method)
    def asking(self: QdrantEngine, *args: Any, **options: Any) -> Any:
        n_tries = len(self._pauses) + 1
        tries = Retrying(
            retry=retry_if_exception(_may_pass),
            stop=stop_after_attempt(n_tries),
            wait=lambda state: (*self._pauses, 0.0)[state.attempt_number - 1],
            reraise=True,
        )
        try:
            return tries(method, self, *args, **options)
        except StoreError:
            raise
        except Exception as error:
            may_pass = _may_pass(error)
            if not (may_pass or isinstance(error, _REFUSALS)):
                raise
            reason = (" ".join(str(error).split()) or type(error).__name__)[:200]
            failure = f"refused the request: {reason}."
            if may_pass:
                failure = (
                    f"does not answer ({reason}), tried {n_tries} times. Check that it runs at "
                    "its address. Run an indexing command again: it continues."
                )
            raise StoreError(f"{self.where} {failure}") from error

    return cast("Method", asking)


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


class QdrantEngine:
    """A collection of articles in Qdrant, and next to it a small one of states.

    Every call is tried again with growing pauses while the engine does not answer, and then raises
    StoreError. Stores with the same address share one client, so that several components can read a
    local folder, which Qdrant locks. Nothing is connected before the first call.

    Args:
        store: names the address and, as `index`, the collection.
        patient: wait half a minute for an engine that restarts, not a second.

    Attributes:
        name: of the collection.
        where: engine, address and collection, for messages.

    Raises:
        TypeError: `store` is another store.
    """

    def __init__(self, store: DocumentStore, *, patient: bool = False) -> None:
        if not isinstance(store, QdrantDocumentStore):
            raise TypeError(
                f"document_store must be a QdrantDocumentStore, got {type(store).__name__}."
            )
        # A copy, since it gets a client of its own, and the caller's stays as it was made.
        self._store = copy(store)
        self._store.progress_bar = False
        self._store.use_sparse_embeddings = True
        self._pauses = _INDEXING if patient else _ASKING
        self._client: QdrantClient | None = None
        # No warning of the engine's version: docs/scale.md names those that work.
        self._parameters = {"check_compatibility": False, **self._store._prepare_client_params()}
        self._key = json.dumps([self._parameters[name] for name in _ADDRESS])
        self.name = store.index
        self._states = _states_of(store.index)
        address = store.url or store.path or store.location or store.host or "localhost"
        self.where = f"Qdrant at {address}, collection '{store.index}',"

    @_retried
    def exists(self) -> bool:
        """Whether the collection exists."""
        return self._opened().collection_exists(self.name)

    @_retried
    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        """Create the two collections, or what is missing of them.

        Args:
            dim: length of the vectors.
            similarity: how the model that makes them compares them.
        """
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
        if not client.collection_exists(self._states):
            client.create_collection(self._states, vectors_config={})

    @_retried
    def count(self) -> int:
        """Number of articles."""
        return self._opened().count(self.name, exact=True).count

    @_retried
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """The values kept under a kind, by key; empty where nothing is."""
        if not self._opened().collection_exists(self._states):
            return {}
        found = self._scrolled(self._states, {"field": "kind", "operator": "==", "value": kind})
        return {each["key"]: json.loads(each["value"]) for each in found}

    @_retried
    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """Keep one value."""
        payload = {"kind": kind, "key": key, "value": json.dumps(value, ensure_ascii=False)}
        point = models.PointStruct(id=_state_id(kind, key), vector={}, payload=payload)
        self._opened().upsert(self._states, [point], wait=True)

    @_retried
    def drop_state(self, kind: str, key: str) -> None:
        """Remove one value."""
        self._opened().delete(self._states, [_state_id(kind, key)], wait=True)

    def record(self) -> EngineRecord | None:
        """What the collection was indexed with, or None where nothing says it.

        Raises:
            StoreError: another version wrote it, or the engine does not answer.
        """
        value = self.states(RECORD).get(RECORD)
        if value is None:
            return None
        written, read = (value.get("format"), value.get("analysis")), (_FORMAT, analysis_version())
        if written != read:
            raise StoreError(
                f"{self.where} was indexed in format and word rules {written}, and {read} are read "
                "here. Use the version that indexed it, or index again into a new collection."
            )
        model, languages = StoreModel(**value["model"]), tuple(value["languages"])
        return EngineRecord(model, value["average_length"], languages, value["analysis"])

    def is_complete(self) -> bool:
        """Whether some corpus has been indexed to its end, by every one of its shards."""
        finished: dict[tuple[str, int], set[int]] = {}
        for value in self.states(SHARD).values():
            finished.setdefault((value["corpus"], value["of"]), set()).add(value["shard"])
        return any(len(shards) == of for (_, of), shards in finished.items())

    def listed(self, law: str) -> dict[str, Listed]:
        """What the engine has of each article of a law, by id."""
        found = self._rows_where(compared("law", "==", law), ("id", *Listed._fields))
        return {row["id"]: Listed(*(row[name] for name in Listed._fields)) for row in found}

    def text_digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Text digests of those of the articles that are there, by id, whatever their law."""
        return {row["id"]: row["text_digest"] for row in self._rows_of(ids, ("id", "text_digest"))}

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """Vectors of articles, by id."""
        return {row["id"]: list(row["vector"]) for row in self._rows_of(ids, ("id", "vector"))}

    @_retried
    def write(self, documents: Sequence[Document]) -> None:
        """Put documents (meta from `as_row`, both embeddings) in place of those with their ids."""
        self._opened()
        self._store.write_documents(list(documents), DuplicatePolicy.OVERWRITE)

    @_retried
    def remove(self, law: str, ids: Sequence[str] | None = None) -> None:
        """Remove articles of a law: those with these ids, or all."""
        listed = True if ids is None else compared("id", "in", list(ids))
        condition = cast("Condition", both(compared("law", "==", law), listed))
        wanted = cast("models.Filter", convert_filters_to_qdrant(condition))
        self._opened().delete(self.name, models.FilterSelector(filter=wanted), wait=True)

    def successor(self) -> str:
        """The name of the collection that can take this one's place."""
        # The one of two names that the alias does not stand for.
        first, second = f"{self.name}_1", f"{self.name}_2"
        return second if self._stands_for() == first else first

    def point_to(self, collection: str) -> None:
        """Let this collection's name stand for another one, and drop the one it stood for.

        Where it stood for itself, it is dropped first: for a moment there is none of its name.

        Args:
            collection: made by an engine of that name.
        """
        old = self._stands_for()
        if old is None:
            self._drop(self.name)
        self._name_it(collection, instead=old is not None)
        if old not in (None, collection):
            self._drop(str(old))

    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        """The nearest articles by the model's similarity, higher is nearer, without embeddings."""
        # Those of a collection of one's own may have no name.
        self._store.use_sparse_embeddings = isinstance(self._vectors, dict)
        retriever = QdrantEmbeddingRetriever(self._store)
        found = self._found(retriever, embedding, filters=condition, top_k=k)
        dense = self._vectors
        dense = dense[DENSE_VECTORS_NAME] if isinstance(dense, dict) else dense
        # A distance is smaller for what is nearer.
        sign = -1.0 if dense.distance == models.Distance.EUCLID else 1.0
        return [replace(each, score=sign * (each.score or 0.0)) for each in found]

    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        """The articles that share terms, by BM25, without embeddings."""
        retriever = QdrantSparseEmbeddingRetriever(self._store)
        return self._found(retriever, terms, filters=condition, top_k=k)

    def matching(self, condition: Condition, limit: int) -> list[Document]:
        """Articles that match, in any order, without content."""
        found = self._rows_where(condition, _MATCHED, limit)
        return [Document(id=row["id"], meta=article_meta(row)) for row in found]

    def fetch(self, ids: Sequence[str]) -> list[Document]:
        """Articles with content, in any order."""
        return [
            Document(id=row["id"], content=row["content"], meta=article_meta(row))
            for row in self._rows_of(ids, _READ)
        ]

    def close(self) -> None:
        """Close the connection, unless another component holds it."""
        with _opening:
            client, holders = _clients.get(self._key, (None, None))
            if client is not None and holders is not None:
                holders.discard(self._store)
                if not holders:
                    del _clients[self._key]
                    client.close()
        self._client = self._store._client = None

    @cached_property
    @_retried
    def _vectors(self) -> Any:
        """How the collection keeps its vectors: by name, or one kind without a name."""
        return self._opened().get_collection(self.name).config.params.vectors

    def _opened(self) -> QdrantClient:
        """The client of this address, also put into the store.

        The integration has no other door: its own way in would make a missing collection, and a
        second client could not open a local folder.
        """
        if self._client is None:
            with _opening:
                if self._key not in _clients:
                    _clients[self._key] = QdrantClient(**self._parameters), WeakSet()
                client, holders = _clients[self._key]
                holders.add(self._store)
            self._client = self._store._client = client
        return self._client

    @_retried
    def _found(self, retriever: Any, asked: Any, **options: Any) -> list[Document]:
        self._opened()
        found = retriever.run(asked, **options)["documents"]
        return [replace(each, meta=article_meta(each.meta)) for each in found]

    @_retried
    def _stands_for(self) -> str | None:
        """The collection that its name is an alias of; None if it is the collection's own."""
        aliases = self._opened().get_aliases().aliases
        named = (each for each in aliases if each.alias_name == self.name)
        return next((each.collection_name for each in named), None)

    @_retried
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

    @_retried
    def _drop(self, collection: str) -> None:
        for name in (collection, _states_of(collection)):
            self._opened().delete_collection(name)

    @_retried
    def _rows_where(
        self, condition: Condition, fields: Sequence[str], limit: int | None = None
    ) -> list[Row]:
        """These fields of the articles that match."""
        return list(map(_as_row, self._scrolled(self.name, condition, _paths(fields), limit)))

    @_retried
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


def by_score(documents: Sequence[Document]) -> list[Document]:
    """Best first, equal scores in the order of the law.

    Engines store float32: further digits of a score are noise and would break ties.
    """
    rounded = [replace(each, score=float(np.float32(each.score or 0.0))) for each in documents]
    return sorted(rounded, key=lambda each: (-(each.score or 0.0), each.meta.get("position", _FAR)))


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
