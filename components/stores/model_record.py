"""The model that a store's vectors come from, as it is on record."""

from dataclasses import dataclass

from components.statutes.article import TextRule
from components.stores.database import StatuteDatabase
from components.stores.failures import StoreError, damaged


@dataclass(frozen=True)
class StoreModel:
    """The model whose vectors a store holds.

    Attributes:
        path: folder or name that opens it.
        digest: of its weights and settings; two models with one digest give the same vectors.
        dim: length of its vectors.
        text_rule: what of an article it encodes.
        biencoder: where a graph network makes the articles' vectors, and `digest` counts it in,
            the digest of the bi-encoder below; None where the vectors are the bi-encoder's own.
    """

    path: str
    digest: str
    dim: int
    text_rule: TextRule
    biencoder: str | None = None

    @property
    def through_graph(self) -> bool:
        """Whether the articles' vectors went through a graph network."""
        return self.biencoder is not None

    @property
    def biencoder_digest(self) -> str:
        """Digest of the bi-encoder, which encodes the questions whatever became of the articles."""
        return self.digest if self.biencoder is None else self.biencoder


def read_model(database: StatuteDatabase) -> StoreModel | None:
    """The model on record, or None.

    Raises:
        StoreError: the file is damaged or cannot be read.
    """
    fact = database.fact("model")
    try:
        return None if fact is None else StoreModel(**fact)
    except TypeError as error:
        raise StoreError(damaged(database.path, "its record 'model' is of no model")) from error


def has_vectors(database: StatuteDatabase) -> bool:
    """Whether any document has a vector."""
    found = database.rows("SELECT 1 FROM documents WHERE embedding IS NOT NULL LIMIT 1")
    return next(found, None) is not None
