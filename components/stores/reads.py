"""The store as the resident indexes read it: by key, in the order of the law."""

from collections.abc import Iterable, Iterator, Sequence
from itertools import islice
from typing import Any

import numpy as np
from haystack import Document
from numpy.typing import NDArray

from components.converters.articles import headings_of, language_of, number_of
from components.statutes.article import indexed_text
from components.stores.database import StatuteDatabase
from components.stores.failures import StoreError, damaged
from components.stores.filters import filter_clause, raise_filter_failure
from components.stores.model_record import StoreModel, has_vectors, read_model
from components.stores.opening import roll_back
from components.stores.rows import BARE, check_texts, check_vector, from_row, parsed

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
        database = self.database.follow()
        version = database.fact("content_version")
        if type(version) is not int:
            raise self._damaged("its record 'content_version' is not a whole number")
        return version

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one, in the law's order."""
        with self.database.connected() as connection:
            connection.execute("BEGIN")  # one snapshot for the count and the rows
            try:
                ((count, size),) = self.database.rows(
                    "SELECT count(*), ifnull(max(length(embedding)), 0) FROM documents "
                    "WHERE embedding IS NOT NULL"
                )
                if not count:
                    return np.empty(0, dtype=np.int64), np.empty((0, 0), dtype=np.float32)
                if count * size > self.database.size:
                    raise self._damaged("its vectors claim to be larger than the file")
                model = read_model(self.database)
                dim = model.dim if model else size // 4
                try:
                    keys, matrix = self._read_vectors(count, dim)
                except (TypeError, ValueError) as error:
                    self._refuse_vectors(dim)
                    raise self._damaged("its vectors are not of one length") from error
                # Squares overflow, or vanish, for some vectors that are sound too.
                squares = np.einsum("ij,ij->i", matrix, matrix)
                if not ((squares > 0) & (squares < np.inf)).all():
                    self._refuse_vectors(dim)
            finally:
                roll_back(connection)  # COMMIT would fail anew on a damaged file
        return keys, matrix

    def _read_vectors(self, count: int, dim: int) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        keys = np.empty(count, dtype=np.int64)
        matrix = np.empty((count, dim), dtype=np.float32)
        room, size = memoryview(matrix.data).cast("B"), 4 * dim
        sql = f"SELECT key, embedding FROM documents WHERE embedding IS NOT NULL {_ORDER}"
        rows = self.database.rows(sql)
        index = -1
        for index, (key, blob) in enumerate(islice(rows, count)):
            keys[index] = key
            room[index * size : (index + 1) * size] = blob
        if index + 1 < count or next(rows, None) is not None:
            raise self._damaged("an index of it does not fit its documents")
        return keys, matrix

    def _refuse_vectors(self, dim: int) -> None:
        """Name the first document whose vector is not one."""
        sql = f"SELECT id, embedding FROM documents WHERE embedding IS NOT NULL {_ORDER}"
        for id_, blob in self.database.rows(sql):
            check_vector(self.database.path, id_, blob, dim)

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
        wanted = list(ids)
        found: dict[str, int] = {}
        for start in range(0, len(wanted), _CHUNK):
            chunk = wanted[start : start + _CHUNK]
            marks = ",".join("?" * len(chunk))
            found.update(
                self.database.rows(f"SELECT id, key FROM documents WHERE id IN ({marks})", chunk)
            )
        return [found[each] for each in wanted if each in found]

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """`(id, law, number)` of every article, in the law's order."""
        path = self.database.path
        sql = f"SELECT id, law, meta FROM documents WHERE law IS NOT NULL {_ORDER}"
        for id_, law, meta in self.database.rows(sql):
            if type(id_) is not str or type(law) is not str:
                check_texts(path, id_, law=law)
            fields = parsed(path, id_, "meta", meta)
            if fields.get("law") != law:
                raise self._damaged(f"document {id_!r:.200}: its meta names another law")
            yield id_, law, number_of(fields)

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
            if type(id_) is not str or type(content) is not str:
                check_texts(path, id_, content=content)
            fields = parsed(path, id_, "meta", meta)
            yield key, indexed_text(headings_of(fields), content, rule), language_of(fields)

    def _select(self, columns: str, clause: tuple[str, list[Any]]) -> list[Any]:
        sql = f"SELECT {columns} FROM documents WHERE {clause[0]} {_ORDER}"
        try:
            return list(self.database.rows(sql, clause[1]))
        except StoreError:
            raise_filter_failure()
            self._refuse_damaged_rows()
            raise

    def _refuse_damaged_rows(self) -> None:
        """Name the document that could not be filtered."""
        path = self.database.path
        for row in self.database.rows(f"SELECT {BARE} FROM documents"):
            from_row(path, *row)

    def _damaged(self, what: str) -> StoreError:
        return StoreError(damaged(self.database.path, what))
