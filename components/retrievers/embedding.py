"""StatuteEmbeddingRetriever: the articles nearest to the question in meaning."""

import json
import math
from collections.abc import Hashable, Mapping, Sequence
from typing import Any

import numpy as np
from haystack import Document, component, logging
from haystack.document_stores.types import DocumentStore
from haystack.utils import ComponentDevice
from numpy.typing import NDArray
from pydantic import TypeAdapter, ValidationError

from components.models.folder import Similarity, VectorError
from components.models.selection import row_mask
from components.parameters import checked_device
from components.retrievers.resident import (
    IndexReader,
    ReadableStore,
    ResidentIndex,
    Retriever,
    checked_query,
    resident_index,
)
from components.retrievers.validity import TODAY
from components.stores.database import StoreError, damaged
from components.stores.sqlite import StatuteDocumentStore

logger = logging.getLogger(__name__)

_LONG = "long articles"  # name of the blob
_LONG_ARTICLES = TypeAdapter(dict[str, list[str]])


class DenseVectors:
    """All vectors of a store, searched by the similarity of the model that made them.

    Args:
        keys: int64 `[n]`, the documents' keys by row, in the order that breaks ties.
        matrix: float32 `[n, dim]`.
        device: where it lies; None takes the best there is.
        model: digest of the bi-encoder that made them, where it is known.
        similarity: how that one compares them.
        provisions: of long articles, by key, as of `LongArticleIndex`.
    """

    def __init__(
        self,
        keys: NDArray[np.int64],
        matrix: NDArray[np.float32],
        device: str | None,
        model: str | None = None,
        similarity: Similarity = "cosine",
        provisions: Mapping[int, NDArray[np.float32]] | None = None,
    ) -> None:
        from components.models.dense_index import LongArticleIndex
        from components.models.devices import resolve_device

        self.model = model
        self._keys = keys
        self._mask = row_mask(keys)
        long: dict[int, NDArray[np.float32]] = {}
        if provisions:
            rows = enumerate(keys.tolist())
            long = {row: provisions[key] for row, key in rows if key in provisions}
        place = str(resolve_device(device))
        self._index = LongArticleIndex(matrix, place, similarity, long) if len(keys) else None

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
        total = len(store.keys_matching(None))
        if total and not len(keys):
            raise StoreError(
                "The document store holds, or returns, text without embeddings. Index it with "
                "--model, or embed its documents."
            )
        if len(keys) < total:
            logger.warning(
                "{without} of {total} articles have no vector and are not found by meaning. Embed "
                "them, or index them with --model.",
                without=total - len(keys),
                total=total,
            )
        # A snapshot tells of its own documents.
        if not isinstance(store, StatuteDocumentStore) or (record := store.model) is None:
            return cls(keys, matrix, device)
        model = record.biencoder_digest
        # Through a graph an article's vector holds more than its own text.
        provisions = None if record.through_graph else _provisions_of_long(store, model)
        return cls(keys, matrix, device, model, record.similarity, provisions)

    def search(
        self, query: NDArray[np.float32], k: int, allowed: NDArray[np.int64] | None = None
    ) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """The nearest documents.

        Args:
            query: float32 `[dim]`.
            k: how many at most.
            allowed: keys to choose from; None for all.

        Returns:
            Keys int64 and similarities float32, both `[at most k]`, by score, equal scores by row.

        Raises:
            VectorError: the query is of another size than the vectors.
        """
        if self._index is None or k == 0:
            return np.empty(0, dtype=np.int64), np.empty(0, dtype=np.float32)
        if len(query) != self._index.dim:
            raise VectorError(
                f"StatuteEmbeddingRetriever.query_embedding has {len(query)} numbers, not the "
                f"{self._index.dim} of the store's model. Embed the question with that one."
            )
        scores, rows = self._index.search(query[None, :], k, allowed=self._mask(allowed))
        return self._keys[rows[0]], scores[0]


