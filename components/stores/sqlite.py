"""StatuteDocumentStore: Haystack's DocumentStore protocol in one SQLite file."""

import json
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, number_of
from components.statutes.article import indexed_text
from components.stores.async_twins import AsyncTwins
from components.stores.database import StatuteDatabase, StoreError
from components.stores.filter_syntax import check_given
from components.stores.filters import filter_clause, raise_filter_failure
from components.stores.journal import VectorJournal
from components.stores.publishing import LawPublisher, StoreModel, has_vectors, read_model
from components.stores.rows import BARE, INSERT, as_row, embedding_blob, from_row

# SQLite's own default limit of bound values is far higher; this keeps statements short.
_CHUNK = 500
_ORDER = "ORDER BY position, key"


class StatuteDocumentStore(AsyncTwins):
    """Articles of law, their metadata and vectors in one SQLite file.

    ```python
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore("adgm.db")
    store.count_documents()
    ```

    Every write is one transaction. Reads see committed content only, from any thread or process,
    and never wait for a writer. Vectors are float32; all vectors of a store have one dimension,
    and come from one model once a model is recorded.

    Args:
        path: the file; made at first use. None only serves as a place to fill in YAML
            (`load_pipeline` does it) and is refused at first use.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        # Haystack writes texts into YAML, and no paths.
        self.path = None if path is None else str(path)
        self.database = StatuteDatabase(self.path)
        self.publisher = LawPublisher(self.database)
        self.journal = VectorJournal(self.database)

    def to_dict(self) -> dict[str, Any]:
        """Serialise the store: its path, never its content."""
        return default_to_dict(self, path=self.path)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> "StatuteDocumentStore":
        """The store that `to_dict` described."""
        return default_from_dict(cls, data)

    def close(self) -> None:
        """Close the file; the next use opens it again."""
        self.database.close()

    # Haystack's protocol

    def count_documents(self) -> int:
        """Number of documents."""
        return int(next(self.database.follow().rows("SELECT count(*) FROM documents"))[0])

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Number of documents that match.

        Raises:
            FilterError: when the filters are malformed.
        """
        return len(self.keys_matching(filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The documents that match, with their embeddings, in the order of the law.

        Raises:
            FilterError: when the filters are malformed.
        """
        self.database.follow()
        rows = self._select(f"{BARE}, embedding", filter_clause(filters))
        return [from_row(*row) for row in rows]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents in one transaction; all or none are kept.

        Args:
            documents: each with a unique id. `meta.law` and `meta.position` set their place;
                without a position one comes last, also where it overwrites one before others.
            policy: NONE and FAIL refuse an id that is there; SKIP keeps the old, OVERWRITE the new.

        Returns:
            Number of documents written.

        Raises:
            DuplicateDocumentError: an id is there already (NONE, FAIL).
            ValueError: no list of Documents, or an embedding, meta or text that cannot be stored;
                names the document.
        """
        if not isinstance(documents, list) or any(
            not isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents takes a list of haystack Documents.")
        written = 0
        with self.database.follow().writing() as connection:
            dim = self._dim()
            for document in documents:
                row = as_row(document)
                present = connection.execute(
                    "SELECT key FROM documents WHERE id = ?", (document.id,)
                ).fetchone()
                if present and policy == DuplicatePolicy.SKIP:
                    continue
                if present and policy != DuplicatePolicy.OVERWRITE:
                    raise DuplicateDocumentError(
                        f"ID '{document.id}' is in the store already. Nothing of this call was "
                        "written; use DuplicatePolicy.OVERWRITE or SKIP."
                    )
                connection.execute(INSERT, (*row, embedding_blob(document, dim)))
                if dim is None and document.embedding is not None:
                    dim = len(document.embedding)
                written += 1
        return written

    def delete_documents(self, document_ids: list[str]) -> None:
        """Delete by id; ids that are not there are passed over."""
        with self.database.follow().writing() as connection:
            connection.executemany(
                "DELETE FROM documents WHERE id = ?", [(each,) for each in document_ids]
            )

    def delete_all_documents(self) -> None:
        """Delete every document; the model on record stays."""
        with self.database.follow().writing() as connection:
            connection.execute("DELETE FROM documents")

    def delete_by_filter(self, filters: dict[str, Any]) -> int:
        """Delete the documents that match; returns how many.

        Raises:
            FilterError: there are no filters, or they are malformed.
        """
        check_given(filters)
        with self.database.follow().writing() as connection:
            keys = self.keys_matching(filters).tolist()
            connection.executemany("DELETE FROM documents WHERE key = ?", [(key,) for key in keys])
        return len(keys)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Merge `meta` into the documents that match; returns how many.

        Raises:
            FilterError: there are no filters, or they are malformed.
            ValueError: `meta` cannot be stored.
        """
        check_given(filters)
        with self.database.follow().writing() as connection:
            documents = self.fetch(self.keys_matching(filters))
            for document in documents:
                # The new meta goes through as_row, so that it meets the same checks as a write.
                changed = Document(id=document.id, meta={**document.meta, **meta})
                row = as_row(changed)
                connection.execute(
                    "UPDATE documents SET meta = ?, law = ?, position = ? WHERE id = ?",
                    (row[2], row[4], row[5], document.id),
                )
        return len(documents)

    # What the resident indexes read

    @property
    def model(self) -> StoreModel | None:
        """The model whose vectors the store holds, or None for text alone."""
        return read_model(self.database)

    def has_vectors(self) -> bool:
        """Whether any document has a vector."""
        return has_vectors(self.database)

    def content_version(self) -> int:
        """A number that grows with every committed change of documents, from any process.

        A file that was put in the place of the open one is opened, and has a number of its own.
        """
        return int(self.database.follow().fact("content_version"))

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one, in the law's order."""
        connection = self.database.connection
        connection.execute("BEGIN")  # one snapshot for the count and the rows
        try:
            ((count, size),) = self.database.rows(
                "SELECT count(*), ifnull(max(length(embedding)), 0) FROM documents "
                "WHERE embedding IS NOT NULL"
            )
            keys = np.empty(count, dtype=np.int64)
            matrix = np.empty((count, size // 4), dtype=np.float32)
            sql = f"SELECT key, embedding FROM documents WHERE embedding IS NOT NULL {_ORDER}"
            for index, (key, blob) in enumerate(self.database.rows(sql)):
                keys[index] = key
                matrix[index] = np.frombuffer(blob, dtype=np.float32)
        finally:
            connection.execute("COMMIT")
        return keys, matrix

    def fetch(
        self,
        keys: Sequence[int] | NDArray[np.int64],
        scores: Sequence[float] | NDArray[np.float32] | None = None,
    ) -> list[Document]:
        """Documents without embeddings, in the order of `keys`; keys since deleted are left out.

        Args:
            keys: `[n]`, each once.
            scores: `[n]`, what each document's score becomes.
        """
        wanted = [int(key) for key in keys]
        score = dict(zip(wanted, map(float, scores), strict=True)) if scores is not None else {}
        found: dict[int, Document] = {}
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = self.database.rows(
                f"SELECT key, {BARE} FROM documents WHERE key IN ({marks})", chunk
            )
            for key, id_, content, meta, other in rows:
                found[key] = from_row(id_, content, meta, other, score=score.get(key))
        return [found[key] for key in wanted if key in found]

    def keys_matching(self, filters: dict[str, Any] | None) -> NDArray[np.int64]:
        """Keys of the documents that match, in the law's order.

        Raises:
            FilterError: when the filters are malformed.
        """
        rows = self._select("key", filter_clause(filters))
        return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))

    def keys_of(self, ids: Iterable[str]) -> list[int]:
        """Keys of the documents with these ids, in their order; unknown ids are left out."""
        sql = "SELECT key FROM documents WHERE id = ?"
        return [key for each in ids for (key,) in self.database.rows(sql, (each,))]

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """`(id, law, number)` of every article, in the law's order."""
        sql = f"SELECT id, law, meta FROM documents WHERE law IS NOT NULL {_ORDER}"
        for id_, law, meta in self.database.rows(sql):
            yield id_, law, number_of(json.loads(meta))

    def texts(self) -> Iterator[tuple[int, str, str | None]]:
        """`(key, indexed text, language)` of every document with content, in the law's order."""
        sql = f"SELECT key, content, meta FROM documents WHERE content IS NOT NULL {_ORDER}"
        rule = self.model.text_rule if self.model else "headings_text"
        for key, content, meta in self.database.rows(sql):
            fields = json.loads(meta)
            yield key, indexed_text(headings_of(fields), content, rule), language_of(fields)

    def load_blob(self, name: str) -> tuple[str, bytes] | None:
        """`(version, content)` of a named blob that goes with the documents, or None."""
        sql = "SELECT version, content FROM blobs WHERE name = ?"
        return next(((version, blob) for version, blob in self.database.rows(sql, (name,))), None)

    def save_blob(self, name: str, version: str, content: bytes) -> None:
        """Keep a named blob, in place of the one of that name.

        Of a name "family/..." others of the family go that are of another version.
        """
        family = f"{name.partition('/')[0]}/"
        with self.database.writing(content=False) as connection:
            connection.execute(
                "DELETE FROM blobs WHERE substr(name, 1, ?) = ? AND version <> ?",
                (len(family), family, version),
            )
            connection.execute(
                "INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", (name, version, content)
            )

    def _dim(self) -> int | None:
        if self.model:
            return self.model.dim
        sql = "SELECT length(embedding) FROM documents WHERE embedding IS NOT NULL LIMIT 1"
        return next((size // 4 for (size,) in self.database.rows(sql)), None)

    def _select(self, columns: str, clause: tuple[str, list[Any]]) -> list[Any]:
        sql = f"SELECT {columns} FROM documents WHERE {clause[0]} {_ORDER}"
        try:
            return list(self.database.rows(sql, clause[1]))
        except StoreError:
            raise_filter_failure()
            raise
