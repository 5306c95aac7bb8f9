"""What an engine must do so that its articles can be found and kept up to date."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, date, datetime, time
from functools import partial, wraps
from hashlib import blake2b
from typing import Any, Literal, NamedTuple, Protocol, TypeVar, cast

import numpy as np
from haystack import Document
from haystack.dataclasses import SparseEmbedding
from haystack.errors import FilterError
from tenacity import Retrying, retry_if_exception, stop_after_attempt

from components.converters.articles import DAY_FIELDS, STUB
from components.models.similarity import Similarity
from components.statutes.citations.patterns import parse_number
from components.statutes.lexical import analysis_version
from components.stores.database import StoreError
from components.stores.filters import IN_FORCE_ON, ORDERINGS, STATE, check_filters, plain_filters
from components.stores.publishing import StoreModel

# Haystack's metadata filters in a form that every engine understands in the same way.
#
# Engines differ where Haystack is exact: a missing field, a date held as text, a NOT of several
# conditions. So each article is written with all its fields (a missing one as "", a missing day
# as 0) and its dates also as whole numbers, and filters are rewritten to match: what stays is ==,
# in and their negations on text, and comparisons of whole numbers.


Condition = dict[str, Any]

TEXT_FIELDS = ("id", "law", "number", "language", "source_url")
NO_DAY = 0
STUB_DAY = 1
"""The last day of a stub: it ended before any law, so that no other field need be kept of it."""

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
    check_filters(filters)
    return _rewritten(plain_filters(filters))


def day_number(iso: str) -> int:
    """The day as a whole number (days since the year 1), or 0 for no day."""
    return date.fromisoformat(iso).toordinal() if iso else NO_DAY


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
        return _ordering(field, operator, value, condition)
    values = value if operator in ("in", "not in") else [value]
    found = _joined("OR", [_equal(field, each, condition) for each in values])
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


def _equal(field: str, value: Any, condition: Condition) -> Condition | bool:
    if field in TEXT_FIELDS:
        if value is None:
            return compared(field, "==", "") if field != "id" else False
        # An empty text is never stored: "" stands for a missing one.
        return compared(field, "==", value) if isinstance(value, str) and value else False
    if field == STUB and value is True:
        return compared("valid_to_day", "==", STUB_DAY)
    if field in DAY_FIELDS:
        day, is_midnight = (NO_DAY, True) if value is None else _moment(value, condition)
        return compared(f"{field}_day", "==", day) if is_midnight else False
    if field == "position":
        whole = isinstance(value, int) or (isinstance(value, float) and value.is_integer())
        return compared(field, "==", int(value)) if whole and abs(value) < _FAR else False
    raise _unknown(condition)


def _ordering(field: str, operator: str, value: Any, condition: Condition) -> Condition | bool:
    if field not in (*TEXT_FIELDS, *DAY_FIELDS, "position"):
        raise _unknown(condition)
    if value is None and field not in TEXT_FIELDS:
        return False
    if field in DAY_FIELDS:
        day, is_midnight = _moment(value, condition)
        if not is_midnight:  # a moment within a day is after that day's beginning
            operator = {">=": ">", "<": "<="}.get(operator, operator)
        known = compared(f"{field}_day", ">", NO_DAY) if operator.startswith("<") else True
        return both(known, compared(f"{field}_day", operator, day))
    if field == "position" and isinstance(value, int | float) and not isinstance(value, bool):
        # Beyond any article's position; an engine's integers end there.
        return compared(field, operator, max(-_FAR, min(_FAR, value)))
    raise FilterError(f"'{operator}' cannot compare {field} with {value!r}.")


def _moment(value: Any, condition: Condition) -> tuple[int, bool]:
    """Day of a moment in UTC, and whether the moment is the beginning of the day."""
    try:
        moment = datetime.fromisoformat(value) if isinstance(value, str) else value
        if not isinstance(moment, datetime):
            return date.toordinal(moment), True
        if moment.tzinfo is not None:
            moment = moment.astimezone(UTC)
        return moment.toordinal(), moment.time() == time.min
    except (TypeError, ValueError, OverflowError) as error:
        raise FilterError(f"{value!r} is not an ISO date, in {condition}.") from error


def _unknown(condition: Condition) -> FilterError:
    known = ", ".join((*TEXT_FIELDS, "position", *DAY_FIELDS, STATE, IN_FORCE_ON))
    return FilterError(f"An engine cannot filter by {condition['field']!r}, only by {known}.")


_OPTIONAL = ("language", "valid_from", "valid_to", "source_url")
_ALWAYS = ("law", "number", "headings", "position")
MATCHED = ("law", "number", "position", *DAY_FIELDS)
"""What `ArticleEngine.matching` reads of an article."""
READ = ("id", "content", *_ALWAYS, *_OPTIONAL)
"""What a document is made of."""


def as_row(document: Document, text_digest: str) -> dict[str, Any]:
    """The metadata that an engine keeps of an article, all fields set.

    More than the article's own (a missing one is ""): `valid_from_day` and `valid_to_day` as whole
    numbers (a stub's last is `STUB_DAY`), `core` for citations (the canonical number; "" where none
    can name it), `text_digest` of what was encoded, and `row_digest` of everything.

    Args:
        document: with the metadata that `as_document` gives.
        text_digest: digest of the text that its vector encodes.
    """
    meta = document.meta
    row: dict[str, Any] = {key: meta[key] for key in _ALWAYS}
    row |= {key: meta.get(key) or "" for key in _OPTIONAL}
    row |= {f"{field}_day": day_number(row[field]) for field in DAY_FIELDS}
    if meta.get(STUB):
        row["valid_to_day"] = STUB_DAY
    number = parse_number(row["number"])
    row |= {"core": number.core if number else "", "text_digest": text_digest}
    return {**row, "row_digest": digest_of([row, document.content])}


def article_meta(row: Mapping[str, Any]) -> dict[str, Any]:
    """The article's own metadata, as the embedded store has it; of another writer's, all."""
    if "law" not in row:
        return dict(row)
    optional = {key: row[key] for key in _OPTIONAL if row.get(key)}
    return {**{key: row[key] for key in _ALWAYS if key in row}, **optional}


def digest_of(value: object) -> str:
    """128 bits of the digest of a JSON value, in hexadecimal."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True)
    return blake2b(text.encode("utf-8", "surrogatepass"), digest_size=16).hexdigest()