def record_long_articles(
    store: StatuteDocumentStore, provisions: Mapping[str, Sequence[str]]
) -> None:
    """Keep which articles are long, and what their provisions are.

    Args:
        store: whose journal has the provisions' vectors.
        provisions: digests of the provisions' texts, by the digest of the article's.
    """
    assert store.model is not None
    row = (_LONG, store.model.biencoder_digest, json.dumps(provisions).encode())
    if store.load_blob(_LONG) != row[1:]:
        # It changes what is found, so indexes in memory must read it.
        with store.database.writing() as connection:
            connection.execute("INSERT OR REPLACE INTO blobs VALUES (?, ?, ?)", row)
            # A threshold that was chosen for other scores holds no longer.
            connection.execute("DELETE FROM blobs WHERE name LIKE 'answer threshold dense %'")


def _provisions_of_long(
    store: StatuteDocumentStore, model: str
) -> dict[int, NDArray[np.float32]] | None:
    """The vectors of the provisions of a store's long articles by key, where all are known.

    Raises:
        StoreError: what the store keeps of them is damaged.
    """
    kept = store.load_blob(_LONG)
    if kept is None or kept[0] != model:
        return None
    try:
        long = _LONG_ARTICLES.validate_json(kept[1])
    except ValidationError as error:
        raise damaged(store.database.path, "its record of long articles is not one") from error
    vectors = store.journal.vectors(model, {digest for each in long.values() for digest in each})
    sql = "SELECT key, text_digest FROM documents WHERE text_digest IN ({})"
    return {
        key: np.stack([vectors[digest] for digest in long[article]])
        for key, article in store.database.rows_in(sql, long)
        if long[article] and vectors.keys() >= set(long[article])
    }


_WEIGHT = "weight"  # name of the blob


def record_weight(store: StatuteDocumentStore, weight: float) -> None:
    """Keep what the list by the vectors of the store's model weighs, where words have 1."""
    assert store.model is not None
    store.save_blob(_WEIGHT, store.model.question_digest, f"{weight}".encode())


def recorded_weight(store: StatuteDocumentStore, model: str) -> float | None:
    """The weight of the list by the vectors of a bi-encoder; None where it was not measured.

    Raises:
        StoreError: what the file holds is not a number, or a negative one.
    """
    kept = store.load_blob(_WEIGHT)
    if kept is None or kept[0] != model:
        return None
    try:
        weight = float(kept[1])
    except ValueError:
        weight = math.nan
    if not 0 <= weight < math.inf:
        raise damaged(store.database.path, "its weight of the vectors is not a number")
    return weight


