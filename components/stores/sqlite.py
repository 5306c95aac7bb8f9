"""StatuteDocumentStore: Haystack's DocumentStore protocol in one SQLite file."""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from haystack import Document, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy
from haystack.errors import FilterError
from numpy.typing import NDArray

from components.aliases import trusted_name
from components.converters.articles import headings_of, language_of, number_of
from components.parameters import from_named, in_thread
from components.statutes.article import indexed_text
from components.statutes.identity import LawIdentity
from components.statutes.sources.reading import did_you_mean
from components.stores.database import (
    BARE,
    INSERT,
    StatuteDatabase,
    StoreError,
    as_row,
    check_vector,
    damaged,
    embedding_blob,
    from_row,
    parsed,
)
from components.stores.filters import (
    FIELDS,
    OF_LAW,
    check_given,
    filter_clause,
    matches,
    needed_fields,
    plain_filters,
    type_fault,
)
from components.stores.publishing import (
    LawPublisher,
    StoreModel,
    VectorJournal,
    has_vectors,
    read_model,
)

_ORDER = "ORDER BY position, key"


class StatuteDocumentStore:
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
        path: the file; made at first use. None is only a placeholder in YAML
            (`load_pipeline` does it) and is refused at first use.
    """

    __module__ = trusted_name(__name__)  # Haystack asks where the class is from

    def __init__(self, path: str | Path | None = None) -> None:
        # Haystack writes strings into YAML, not paths.
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
        return from_named(cls, data)

    def __reduce__(self) -> tuple[type["StatuteDocumentStore"], tuple[str | None]]:
        """A copy is a store of its own over the same file: connections cannot be copied."""
        return type(self), (self.path,)

    def close(self) -> None:
        """Close the file; the next use opens it again. What is being read is read to its end."""
        self.database.close()

    # Haystack's protocol

    def count_documents(self) -> int:
        """Number of documents."""
        # Not count(*), which SQLite counts in one step: a crafted file would have no end.
        return int(self.database.follow().first("SELECT count(position) FROM documents")[0])

    def count_documents_by_filter(self, filters: dict[str, Any]) -> int:
        """Number of documents that match.

        Raises:
            FilterError: when the filters are malformed.
        """
        self.database.follow()
        return sum(1 for _ in self._matching("key", filters))

    def filter_documents(self, filters: dict[str, Any] | None = None) -> list[Document]:
        """The documents that match, with their embeddings, in the order of the law.

        Raises:
            FilterError: when the filters are malformed.
        """
        path, dim = self.database.follow().path, self._dim()
        found = []
        for vector, *row in self._matching(f"embedding, {BARE}", filters):
            document = from_row(path, *row)
            if vector is not None:
                vector = check_vector(path, document.id, vector, dim).tolist()
                document = replace(document, embedding=vector)
            found.append(document)
        return found

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents in one transaction; all or none are kept.

        Documents of StatuteConverter, which have `meta.law_articles`, get their place from the
        store: an existing article keeps it unless its whole law is given, and a new law comes after
            the others. If only a part of a law is given, its other articles stay.

        Args:
            documents: each with a unique id. `meta.law` and `meta.position` set their place;
                without a position one comes last, also where it overwrites one before others.
            policy: NONE and FAIL refuse an id that is there; SKIP keeps the old, OVERWRITE the new.

        Returns:
            Number of documents written.

        Raises:
            DuplicateDocumentError: an id is there already (NONE, FAIL).
            ValueError: `documents` is not a list of Documents, or an embedding, meta or text cannot
                be stored; names the document.
        """
        if not isinstance(documents, list) or any(
            not isinstance(document, Document) for document in documents
        ):
            raise ValueError("write_documents takes a list of haystack Documents.")
        written = 0
        with self.database.follow().writing() as connection:
            dim = self._dim()
            keep = policy == DuplicatePolicy.SKIP
            for document in self.publisher.placed(connection, documents, keep=keep):
                row = as_row(document)
                present = connection.execute(
                    "SELECT key FROM documents WHERE id = ?", (document.id,)
                ).fetchone()
                if present and keep:
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
        """Delete by id; ids that are not there are skipped.

        Raises:
            TypeError: a text in place of a list, whose letters may be ids.
        """
        if isinstance(document_ids, str):
            raise TypeError(f"delete_documents takes a list of ids: [{document_ids!r}].")
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
            keys = list(self._matching("key", filters))
            connection.executemany("DELETE FROM documents WHERE key = ?", keys)
        return len(keys)

    def update_by_filter(self, filters: dict[str, Any], meta: dict[str, Any]) -> int:
        """Merge `meta` into the documents that match; returns how many.

        Raises:
            FilterError: there are no filters, or they are malformed.
            ValueError: `meta` cannot be stored.
        """
        check_given(filters)
        with self.database.follow().writing() as connection:
            ids = list(self._matching("id", filters))
            for (id_,) in ids:
                self.publisher.update_meta(connection, id_, meta)
        return len(ids)

    # The same for an event loop: SQLite releases the interpreter while it works, and the store
    # keeps a connection for each thread.

    close_async = in_thread(close)
    count_documents_async = in_thread(count_documents)
    count_documents_by_filter_async = in_thread(count_documents_by_filter)
    filter_documents_async = in_thread(filter_documents)
    write_documents_async = in_thread(write_documents)
    delete_documents_async = in_thread(delete_documents)
    delete_all_documents_async = in_thread(delete_all_documents)
    delete_by_filter_async = in_thread(delete_by_filter)
    update_by_filter_async = in_thread(update_by_filter)

    # The store as the resident indexes read it: by key, in the order of the law

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
        version = self.database.follow().fact("content_version", int)
        if version is None:
            raise damaged(self.database.path, "its record 'content_version' is missing")
        return int(version)

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one, in the law's order."""
        path, most = self.database.path, self.database.size
        model = read_model(self.database)
        dim = model.dim if model else 0
        keys: list[int] = []
        ids: list[str] = []
        content = bytearray()
        sql = f"SELECT key, id, embedding FROM documents WHERE embedding IS NOT NULL {_ORDER}"
        for key, id_, blob in self.database.rows(sql):
            if not dim or type(blob) is not bytes or len(blob) != 4 * dim:
                dim = len(check_vector(path, id_, blob, dim or None))
            if len(content) > most:  # many rows of a crafted file may share one vector
                raise damaged(path, "its vectors are larger than the file")
            keys.append(key)
            ids.append(id_)
            content += blob
        matrix = np.frombuffer(content, dtype=np.float32).reshape(len(keys), dim)
        # Squares overflow or underflow for some valid vectors too.
        squares = np.einsum("ij,ij->i", matrix, matrix)
        for index in np.flatnonzero(~((squares > 0) & (squares < np.inf))):
            check_vector(path, ids[index], matrix[index].tobytes(), dim)
        return np.array(keys, dtype=np.int64), matrix

    def fetch(
        self,
        keys: Sequence[int] | NDArray[np.int64],
        scores: Sequence[float] | NDArray[np.floating[Any]] | None = None,
    ) -> list[Document]:
        """Documents without embeddings, in the order of `keys`; keys since deleted are left out.

        Args:
            keys: `[n]`, each once.
            scores: `[n]`, what each document's score becomes.
        """
        wanted = [int(key) for key in keys]
        score = dict(zip(wanted, map(float, scores), strict=True)) if scores is not None else {}
        path = self.database.path
        sql = f"SELECT key, {BARE} FROM documents WHERE key IN ({{}})"
        found = {
            key: from_row(path, id_, content, meta, score=score.get(key))
            for key, id_, content, meta in self.database.rows_in(sql, wanted)
        }
        return [found[key] for key in wanted if key in found]

    def keys_matching(self, filters: dict[str, Any] | None) -> NDArray[np.int64]:
        """Keys of the documents that match, in the law's order.

        Raises:
            FilterError: when the filters are malformed, or need a field that no document has.
        """
        database = self.database.follow()
        every = f"SELECT key FROM documents {_ORDER}"
        rows = self._matching("key", filters, is_search=True) if filters else database.rows(every)
        return np.fromiter((key for (key,) in rows), dtype=np.int64)

    def keys_of(self, ids: Iterable[str]) -> list[int]:
        """Keys of the documents with these ids, in order; unknown ids are left out."""
        wanted = list(ids)
        found: dict[str, int] = dict(
            self.database.rows_in("SELECT id, key FROM documents WHERE id IN ({})", wanted)
        )
        return [found[each] for each in wanted if each in found]

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """`(id, law, number)` of every article, in the law's order."""
        path = self.database.path
        sql = f"SELECT id, law, meta FROM documents WHERE law IS NOT NULL {_ORDER}"
        for id_, law, meta in self.database.rows(sql, types={"id": str, "law": str}):
            fields = parsed(path, id_, meta)
            if fields.get("law") != law:
                raise damaged(path, f"document {id_!r:.200}: its meta names another law")
            yield id_, law, number_of(fields)

    def laws(self) -> Iterator[LawIdentity]:
        """Every law, each as often as its articles name it differently."""
        return self.publisher.laws()

    def metas(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """`(key, id, meta)` of every document, in the law's order."""
        path = self.database.path
        for key, id_, meta in self.database.rows(f"SELECT key, id, meta FROM documents {_ORDER}"):
            yield key, id_, parsed(path, id_, meta)

    def texts(self) -> Iterator[tuple[int, str, str | None]]:
        """`(key, indexed text, language)` of every document with content, in the law's order."""
        path = self.database.path
        sql = f"SELECT id, content, meta, key FROM documents WHERE content IS NOT NULL {_ORDER}"
        model = read_model(self.database)
        rule = model.text_rule if model else "headings_text"
        for id_, content, meta, key in self.database.rows(sql, types={"id": str, "content": str}):
            fields = parsed(path, id_, meta)
            yield key, indexed_text(headings_of(fields), content, rule), language_of(fields)

    def _check_fields(self, plain: dict[str, Any]) -> None:
        """Refuse a field that no document has: it is misspelt, or of another collection."""
        sql = "SELECT {} FROM documents, json_each(meta) AS field {}"
        for given, values in needed_fields(plain):
            name = given.removeprefix("meta.").partition(".")[0]
            if fault := type_fault(given.removeprefix("meta."), values):
                # A user's own documents may have such values.
                other = "WHERE field.key = ? AND field.type <> ? LIMIT 1"
                usual = "array" if name == "headings" else "text"
                if not self.database.first(sql.format("1", other), (name, usual)):
                    raise FilterError(fault)
            if (
                given in OF_LAW
                or name in FIELDS
                or self.database.first(sql.format("1", "WHERE field.key = ? LIMIT 1"), (name,))
            ):
                continue
            known = {each for (each,) in self.database.rows(sql.format("DISTINCT field.key", ""))}
            if known:
                meant = did_you_mean(name, {*FIELDS, *OF_LAW, *known})
                raise FilterError(f"No document has the field {given!r}{meant}.")

    def _matching(
        self, columns: str, filters: dict[str, Any] | None, *, is_search: bool = False
    ) -> Iterator[list[Any]]:
        """Columns of each document that matches, in the law's order; see `_check_fields`."""
        plain = plain_filters(filters) if filters else {"operator": "AND", "conditions": []}
        indexed, clause, values = filter_clause(plain)
        unsure = ", ".join(f"CASE WHEN met IS NULL THEN {each} END" for each in BARE.split(", "))
        # The limit keeps SQLite from computing the clause for the outer query again.
        sql = (
            f"SELECT {columns}, met, {unsure} FROM (SELECT key, {clause} AS met FROM documents "
            f"WHERE {indexed} {_ORDER} LIMIT -1) CROSS JOIN documents USING (key) "
            "WHERE met IS NOT 0"
        )
        path = self.database.path
        try:
            if is_search:
                self._check_fields(plain)
            for *row, met, id_, content, meta in self.database.rows(sql, values):
                if met or matches(plain, from_row(path, id_, content, meta)):
                    yield row
        except StoreError:
            for bare in self.database.rows(f"SELECT {BARE} FROM documents"):
                from_row(path, *bare)  # names the document that could not be filtered
            raise

    # What goes with the documents

    def load_blob(self, name: str) -> tuple[str, bytes] | None:
        """`(version, content)` of a named blob that goes with the documents, or None."""
        sql = "SELECT name, version, content FROM blobs WHERE name = ?"
        types = {"name": str, "version": str, "content": bytes}
        row = self.database.first(sql, (name,), types)
        return None if row is None else row[1:]

    def save_blob(self, name: str, version: str, content: bytes) -> None:
        """Keep a named blob; one of that name is replaced.

        Of the names "family/...", only those of this version are kept.
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
        model = read_model(self.database)
        if model is not None:
            return model.dim
        sql = "SELECT length(embedding) FROM documents WHERE embedding IS NOT NULL LIMIT 1"
        row = self.database.first(sql)
        return None if row is None else row[0] // 4
