"""Small laws with vectors, in our store and in Haystack's own."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from haystack import Document
from haystack.document_stores.in_memory import InMemoryDocumentStore
from numpy.typing import NDArray

from components.stores.sqlite import StatuteDocumentStore

DIM = 8


@pytest.fixture
def store(tmp_path: Path) -> StatuteDocumentStore:
    """An empty store."""
    return StatuteDocumentStore(str(tmp_path / "law.db"))


@pytest.fixture
def in_memory() -> Callable[[list[Document]], InMemoryDocumentStore]:
    """Haystack's store with these documents."""

    def filled(documents: list[Document]) -> InMemoryDocumentStore:
        store = InMemoryDocumentStore(embedding_similarity_function="cosine", shared=False)
        store.write_documents(documents)
        return store

    return filled


@pytest.fixture
def law_of() -> Callable[..., list[Document]]:
    """Documents with these vectors `[n, dim]`; written backwards, placed forwards."""

    def documents(vectors: NDArray[Any], law: str = "Housing Code") -> list[Document]:
        made = [
            Document(
                id=f"{law}-{position}",
                content=f"Words of article {position}.",
                meta={
                    "law": law,
                    "number": str(position),
                    "headings": [],
                    "position": position,
                    "language": "en",
                    "even": position % 2 == 0,
                },
                embedding=np.asarray(vector, dtype=np.float32).tolist(),
            )
            for position, vector in enumerate(vectors)
        ]
        return made[::-1]

    return documents


@pytest.fixture
def random_vectors() -> Callable[[int], NDArray[np.float32]]:
    """`[n, 8]`, not of unit length."""

    def vectors(n: int, seed: int = 0) -> NDArray[np.float32]:
        return np.random.default_rng(seed).normal(size=(n, DIM)).astype(np.float32)

    return vectors
