"""What every engine shares: filters, rows, records, repeated calls and the engine's interface."""

from __future__ import annotations

import atexit
import json
import threading
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import wraps
from hashlib import blake2b
from typing import Any, Generic, NamedTuple, TypeVar, cast
from weakref import WeakSet

import numpy as np
from haystack import Document
from haystack.dataclasses import SparseEmbedding
from haystack.errors import FilterError
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from components.converters.articles import DAY_FIELDS, STUB
from components.models.folder import Similarity
from components.statutes.citations.patterns import parse_number
from components.statutes.lexical import analysis_version
from components.stores.database import StoreError
from components.stores.filters import ORDERINGS, compared, needed_fields, plain_filters, type_fault
from components.stores.publishing import StoreModel

# Haystack's metadata filters in a form that means the same to every engine.
#
# Engines differ where Haystack is exact: a missing field, a date held as text, a NOT of several
# conditions. So each article is written with all its fields (a missing one as "", a missing day
# as 0) and its dates also as whole numbers, and filters are rewritten to match: what stays is ==,
# in and their negations on text, and comparisons of whole numbers.


Condition = dict[str, Any]

_TEXT_FIELDS = ("id", "law", "number", "language", "source_url", "jurisdiction")
_NO_DAY = 0
# The last day of a stub: it ended before any law, so that no other field need be kept of it.
_STUB_DAY = 1
# Beyond any article's position; an engine's integers end there.
_FAR = 2**62


def engine_filters(filters: dict[str, Any] | None) -> Condition | bool:
    """Filters with Haystack's meaning on articles as `as_row` writes them.

    Args:
        filters: Haystack filters over id, law, number, language, source_url, jurisdiction,
            position, valid_from and valid_to, and over `state` and `in_force_on`
            (`components.stores.filters`).

    Returns:
        Filters of the same form; True where every article matches, False where none can.

    Raises:
        FilterError: they are malformed, or over another field; the message shows the faulty part.
    """
    if not filters:
        return True
    plain = plain_filters(filters)
    rewritten = _rewritten(plain)
    for field, values in needed_fields(plain):
        if fault := type_fault(field.removeprefix("meta."), values):
            raise FilterError(fault)
    return rewritten


def day_number(iso: str) -> int:
    """The day as a whole number (days since the year 1), or 0 for no day."""
    return date.fromisoformat(iso).toordinal() if iso else _NO_DAY


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


OPTIONAL = ("language", "valid_from", "valid_to", "source_url", "jurisdiction")
ALWAYS = ("law", "number", "headings", "position")

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
    row: dict[str, Any] = {key: meta[key] for key in ALWAYS}
    row |= {key: meta.get(key) or "" for key in OPTIONAL}
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
    optional = {key: row[key] for key in OPTIONAL if row.get(key)}
    return {**{key: row[key] for key in ALWAYS if key in row}, **optional}


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


# Seconds between tries: a person waits for an answer, a long indexing run for a restarted engine.
_ASKING = (0.2, 0.8)
_INDEXING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)

Method = TypeVar("Method", bound=Callable[..., Any])
Client = TypeVar("Client")


def retried(method: Method) -> Method:
    """Decorate an engine's method: it is repeated while its error may be temporary.

    Raises:
        StoreError: it failed every time, or with a permanent error.
    """

    @wraps(method)
    def asking(self: Engine, *args: Any, **options: Any) -> Any:
        tries = Retrying(
            retry=retry_if_exception(self._may_pass),
            stop=stop_after_attempt(len(self._pauses) + 1),
            wait=lambda state: (*self._pauses, 0.0)[state.attempt_number - 1],
            reraise=True,
        )
        try:
            return tries(method, self, *args, **options)
        except StoreError:
            raise
        except Exception as error:
            if not (self._may_pass(error) or isinstance(error, self._refusals)):
                raise
            raise StoreError(f"{self.where} {self._failure(error)}") from error

    return cast("Method", asking)


class SharedClients(Generic[Client]):
    """One client for each address, closed when the last engine has released it.

    Args:
        close: closes a client.
    """

    def __init__(self, close: Callable[[Client], object]) -> None:
        self._close = close
        # Holders are weak: a pipeline that is dropped unclosed must not keep a client open.
        self._clients: dict[str, tuple[Client, WeakSet[Any]]] = {}
        self._lock = threading.Lock()
        # One that is left to the interpreter's end complains that it comes too late.
        atexit.register(self._close_all)

    def acquire(self, key: str, make: Callable[[], Client], holder: object) -> Client:
        """The client of an address, made for the first holder."""
        with self._lock:
            if key not in self._clients:
                self._clients[key] = make(), WeakSet()
            client, holders = self._clients[key]
            holders.add(holder)
            return client

    def release(self, key: str, holder: object) -> None:
        """Close the client of an address, unless another holds it."""
        with self._lock:
            client, holders = self._clients.get(key, (None, None))
            if client is not None and holders is not None:
                holders.discard(holder)
                if not holders:
                    del self._clients[key]
                    self._close(client)

    def _close_all(self) -> None:
        for client, _ in self._clients.values():
            self._close(client)


