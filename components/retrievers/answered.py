"""Questions that have been answered before: a new question of like meaning has like answers."""

from __future__ import annotations

import hashlib
import io
import json
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from components.stores.rows import StoreError, damaged
from components.stores.sqlite import StatuteDocumentStore

_NEAREST = 50
# The nearest of them counts 1, the last e^-2.5. Chosen on dev questions of Aldermere, Book I and
# the PDPA: a width relative to the similarities found, since models spread theirs differently.
_SHARPNESS = 2.5

ANSWERED = "answered"
_BLOB = "answered"
_RECORD = "answered-record"


@dataclass(frozen=True, eq=False)
class AnsweredQuestions:
    """Questions with the articles that answer them, searched by meaning (k nearest neighbours).

    The questions nearest to a new one vote for their articles: an article's score is the sum over
    the 50 nearest questions that it answers of `exp(2.5 (s - s_1) / (s_1 - s_50))`, where `s` is
    the cosine and `s_1`, `s_50` that of the first and the last of them.

    Attributes:
        texts: of the questions.
        relevant: ids of the articles that answer each.
        vectors: float32 `[n, dim]`, of length 1.
        weight: what the list counts in a fusion in which words have 1.
    """

    texts: Sequence[str]
    relevant: Sequence[Sequence[str]]
    vectors: NDArray[np.float32]
    weight: float

    def search(self, query: NDArray[np.float32]) -> dict[str, float]:
        """The articles that answered the questions nearest to this one.

        Args:
            query: float32 `[dim]`.

        Returns:
            Scores by id, best first.
        """
        similarities = self.vectors @ (query / np.linalg.norm(query))
        nearest = np.argsort(-similarities, kind="stable")[:_NEAREST]
        found = similarities[nearest]
        width = max(float(found[0] - found[-1]), 1e-6)
        votes = np.exp(_SHARPNESS * (found - found[0]) / width)
        scores: dict[str, float] = {}
        for question, vote in zip(nearest.tolist(), votes.tolist(), strict=True):
            for id_ in self.relevant[question]:
                scores[id_] = scores.get(id_, 0.0) + vote
        return dict(sorted(scores.items(), key=lambda each: -each[1]))

    def keep(self, store: StatuteDocumentStore) -> None:
        """Keep them with the documents of a store, in place of those that it had."""
        assert store.model is not None
        file = io.BytesIO()
        words = {"texts": list(self.texts), "relevant": [list(ids) for ids in self.relevant]}
        np.savez(
            file,
            vectors=self.vectors,
            words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
        )
        content = file.getvalue()
        record = f"{self.weight} {hashlib.sha256(content).hexdigest()}"
        store.save_blob(_BLOB, store.model.biencoder_digest, content)
        # Small, so that each question can look whether they are still the same.
        store.save_blob(_RECORD, store.model.biencoder_digest, record.encode())

    @classmethod
    def read(cls, store: StatuteDocumentStore, record: str) -> AnsweredQuestions:
        """Those kept with a store.

        Args:
            store: that has them.
            record: what `recorded` returned.

        Raises:
            StoreError: what the file holds is broken.
        """
        kept = store.load_blob(_BLOB)
        try:
            weight, digest = record.split()
            if kept is None or hashlib.sha256(kept[1]).hexdigest() != digest:
                raise ValueError("they are not those on record")
            with np.load(io.BytesIO(kept[1]), allow_pickle=False) as file:
                words = json.loads(file["words"].tobytes())
                return cls(words["texts"], words["relevant"], file["vectors"], float(weight))
        except ValueError as error:
            what = f"its answered questions cannot be read: {error}"
            raise StoreError(damaged(store.database.path, what)) from error


def recorded(store: StatuteDocumentStore) -> str | None:
    """What a store says of its answered questions, another text whenever they are others.

    None where it has none whose vectors are of the store's model.
    """
    kept = store.load_blob(_RECORD)
    if kept is None or store.model is None or kept[0] != store.model.biencoder_digest:
        return None
    return kept[1].decode(errors="replace")


def of_another_model(store: StatuteDocumentStore) -> bool:
    """Whether a store has answered questions that its model cannot search."""
    return store.load_blob(_RECORD) is not None and recorded(store) is None
