"""Vectors of texts, kept while a corpus is encoded, and longer if a graph builds on them."""

import hashlib
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

import numpy as np
from numpy.typing import NDArray

from components.models.similarity import Similarity
from components.statutes.article import TextRule
from components.stores.database import StatuteDatabase
from components.stores.rows import StoreError, damaged, vector_of

_NOT_A_MODEL = "its record 'model' does not describe a model"


@dataclass(frozen=True)
class StoreModel:
    """The model whose vectors a store holds.

    Attributes:
        path: folder or name that opens it.
        digest: of its weights and settings; two models with one digest give the same vectors.
        dim: length of its vectors.
        text_rule: what of an article it encodes.
        biencoder: digest of the bi-encoder below, if a graph network makes the articles' vectors
            (`digest` then covers both); None if the vectors are the bi-encoder's own.
        similarity: how its vectors are compared.
    """

    path: str
    digest: str
    dim: int
    text_rule: TextRule
    biencoder: str | None = None
    similarity: Similarity = "cosine"

    @property
    def through_graph(self) -> bool:
        """Whether the articles' vectors went through a graph network."""
        return self.biencoder is not None

    @property
    def biencoder_digest(self) -> str:
        """Digest of the bi-encoder, which always encodes the questions."""
        return self.digest if self.biencoder is None else self.biencoder


def read_model(database: StatuteDatabase) -> StoreModel | None:
    """The recorded model, or None.

    Raises:
        StoreError: the file is damaged or cannot be read.
    """
    fact = database.fact("model")
    try:
        model = None if fact is None else StoreModel(**fact)
    except TypeError as error:
        raise StoreError(damaged(database.path, _NOT_A_MODEL)) from error
    if model is not None and not (
        all(type(each) is str and each for each in (model.path, model.digest))
        and type(model.dim) is int
        and model.dim > 0
        and model.text_rule in get_args(TextRule)
        and isinstance(model.biencoder, str | None)
        and model.similarity in get_args(Similarity)
    ):
        raise StoreError(damaged(database.path, _NOT_A_MODEL))
    return model


def has_vectors(database: StatuteDatabase) -> bool:
    """Whether any document has a vector."""
    sql = "SELECT 1 FROM documents WHERE embedding IS NOT NULL LIMIT 1"
    return database.first(sql) is not None


_HOLD = """
INSERT OR IGNORE INTO journal
SELECT ?, text_digest, embedding FROM documents
WHERE text_digest = ? AND embedding IS NOT NULL LIMIT 1
"""


def text_digest(text: str) -> str:
    """The digest under which a text's vector is kept."""
    return hashlib.sha256(text.encode("utf-8")).hexdigest()


class VectorJournal:
    """Encoded vectors by the digests of model and text, so that a kill costs one block.

    If documents carry the encoder's own vectors, the journal is emptied at the end of a complete
    run, since the vectors are in the documents. If a graph makes the documents' vectors from these,
    they stay as base vectors, so that a changed article costs one encoding.
    """

    def __init__(self, database: StatuteDatabase) -> None:
        self._database = database

    def keep(self, model_digest: str, vectors: Mapping[str, NDArray[np.float32]]) -> None:
        """Keep vectors `{text digest: [dim]}` of an encoder; one transaction.

        Raises:
            StoreError: the disk is full; none of these vectors was kept.
        """
        with self._database.writing(content=False) as connection:
            connection.executemany(
                "INSERT OR REPLACE INTO journal VALUES (?, ?, ?)",
                (
                    (model_digest, digest, np.ascontiguousarray(vector, np.float32).tobytes())
                    for digest, vector in vectors.items()
                ),
            )

    def known(self, model_digest: str) -> set[str]:
        """Digests of the texts that need not be encoded again with this encoder.

        Raises:
            StoreError: a vector of the journal is not one, or the file cannot be read.
        """
        known = set()
        dim = self._dim(model_digest)
        sizes = (
            "SELECT text_digest, CASE typeof(vector) WHEN 'blob' THEN length(vector) END "
            "FROM journal WHERE model = ?"
        )
        for digest, size in self._database.rows(sizes, (model_digest,)):
            dim = dim or (size or 0) // 4
            if not size or size != 4 * dim:
                raise self._damaged(digest, f"is not {dim} float32 numbers")
            known.add(digest)
        if self._is_in_documents(model_digest):
            published = (
                "SELECT text_digest FROM documents "
                "WHERE text_digest IS NOT NULL AND embedding IS NOT NULL"
            )
            known.update(digest for (digest,) in self._database.rows(published))
        return known

    def vectors(
        self, model_digest: str, text_digests: Collection[str]
    ) -> dict[str, NDArray[np.float32]]:
        """This encoder's vectors `{text digest: [dim]}`, of those texts that are known.

        Raises:
            StoreError: one of them is not a vector, or the file cannot be read.
        """
        statements = [
            "SELECT text_digest, vector FROM journal WHERE model = ? AND text_digest IN ({})"
        ]
        if self._is_in_documents(model_digest):
            statements.append(
                "SELECT text_digest, embedding FROM documents WHERE ? IS NOT NULL "
                "AND text_digest IN ({}) AND embedding IS NOT NULL"
            )
        dim = self._dim(model_digest)
        found: dict[str, NDArray[np.float32]] = {}
        for statement in statements:
            for digest, blob in self._database.rows_in(statement, text_digests, model_digest):
                try:
                    found[digest] = vector_of(blob, dim)
                except ValueError as error:
                    raise self._damaged(digest, str(error)) from error
                dim = dim or len(found[digest])
        return found

    def hold(self, model_digest: str, text_digests: Iterable[str]) -> None:
        """Keep the published vectors of these texts before their documents are replaced."""
        if self._is_in_documents(model_digest):
            with self._database.writing(content=False) as connection:
                connection.executemany(_HOLD, ((model_digest, each) for each in text_digests))

    def keep_only(self, model_digest: str | None, text_digests: Collection[str]) -> None:
        """Drop all vectors except this encoder's of these texts, and free the space.

        Args:
            model_digest: of the encoder; None drops everything.
            text_digests: of the texts.
        """
        wanted = set(text_digests)
        with self._database.writing(content=False) as connection:
            # IS NOT, since nothing differs from NULL by <>.
            connection.execute("DELETE FROM journal WHERE model IS NOT ?", (model_digest,))
            texts = connection.execute("SELECT text_digest FROM journal")  # of one model by now
            gone = [row for row in texts if row[0] not in wanted]
            connection.executemany("DELETE FROM journal WHERE text_digest = ?", gone)
        # A script is stepped to its end; execute() would stop after the first page.
        with self._database.connected() as connection:
            connection.executescript("PRAGMA incremental_vacuum")

    def _dim(self, model_digest: str) -> int | None:
        """Length of this encoder's vectors, where it is on record."""
        model = read_model(self._database)
        if model is None or model_digest not in (model.digest, model.biencoder_digest):
            return None
        return model.dim

    def _damaged(self, digest: object, what: str) -> StoreError:
        return StoreError(
            damaged(self._database.path, f"the kept vector of the text {digest!r:.80} {what}")
        )

    def _is_in_documents(self, model_digest: str) -> bool:
        """Whether the documents' own vectors are this encoder's."""
        model = read_model(self._database)
        return model is not None and model.digest == model_digest