@component
class StatuteEmbeddingRetriever(IndexReader[DenseVectors], Retriever):
    """Finds the articles whose vectors are nearest to the question's, by exact search.

    ```python
    from components.embedders.text import StatuteTextEmbedder
    from components.retrievers.embedding import StatuteEmbeddingRetriever
    from components.stores.sqlite import StatuteDocumentStore

    store = StatuteDocumentStore("adgm.db")
    vector = StatuteTextEmbedder(model=store.model.path).run("May duties be delegated?")
    StatuteEmbeddingRetriever(store, top_k=5).run(vector["embedding"])["documents"]
    ```

    One matrix of all vectors stays on the device, shared by every retriever of the process over
    the same store, and follows the store when its content changes. Over any other Haystack store
    that hands out embeddings it gives the same result, except that long articles are found by their
    own vectors only.

    A run's `filters` are merged with the component's and never replace them: all must hold.
    There is no `filter_policy` that changes this.
    """

    def __init__(
        self,
        document_store: DocumentStore,
        top_k: int = 10,
        filters: dict[str, Any] | None = None,
        as_of: str = TODAY,
        device: ComponentDevice | None = None,
        refresh_seconds: float = 60,
    ) -> None:
        """Keep the parameters; nothing is opened.

        Args:
            document_store: where the articles and their vectors stand.
            top_k: how many to return at most.
            filters: Haystack filters that always hold.
            as_of: leaves out what was not in force: "today", a day as YYYY-MM-DD, or "any", which
                leaves out nothing. Articles without dates always stay.
            device: where the matrix lies; None takes the best there is when it is loaded.
            refresh_seconds: how old the last read of a foreign store may be before it is read
                again; the shortest among the retrievers over one store counts. Lexarbor's own
                store is always up to date.

        Raises:
            TypeError: `device` is no ComponentDevice, or `top_k` no whole number.
            ValueError: `top_k` is less than 1, `refresh_seconds` less than 0, or `as_of` neither
                of the two words nor a day.
        """
        Retriever.__init__(self, document_store, top_k, filters, as_of)
        self._read_from(document_store, refresh_seconds)
        self.device = checked_device(type(self).__name__, device)
        self._model: str | None = None
        self.asked_by: str | None = None

    def expect_model(self, digest: str, articles: str) -> None:
        """Refuse the vectors of another bi-encoder from now on.

        By itself a retriever refuses those of another one than made the first vectors that it read.

        Args:
            digest: of the model that questions are embedded with.
            articles: of what encoded the articles.
        """
        self._model, self.asked_by = articles, digest

    @component.output_types(documents=list[Document], weight=float)
    def run(
        self,
        query_embedding: list[float],
        filters: dict[str, Any] | None = None,
        top_k: int | None = None,
        as_of: str | None = None,
    ) -> dict[str, Any]:
        """Find the nearest articles.

        Args:
            query_embedding: `[dim]`, from the model whose vectors the store holds.
            filters: Haystack filters that must hold besides the component's.
            top_k: how many to return at most, in place of the component's; 0 returns none.
            as_of: in place of the component's; "today" is the day of the call.

        Returns:
            `documents`: by similarity, equal scores in the order of the law. `weight`: of this list
            in a fusion where words have 1: what training chose by questions, or else, 0 to 1, what
            indexing measured (`pipelines.weights`); 1 where there is neither.

        Raises:
            VectorError: the embedding is NaN, zero or of another size than the store's vectors; or
                another file with another model's vectors was put in the store's place.
            FilterError: the filters are malformed.
            TypeError: `top_k` is not a whole number.
            ValueError: `top_k` is negative, or `as_of` neither of the two words nor a day.
            StoreError: the store cannot be read, or holds documents but no vectors.
        """
        query = checked_query(type(self).__name__, query_embedding)
        narrowed, k, day = self._request(filters, top_k, as_of)
        found = self._search(
            lambda vectors, allowed: vectors.search(query, k, allowed), narrowed, day
        )
        return {"documents": found, "weight": self.weight()}

    def weight(self, unrecorded: float = 1.0) -> float:
        """Of what was found last, in a fusion; as `run` returns it.

        Args:
            unrecorded: what it is where the store has none for the model that asks.
        """
        # Read for each question: indexing measures it after the vectors are published.
        store = self._store
        if not isinstance(store, StatuteDocumentStore) or (record := store.model) is None:
            return unrecorded
        weight = recorded_weight(store, self.asked_by or record.question_digest)
        return unrecorded if weight is None else weight

    def current_index(self, state: Hashable = None) -> DenseVectors:
        """The vectors of the store's present content.

        Args:
            state: the store's `state_of`, where it was just read.

        Raises:
            StoreError: the store cannot be read, or holds documents but no vectors.
            VectorError: another file with another model's vectors was put in the store's place.
        """
        vectors = IndexReader.current_index(self, state)
        if self._model is None:
            self._model = vectors.model
        elif vectors.model is not None and vectors.model != self._model:
            raise VectorError(
                "StatuteEmbeddingRetriever.document_store now holds the vectors of another model: "
                "another file was put in its place. Load the pipeline again."
            )
        return vectors

    def _shared_index(self) -> ResidentIndex[DenseVectors]:
        device = self.device.to_torch_str() if self.device else None
        return resident_index(
            self._store, ("dense", device), lambda store: DenseVectors.read(store, device)
        )
