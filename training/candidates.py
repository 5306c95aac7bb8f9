"""A ranker's candidates: what the first stage finds, what is learnt from it, and how their
order is measured.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import fmean
from typing import Any

import numpy as np
import torch
from numpy.typing import ArrayLike, NDArray
from torch import Tensor

from components.models.biencoder import BiEncoder
from components.models.dense_index import DenseIndex
from components.models.devices import resolve_device
from components.models.folder import (
    GRAPH_PART,
    Similarity,
    find_model,
    graph_model_digest,
    manifest_of,
    model_digest,
    whole_file,
)
from components.models.graph import LegislativeGraphEncoder, enriched, graph_for, node_texts
from components.models.learned_fusion import LearnedFusion
from components.statutes.fusion import rank_candidates
from components.statutes.metrics import metric_depth
from components.statutes.question import Question
from training.data import TrainingData, evaluated, law_vectors, texts_of
from training.fusion import Searches, weights_of
from training.negatives.curriculum import random_generator
from training.negatives.gold import Gold, QuestionNegatives
from training.settings import Strategy

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


Passages = Callable[[str, Sequence[int]], list[list[str]]]
"""From a question's text and articles' positions to the passages read of each article."""


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
    if (manifest := manifest_of(folder)) is None or GRAPH_PART not in manifest.parts:
        return None
    return LegislativeGraphEncoder.load(folder / GRAPH_PART).to(resolve_device(device))


def stage_digest(model: str) -> str:
    """Digest of what finds the candidates: the bi-encoder, and the graph network if any.

    Raises:
        ModelError: There is no such model within reach.
    """
    folder = find_model(model)
    manifest = manifest_of(folder)
    with_graph = manifest is not None and GRAPH_PART in manifest.parts
    return graph_model_digest(folder) if with_graph else model_digest(folder)


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
        *,
        articles: NDArray[np.float32] | None = None,
        store: str | None = None,
    ) -> FirstStage:
        """Encode law and questions, and find the m nearest articles of each question.

        Args:
            biencoder: The first stage.
            data: Law and questions.
            m: How many articles to find; a smaller law gives all that it has.
            network: The graph network that the articles' vectors pass through, as in indexing.
            articles: The law's vectors, where they are known; default: it is encoded.
            store: As for `law_vectors`.

        Raises:
            ModelError: As `law_vectors`.
        """

        def encoded(texts: Sequence[str]) -> NDArray[np.float32]:
            return law_vectors(biencoder, biencoder.articles_digest, texts, store, "article")

        if network is not None:
            graph = graph_for(network, data.corpus)
            nodes = list(node_texts(graph, data.corpus, biencoder.text_rule))
            vectors_of_nodes = torch.from_numpy(encoded(nodes))
            articles = enriched(
                network, graph, range(len(data.corpus)), lambda rows: vectors_of_nodes[rows]
            ).numpy()
        elif articles is None:
            articles = encoded(texts_of(data.corpus, biencoder.text_rule))
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


# Negatives drawn from the candidates (Le et al., 2025).


SCORE_BOUNDS = (0.5, 0.8, 0.9)
"""Upper bounds of the parts in the paper's Table 3."""

_PARTS = ("below_0.5", "0.5_to_0.8", "0.8_to_0.9", "from_0.9")


@dataclass(frozen=True)
class MinedNegatives(QuestionNegatives):
    """The negatives of all questions, and the questions that got too few.

    Attributes:
        short: Ids of the questions that got fewer than were asked for, because no more were left.
    """

    short: tuple[str, ...]


