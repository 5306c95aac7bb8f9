"""StatuteDocumentStore: Haystack's DocumentStore protocol in one SQLite file."""

from pathlib import Path
from typing import Any

from haystack import Document, default_from_dict, default_to_dict
from haystack.document_stores.errors import DuplicateDocumentError
from haystack.document_stores.types import DuplicatePolicy

from components.stores.async_twins import AsyncTwins
from components.stores.database import StatuteDatabase
from components.stores.failures import StoreError, damaged
from components.stores.filter_syntax import check_given
from components.stores.filters import filter_clause
from components.stores.journal import VectorJournal
from components.stores.model_record import read_model
from components.stores.publishing import LawPublisher
from components.stores.reads import IndexedReads
from components.stores.rows import BARE, INSERT, as_row, embedding_blob, from_row


class StatuteDocumentStore(AsyncTwins, IndexedReads):
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
        return int(next(self.database.follow().rows("SELECT count(position) FROM documents"))[0])

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
        path, dim = self.database.path, self._dim()
        return [
            from_row(path, id_, content, meta, other, vector, dim=dim)
            for id_, content, meta, other, vector in rows
        ]

    def write_documents(
        self, documents: list[Document], policy: DuplicatePolicy = DuplicatePolicy.NONE
    ) -> int:
        """Write documents in one transaction; all or none are kept.

        Documents of StatuteConverter, which have `meta.law_articles`, get their place from the
        store: one that is there keeps it unless its whole law is given, and a new law comes after
        the others. Of a law that is given in part the other articles stay.

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
            keep = policy == DuplicatePolicy.SKIP
            for document in self.publisher.placed(connection, documents, keep=keep):
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
        """Delete by id; ids that are not there are passed over.

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

    # What goes with the documents

    def load_blob(self, name: str) -> tuple[str, bytes] | None:
        """`(version, content)` of a named blob that goes with the documents, or None."""
        sql = "SELECT version, content FROM blobs WHERE name = ?"
        row = next(self.database.rows(sql, (name,)), None)
        if row is not None and [type(each) for each in row] != [str, bytes]:
            raise StoreError(damaged(self.database.path, f"its blob {name!r} is of another type"))
        return row

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
        model = read_model(self.database)
        if model is not None:
            return model.dim
        sql = "SELECT length(embedding) FROM documents WHERE embedding IS NOT NULL LIMIT 1"
        return next((size // 4 for (size,) in self.database.rows(sql)), None)
