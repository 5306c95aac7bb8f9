"""What a ranker learns from: first-stage candidates, examples, and their order in batches."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence, Sized
from dataclasses import dataclass, replace
from pathlib import Path
from typing import cast

import numpy as np
from datasets import Dataset
from numpy.typing import NDArray
from sentence_transformers.base.sampler import DefaultBatchSampler
from torch import Tensor

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
from components.models.learned_fusion import DENSE, LearnedFusion
from components.models.similarity import Similarity
from components.statutes.article import indexed_text
from components.statutes.question import Question
from training.data import TrainingData
from training.fusion import Searches, weights_of
from training.negatives.gold import Gold, flattened
from training.negatives.semihard import MinedNegatives
from training.settings import RERANKED

# (question, article) pairs as a cross-encoder reads them: passage by passage.


Score = Callable[[Sequence[tuple[str, str]]], Tensor]
"""Logits `[n_pairs]` of (question, passage) pairs."""


@dataclass(frozen=True)
class ArticlePairs:
    """The (question, passage) pairs of some (question, article) pairs.

    Attributes:
        pairs: All of them, one article after the other.
        starts: Where each article's pairs begin, int64 `[n_articles]`.
    """

    pairs: Sequence[tuple[str, str]]
    starts: NDArray[np.int64]

    @classmethod
    def of(cls, questions: Sequence[str], passages: Sequence[Sequence[str]]) -> ArticlePairs:
        """Join each question with the passages of its article; every article has at least one."""
        counts = [len(each) for each in passages]
        return cls(
            pairs=[(q, p) for q, own in zip(questions, passages, strict=True) for p in own],
            starts=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)])[:-1].astype(np.int64),
        )

    def logits(self, score: Score) -> NDArray[np.float32]:
        """The logit of each article, which is its best passage's, float32 `[n_articles]`."""
        if not len(self.starts):
            return np.empty(0, np.float32)
        best: NDArray[np.float32] = np.maximum.reduceat(np.asarray(score(self.pairs)), self.starts)
        return best


def probabilities(logits: NDArray[np.floating]) -> NDArray[np.float64]:
    """Sigmoid of logits, without overflow."""
    values: NDArray[np.float64] = 0.5 * (1 + np.tanh(0.5 * logits.astype(np.float64)))
    return values


Passages = Callable[[str, Sequence[int]], list[list[str]]]
"""From a question's text and articles' positions to the passages read of each article."""


@dataclass(frozen=True)
class Examples:
    """(question, article) examples, positives before negatives.

    Attributes:
        questions: Rows of the questions, int64 `[n]`.
        articles: Positions of the articles, int64 `[n]`.
        n_positives: How many of them are positives; these come first.
    """

    questions: NDArray[np.int64]
    articles: NDArray[np.int64]
    n_positives: int

    @classmethod
    def of(cls, gold: Gold, negatives: MinedNegatives) -> Examples:
        """Each (question, positive) once, and each (question, mined negative) once."""
        rows, positives = flattened(gold.positives, np.arange(gold.n_questions))
        return cls(
            questions=np.concatenate([rows, negatives.questions]),
            articles=np.concatenate([positives, negatives.articles]),
            n_positives=len(rows),
        )

    def dataset(self, questions: Sequence[Question], passages: Passages) -> Dataset:
        """Columns `question`, `passages` (of the article, one or more) and `label` (1 or 0)."""
        texts = [questions[row].text for row in self.questions.tolist()]
        return Dataset.from_dict(
            {
                "question": texts,
                "passages": read_passages(texts, self.articles.tolist(), passages),
                "label": [float(place < self.n_positives) for place in range(len(texts))],
            }
        )


def read_passages(
    questions: Sequence[str], articles: Sequence[int], passages: Passages
) -> list[list[str]]:
    """The passages read of each (question, article); passages are chosen once per question.

    Args:
        questions: `[n]`.
        articles: Positions, `[n]`.
        passages: Chooses the passages.
    """
    places: dict[str, list[int]] = {}
    for place, question in enumerate(questions):
        places.setdefault(question, []).append(place)
    chosen: list[list[str]] = [[] for _ in questions]
    for question, own in places.items():
        for place, texts in zip(own, passages(question, [articles[p] for p in own]), strict=True):
            chosen[place] = texts
    return chosen