def mine_negatives(
    gold: Gold, found: NDArray[np.int64], *, strategy: Strategy, n: int, seed: int
) -> MinedNegatives:
    """Draw n negatives for each question.

    Articles that `gold` excludes are never drawn: positives, those of questions with the same text,
        and the twins of both. The draw depends only on the seed, the question's id and its
        candidates; a semi-hard draw with a smaller n gets the first negatives of one with a larger
        n.

    Args:
        gold: The questions' positives, `n_questions` of them.
        found: Positions of the articles that the first stage ranks best, best first, int64
            `[n_questions, m]` (paper: m = 90); positives may be among them.
        strategy: semi_hard draws at random from `found`, hard takes its best, easy draws at random
            from the whole corpus. Paper: semi_hard.
        n: Negatives per question. Paper: 2, 5 or 10.
        seed: Seed of the draw.
    """
    drawn = []
    for row, (question, candidates) in enumerate(zip(gold.question_ids, found, strict=True)):
        rng = random_generator(seed, "negatives", strategy, question)
        if strategy == "easy":
            n_allowed = int(gold.n_negatives[row])
            places = rng.choice(n_allowed, size=min(n, n_allowed), replace=False)
            drawn.append(gold.negatives_at(row, places))
            continue
        allowed = candidates[~np.isin(candidates, gold.excluded[row])]
        drawn.append((allowed if strategy == "hard" else rng.permutation(allowed))[:n])
    counts = [len(each) for each in drawn]
    return MinedNegatives(
        articles=np.concatenate([*drawn, np.empty(0, np.int64)]),
        starts=np.concatenate([[0], np.cumsum(counts, dtype=np.int64)]).astype(np.int64),
        short=tuple(q for q, count in zip(gold.question_ids, counts, strict=True) if count < n),
    )


def score_statistics(scores: ArrayLike) -> dict[str, Any]:
    """How high some negatives score, as in the paper's Table 3.

    Args:
        scores: `[n]`, probabilities of a ranker or cosines of a bi-encoder.

    Returns:
        `n`; the shares `below_0.5`, `0.5_to_0.8`, `0.8_to_0.9` and `from_0.9` (a bound belongs to
        the part above it); `mean`. All but `n` are None where there are no scores.
    """
    values = np.asarray(scores, np.float64)
    if not len(values):
        return {"n": 0, **dict.fromkeys((*_PARTS, "mean"))}
    parts = np.searchsorted(SCORE_BOUNDS, values, side="right")
    shares = np.bincount(parts, minlength=len(_PARTS)) / len(values)
    named = dict(zip(_PARTS, shares.tolist(), strict=True))
    return {"n": len(values), **named, "mean": float(values.mean())}


# What a ranker is given in use: the candidates of `pipelines/hybrid_rerank.yaml`.


def pipeline_candidates(
    stage: FirstStage,
    data: TrainingData,
    biencoder: BiEncoder,
    fusion: LearnedFusion | None,
    n_candidates: int,
) -> Candidates:
    """The best articles of each dev question, as `StatuteHybridRetriever` fuses them.

    Except that articles which a question cites come first there, that its words are corrected, and
    that long articles are found by their provisions too.

    Args:
        stage: The vectors of articles and dev questions.
        data: The law.
        biencoder: What made the vectors.
        fusion: The learned one in its folder; None fuses by ranks.
        n_candidates: How many a ranker is given.

    Returns:
        The same number for each question; a smaller law gives all that it has.
    """
    law = list(data.corpus)
    searches = Searches(law, stage.articles, biencoder.text_rule, similarity=stage.similarity)
    weight = 1.0 if biencoder.dense_weight is None else biencoder.dense_weight
    found = []
    for question, vector in zip(stage.dev.questions, stage.dev.vectors, strict=True):
        asked = searches.find(question.text, vector)
        if fusion is not None:
            rows, _ = searches.ranked(asked, fusion)
        else:
            rows, _ = asked.fused(weights_of(weight), len(law))
        found.append(rows[:n_candidates])
    return replace(stage.dev, found=np.array(found, dtype=np.int64))


METRICS = ("R@1", "R@5", "R@10", "MRR@10", "MAP@10", "nDCG@10", "Exist@10", "Exist@50", "Exist@90")


