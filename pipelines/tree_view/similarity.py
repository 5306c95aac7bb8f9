"""How alike articles are that stand near each other (G-DSR, Appendix A.2)."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from tqdm import tqdm

from components.converters.articles import article_of
from components.statutes.article import Article, indexed_text
from components.statutes.corpus import StatuteCorpus
from components.statutes.tree import LegislativeTree
from pipelines.binding import store_with_articles
from pipelines.files import LoadingError

# Articles with their vectors, out of a store or freshly encoded.


_BLOCK = 1000


@dataclass(frozen=True)
class ArticleVectors:
    """Articles, one vector each.

    Attributes:
        articles: In the law's order; those of a store without their words.
        vectors: Of unit length, float32 `[n_articles, dim]`.
        model: Folder or name of the model that they come from; "" where the store does not say.
        through_graph: Whether they went through the model's graph network.
        without: Articles left out because they have no vector.
    """

    articles: list[Article]
    vectors: NDArray[np.float32]
    model: str
    through_graph: bool
    without: int


def stored_vectors(path: Path) -> ArticleVectors:
    """The vectors of a store, as they were indexed.

    Raises:
        LoadingError: There is no such store, or it holds no vectors.
        StoreError: It holds no article, or its file cannot be read.
    """
    with store_with_articles(path) as store:
        keys, vectors = store.vectors()
        if not len(keys):
            raise LoadingError(
                f"{path} holds text alone, no vectors. Index the corpus with a model: python -m "
                f"pipelines.index --corpus ... --store {path} --model DIR."
            )
        articles: list[Article] = []
        for start in range(0, len(keys), _BLOCK):
            block = map(article_of, store.fetch(keys[start : start + _BLOCK]))
            articles.extend(replace(article, text="") for article in block)
        without = store.count_documents() - len(keys)
        model = store.model
    if len(articles) != len(vectors):
        raise LoadingError(f"{path} was changed while it was read. Run the same command again.")
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    path_of_model = model.path if model else ""
    through_graph = model is not None and model.through_graph
    return ArticleVectors(articles, vectors, path_of_model, through_graph, without)


def encoded_vectors(
    corpus: StatuteCorpus, model: str, say: Callable[[str], object]
) -> ArticleVectors:
    """The vectors that a model's bi-encoder gives a corpus; nothing is kept.

    Raises:
        ModelError: The model cannot be loaded.
    """
    from components.models.registry import shared_model

    encoder = shared_model(model)
    say(f"Encoding {len(corpus):,} articles with {model}")
    texts = [indexed_text(article.headings, article.text, encoder.text_rule) for article in corpus]
    with tqdm(total=len(texts), desc="Encoding", unit="text", disable=None) as bar:
        vectors: NDArray[np.float32] = encoder.encode_articles(texts, progress=bar.update).numpy()
    return ArticleVectors(corpus.articles, vectors, model, through_graph=False, without=0)


RANDOM_PAIRS = 100_000
SEED = 0
_CELLS = 2_000_000  # similarities held at a time
_NORMAL_95 = 1.959964


@dataclass(frozen=True, slots=True)
class Similarity:
    """Cosine similarity of pairs of articles.

    Attributes:
        pairs: How many pairs, each counted once.
        mean: Mean over the pairs.
        interval: 95% interval of the mean, in which pairs that share an article count as dependent;
            None for a single pair, which has no spread.
    """

    pairs: int
    mean: float
    interval: tuple[float, float] | None


@dataclass(frozen=True, slots=True)
class NeighbourSimilarity:
    """Similarity of articles by how near each other they stand, beside that of random pairs.

    Attributes:
        articles: Number of articles.
        laws: Number of laws.
        sequence: By the number of steps from article to article inside a law, from 1.
        tree: By tree distance inside a law: 2 is siblings.
        other_law: All pairs of different laws; None where there is one law.
        random: Pairs drawn from the whole corpus, or all pairs of a small one.
    """

    articles: int
    laws: int
    sequence: dict[int, Similarity]
    tree: dict[int, Similarity]
    other_law: Similarity | None
    random: Similarity


def measure_neighbours(
    articles: Sequence[Article], vectors: NDArray[np.float32], *, farthest: int
) -> NeighbourSimilarity:
    """Measure all pairs inside each law, all pairs across laws, and random pairs.

    Memory beyond the vectors does not grow with the number of pairs; time grows with the square of
    the largest law.

    Args:
        articles: In the corpus's order; a law's articles need not stand together.
        vectors: One of unit length an article, float32 `[n_articles, dim]`.
        farthest: The largest sequence distance.

    Raises:
        ValueError: There are fewer than two articles, or not one vector for each.
    """
    n = len(articles)
    if n < 2 or len(vectors) != n:
        raise ValueError(f"similarity needs two articles and their vectors, not {n} articles")
    laws: dict[str, list[int]] = {}
    for position, article in enumerate(articles):
        laws.setdefault(article.law, []).append(position)
    deepest = max(len(article.headings) for article in articles)
    by_sequence = _Tally(n, farthest + 1)
    by_tree = _Tally(n, 2 * deepest + 3)
    for positions in laws.values():
        own = vectors[positions]
        _add_sequence(by_sequence, np.array(positions), own)
        tree = LegislativeTree([articles[position] for position in positions])
        _add_tree(by_tree, np.array(positions), own, tree)
    return NeighbourSimilarity(
        articles=n,
        laws=len(laws),
        sequence=by_sequence.similarities(1),
        tree=by_tree.similarities(2),
        other_law=_across(vectors, laws) if len(laws) > 1 else None,
        random=_random(vectors),
    )


class _Tally:
    """Similarities added up by article and distance, every pair from both its sides."""

    def __init__(self, n_articles: int, n_distances: int) -> None:
        self.counts = np.zeros((n_articles, n_distances))
        self.totals = np.zeros((n_articles, n_distances))
        self.squares = np.zeros(n_distances)  # twice the sum over pairs

    def similarities(self, nearest: int) -> dict[int, Similarity]:
        """By distance, from `nearest`, where there are pairs."""
        return {
            distance: _similarity(
                self.counts[:, distance],
                self.totals[:, distance],
                float(self.squares[distance]) / 2,
            )
            for distance in range(nearest, len(self.squares))
            if self.counts[:, distance].any()
        }


def _add_sequence(
    tally: _Tally, positions: NDArray[np.int64], vectors: NDArray[np.float32]
) -> None:
    for distance in range(1, min(len(tally.squares), len(positions))):
        similar = np.einsum("ij,ij->i", vectors[:-distance], vectors[distance:]).astype(np.float64)
        for side in (positions[:-distance], positions[distance:]):
            tally.counts[side, distance] += 1
            tally.totals[side, distance] += similar
            tally.squares[distance] += np.square(similar).sum()


def _add_tree(
    tally: _Tally,
    positions: NDArray[np.int64],
    vectors: NDArray[np.float32],
    tree: LegislativeTree,
) -> None:
    n, n_distances = len(positions), len(tally.squares)
    rows = max(1, _CELLS // n)
    for start in range(0, n, rows):
        block = np.arange(start, min(start + rows, n))
        similar = (vectors[block] @ vectors.T).ravel()
        distance = tree.distances(block)
        cell = (distance + n_distances * np.arange(len(block), dtype=np.int64)[:, None]).ravel()
        shape = (len(block), n_distances)
        counts = np.bincount(cell, minlength=len(block) * n_distances)
        totals = np.bincount(cell, similar, minlength=len(block) * n_distances)
        tally.counts[positions[block]] += counts.reshape(shape)
        tally.totals[positions[block]] += totals.reshape(shape)
        tally.squares += np.bincount(distance.ravel(), np.square(similar), minlength=n_distances)


def _across(vectors: NDArray[np.float32], laws: dict[str, list[int]]) -> Similarity:
    """All pairs of articles of different laws, from sums: all pairs less those inside a law.

    The squares of all similarities of V add up to the squared Frobenius norm of V^T V.
    """
    counts = np.full(len(vectors), float(len(vectors)))
    totals = _with_all(vectors)
    squares = _squared_norm(vectors)
    for positions in laws.values():
        own = vectors[positions]
        counts[positions] -= len(positions)
        totals[positions] -= _with_all(own)
        squares -= _squared_norm(own)
    return _similarity(counts, totals, squares / 2)


def _with_all(vectors: NDArray[np.float32]) -> NDArray[np.float64]:
    """Each vector's similarities with all of them, itself included, added up."""
    total = vectors.sum(axis=0, dtype=np.float64).astype(np.float32)
    similar: NDArray[np.float64] = (vectors @ total).astype(np.float64)
    return similar


