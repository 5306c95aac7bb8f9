"""Which passages of a long article a cross-encoder reads: those nearest to the question."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from components.models.biencoder import BiEncoder
from components.models.bounded_cache import BoundedCache
from components.models.exact_scores import ranked, rescored

# Numbers in the cached vectors: 64 MiB in float32.
_ROOM = 2**24


class PassageChooser:
    """Chooses passages by their cosine to the question; vectors of passages are kept.

    So is that of the last question, whose candidates may come in several portions.

    Args:
        biencoder: Encodes questions and passages.
    """

    def __init__(self, biencoder: BiEncoder) -> None:
        self.biencoder = biencoder
        self._vectors: BoundedCache[NDArray[np.float32]] = BoundedCache(_ROOM)
        self._asked: tuple[str, NDArray[np.float32]] | None = None

    def choose(
        self, question: str, articles: Sequence[Sequence[str]], most: int
    ) -> list[list[int]]:
        """For each article the passages that are read, in the order of the article.

        Args:
            question: In plain words.
            articles: The passages of each.
            most: Passages of an article that are read; one that has no more is read whole.

        Returns:
            For each article at most `most` indices of its passages, ascending; between equal
            passages the earlier.
        """
        long = [passages for passages in articles if len(passages) > most]
        if not long:
            return [list(range(len(passages))) for passages in articles]
        vectors = self._vectors_of([passage for passages in long for passage in passages])
        asked = self._vector_of(question)
        chosen = []
        for passages in articles:
            indices = np.arange(len(passages))
            if len(passages) > most:
                matrix = np.stack([vectors[passage] for passage in passages])
                # No product of matrices: that gives equal rows different last bits.
                cosines = rescored(matrix, indices, asked)
                indices = np.sort(ranked(cosines, indices, most))
            chosen.append(indices.tolist())
        return chosen

    def unread(self, passages: Sequence[str]) -> int:
        """Characters of the passages that are still to be encoded, each passage once."""
        return sum(len(each) for each in set(passages) if self._vectors.get(each) is None)

    def _vector_of(self, question: str) -> NDArray[np.float32]:
        # Read once: another thread may ask meanwhile.
        asked = self._asked
        if asked is None or asked[0] != question:
            asked = self._asked = question, self.biencoder.encode_queries([question])[0].numpy()
        return asked[1]

    def _vectors_of(self, passages: Sequence[str]) -> dict[str, NDArray[np.float32]]:
        found: dict[str, NDArray[np.float32]] = {}
        missing: list[str] = []
        for passage in dict.fromkeys(passages):
            vector = self._vectors.get(passage)
            if vector is None:
                missing.append(passage)
            else:
                found[passage] = vector
        if missing:
            encoded = self.biencoder.encode_articles(missing).numpy()
            for passage, vector in zip(missing, encoded, strict=True):
                # A copy: a row would keep the whole block of vectors alive.
                found[passage] = vector.copy()
                self._vectors.put(passage, found[passage], vector.size)
        return found