@dataclass(frozen=True)
class DevLists:
    """The candidates of the dev questions.

    Attributes:
        questions: `n_questions` of them.
        found: Ids of each question's candidates in the first stage's order, `m` each.
        pairs: The first `depth` candidates of each question, question after question.
        depth: How many of them are re-ranked.
    """

    questions: Sequence[Question]
    found: Sequence[Sequence[str]]
    pairs: ArticlePairs
    depth: int

    def logits(self, score: Score) -> NDArray[np.float32]:
        """Logits of the candidates that are re-ranked, float32 `[n_questions, depth]`."""
        return self.pairs.logits(score).reshape(len(self.questions), self.depth)

    def re_ranked(
        self, logits: NDArray[np.float32], weight: float | None = None
    ) -> list[list[str]]:
        """Ids of each question's candidates, best first; beyond `depth` they stay as they were.

        Args:
            logits: As returned by `logits`.
            weight: Weight of the first stage's rank, see `rank_candidates`.
        """
        return [
            [*(ids[place] for place in rank_candidates(own, weight).tolist()), *ids[self.depth :]]
            for ids, own in zip(self.found, logits, strict=True)
        ]

    def values(self, ranked: Sequence[Sequence[str]], metric: str) -> list[float]:
        """One metric of each question, `[n_questions]`.

        Args:
            ranked: Ids by question, best first.
            metric: Name; in a law with fewer articles than it looks at, all are candidates.
        """
        return list(self._evaluated(ranked, [metric])[metric].values())

    def metrics(self, ranked: Sequence[Sequence[str]], select_by: str) -> dict[str, float]:
        """Means over the questions: `select_by`, and the metrics that the candidates' depth allows.

        Args:
            ranked: Ids by question, best first.
            select_by: Always measured; in a law with fewer articles all are candidates.
        """
        usual = [name for name in METRICS if metric_depth(name) <= len(self.found[0])]
        names = list(dict.fromkeys((*usual, select_by)))
        return {name: fmean(of.values()) for name, of in self._evaluated(ranked, names).items()}

    def _evaluated(
        self, ranked: Sequence[Sequence[str]], names: Sequence[str]
    ) -> Mapping[str, Mapping[str, float]]:
        depth = max(len(self.found[0]), *map(metric_depth, names))
        return evaluated(self.questions, ranked, names, depth)


# How much the first stage's order counts next to the ranker's own.


WEIGHTS = (0.0, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)
"""Weights of the first stage's rank from which dev chooses."""

_FOLDS = 5


@dataclass(frozen=True)
class FusionWeight:
    """The weight of the first stage's rank, and the results of choosing it.

    Attributes:
        chosen: The best weight on dev, the smallest of several.
        tried: The metric of each weight, by `str(weight)`.
        of_others: For each dev question the weight that is best on the other four fifths of them:
            a weight chosen on the question itself would flatter it.
        held_out: The metric of each dev question with that weight.
    """

    chosen: float
    tried: dict[str, float]
    of_others: list[float]
    held_out: list[float]

    @classmethod
    def choose(cls, lists: DevLists, logits: NDArray[np.float32], metric: str) -> FusionWeight:
        """Try all weights on dev.

        Args:
            lists: The dev lists.
            logits: `[n_questions, depth]`.
            metric: The metric that decides.
        """
        values = np.array(
            [lists.values(lists.re_ranked(logits, weight), metric) for weight in WEIGHTS]
        )
        folds = np.arange(values.shape[1]) % _FOLDS
        rows = np.empty(values.shape[1], np.int64)
        for fold in np.unique(folds):
            rows[folds == fold] = _best(values[:, folds != fold])
        return cls(
            chosen=WEIGHTS[_best(values)],
            tried={
                str(weight): float(own.mean()) for weight, own in zip(WEIGHTS, values, strict=True)
            },
            of_others=[WEIGHTS[row] for row in rows],
            held_out=values[rows, np.arange(len(rows))].tolist(),
        )


def _best(values: NDArray[np.float64]) -> int:
    """The first row with the highest mean; sums in a fixed order, so that equal rows stay equal."""
    return int(np.argmax(values.sum(axis=1)))