def _squared_norm(vectors: NDArray[np.float32]) -> float:
    # Of two equal norms, that of V^T V and that of V V^T, the smaller matrix's.
    few = len(vectors) < vectors.shape[1]
    product = vectors @ vectors.T if few else vectors.T @ vectors
    return float(np.square(product, dtype=np.float64).sum())


def _random(vectors: NDArray[np.float32]) -> Similarity:
    n = len(vectors)
    if n * (n - 1) // 2 <= RANDOM_PAIRS:
        first, second = np.triu_indices(n, 1)
    else:
        chance = np.random.default_rng(SEED)
        first = chance.integers(0, n, RANDOM_PAIRS)
        second = (first + chance.integers(1, n, RANDOM_PAIRS)) % n
    similar = np.empty(len(first))
    size = max(1, _CELLS // vectors.shape[1])
    for start in range(0, len(first), size):
        part = slice(start, start + size)
        similar[part] = np.einsum("ij,ij->i", vectors[first[part]], vectors[second[part]])
    both = np.concatenate([first, second])
    counts = np.bincount(both, minlength=n).astype(np.float64)
    weights = np.concatenate([similar, similar])
    totals = np.bincount(both, weights, minlength=n).astype(np.float64)
    return _similarity(counts, totals, float(np.square(similar).sum()))


def _similarity(
    counts: NDArray[np.float64], totals: NDArray[np.float64], squares: float
) -> Similarity:
    """Mean over pairs, and its interval with the articles as clusters of pairs.

    Var(mean) = (sum_i (sum_j e_ij)^2 - sum_pairs e_ij^2) / pairs^2, e_ij = s_ij - mean (Fafchamps
    and Gubert's variance of dyads); never less than that of independent pairs.

    Args:
        counts: Pairs that each article is in, `[n_articles]`.
        totals: Sum of similarities over these pairs, `[n_articles]`.
        squares: Sum of squared similarities over all pairs.
    """
    pairs = int(counts.sum()) // 2
    mean = float(totals.sum()) / 2 / pairs
    if pairs == 1:
        return Similarity(pairs, mean, None)
    independent = max(squares - pairs * mean**2, 0.0)
    dependent = float(np.square(totals - mean * counts).sum()) - independent
    reach = _NORMAL_95 * max(dependent, independent) ** 0.5 / pairs
    return Similarity(pairs, mean, (mean - reach, mean + reach))
