"""What a bi-encoder finds for the questions of a run: the candidates of a ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.models.artifacts import sync
from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.statutes.article import indexed_text
from components.statutes.question import Question
from training.data import TrainingData

_FOUND_FILE = "found.npz"


@dataclass(frozen=True)
class Candidates:
    """The articles found for some questions.

    Attributes:
        questions: `n_questions` of them.
        vectors: Of the questions, float32 `[n_questions, dim]`, of unit length.
        found: Positions of the articles nearest to each, best first, int64 `[n_questions, m]`.
    """

    questions: Sequence[Question]
    vectors: NDArray[np.float32]
    found: NDArray[np.int64]


@dataclass(frozen=True)
class FirstStage:
    """A bi-encoder's exact search over a law.

    Attributes:
        articles: Vectors of the articles, float32 `[n_articles, dim]`, of unit length.
        train: What is found for the questions to learn from.
        dev: What is found for the questions to choose by.
    """

    articles: NDArray[np.float32]
    train: Candidates
    dev: Candidates

    @classmethod
    def search(cls, biencoder: BiEncoder, data: TrainingData, m: int) -> FirstStage:
        """Encode law and questions, and find the m nearest articles of each question.

        Args:
            biencoder: The first stage.
            data: Law and questions.
            m: Articles to find; a smaller law gives all that it has.
        """
        texts = [
            indexed_text(each.headings, each.text, biencoder.text_rule) for each in data.corpus
        ]
        articles = biencoder.encode_articles(texts).numpy()
        index = DenseIndex(articles, device=str(biencoder.device.type))

        def candidates(questions: Sequence[Question]) -> Candidates:
            vectors = biencoder.encode_queries([each.text for each in questions]).numpy()
            return Candidates(questions, vectors, index.search(vectors, m)[1])

        return cls(articles, candidates(data.train), candidates(data.dev))

    def kept_in(self, work: Path) -> FirstStage:
        """The same with what was found when the run began, which is written down where it is not.

        Encoded anew, near articles may change places on some devices; a run that is taken up again
        must not learn from other negatives than before.
        """
        path = work / _FOUND_FILE
        if not path.exists():
            partial = work / f".{_FOUND_FILE}.partial"
            with partial.open("wb") as file:
                np.savez(file, train=self.train.found, dev=self.dev.found)
            sync(partial)
            partial.replace(path)
        with np.load(path, allow_pickle=False) as kept:
            return replace(
                self,
                train=replace(self.train, found=kept["train"]),
                dev=replace(self.dev, found=kept["dev"]),
            )

    def cosines(
        self, questions: NDArray[np.int64], articles: NDArray[np.int64]
    ) -> NDArray[np.float32]:
        """Similarity of training questions and articles, pair by pair.

        Args:
            questions: int64 `[n]`, rows of the training questions.
            articles: int64 `[n]`, positions of articles.
        """
        cosines: NDArray[np.float32] = np.einsum(
            "ij,ij->i", self.train.vectors[questions], self.articles[articles]
        )
        return cosines
