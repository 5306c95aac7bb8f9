"""What an engine must do for the articles in it to be found and kept up to date."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal, NamedTuple, Protocol, TypeVar

import numpy as np
from haystack import Document
from haystack.dataclasses import SparseEmbedding

from components.statutes.lexical import analysis_version
from components.stores.engines.filters import Condition
from components.stores.failures import StoreError
from components.stores.model_record import StoreModel

FORMAT = 1
RECORD, LAW, SHARD = "record", "law", "shard"

Weighting = Literal["bm25", "count"]
Value = TypeVar("Value")

# Seconds between tries: a person waits for an answer, a long indexing run for a restarted engine.
ASKING = (0.2, 0.8)
INDEXING = (0.5, 1.0, 2.0, 4.0, 8.0, 16.0)


@dataclass(frozen=True)
class EngineRecord:
    """What a collection was indexed with.

    Attributes:
        model: whose vectors it holds.
        average_length: mean number of terms of the texts of the first indexing; words are weighed
            by it ever after, so that all weights can be compared.
        languages: of the articles; questions are analysed by the rules of each.
        analysis: version of the rules that make terms of text.
        format: version of what is kept and how.
    """

    model: StoreModel
    average_length: float
    languages: tuple[str | None, ...]
    analysis: str
    format: int = FORMAT

    def to_json(self) -> dict[str, Any]:
        """As a JSON value."""
        return asdict(self)

    @classmethod
    def from_json(cls, value: dict[str, Any], where: str) -> EngineRecord:
        """What `to_json` wrote.

        Raises:
            StoreError: another version of Lexarbor wrote it, or its word rules differ.
        """
        if value.get("format") != FORMAT:
            raise StoreError(
                f"{where} has format {value.get('format')}, this Lexarbor reads {FORMAT}. Use the "
                "version that indexed it, or index again into a new collection."
            )
        if value["analysis"] != analysis_version():
            raise StoreError(
                f"{where} was indexed with the word rules {value['analysis']}, here they are "
                f"{analysis_version()} (for Vietnamese both need the same pyvi). Install the same "
                "versions, or index again into a new collection."
            )
        return cls(
            StoreModel(**value["model"]),
            value["average_length"],
            tuple(value["languages"]),
            value["analysis"],
        )


class Listed(NamedTuple):
    """What the engine has of one article."""

    text_digest: str
    row_digest: str
    position: int


class ArticleEngine(Protocol):
    """A collection of articles in an engine, and beside it a small one of states.

    Every call is tried again with growing pauses while the engine does not answer, and then raises
    StoreError.

    Attributes:
        where: engine, address and collection, for messages.
        weighting: what the sparse vectors of documents hold: BM25's share of the text, or counts
            of terms where the engine itself computes BM25.
        most_terms: how many terms of an article it searches; None for all.
    """

    where: str
    weighting: Weighting
    most_terms: int | None

    def exists(self) -> bool:
        """Whether the collection is there; also says whether the engine is fit for use."""
        ...

    def create(self, dim: int) -> None:
        """Make what is missing of the two collections."""
        ...

    def count(self) -> int:
        """Number of articles."""
        ...

    def states(self, kind: str) -> dict[str, dict[str, Any]]:
        """The values kept under a kind, by key; empty where nothing is."""
        ...

    def put_state(self, kind: str, key: str, value: dict[str, Any]) -> None:
        """Keep one value."""
        ...

    def drop_state(self, kind: str, key: str) -> None:
        """Let go of one value."""
        ...

    def listed(self, law: str) -> dict[str, Listed]:
        """What is there of each article of a law, by id."""
        ...

    def text_digests(self, ids: Sequence[str]) -> dict[str, str]:
        """Text digests of those of the articles that are there, by id, whatever their law."""
        ...

    def vectors(self, ids: Sequence[str]) -> dict[str, list[float]]:
        """Vectors of articles, by id."""
        ...

    def write(self, documents: Sequence[Document]) -> None:
        """Put documents (meta from `as_row`, both embeddings) in place of those with their ids."""
        ...

    def remove(self, law: str, ids: Sequence[str] | None = None) -> None:
        """Remove articles of a law: those with these ids, or all."""
        ...

    def settle(self) -> None:
        """Have everything written so far on disk and in the engine's indexes."""
        ...

    def nearest(
        self, embedding: list[float], k: int, condition: Condition | None
    ) -> list[Document]:
        """The nearest articles by cosine, without embeddings."""
        ...

    def by_words(
        self, terms: SparseEmbedding, k: int, condition: Condition | None
    ) -> list[Document]:
        """The articles that share terms, by BM25, without embeddings."""
        ...

    def matching(self, condition: Condition, limit: int) -> list[Document]:
        """Articles that match, with the fields of `rows.MATCHED` alone, in any order."""
        ...

    def fetch(self, ids: Sequence[str]) -> list[Document]:
        """Articles with content, in any order."""
        ...

    def close(self) -> None:
        """Close the connection, where no one else holds it."""
        ...


def by_score(documents: Sequence[Document]) -> list[Document]:
    """Best first, equal scores in the order of the law.

    Engines keep float32: what a score has beyond is noise of its summing, and would part ties.
    """
    rounded = [replace(each, score=float(np.float32(each.score or 0.0))) for each in documents]
    return sorted(rounded, key=lambda each: (-(each.score or 0.0), each.meta["position"]))


def read_record(engine: ArticleEngine) -> EngineRecord | None:
    """What the collection was indexed with, or None where nothing says it.

    Raises:
        StoreError: another version wrote it, or the engine does not answer.
    """
    value = engine.states(RECORD).get(RECORD)
    return EngineRecord.from_json(value, engine.where) if value else None


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
    """A call's result, tried again after each pause while its error may pass.

    Args:
        call: what to do; done again from the start.
        where: the engine, for the message.
        passes: whether an error of the engine may pass by itself; None for an error that is none
            of the engine's, which is raised as it is.
        pauses: seconds before the second try, the third, and so on.

    Raises:
        StoreError: it failed to the last, or with an error that does not pass.
    """
    for pause in (*pauses, None):
        try:
            return call()
        except Exception as error:
            may_pass = passes(error)
            if may_pass is None:
                raise
            if not may_pass:
                raise StoreError(
                    f"{where} refused what it was asked: {reason(error)}. Check the version of "
                    "the engine, the key it asks for, and that nobody else writes into the "
                    "collection."
                ) from error
            if pause is None:
                raise StoreError(
                    f"{where} does not answer ({reason(error)}), tried {len(pauses) + 1} times. "
                    "Check that it runs and that its address is right. What was written stays; "
                    "an indexing command that is run again goes on from there."
                ) from error
        time.sleep(pause)
    raise AssertionError("unreachable")


def reason(error: Exception) -> str:
    """The first line of what an error says, short."""
    text = " ".join(str(error).split()) or type(error).__name__
    return text if len(text) <= 200 else f"{text[:200]}..."
