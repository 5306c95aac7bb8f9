"""Answered questions, kept with a store: they predict the articles that answer a new one."""

import copy
import hashlib
import io
import json
from collections import Counter
from collections.abc import Callable, Container, Sequence
from itertools import islice
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from components.statutes.article import normalised
from components.stores.database import damaged
from components.stores.sqlite import StatuteDocumentStore

if TYPE_CHECKING:
    from components.models.biencoder import BiEncoder

# Chosen on training questions of Aldermere that were left out, and on its dev questions. The ranks
# hardly change with the ridge; more neighbours find hardly more and take longer.
_NEAREST = 150
_SHARPNESS = 3.5
_SPELLING = 0.25
_RIDGE = 0.3

ANSWERED = "answered"
_FORMAT = "3"
_BLOB = "answered"
_RECORD = "answered-record"


class AnsweredQuestions:
    """Questions whose answers are known. Those similar to a new question predict its answer.

    Kernel ridge regression over the 150 questions that are nearest to the new one, `q`:

        k(x, y) = exp(-3.5 (1 - cos(x, y)) / s) + c(x, y) / 4
        w = (K + 0.3 I)^-1 k(q)

    `cos` is that of their vectors. `s` is the mean of `1 - cos` over all pairs, since models spread
    questions differently. `c` is the cosine of TF-IDF vectors of their sequences of four
    characters, which survive typing mistakes. `K` holds the kernel of the nearest questions with
    each other, so that ten of them that say the same do not count ten times.

    An article's votes are the sum of `w` over the questions that it answers. The sum over all
    questions that have an answer tells whether the law answers this one: it is near 1 among such
    questions, and near 0 among questions without an answer or far from any. An article's score is
    the mean of that sum and its votes.

    Args:
        texts: of the questions.
        relevant: ids of the articles that answer each; none where the law does not answer it.
        vectors: float32 `[n, dim]`, of length 1.
        weight: of the list in a fusion in which words have 1.
    """

    def __init__(
        self,
        texts: Sequence[str],
        relevant: Sequence[Sequence[str]],
        vectors: NDArray[np.float32],
        weight: float,
    ) -> None:
        from sklearn.feature_extraction.text import TfidfVectorizer

        self.texts = texts
        self.relevant = relevant
        self.vectors = vectors
        self.weight = weight
        self._spelling = TfidfVectorizer(
            analyzer="char_wb", ngram_range=(4, 4), sublinear_tf=True, dtype=np.float32
        )
        self._spelled = self._spelling.fit_transform(texts)
        self._pieces = self._spelling.build_analyzer()
        mean = vectors.mean(axis=0)
        self._spread = max(1.0 - float(mean @ mean), 1e-3)

    def search(
        self, question: str, query: NDArray[np.float32], searched: Callable[[str], bool]
    ) -> dict[str, float]:
        """The articles that answered questions like this one.

        Args:
            question: its words.
            query: its vector, float32 `[dim]`.
            searched: whether an article, by its id, is searched; a question that has answers, but
                none of these, has no vote.

        Returns:
            Scores by id, best first: that of the first article, and those of all others with
            positive votes. Empty if no question has a searched article.
        """
        alike = self.similarities(question, query)
        voting = (
            (row, ids)
            for row in np.argsort(-alike, kind="stable").tolist()
            if (ids := [each for each in self.relevant[row] if searched(each)])
            or not self.relevant[row]
        )
        nearest = list(islice(voting, _NEAREST))
        if not any(ids for _, ids in nearest):
            # The first article's score says that there is hardly an answer.
            nearest += islice((each for each in voting if each[1]), 1)
        if not any(ids for _, ids in nearest):
            return {}
        rows = [row for row, _ in nearest]
        vectors, spellings = self.vectors[rows], self._spelled[rows]
        kernel = self._kernel(vectors @ vectors.T, (spellings @ spellings.T).toarray())
        kernel[np.diag_indices_from(kernel)] += _RIDGE
        votes: dict[str, float] = {}
        answerable = 0.0
        weights = np.linalg.solve(kernel, alike[rows]).tolist()
        for (_, ids), weight in zip(nearest, weights, strict=True):
            for id_ in ids:
                votes[id_] = votes.get(id_, 0.0) + weight
            answerable += weight if ids else 0.0
        best_first = sorted(votes.items(), key=lambda each: -each[1])
        return {
            id_: (answerable + each) / 2
            for place, (id_, each) in enumerate(best_first)
            if each > 0 or not place
        }

    def similarities(self, question: str, query: NDArray[np.float32]) -> NDArray[np.float32]:
        """`k` of each of them and a new question, `[n]`, from 0 to 1.25.

        Args:
            question: its words.
            query: its vector, float32 `[dim]`.
        """
        # What `self._spelling.transform` gives, which takes as long as all else together.
        known = self._spelling.vocabulary_
        counts = Counter(known[piece] for piece in self._pieces(question) if piece in known)
        spelled = np.zeros(len(known), dtype=np.float32)
        columns = list(counts)
        spelled[columns] = self._spelling.idf_[columns] * (1 + np.log(list(counts.values())))
        spelled /= np.linalg.norm(spelled) or 1
        return self._kernel(self.vectors @ (query / np.linalg.norm(query)), self._spelled @ spelled)

    def _kernel(
        self, cosines: NDArray[np.float32], spellings: NDArray[np.float32]
    ) -> NDArray[np.float32]:
        """`k` of pairs, by the cosines of their vectors and of their spellings."""
        apart = 1 - np.minimum(cosines, 1)  # rounding may take a cosine above 1
        by_meaning: NDArray[np.float32] = np.exp(-_SHARPNESS * apart / self._spread)
        return by_meaning + _SPELLING * spellings

    def without(self, texts: Container[str]) -> "AnsweredQuestions":
        """The other questions.

        Args:
            texts: normalised (`components.statutes.article.normalised`), of those to leave out.
        """
        rows = [row for row, text in enumerate(self.texts) if normalised(text) not in texts]
        if len(rows) == len(self.texts):
            return self
        # Spread and TF-IDF weights stay those of all questions, so the kernel does not change.
        others = copy.copy(self)
        others.texts = [self.texts[row] for row in rows]
        others.relevant = [self.relevant[row] for row in rows]
        others.vectors, others._spelled = self.vectors[rows], self._spelled[rows]
        return others

    def encoded_by(self, model: "BiEncoder") -> "AnsweredQuestions | None":
        """The same questions with the vectors that a model's folder holds; None where it does not.

        Args:
            model: with another questions' tower than theirs.
        """
        if not model.knows(self.texts):
            return None
        vectors = model.answered_vectors(self.texts).numpy()
        vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
        return AnsweredQuestions(self.texts, self.relevant, vectors, self.weight)

    def keep(self, store: StatuteDocumentStore) -> None:
        """Save them with a store, in place of those that it had."""
        assert store.model is not None
        file = io.BytesIO()
        words = {"texts": list(self.texts), "relevant": [list(ids) for ids in self.relevant]}
        np.savez(
            file,
            vectors=self.vectors,
            words=np.frombuffer(json.dumps(words).encode(), dtype=np.uint8),
        )
        content = file.getvalue()
        record = f"{_FORMAT} {self.weight} {hashlib.sha256(content).hexdigest()}"
        # If this stops half-way, the store has none.
        store.save_blob(_RECORD, store.model.question_digest, b"")
        store.save_blob(_BLOB, store.model.question_digest, content)
        # Small, so that each question can check whether they are still the same.
        store.save_blob(_RECORD, store.model.question_digest, record.encode())

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
            raise damaged(store.database.path, what) from error


def adopt_answered(store: StatuteDocumentStore, model: "BiEncoder") -> bool:
    """Keep a store's answered questions again with the vectors that a model's folder holds.

    Args:
        store: whose questions another model encoded.
        model: the store's now.

    Returns:
        Whether there are such questions, and the folder holds the vectors of all.
    """
    kept = store.load_blob(_RECORD)
    record = None if kept is None else recorded_questions(store, kept[0])
    if record is None:
        return False
    questions = AnsweredQuestions.read(store, record).encoded_by(model)
    if questions is not None:
        questions.keep(store)
    return questions is not None


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
        model = store.model.question_digest
    if kept[0] != model:
        return None
    record = kept[1].decode(errors="replace")
    return record if record.startswith(f"{_FORMAT} ") else None


def has_unread(store: StatuteDocumentStore) -> bool:
    """Whether a store has answered questions that its model, or this release, cannot search."""
    return store.load_blob(_RECORD) is not None and recorded_questions(store) is None
