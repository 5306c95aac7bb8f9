"""Answered questions, kept with a store: they vote for the articles that answered them."""

import hashlib
import io
import json
from collections.abc import Callable, Container, Iterable, Sequence
from itertools import islice

import numpy as np
from numpy.typing import NDArray

from components.models.lexical_index import LexicalIndex
from components.statutes.article import normalised
from components.statutes.lexical import K1, B
from components.stores.rows import StoreError, damaged
from components.stores.sqlite import StatuteDocumentStore

_NEAREST = 50
# The nearest of them counts 1, the last e^-2.5. The width is relative to the similarities found,
# since models spread theirs differently. Chosen on dev questions of Aldermere and Book I.
_SHARPNESS = 2.5
# So many are averaged to say how near a question comes to them. On dev and test questions of
# Aldermere one tells less, and so do fifty.
_AVERAGED = 10

ANSWERED = "answered"
_FORMAT = "2"
_BLOB = "answered"
_RECORD = "answered-record"


class AnsweredQuestions:
    """Questions with the articles that answer them, searched by meaning and by words.

    The questions nearest to a new one vote for their articles (k nearest neighbours): the votes for
    an article are the sum over the 50 nearest questions that it answers of
    `exp(2.5 (s - s_1) / (s_1 - s_50))`, where `s` is the similarity, and `s_1` and `s_50` are those
    of the nearest and the last of them. Those nearest by cosine and those nearest by BM25 have the
    same number of votes in all. An article's score is its votes in proportion to those of the first
    article, whose score is the mean cosine of the ten nearest questions: how near the question
    comes to any that has an answer.

    Args:
        texts: of the questions.
        relevant: ids of the articles that answer each.
        languages: of the texts (BCP 47), for their analysis; None where it is unknown.
        vectors: float32 `[n, dim]`, of length 1.
        weight: of the list in a fusion in which words have 1.
    """

    def __init__(
        self,
        texts: Sequence[str],
        relevant: Sequence[Sequence[str]],
        languages: Sequence[str | None],
        vectors: NDArray[np.float32],
        weight: float,
    ) -> None:
        self.texts = texts
        self.relevant = relevant
        self.languages = languages
        self.vectors = vectors
        self.weight = weight
        indexed = zip(range(len(texts)), texts, languages, strict=True)
        self._words = LexicalIndex.build(indexed, k1=K1, b=B)

    def search(
        self, question: str, query: NDArray[np.float32], searched: Callable[[str], bool]
    ) -> dict[str, float]:
        """The articles that answered the questions nearest to this one.

        Args:
            question: its words.
            query: its vector, float32 `[dim]`.
            searched: whether an article, by its id, is searched; a question that none of these
                answers has no vote.

        Returns:
            Scores by id, best first.
        """

        def nearest(
            rows: NDArray[np.int64], similarities: NDArray[np.float32]
        ) -> list[tuple[list[str], float]]:
            answerable = (
                (ids, similarity)
                for row, similarity in zip(rows.tolist(), similarities.tolist(), strict=True)
                if (ids := [each for each in self.relevant[row] if searched(each)])
            )
            return list(islice(answerable, _NEAREST))

        cosines = self.vectors @ (query / np.linalg.norm(query))
        order = np.argsort(-cosines, kind="stable")
        by_meaning = nearest(order, cosines[order])
        if not by_meaning:
            return {}
        by_words = nearest(*self._words.search(question, len(self.texts)))
        votes: dict[str, float] = {}
        for found in (by_meaning, by_words):
            for id_, share in _votes(found):
                votes[id_] = votes.get(id_, 0.0) + share
        near = max(0.0, float(np.mean([cosine for _, cosine in by_meaning[:_AVERAGED]])))
        most = max(votes.values())
        best_first = sorted(votes.items(), key=lambda each: -each[1])
        return {id_: near * each / most for id_, each in best_first}

    def without(self, texts: Container[str]) -> "AnsweredQuestions":
        """The other questions.

        Args:
            texts: normalised (`components.statutes.article.normalised`), of those to leave out.
        """
        rows = [row for row, text in enumerate(self.texts) if normalised(text) not in texts]
        if len(rows) == len(self.texts):
            return self
        return AnsweredQuestions(
            [self.texts[row] for row in rows],
            [self.relevant[row] for row in rows],
            [self.languages[row] for row in rows],
            self.vectors[rows],
            self.weight,
        )

    def keep(self, store: StatuteDocumentStore) -> None:
        """Save them with a store, in place of those that it had."""
        assert store.model is not None
        file = io.BytesIO()
        words = {
            "texts": list(self.texts),
            "relevant": [list(ids) for ids in self.relevant],
            "languages": list(self.languages),
        }
        np.savez(
            file,
            vectors=self.vectors,
            words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
        )
        content = file.getvalue()
        record = f"{_FORMAT} {self.weight} {hashlib.sha256(content).hexdigest()}"
        # If this stops half-way, the store has none.
        store.save_blob(_RECORD, store.model.biencoder_digest, b"")
        store.save_blob(_BLOB, store.model.biencoder_digest, content)
        # Small, so that each question can check whether they are still the same.
        store.save_blob(_RECORD, store.model.biencoder_digest, record.encode())

    @classmethod
    def read(cls, store: StatuteDocumentStore, record: str) -> "AnsweredQuestions":
        """Read those that are kept with a store.

        Args:
            store: where they are kept.
            record: what `recorded_questions` returned.

        Raises:
            StoreError: the stored questions are damaged.
        """
        kept = store.load_blob(_BLOB)
        try:
            _, weight, digest = record.split()
            if kept is None or hashlib.sha256(kept[1]).hexdigest() != digest:
                raise ValueError("they are not those on record")
            with np.load(io.BytesIO(kept[1]), allow_pickle=False) as file:
                words = json.loads(file["words"].tobytes())
                return cls(**words, vectors=file["vectors"], weight=float(weight))
        except (TypeError, ValueError) as error:
            what = f"its answered questions cannot be read: {error}"
            raise StoreError(damaged(store.database.path, what)) from error


def _votes(found: Sequence[tuple[list[str], float]]) -> Iterable[tuple[str, float]]:
    """Shares of the votes, 1 in all, by id; `found` has the ids of each question, nearest first."""
    if not found:
        return []
    similarities = np.array([similarity for _, similarity in found])
    width = max(float(similarities[0] - similarities[-1]), 1e-6)
    weights = np.exp(_SHARPNESS * (similarities - similarities[0]) / width)
    given = [
        (id_, weight)
        for (ids, _), weight in zip(found, weights.tolist(), strict=True)
        for id_ in ids
    ]
    total = sum(weight for _, weight in given)
    return [(id_, weight / total) for id_, weight in given]


def recorded_questions(store: StatuteDocumentStore, model: str | None = None) -> str | None:
    """The record of a store's answered questions, which changes whenever they change.

    None if it has none, another model encoded them, or an older release kept them.

    Args:
        store: where they are kept.
        model: digest of the bi-encoder that searches them; None for the store's.
    """
    kept = store.load_blob(_RECORD)
    if kept is None:
        return None
    if model is None and store.model is not None:
        model = store.model.biencoder_digest
    if kept[0] != model:
        return None
    record = kept[1].decode(errors="replace")
    return record if record.startswith(f"{_FORMAT} ") else None


def has_unread(store: StatuteDocumentStore) -> bool:
    """Whether a store has answered questions that its model, or this release, cannot search."""
    return store.load_blob(_RECORD) is not None and recorded_questions(store) is None