class Engine(ABC):
    """A collection of articles in an engine, and next to it a small one of states.

    Every call is tried again with growing pauses while the engine does not answer, and then raises
    StoreError. Nothing is connected before the first call.

    Args:
        name: of the collection.
        where: engine, address and collection, for messages.
        patient: wait half a minute for an engine that restarts, not a second.

    Attributes:
        name: of the collection.
        where: engine, address and collection, for messages.
    """

    _refusals: tuple[type[Exception], ...]

    def __init__(self, name: str, where: str, *, patient: bool) -> None:
        self.name = name
        self.where = where
        self._pauses = _INDEXING if patient else _ASKING

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

    @abstractmethod
    def exists(self) -> bool:
        """Whether the collection exists."""

    @abstractmethod
    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        """Create the collections, or what is missing of them.

        Args:
            dim: length of the vectors.
            similarity: how the model that makes them compares them.
        """

    @abstractmethod
    def count(self) -> int:
        """Number of articles."""

    @abstractmethod
    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """The values kept under a kind, by key; empty where nothing is."""

    @abstractmethod
    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """Keep one value."""

    @abstractmethod
    def drop_state(self, kind: str, key: str) -> None:
        """Remove one value."""

    @abstractmethod
    def listed(self, law: str) -> dict[str, Listed]:
        """What the engine has of each article of a law, by id."""

    @abstractmethod
    def vectors(self, digests: Mapping[str, str]) -> dict[str, list[float]]:
        """Known vectors by id, whatever the article's law, where the text has the given digest."""

    @abstractmethod
    def begin_law(self, law: str, unfinished: dict[str, Any]) -> None:
        """Begin to change a law, before it is compared; its state while it is unfinished."""

    @abstractmethod
    def write(self, documents: Sequence[Document]) -> None:
        """Put documents (meta from `as_row`, both embeddings) in place of those with their ids.

        Readers may see them before or after `finish_law`.
        """

    @abstractmethod
    def finish_law(self, law: str, state: dict[str, Any], stale: Sequence[str]) -> None:
        """Complete a law whose documents are written.

        Args:
            law: its name.
            state: of the finished law.
            stale: ids of its articles that are gone.
        """

    @abstractmethod
    def drop_law(self, law: str) -> None:
        """Remove a law, its articles and its state."""

    @abstractmethod
    def successor(self) -> str:
        """The name of the collection that can take this one's place."""

    @abstractmethod
    def point_to(self, collection: str) -> None:
        """Let this collection's name stand for another one, and drop the one it stood for.

        Args:
            collection: made by an engine of that name.
        """

    @abstractmethod
    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        """The nearest articles by the model's similarity, higher is nearer, without embeddings."""

    @abstractmethod
    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        """The articles that share terms, by BM25, without embeddings."""

    @abstractmethod
    def matching(self, condition: Condition, limit: int) -> list[Document]:
        """Articles that match, in any order, without content."""

    @abstractmethod
    def fetch(self, ids: Sequence[str]) -> list[Document]:
        """Articles with content, in any order."""

    def settle(self, *, approximate: bool) -> float | None:  # noqa: ARG002 - not every engine's
        """End a run that wrote.

        Args:
            approximate: search the vectors by an approximate index, where the engine leaves the
                choice.

        Returns:
            The share of the exact nearest that it finds; None if it was not measured.
        """
        return None

    def is_approximate(self) -> bool:
        """Whether `settle` made an approximate index."""
        return False

    @abstractmethod
    def close(self) -> None:
        """Close the connection, unless another component holds it."""

    @abstractmethod
    def _may_pass(self, error: BaseException) -> bool:
        """Whether an error of the engine may pass by itself."""

    def _failure(self, error: Exception) -> str:
        """What happened and what to do, to follow `where`."""
        reason = one_line(error)
        if not self._may_pass(error):
            return f"refused the request: {reason}."
        return (
            f"does not answer ({reason}), tried {len(self._pauses) + 1} times. Check that it runs "
            "at its address. An indexing command continues when it is run again."
        )


def one_line(error: Exception) -> str:
    """An error's message in one line of at most 200 characters."""
    return (" ".join(str(error).split()) or type(error).__name__)[:200].rstrip(".")


def by_score(documents: Sequence[Document]) -> list[Document]:
    """Best first, equal scores in the order of the law.

    Engines store float32: further digits of a score are noise and would break ties.
    """
    rounded = [replace(each, score=float(np.float32(each.score or 0.0))) for each in documents]
    return sorted(rounded, key=lambda each: (-(each.score or 0.0), each.meta.get("position", _FAR)))
