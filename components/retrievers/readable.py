"""What a store must hand out for its content to be kept in resident indexes."""

from collections.abc import Iterable, Iterator, Sequence
from typing import Any, Protocol

import numpy as np
from haystack import Document
from numpy.typing import NDArray


class ReadableStore(Protocol):
    """A store as the resident indexes read it: by key, in the order of the law.

    A key names one version of one document and is never reused, so an index that is older than
    the store can miss a document but never show the wrong one.
    """

    def content_version(self) -> int:
        """A number that grows with every change of documents."""
        ...

    def vectors(self) -> tuple[NDArray[np.int64], NDArray[np.float32]]:
        """Keys `[n]` and vectors `[n, dim]` of the documents that have one; copies."""
        ...

    def texts(self) -> Iterator[tuple[int, str, str | None]]:
        """`(key, indexed text, language)` of every document with content."""
        ...

    def metas(self) -> Iterator[tuple[int, str, dict[str, Any]]]:
        """`(key, id, meta)` of every document."""
        ...

    def entries(self) -> Iterator[tuple[str, str, str]]:
        """`(id, law, number)` of every article."""
        ...

    def fetch(
        self,
        keys: Sequence[int] | NDArray[np.int64],
        scores: Sequence[float] | NDArray[np.float32] | None = None,
    ) -> list[Document]:
        """New documents without embeddings, in this order, with these scores.

        Keys since gone are left out.
        """
        ...

    def keys_matching(self, filters: dict[str, Any] | None) -> NDArray[np.int64]:
        """Keys of the documents that match."""
        ...

    def keys_of(self, ids: Iterable[str]) -> list[int]:
        """Keys of the documents with these ids, in their order; unknown ids are left out."""
        ...
