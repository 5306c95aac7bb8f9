"""Writing laws into the store: the journal of vectors, and whole laws a transaction."""

import json
import sqlite3
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import NDArray

from components.statutes.article import TextRule
from components.stores.database import StatuteDatabase, StoreError
from components.stores.rows import COLUMNS, as_row

# The vector goes from the journal to the document inside SQLite; an id's old row is replaced.
_PUBLISH = f"""
INSERT OR REPLACE INTO documents ({COLUMNS}, text_digest, embedding)
VALUES (?, ?, ?, ?, ?, ?, ?,
  (SELECT vector FROM journal WHERE model = ? AND text_digest = ?))
"""
_UPDATE = (
    "UPDATE documents SET content = ?, meta = ?, other = ?, law = ?, position = ? WHERE id = ?"
)
_HOLD = """
INSERT OR IGNORE INTO journal
SELECT ?, text_digest, embedding FROM documents
WHERE text_digest = ? AND embedding IS NOT NULL LIMIT 1
"""


@dataclass(frozen=True)
class StoreModel:
    """The model whose vectors a store holds.

    Attributes:
        path: folder or name that opens it.
        digest: of its weights and settings; two models with one digest give the same vectors.
        dim: length of its vectors.
        text_rule: what of an article it encodes.
    """

    path: str
    digest: str
    dim: int
    text_rule: TextRule


@dataclass(frozen=True, slots=True)
class Published:
    """One published article: the law it stands in, its text's digest, whether it has a vector."""

    law: str
    text_digest: str | None
    has_vector: bool


def read_model(database: StatuteDatabase) -> StoreModel | None:
    """The model on record, or None."""
    fact = database.fact("model")
    return None if fact is None else StoreModel(**fact)


def has_vectors(database: StatuteDatabase) -> bool:
    """Whether any document has a vector."""
    found = database.rows("SELECT 1 FROM documents WHERE embedding IS NOT NULL LIMIT 1")
    return next(found, None) is not None


class LawPublisher:
    """The store's writing side, for indexing.

    Vectors are journalled block by block under the digest of their text, so that a kill costs one
    block; a law appears in one transaction, so that readers see whole laws only. Every vector that
    is published comes from the journal, which is emptied at the end of a complete run.
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
                f"(digest {present.digest[:12]}, {present.dim} numbers each); "
                f"{model.path} is another (digest {model.digest[:12]}, {model.dim}). "
                "Vectors of two models cannot be compared: index with the first model, "
                "or name a new store."
            )
        self._record("model", asdict(model))

    def forget_model(self) -> None:
        """Take the model off the record, for text alone, where no document has a vector."""
        if read_model(self._database) is not None and not has_vectors(self._database):
            with self._database.writing(content=False) as connection:
                connection.execute("DELETE FROM facts WHERE key = 'model'")

    def record_corpus(self, sha256: str) -> None:
        """Put on record that this corpus is completely indexed."""
        self._record("corpus", sha256)

    def recorded_corpus(self) -> str | None:
        """Digest of the corpus that was last indexed completely, or None."""
        sha256: str | None = self._database.fact("corpus")
        return sha256

    def journal(self, model_digest: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors `{text digest: [dim]}` of a model; one transaction.

        Raises:
            StoreError: the disk is full; nothing of these vectors was kept.
        """
        with self._database.writing(content=False) as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO journal VALUES (?, ?, ?)",
                (
                    (model_digest, digest, np.ascontiguousarray(vector, np.float32).tobytes())
                    for digest, vector in vectors.items()
                ),
            )

    def known_digests(self, model_digest: str) -> set[str]:
        """Digests of the texts that need not be encoded again with this model."""
        statements = ["SELECT text_digest FROM journal WHERE model = ?"]
        if self._is_recorded(model_digest):
            statements.append(
                "SELECT text_digest FROM documents WHERE ? IS NOT NULL "
                "AND text_digest IS NOT NULL AND embedding IS NOT NULL"
            )
        return {
            row[0]
            for statement in statements
            for row in self._database.rows(statement, (model_digest,))
        }

    def hold(self, model_digest: str, text_digests: Iterable[str]) -> None:
        """Journal the published vectors of these texts before their documents are replaced."""
        if self._is_recorded(model_digest):
            with self._database.writing(content=False) as connection:
                connection.executemany(_HOLD, ((model_digest, each) for each in text_digests))

    def published(self) -> dict[str, Published]:
        """Every article in the store that stands in a law, by id."""
        rows = self._database.rows(
            "SELECT id, law, text_digest, embedding IS NOT NULL FROM documents "
            "WHERE law IS NOT NULL"
        )
        return {id_: Published(law, digest, bool(has)) for id_, law, digest, has in rows}

    def publish(self, laws: Mapping[str, Sequence[tuple[Document, str]]]) -> int:
        """Put each law's documents in place of those it had, all in one transaction.

        What did not change is left as it is; when nothing changed, nothing is written. A document
        whose text stayed keeps its key and vector. New vectors come from the journal.

        Args:
            laws: for each law all its documents with the digests of the texts that their vectors
                stand for, and none for a law that the corpus no longer has.

        Returns:
            Number of documents written, changed or removed.

        Raises:
            StoreError: a vector is not in the journal, or the disk is full.
            ValueError: meta that is no JSON; names the document.
        """
        model = read_model(self._database)
        changes = [change for law in laws for change in self._changes(law, laws[law], model)]
        if not changes:
            return 0
        with self._database.writing() as connection:
            # Removals come last: an article that moved to another law is then no longer in its old.
            for sql, values in sorted(changes, key=lambda change: change[0].startswith("DELETE")):
                connection.execute(sql, values)
            if model is not None:
                self._check_vectors(connection, laws)
        return len(changes)

    def clear_journal(self) -> None:
        """Empty the journal and give its room back, at the end of a complete run."""
        with self._database.writing(content=False) as connection:
            connection.execute("DELETE FROM journal")
        # A script is stepped to its end; execute() would stop after the first page.
        self._database.connection.executescript("PRAGMA incremental_vacuum")

    def _changes(
        self, law: str, articles: Sequence[tuple[Document, str]], model: StoreModel | None
    ) -> Iterator[tuple[str, tuple[Any, ...]]]:
        present = {
            row[0]: row[1:]
            for row in self._database.rows(
                "SELECT id, text_digest, meta, embedding IS NOT NULL FROM documents WHERE law = ?",
                (law,),
            )
        }
        for document, digest in articles:
            row = as_row(document)
            old_digest, old_meta, has_vector = present.pop(document.id, (None, None, False))
            if old_digest != digest or (model is not None and not has_vector):
                yield _PUBLISH, (*row, digest, model.digest if model else None, digest)
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

    def _is_recorded(self, model_digest: str) -> bool:
        model = read_model(self._database)
        return model is not None and model.digest == model_digest

    def _record(self, key: str, value: object) -> None:
        with self._database.writing(content=False) as connection:
            connection.execute(
                "INSERT OR REPLACE INTO facts VALUES (?, ?)", (key, json.dumps(value))
            )
