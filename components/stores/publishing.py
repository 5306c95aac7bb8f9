"""Writing laws into the store: whole laws a transaction, and the model that they are under."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from datetime import date
from types import MappingProxyType
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import NDArray

from components.stores.database import StatuteDatabase, StoreError
from components.stores.failures import damaged
from components.stores.model_record import StoreModel, has_vectors, read_model
from components.stores.opening import upgrade
from components.stores.rows import COLUMNS, as_row, check_texts

# The vector goes from the journal to the document inside SQLite; an id's old row is replaced.
_PUBLISH = f"""
INSERT OR REPLACE INTO documents ({COLUMNS}, text_digest, embedding)
VALUES (?, ?, ?, ?, ?, ?, ?,
  (SELECT vector FROM journal WHERE model = ? AND text_digest = ?))
"""
_PUBLISH_VECTOR = f"""
INSERT OR REPLACE INTO documents ({COLUMNS}, text_digest, embedding)
VALUES (?, ?, ?, ?, ?, ?, ?, ?)
"""
_UPDATE = (
    "UPDATE documents SET content = ?, meta = ?, other = ?, law = ?, position = ? WHERE id = ?"
)
_UPDATE_VECTOR = _UPDATE.replace("SET", "SET embedding = ?,")


@dataclass(frozen=True, slots=True)
class Published:
    """One published article: the law it stands in, its text's digest, whether it has a vector."""

    law: str
    text_digest: str | None
    has_vector: bool


@dataclass(frozen=True, slots=True)
class LawVectors:
    """The vectors of one law that came through a graph.

    Attributes:
        state: digest of all that they were made of, the law's own articles and those around it.
        matrix: float32 `[n_articles, dim]`, in the order of the law's articles.
    """

    state: str
    matrix: NDArray[np.float32]


_NONE: Mapping[str, LawVectors] = MappingProxyType({})


