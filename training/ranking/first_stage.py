"""What a bi-encoder finds for the questions of a run: the candidates of a ranker."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device
from components.models.folder import (
    GRAPH_PART,
    MANIFEST_FILE,
    find_model,
    graph_model_digest,
    model_digest,
    read_manifest,
    whole_file,
)
from components.models.graph import LegislativeGraphEncoder, enriched, graph_for, node_texts
from components.statutes.article import indexed_text
from components.statutes.question import Question
from training.data import TrainingData

_FOUND_FILE = "found.npz"


def open_network(model: str, device: str | None) -> LegislativeGraphEncoder | None:
    """The graph network in a model folder; None where it has none.

    Raises:
        ModelError: There is no such model within reach, or its network is broken.
    """
    folder = find_model(model)
    if not _has_graph(folder):
        return None
    return LegislativeGraphEncoder.load(folder / GRAPH_PART).to(resolve_device(device))


def stage_digest(model: str) -> str:
    """Digest of all that finds candidates: of the bi-encoder, and of the graph where there is one.

    Raises:
        ModelError: There is no such model within reach.
    """
    folder = find_model(model)
    return graph_model_digest(folder) if _has_graph(folder) else model_digest(folder)


def _has_graph(folder: Path) -> bool:
    return (folder / MANIFEST_FILE).exists() and GRAPH_PART in read_manifest(folder).parts


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
    """A model's exact search over a law: a bi-encoder's, or a graph network's over it.

    Attributes:
        articles: Vectors of the articles, float32 `[n_articles, dim]`, of unit length.
        train: What is found for the questions to learn from.
        dev: What is found for the questions to choose by.
    """

    articles: NDArray[np.float32]
    train: Candidates
    dev: Candidates

    @classmethod
    def search(
        cls,
        biencoder: BiEncoder,
        data: TrainingData,
        m: int,
        network: LegislativeGraphEncoder | None = None,
    ) -> FirstStage:
        """Encode law and questions, and find the m nearest articles of each question.

        Args:
            biencoder: The first stage.
            data: Law and questions.
            m: Articles to find; a smaller law gives all that it has.
            network: What the articles' vectors go through, as they do when the law is indexed.
        """
        if network is None:
            texts = [
                indexed_text(each.headings, each.text, biencoder.text_rule) for each in data.corpus
            ]
            articles = biencoder.encode_articles(texts).numpy()
        else:
            graph = graph_for(network, data.corpus)
            nodes = list(node_texts(graph, data.corpus, biencoder.text_rule))
            vectors_of_nodes = biencoder.encode_articles(nodes)
            articles = enriched(
                network, graph, range(len(data.corpus)), lambda rows: vectors_of_nodes[rows]
            ).numpy()
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
            with whole_file(path) as partial, partial.open("wb") as file:
                np.savez(file, train=self.train.found, dev=self.dev.found)
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
