"""Exact nearest neighbours by cosine, dot product or distance, in one resident matrix.

A bi-encoder is trained with one of them and records it; whatever searches its vectors asks here.
Every one of them orders articles as an inner product does: cosine is that of unit vectors, and

    -|q - x|^2 = 2 (q . x - |x|^2 / 2) - |q|^2

so that one exact search serves all three.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np
from numpy.typing import ArrayLike, NDArray

from components.models.folder import Similarity, VectorError
from components.models.selection import kth_greatest
from components.statutes.extras import needs_extra

with needs_extra("Search by vectors", "models"):
    import torch
    from torch import Tensor

    from components.models.devices import resolve_device

# Rows scored at a time: their float64 products stay in the processor's nearest cache.
_ROWS_AT_A_TIME = 32


Floats = NDArray[np.float32]


def rows_to_multiply(matrix: Floats, similarity: Similarity) -> Floats:
    """Articles' vectors for a search by inner product; of l2 each has one more number.

    Args:
        matrix: float32 `[n, dim]`.
        similarity: Of the model.

    Returns:
        float32 `[n, dim]` or `[n, dim + 1]`.
    """
    if similarity != "l2":
        return matrix
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float64)
    return np.concatenate([matrix, (-squares / 2)[:, None].astype(np.float32)], axis=1)


def queries_to_multiply(queries: Floats, similarity: Similarity) -> Floats:
    """Questions' vectors for `rows_to_multiply`."""
    if similarity != "l2":
        return queries
    return np.concatenate([queries, np.ones((len(queries), 1), np.float32)], axis=1)


def rescored(
    matrix: NDArray[np.float32], rows: NDArray[np.int64], query: NDArray[np.float32]
) -> NDArray[np.float32]:
    """Dot products of some rows with a query in float64, rounded to float32.

    A product of two float32 is exact in float64, and NumPy sums each row pairwise in an order that
    depends only on the row's length: equal rows have equal scores, bit for bit.

    Args:
        matrix: `[n, dim]`.
        rows: int64 `[n_rows]`, which rows.
        query: `[dim]`.

    Returns:
        float32 `[n_rows]`.
    """
    scores = np.empty(len(rows), np.float32)
    wide = query.astype(np.float64)
    products = np.empty((min(_ROWS_AT_A_TIME, len(rows)), len(query)), np.float64)
    for start in range(0, len(rows), _ROWS_AT_A_TIME):
        some = rows[start : start + _ROWS_AT_A_TIME]
        part = products[: len(some)]
        np.multiply(matrix[some], wide, out=part)
        scores[start : start + len(some)] = part.sum(axis=1)
    return scores


