"""The model that a store's vectors come from, as it is on record."""

from dataclasses import dataclass
from typing import get_args

from components.statutes.article import TextRule
from components.stores.database import StatuteDatabase
from components.stores.failures import StoreError, damaged

_NOT_A_MODEL = "its record 'model' does not describe a model"


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
        model = None if fact is None else StoreModel(**fact)
    except TypeError as error:
        raise StoreError(damaged(database.path, _NOT_A_MODEL)) from error
    if model is not None and not (
        all(type(each) is str and each for each in (model.path, model.digest))
        and type(model.dim) is int
        and model.dim > 0
        and model.text_rule in get_args(TextRule)
        and isinstance(model.biencoder, str | None)
    ):
        raise StoreError(damaged(database.path, _NOT_A_MODEL))
    return model


def has_vectors(database: StatuteDatabase) -> bool:
    """Whether any document has a vector."""
    found = database.rows("SELECT 1 FROM documents WHERE embedding IS NOT NULL LIMIT 1")
    return next(found, None) is not None