class LawPublisher:
    """The store's writing side, for indexing.

    A law appears in one transaction, so that readers see whole laws only. An article's vector is
    that of its text in the journal, or the one that is given where a graph made it.
    """

    def __init__(self, database: StatuteDatabase) -> None:
        self._database = database

    def record_model(self, model: StoreModel) -> None:
        """Put the model on record.

        Raises:
            StoreError: when vectors of another model are in the store.
        """
        present = read_model(self._database)
        if present == model:
            return
        if present is not None and present.digest != model.digest and has_vectors(self._database):
            raise StoreError(
                f"{self._database.path} holds vectors of the model {present.path} "
                f"({_described(present)}); {model.path} is another ({_described(model)}). "
                "Vectors of two models cannot be compared: index with the first model, "
                "or name a new store."
            )
        with self._database.writing(content=False) as connection:
            self._write_model(connection, model)

    def forget_model(self) -> None:
        """Take the model off the record, for text alone, where no document has a vector."""
        if read_model(self._database) is not None and not has_vectors(self._database):
            with self._database.writing(content=False) as connection:
                connection.execute("DELETE FROM facts WHERE key = 'model'")

    def record_corpus(self, sha256: str, snapshot: date | None = None) -> None:
        """Put on record that this corpus is completely indexed, and of which day it is.

        Args:
            sha256: its digest.
            snapshot: day of which the law's text is; None leaves what is on record of this corpus.
        """
        known = self._database.fact("corpus") == sha256
        with self._database.writing(content=False) as connection:
            _record(connection, "corpus", sha256)
            if not known or self._database.fact("indexed") is None:
                _record(connection, "indexed", date.today().isoformat())
            if snapshot is not None:
                _record(connection, "snapshot", snapshot.isoformat())
            elif not known:
                connection.execute("DELETE FROM facts WHERE key = 'snapshot'")

    def recorded_days(self) -> tuple[str | None, str | None]:
        """ISO days: of which the law's text is, and on which it was indexed; None where unknown."""
        database = self._database.follow()
        return _day(database, "snapshot"), _day(database, "indexed")

    def recorded_corpus(self) -> str | None:
        """Digest of the corpus that was last indexed completely, or None."""
        return self._database.follow().text_fact("corpus")

    def published(self) -> dict[str, Published]:
        """Every article in the store that stands in a law, by id."""
        rows = self._database.rows(
            "SELECT id, law, text_digest, embedding IS NOT NULL FROM documents "
            "WHERE law IS NOT NULL"
        )
        published = {}
        for id_, law, digest, has in rows:
            if type(id_) is not str or type(law) is not str:
                check_texts(self._database.path, id_, law=law)
            if digest is not None and type(digest) is not str:
                check_texts(self._database.path, id_, text_digest=digest)
            published[id_] = Published(law, digest, bool(has))
        return published

    def law_states(self) -> dict[str, str]:
        """`LawVectors.state` of every law whose vectors came through the graph on record."""
        model = read_model(self._database)
        if model is None or not model.through_graph:
            return {}
        states = dict(self._database.rows("SELECT law, state FROM law_states"))
        if any(type(each) is not str for row in states.items() for each in row):
            raise StoreError(damaged(self._database.path, "a record of 'law_states' is not text"))
        return states

    def publish(
        self,
        laws: Mapping[str, Sequence[tuple[Document, str]]],
        vectors: Mapping[str, LawVectors] = _NONE,
        *,
        convert_to: StoreModel | None = None,
    ) -> int:
        """Put each law's documents in place of those it had, all in one transaction.

        What did not change is left as it is; when nothing changed, nothing is written. A document
        whose text stayed keeps its key, and its vector unless it is given another.

        Args:
            laws: for each law all its documents with the digests of the texts that their vectors
                stand for, and none for a law that the corpus no longer has.
            vectors: of laws whose vectors a graph made; the others' come from the journal.
            convert_to: the model to put on record in the same transaction, where `laws` are all
                laws of the store and `vectors` has every one.

        Returns:
            Number of documents written, changed or removed.

        Raises:
            StoreError: a vector is neither given nor in the journal, or the disk is full.
            ValueError: meta that is no JSON; names the document.
        """
        model = convert_to or read_model(self._database)
        changes = [
            change
            for law in laws
            for change in self._changes(law, laws[law], model, vectors.get(law))
        ]
        if not changes and not vectors:
            return 0
        with self._database.writing(content=bool(changes)) as connection:
            if convert_to is not None:
                self._check_all_in(connection, laws)
                self._write_model(connection, convert_to)
            # Removals come last: an article that moved to another law is then no longer in its old.
            for sql, values in sorted(changes, key=lambda change: change[0].startswith("DELETE")):
                connection.execute(sql, values)
            if model is not None:
                self._check_vectors(connection, laws)
            if model is not None and model.through_graph:
                for law, articles in laws.items():
                    if law in vectors or not articles:
                        connection.execute("DELETE FROM law_states WHERE law = ?", (law,))
                    if law in vectors:
                        state = (law, vectors[law].state)
                        connection.execute("INSERT INTO law_states VALUES (?, ?)", state)
        return len(changes)

    def _changes(
        self,
        law: str,
        articles: Sequence[tuple[Document, str]],
        model: StoreModel | None,
        vectors: LawVectors | None,
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        # Vectors are read where there are new ones to compare them with; else they are many bytes.
        vector = "embedding IS NOT NULL" if vectors is None else "embedding"
        present = {
            row[0]: row[1:]
            for row in self._database.rows(
                f"SELECT id, text_digest, meta, {vector} FROM documents WHERE law = ?", (law,)
            )
        }
        for index, (document, digest) in enumerate(articles):
            row = as_row(document)
            old_digest, old_meta, old_vector = present.pop(document.id, (None, None, None))
            new = None if vectors is None else vectors.matrix[index].tobytes()
            if old_digest != digest or (model is not None and not old_vector):
                if new is None:
                    yield _PUBLISH, (*row, digest, model.digest if model else None, digest)
                else:
                    yield _PUBLISH_VECTOR, (*row, digest, new)
            elif new is not None and new != old_vector:
                yield _UPDATE_VECTOR, (new, *row[1:], row[0])
            elif old_meta != row[2]:
                yield _UPDATE, (*row[1:], row[0])
        for id_ in present:
            yield "DELETE FROM documents WHERE id = ? AND law = ?", (id_, law)

    def _check_vectors(self, connection: sqlite3.Connection, laws: Iterable[str]) -> None:
        for law in laws:
            row = connection.execute(
                "SELECT id FROM documents WHERE law = ? AND embedding IS NULL", (law,)
            ).fetchone()
            if row:
                raise StoreError(
                    f"{self._database.path}: the vector of article '{row[0]}' is not in the "
                    "journal. Another process may be indexing into this store: run one at a time, "
                    "then run the same command again."
                )

    def _check_all_in(self, connection: sqlite3.Connection, laws: Iterable[str]) -> None:
        present = "SELECT DISTINCT law FROM documents WHERE embedding IS NOT NULL"
        others = {law for (law,) in connection.execute(present)} - set(laws)
        if others:
            other = "no law" if None in others else f"the law {min(others)}"
            raise StoreError(
                f"{self._database.path} holds vectors of articles of {other}, which the corpus "
                "does not have; they cannot be brought under the new model. Name a new store."
            )

    def _write_model(self, connection: sqlite3.Connection, model: StoreModel) -> None:
        present = read_model(self._database)
        if model.through_graph and (present is None or present.digest != model.digest):
            upgrade(connection)
            connection.execute("DELETE FROM law_states")  # those of another graph say nothing
        # Without what is None, so that a plain store's record is what it always was.
        fields = {name: value for name, value in asdict(model).items() if value is not None}
        _record(connection, "model", fields)


def _record(connection: sqlite3.Connection, key: str, value: object) -> None:
    connection.execute("INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, json.dumps(value)))


def _day(database: StatuteDatabase, key: str) -> str | None:
    day = database.text_fact(key)
    try:
        return None if day is None else date.fromisoformat(day).isoformat()
    except ValueError as error:
        raise StoreError(damaged(database.path, f"its record {key!r} is not a day")) from error


def _described(model: StoreModel) -> str:
    graph = "through its graph network, " if model.through_graph else ""
    return f"{graph}digest {model.digest[:12]}, {model.dim} numbers each"