def ranked(scores: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> NDArray[np.int64]:
    """Places of the k best `[k]`: highest score first, and of equal scores the lowest row."""
    order: NDArray[np.int64] = np.lexsort((rows, -scores))[:k]
    return order


def rounding_error(dim: int) -> float:
    """Bound on |float32 product - exact product| of vectors of length 1 at most.

    It holds in any order of summation.

    gamma_n = n u / (1 - n u) with u = 2^-24 (Higham, Accuracy and Stability, section 3.1), times
    |x| |y| <= 1.0001, plus one rounding to float32.
    """
    unit = 2.0**-24
    return 1.0001 * dim * unit / (1 - dim * unit) + unit


# On a GPU PyTorch may round the factors of a product to TF32 (ten bits of mantissa, half an ulp
# each), and tensor cores truncate sums where IEEE would round: two bits of slack.
_ROUNDED_FACTORS = 1.01 * 2.0**-10
_TRUNCATED_SUMS = 4


Vectors = NDArray[np.float32] | Tensor
Found = tuple[NDArray[np.float32], NDArray[np.int64]]

# Scores of one block of queries against all rows: 64 MiB of float32.
_SCORES_A_BLOCK = 16 * 2**20
# Where fewer rows than one in so many are allowed, copying them costs less than multiplying all.
_FEW = 8
# A product cannot tell the distances of near vectors apart as finely as the distance itself.
_SPARE = 16
# A vector this close to unit length is left as it is: float32 normalisation gives no better.
_UNIT_TOLERANCE = 1e-5


class DenseIndex:
    """Exact top-k by a model's similarity, in an order that only the vectors decide.

    A matrix product gives equal rows different last bits, depending on their position, the number
    of queries in the batch and the number of threads. So it only chooses candidates: every row
    whose score could, within the product's error bound, be among the k best. Those are scored again
    in float64, row by row in one fixed order of summation, rounded to float32 and ordered by score,
    then by row. Identical vectors have identical scores, and a query's answer is the same alone and
    in a batch.

    On a GPU only the product and the bound on its error differ.

    For dot products and distances vectors are first divided by a power of two, which is exact, so
    that none is longer than 1 and the same bounds hold; scores are multiplied back. Of distances a
    few more are found by their products than are asked for, and ordered by the distance itself.

    Args:
        matrix: `[n, dim]`; for cosine, rows that are not of unit length are normalised, in a copy.
            A float32 array or CPU tensor of unit rows is kept without a copy, since it may take
            gigabytes: it must not be written to afterwards.
        device: "cpu", "cuda", "cuda:1", ...; by default the best available.
        similarity: By which the model that made the vectors compares them.

    Raises:
        VectorError: A row holds NaN or infinity, or for cosine has length zero, or the width is 0.
    """

    def __init__(
        self, matrix: Vectors, device: str | None = None, similarity: Similarity = "cosine"
    ) -> None:
        rows = _as_matrix(matrix, "matrix")
        self._dim = int(rows.shape[1])
        self._similarity: Similarity = similarity
        if similarity == "cosine":
            self._matrix, self._scale = _unit_rows(rows, "row"), 1.0
        else:
            self._matrix, self._scale = _short_rows(_finite(rows, "row"), similarity)
        self._error = rounding_error(self._matrix.shape[1])
        self._rows: Tensor | None = None
        target = resolve_device(device)
        # Apple's MPS lacks float64 and gains little: there the CPU searches.
        if target.type == "cuda":
            self._multiply_on(torch.from_numpy(self._matrix).to(target))

    def _multiply_on(self, rows: Tensor) -> None:
        self._rows = rows
        self._error = _TRUNCATED_SUMS * self._error + _ROUNDED_FACTORS

    def __len__(self) -> int:
        """Number of rows."""
        return len(self._matrix)

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self._dim

    def search(
        self, queries: Vectors, k: int, *, allowed: NDArray[np.bool_] | None = None
    ) -> Found:
        """The k rows nearest to each query.

        Args:
            queries: `[n_queries, dim]`; for cosine normalised if necessary.
            k: How many rows to find.
            allowed: bool `[n]`, the rows that may be found; by default all.

        Returns:
            Similarities float32 and rows int64, both `[n_queries, min(k, n allowed)]`, highest
            score first and, where scores are equal, lowest row first.

        Raises:
            VectorError: A query holds NaN or infinity, or has length zero or another width.
        """
        wanted = _as_matrix(queries, "queries")
        if wanted.shape[1] != self.dim:
            raise VectorError(
                f"the queries have {wanted.shape[1]} dimensions and the index has {self.dim}."
            )
        k = min(k, len(self) if allowed is None else int(np.count_nonzero(allowed)))
        if k == 0 or not len(wanted):
            return np.empty((len(wanted), k), np.float32), np.empty((len(wanted), k), np.int64)
        if self._similarity == "cosine":
            return self._products(_unit_rows(wanted, "query"), k, allowed)
        asked = _finite(wanted, "query")
        short = queries_to_multiply(asked, self._similarity)
        scales = _powers_of_two(short)
        short = short / scales[:, None]
        if self._similarity == "dot":
            products, rows = self._products(short, k, allowed)
            return products * (scales[:, None] * np.float32(self._scale)), rows
        more = min(k + _SPARE, len(self) if allowed is None else int(np.count_nonzero(allowed)))
        return self._by_distance(asked, self._products(short, more, allowed)[1], k)

    def _by_distance(self, queries: NDArray[np.float32], rows: NDArray[np.int64], k: int) -> Found:
        """The k nearest of some rows, by distances in float64."""
        scores = np.empty((len(queries), k), np.float32)
        kept = np.empty((len(queries), k), np.int64)
        for place, (query, candidates) in enumerate(zip(queries, rows, strict=True)):
            vectors = self._matrix[candidates, : self._dim].astype(np.float64) * self._scale
            distances = np.linalg.norm(vectors - query.astype(np.float64), axis=1)
            similar = -distances.astype(np.float32)
            best = ranked(similar, candidates, k)
            scores[place], kept[place] = similar[best], candidates[best]
        return scores, kept

    def _products(
        self, queries: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None
    ) -> Found:
        """The k greatest inner products of each query."""
        scores = np.empty((len(queries), k), np.float32)
        rows = np.empty((len(queries), k), np.int64)
        block = max(1, _SCORES_A_BLOCK // len(self))
        for start in range(0, len(queries), block):
            part = queries[start : start + block]
            for offset, candidates in enumerate(self._candidates(part, k, allowed)):
                exact = rescored(self._matrix, candidates, part[offset])
                best = ranked(exact, candidates, k)
                scores[start + offset] = exact[best]
                rows[start + offset] = candidates[best]
        return scores, rows

    def _candidates(
        self, queries: NDArray[np.float32], k: int, allowed: NDArray[np.bool_] | None
    ) -> Iterator[NDArray[np.int64]]:
        """For each query the rows, ascending, that can be among its k best."""
        if self._rows is not None:
            on_gpu = torch.from_numpy(queries).to(self._rows.device) @ self._rows.T
            if allowed is not None:
                on_gpu[:, torch.from_numpy(~allowed).to(on_gpu.device)] = -torch.inf
            least = torch.topk(on_gpu, k).values[:, -1:] - 2 * self._error
            for reaches in on_gpu >= least:
                yield reaches.nonzero()[:, 0].cpu().numpy()
            return
        matrix, rows = self._matrix, None if allowed is None else np.flatnonzero(allowed)
        if is_few := rows is not None and len(rows) < len(matrix) // _FEW:
            matrix = matrix[rows]
        one = len(queries) == 1
        for product in (matrix @ queries[0])[None] if one else queries @ matrix.T:
            scores = product if rows is None or is_few else product[rows]
            found = np.flatnonzero(scores >= kth_greatest(scores, k) - 2 * self._error)
            yield found if rows is None else rows[found]


class LongArticleIndex:
    """A `DenseIndex` of articles in which a long one is found by its provisions too.

    One vector says little about a long article, and the model may have read only its beginning. The
    similarity of such an article is the mean of its own and its best provision's. The mean of two
    products is one product, with the mean of the vectors, so it has a row for each provision.

    Args:
        matrix: `[n, dim]`, a row for each article; see `DenseIndex`.
        device: see `DenseIndex`.
        similarity: see `DenseIndex`.
        provisions: `[n provisions, dim]` of each long article, by its row. For distances (l2)
            the mean is not a distance, so only an article's own vector counts.

    Raises:
        VectorError: see `DenseIndex`.
    """

    def __init__(
        self,
        matrix: Vectors,
        device: str | None = None,
        similarity: Similarity = "cosine",
        provisions: Mapping[int, NDArray[np.float32]] = MappingProxyType({}),
    ) -> None:
        self._article_of: NDArray[np.int64] | None = None
        self._is_cosine = similarity == "cosine"
        if provisions and similarity != "l2":
            articles = _as_matrix(matrix, "matrix")
            articles = _unit_rows(articles, "row") if self._is_cosine else articles
            counts = np.ones(len(articles), np.int64)
            counts[list(provisions)] = [len(each) for each in provisions.values()]
            starts = np.cumsum(counts) - counts
            matrix = np.repeat(articles, counts, axis=0)
            for row, vectors in provisions.items():
                place = slice(starts[row], starts[row] + counts[row])
                parts = _unit_rows(vectors, "provision") if self._is_cosine else vectors
                matrix[place] = (matrix[place] + parts) / 2
            self._article_of = np.repeat(np.arange(len(articles)), counts)
            similarity = "dot"
        self._index = DenseIndex(matrix, device, similarity)

    @property
    def dim(self) -> int:
        """Width of a vector."""
        return self._index.dim

    def search(
        self, queries: Vectors, k: int, *, allowed: NDArray[np.bool_] | None = None
    ) -> Found:
        """The k articles nearest to each query; see `DenseIndex.search`."""
        if (article_of := self._article_of) is None:
            return self._index.search(queries, k, allowed=allowed)
        asked = _as_matrix(queries, "queries")
        if asked.shape[1] == self.dim and self._is_cosine:
            asked = _unit_rows(asked, "query")
        n_articles = article_of[-1] + 1 if allowed is None else np.count_nonzero(allowed)
        k = min(k, int(n_articles))
        n, rows_allowed = k, None if allowed is None else allowed[article_of]
        while True:
            scores, rows = self._index.search(asked, n, allowed=rows_allowed)
            articles = article_of[rows]
            firsts = [np.sort(np.unique(each, return_index=True)[1])[:k] for each in articles]
            if all(len(each) == k for each in firsts):
                best = np.stack(firsts) if firsts else np.empty((0, k), np.int64)
                return np.take_along_axis(scores, best, 1), np.take_along_axis(articles, best, 1)
            n *= 2  # a long article has a row for each provision


def _as_matrix(vectors: Vectors | ArrayLike, name: str) -> NDArray[np.float32]:
    if isinstance(vectors, Tensor):
        vectors = vectors.detach().to("cpu", torch.float32).numpy()
    matrix = np.ascontiguousarray(vectors, dtype=np.float32)
    if matrix.ndim != 2 or matrix.shape[1] == 0:
        raise VectorError(f"{name} is {list(matrix.shape)}; it must be [number, dimensions].")
    return matrix


def _finite(matrix: NDArray[np.float32], what: str) -> NDArray[np.float32]:
    """The rows unchanged; refuses one that is not finite."""
    for row in np.flatnonzero(~np.isfinite(matrix).all(axis=1)):
        raise VectorError(f"{what} {row} holds NaN or infinity. Encode it again.")
    return matrix


def _powers_of_two(matrix: NDArray[np.float32]) -> NDArray[np.float32]:
    """For each row the least power of two that is not less than its length; 1 for zeros."""
    lengths = np.linalg.norm(matrix.astype(np.float64), axis=1)
    exponents = np.ceil(np.log2(np.where(lengths > 0, lengths, 1.0)))
    powers: NDArray[np.float32] = np.exp2(exponents).astype(np.float32)
    return powers


def _short_rows(
    matrix: NDArray[np.float32], similarity: Similarity
) -> tuple[NDArray[np.float32], float]:
    """Rows to multiply with, divided by one power of two so that none is longer than 1."""
    rows = rows_to_multiply(matrix, similarity)
    scale = float(_powers_of_two(rows).max(initial=0.0)) or 1.0
    return rows / np.float32(scale), scale


def _unit_rows(matrix: NDArray[np.float32], what: str) -> NDArray[np.float32]:
    """The rows at unit length; the same array where they are."""
    squares = np.einsum("ij,ij->i", matrix, matrix, dtype=np.float32)
    # The squares of large finite numbers overflow: measure those rows in float64.
    lengths = np.sqrt(squares.astype(np.float64))
    for row in np.flatnonzero(~np.isfinite(lengths) | (lengths < 1e-18)):
        if not np.isfinite(matrix[row]).all():
            raise VectorError(f"{what} {row} holds NaN or infinity. Encode it again.")
        lengths[row] = np.linalg.norm(matrix[row].astype(np.float64))
        if lengths[row] == 0:
            raise VectorError(f"{what} {row} has length zero, so it has no direction.")
    uneven = np.abs(lengths - 1) > _UNIT_TOLERANCE
    if not uneven.any():
        return matrix
    unit = matrix.copy()
    unit[uneven] = (matrix[uneven] / lengths[uneven, None]).astype(np.float32)
    return unit