FORMAT = 1
RECORD, LAW, SHARD = "record", "law", "shard"

Weighting = Literal["bm25", "count"]
Value = TypeVar("Value")
Method = TypeVar("Method", bound=Callable[..., Any])

# Seconds between tries: a person waits for an answer, a long indexing run for a restarted engine.
ASKING = (0.2, 0.8)
INDEXING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


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
    format: int = FORMAT


class Listed(NamedTuple):
    """What the engine has of one article."""

    text_digest: str
    row_digest: str
    position: int


Row = Mapping[str, Any]


def retried(method: Method) -> Method:
    """Decorate an engine's method: it is repeated as `tried` says."""

    @wraps(method)
    def asking(self: ArticleEngine, *args: Any, **options: Any) -> Any:
        call = partial(method, self, *args, **options)
        return tried(call, self.where, self.may_pass, self.pauses)

    return cast("Method", asking)


class ArticleEngine(Protocol):
    """A collection of articles in an engine, and next to it a small one of states.

    Every call is tried again with growing pauses while the engine does not answer, and then raises
    StoreError.

    Attributes:
        name: of the collection.
        where: engine, address and collection, for messages.
        pauses: seconds between tries.
        weighting: what the sparse vectors of documents hold: BM25's share of the text, or counts
            of terms where the engine itself computes BM25.
        most_terms: how many terms of an article it searches; None for all.
    """

    name: str
    where: str
    pauses: Sequence[float]
    weighting: Weighting
    most_terms: int | None

    @staticmethod
    def may_pass(error: Exception) -> bool | None:
        """Whether an error may pass by itself; None for one that is not the engine's."""

    def exists(self) -> bool:
        """Whether the collection exists; also checks that the engine can be used."""

    def create(self, dim: int, similarity: Similarity = "cosine") -> None:
        """Create the two collections, or what is missing of them.

        Args:
            dim: length of the vectors.
            similarity: how the model that makes them compares them.
        """

    def count(self) -> int:
        """Number of articles."""

    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """The values kept under a kind, by key; empty where nothing is."""

    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """Keep one value."""

    def drop_state(self, kind: str, key: str) -> None:
        """Remove one value."""

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

    def write(self, documents: Sequence[Document]) -> None:
        """Put documents (meta from `as_row`, both embeddings) in place of those with their ids."""

    def remove(self, law: str, ids: Sequence[str] | None = None) -> None:
        """Remove articles of a law: those with these ids, or all."""
        listed = True if ids is None else compared("id", "in", list(ids))
        self._delete(cast("Condition", both(compared("law", "==", law), listed)))

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

    def settle(self) -> None:
        """Bring everything written so far to the disk and into the engine's indexes."""

    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        """The nearest articles by the model's similarity, higher is nearer, without embeddings."""

    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        """The articles that share terms, by BM25, without embeddings."""

    def matching(self, condition: Condition, limit: int) -> list[Document]:
        """Articles that match, with the fields `MATCHED` alone, in any order."""
        found = self._rows_where(condition, ("id", *MATCHED), limit)
        return [Document(id=row["id"], meta=article_meta(row)) for row in found]

    def fetch(self, ids: Sequence[str]) -> list[Document]:
        """Articles with content, in any order."""
        return [
            Document(id=row["id"], content=row["content"], meta=article_meta(row))
            for row in self._rows_of(ids, READ)
        ]

    def close(self) -> None:
        """Close the connection, unless someone else holds it."""

    def _rows_where(
        self, condition: Condition, fields: Sequence[str], limit: int | None = None
    ) -> list[Row]:
        """These fields of the articles that match."""

    def _rows_of(self, ids: Sequence[str], fields: Sequence[str]) -> list[Row]:
        """These fields of the articles with these ids that are there."""

    def _delete(self, condition: Condition) -> None:
        """Remove the articles that match."""

    def _stands_for(self) -> str | None:
        """The collection that its name is an alias of; None if it is the collection's own."""

    def _name_it(self, collection: str, *, instead: bool) -> None:
        """Make its name an alias of a collection, in place of another alias where there is one."""

    def _drop(self, collection: str) -> None:
        """Drop a collection and its states."""