# What the first stage finds for the questions of a run: the candidates of a ranker.


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
    """Digest of what finds the candidates: the bi-encoder, and the graph network if any.

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
    """Exact search over a law with a bi-encoder's vectors, or with a graph network's on top.

    Attributes:
        articles: Vectors of the articles, float32 `[n_articles, dim]`, for cosine of unit length.
        train: Candidates of the training questions.
        dev: Candidates of the dev questions.
        similarity: How the vectors are compared.
    """

    articles: NDArray[np.float32]
    train: Candidates
    dev: Candidates
    similarity: Similarity = "cosine"

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
            m: How many articles to find; a smaller law gives all that it has.
            network: The graph network that the articles' vectors pass through, as in indexing.
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
        index = DenseIndex(articles, str(biencoder.device.type), biencoder.similarity)

        def candidates(questions: Sequence[Question]) -> Candidates:
            vectors = biencoder.encode_queries([each.text for each in questions]).numpy()
            return Candidates(questions, vectors, index.search(vectors, m)[1])

        found = candidates(data.train), candidates(data.dev)
        return cls(articles, *found, biencoder.similarity)

    def kept_in(self, work: Path) -> FirstStage:
        """The same with the candidates found when the run began; saves them the first time.

        Encoded again, close articles may change places on some devices; a resumed run must not
        learn from other negatives than before.
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
        """Similarities of training questions and articles, pair by pair.

        Args:
            questions: int64 `[n]`, rows of the training questions.
            articles: int64 `[n]`, positions of articles.
        """
        asked, found = self.train.vectors[questions], self.articles[articles]
        if self.similarity == "l2":
            distances: NDArray[np.float32] = np.linalg.norm(asked - found, axis=1)
            return -distances
        products: NDArray[np.float32] = np.einsum("ij,ij->i", asked, found)
        return products


# What a ranker is given in use: the candidates of `pipelines/hybrid_rerank.yaml`.


def pipeline_candidates(
    stage: FirstStage, data: TrainingData, biencoder: BiEncoder, fusion: LearnedFusion | None
) -> Candidates:
    """The `RERANKED` best articles of each dev question, as `StatuteHybridRetriever` fuses them.

    Except that articles which a question cites come first there, and that its words are corrected.

    Args:
        stage: The vectors of articles and dev questions.
        data: The law.
        biencoder: What made the vectors.
        fusion: The learned one in its folder; None fuses by ranks.

    Returns:
        The same number for each question; a smaller law gives all that it has.
    """
    law = list(data.corpus)
    vectors = {DENSE: stage.articles}
    searches = Searches(law, vectors, biencoder.text_rule, similarity=stage.similarity)
    weight = 1.0 if biencoder.dense_weight is None else biencoder.dense_weight
    found = []
    for question, vector in zip(stage.dev.questions, stage.dev.vectors, strict=True):
        if fusion is not None:
            rows, _ = searches.ranked(question.text, {DENSE: vector}, fusion)
        else:
            rows, _ = searches.by_rank(question.text, {DENSE: vector}, weights_of(weight))
        found.append(rows[:RERANKED])
    return replace(stage.dev, found=np.array(found, dtype=np.int64))


class EpochBatches(DefaultBatchSampler):
    """Batches in a different order for each epoch, decided by seed and epoch alone.

    The sampler of sentence-transformers draws from one stream of random numbers: a run resumed in
    its second epoch would see the order of the first.
    """

    def __iter__(self) -> Iterator[list[int]]:
        n_examples = len(cast(Sized, self.sampler))
        order = np.random.default_rng([self.seed, self.epoch]).permutation(n_examples).tolist()
        for start in range(0, n_examples, self.batch_size):
            yield order[start : start + self.batch_size]
