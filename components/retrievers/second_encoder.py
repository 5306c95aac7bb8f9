"""A second bi-encoder over a store, whose vectors are one more list of the hybrid retriever.

Two encoders that were trained apart err on different questions, so that both lists together find
more than either at a higher weight.
"""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Annotated, ClassVar

from pydantic import Field, FiniteFloat

from components.models.errors import parsed_record
from components.retrievers.embedding import DenseVectors
from components.retrievers.resident import ResidentIndex, resident_index
from components.stores.journal import StoreModel
from components.stores.rows import StoreError, damaged
from components.stores.sqlite import StatuteDocumentStore

SECOND = "second"
SECOND_SHARE = 0.5
"""Of the weight that the first encoder's list would have: chosen on training questions."""

_BLOB = "second"


@dataclass(frozen=True)
class SecondEncoder:
    """The second bi-encoder of a store, on record there.

    Its vectors are in the store's journal, by the digests of model and text.

    Attributes:
        model: encoded the texts that the store's own model encoded.
        weight: of its list in a fusion in which words have 1.
    """

    __pydantic_config__: ClassVar = {"extra": "forbid", "strict": True}

    model: StoreModel
    weight: Annotated[FiniteFloat, Field(ge=0)]

    def keep(self, store: StatuteDocumentStore) -> None:
        """Record it, in place of the one that the store had."""
        store.save_blob(_BLOB, self.model.digest, json.dumps(asdict(self)).encode())

    @classmethod
    def of(cls, store: StatuteDocumentStore) -> "SecondEncoder | None":
        """The second bi-encoder of a store; None if it has none.

        Raises:
            StoreError: the record is damaged.
        """
        kept = store.load_blob(_BLOB)
        if kept is None or not kept[1]:
            return None
        try:
            return _parsed(kept[1])
        except ValueError as error:
            what = f"its record of a second model cannot be read: {error}"
            raise StoreError(damaged(store.database.path, what)) from error

    def vectors(
        self, store: StatuteDocumentStore, device: str | None
    ) -> ResidentIndex[DenseVectors]:
        """Its vectors in memory, which follow the store when its content changes.

        Args:
            store: where it is on record.
            device: where they lie; None takes the best there is.
        """
        model = self.model

        def read(_: object) -> DenseVectors:
            keys, matrix = store.journalled_vectors(model.digest, model.dim)
            return DenseVectors(keys, matrix, device, model.digest, model.similarity)

        return resident_index(store, (SECOND, model.digest, device), read)


def forget_second(store: StatuteDocumentStore) -> None:
    """Have a store record no second bi-encoder."""
    if SecondEncoder.of(store) is not None:
        store.save_blob(_BLOB, "", b"")


@lru_cache(maxsize=8)  # read for each question
def _parsed(record: bytes) -> SecondEncoder:
    return parsed_record(SecondEncoder, record.decode())
