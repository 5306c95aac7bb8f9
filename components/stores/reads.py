"""The store as the resident indexes read it: by key, in the order of the law."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, number_of
from components.statutes.article import indexed_text
from components.stores.database import StatuteDatabase, StoreError
from components.stores.failures import damaged
from components.stores.filters import filter_clause, raise_filter_failure
from components.stores.model_record import StoreModel, has_vectors, read_model
from components.stores.opening import roll_back
from components.stores.rows import BARE, from_row, parsed

# SQLite's own default limit of bound values is far higher; this keeps statements short.
_CHUNK = 500
_ORDER = "ORDER BY position, key"


class IndexedReads:
    """What the resident indexes read of a store: its keys, vectors, texts and entries."""

    database: StatuteDatabase

    @property
    def model(self) -> StoreModel | None:
        """The model whose vectors the store holds, or None for text alone."""
        return read_model(self.database.follow())

    def has_vectors(self) -> bool:
        """Whether any document has a vector."""
        return has_vectors(self.database.follow())

    def content_version(self) -> int:
        """A number that grows with every committed change of documents, from any process.

        A file that was put in the place of the open one is opened, and has a number of its own.
        """
        return int(self.database.follow().fact("content_version"))

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one, in the law's order."""
        with self.database.connected() as connection:
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
                roll_back(connection)  # COMMIT would fail anew on a damaged file
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
        path = self.database.path
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            rows = self.database.rows(
                f"SELECT key, {BARE} FROM documents WHERE key IN ({marks})", chunk
            )
            for key, id_, content, meta, other in rows:
                found[key] = from_row(path, id_, content, meta, other, score=score.get(key))
        return [found[key] for key in wanted if key in found]

    def keys_matching(self, filters: dict[str, Any] | None) -> NDArray[np.int64]:
        """Keys of the documents that match, in the law's order.

        Raises:
            FilterError: when the filters are malformed.
        """
        self.database.follow()
        rows = self._select("key", filter_clause(filters))
        return np.fromiter((row[0] for row in rows), dtype=np.int64, count=len(rows))

    def keys_of(self, ids: Iterable[str]) -> list[int]:
        """Keys of the documents with these ids, in their order; unknown ids are left out."""
        sql = "SELECT key FROM documents WHERE id = ?"
        return [key for each in ids for (key,) in self.database.rows(sql, (each,))]

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """`(id, law, number)` of every article, in the law's order."""
        path = self.database.path
        sql = f"SELECT id, law, meta FROM documents WHERE law IS NOT NULL {_ORDER}"
        for id_, law, meta in self.database.rows(sql):
            yield id_, law, number_of(parsed(path, id_, "meta", meta))

    def metas(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """`(key, id, meta)` of every document, in the law's order."""
        path = self.database.path
        for key, id_, meta in self.database.rows(f"SELECT key, id, meta FROM documents {_ORDER}"):
            yield key, id_, parsed(path, id_, "meta", meta)

    def texts(self) -> Iterator[tuple[int, str, str | None]]:
        """`(key, indexed text, language)` of every document with content, in the law's order."""
        path = self.database.path
        sql = f"SELECT key, id, content, meta FROM documents WHERE content IS NOT NULL {_ORDER}"
        model = read_model(self.database)
        rule = model.text_rule if model else "headings_text"
        for key, id_, content, meta in self.database.rows(sql):
            fields = parsed(path, id_, "meta", meta)
            yield key, indexed_text(headings_of(fields), content, rule), language_of(fields)

    def _select(self, columns: str, clause: tuple[str, list[Any]]) -> list[Any]:
        sql = f"SELECT {columns} FROM documents WHERE {clause[0]} {_ORDER}"
        try:
            return list(self.database.rows(sql, clause[1]))
        except StoreError:
            raise_filter_failure()
            self._refuse_damaged_meta()
            raise

    def _refuse_damaged_meta(self) -> None:
        """Name the document whose meta SQLite could not filter by."""
        for (id_,) in self.database.rows("SELECT id FROM documents WHERE NOT json_valid(meta)"):
            raise StoreError(
                damaged(self.database.path, f"the meta of document {id_!r} is no JSON")
            )