def by_score(documents: Sequence[Document]) -> list[Document]:
    """Best first, equal scores in the order of the law.

    Engines store float32: further digits of a score are noise and would break ties.
    """
    rounded = [replace(each, score=float(np.float32(each.score or 0.0))) for each in documents]
    return sorted(rounded, key=lambda each: (-(each.score or 0.0), each.meta.get("position", _FAR)))


def read_record(engine: ArticleEngine) -> EngineRecord | None:
    """What the collection was indexed with, or None where nothing says it.

    Raises:
        StoreError: another version wrote it, or the engine does not answer.
    """
    value = engine.states(RECORD).get(RECORD)
    if value is None:
        return None
    written, read = (value.get("format"), value.get("analysis")), (FORMAT, analysis_version())
    if written != read:
        raise StoreError(
            f"{engine.where} was indexed in format and word rules {written}, and {read} are read "
            "here. Use the version that indexed it, or index again into a new collection."
        )
    model, languages = StoreModel(**value["model"]), tuple(value["languages"])
    return EngineRecord(model, value["average_length"], languages, value["analysis"])


def is_complete(engine: ArticleEngine) -> bool:
    """Whether some corpus has been indexed to its end, by every one of its shards."""
    finished: dict[tuple[str, int], set[int]] = {}
    for value in engine.states(SHARD).values():
        finished.setdefault((value["corpus"], value["of"]), set()).add(value["shard"])
    return any(len(shards) == of for (_, of), shards in finished.items())


def tried(
    call: Callable[[], Value],
    where: str,
    passes: Callable[[Exception], bool | None],
    pauses: Sequence[float],
) -> Value:
    """A call's result; the call is repeated after each pause while its error may be temporary.

    Args:
        call: what to do; repeated from the start.
        where: the engine, for the message.
        passes: whether an error of the engine is temporary; None for an error of another
            origin, which is raised as it is.
        pauses: seconds before the second try, the third, and so on.

    Raises:
        StoreError: it failed every time, or with a permanent error.
    """
    tries = Retrying(
        retry=retry_if_exception(
            lambda error: isinstance(error, Exception) and passes(error) is True
        ),
        stop=stop_after_attempt(len(pauses) + 1),
        wait=lambda state: (*pauses, 0.0)[state.attempt_number - 1],
        reraise=True,
    )
    try:
        return tries(call)
    except Exception as error:
        may_pass = passes(error)
        if may_pass is None:
            raise
        reason = (" ".join(str(error).split()) or type(error).__name__)[:200]
        if may_pass:
            raise StoreError(
                f"{where} does not answer ({reason}), tried {len(pauses) + 1} times. Check that "
                "it runs at its address. Run an indexing command again: it continues."
            ) from error
        raise StoreError(f"{where} refused the request: {reason}.") from error


def states_of(collection: str) -> str:
    """The name of the collection of states that belongs to one of articles."""
    return f"{collection}_states"
