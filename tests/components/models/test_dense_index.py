"""Exact search over vectors: brute force is the oracle."""

import math

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from components.models import dense_index
from components.models.dense_index import DenseIndex
from components.models.folder import VectorError


def unit(rows):
    lengths = np.linalg.norm(rows.astype(np.float64), axis=-1, keepdims=True)
    return (rows / lengths).astype(np.float32)


def random_rows(number, dim, seed=0):
    return unit(np.random.default_rng(seed).normal(size=(number, dim)))


def brute_force(matrix, queries, k, allowed=None):
    """Correctly rounded dot products, sorted by score and then by row, in plain Python."""
    wanted = range(len(matrix)) if allowed is None else np.flatnonzero(allowed)
    answers = []
    for query in queries:
        scores = {
            row: np.float32(
                math.fsum(float(x) * float(q) for x, q in zip(matrix[row], query, strict=True))
            )
            for row in map(int, wanted)
        }
        best = sorted(scores, key=lambda row: (-scores[row], row))[:k]
        answers.append(([scores[row] for row in best], best))
    return np.array([a[0] for a in answers], np.float32), np.array([a[1] for a in answers])


def gpu_search(matrix, queries, k, allowed=None):
    """A GPU's way, on the CPU, over rows that are rounded as far as TF32 rounds them."""
    index = DenseIndex(matrix, "cpu")
    bits = (index._matrix.view(np.int32) + 0x1000) & ~0x1FFF  # ten bits of mantissa
    index._multiply_on(torch.from_numpy(bits.astype(np.int32).view(np.float32)))
    return index.search(queries, k, allowed=allowed)


def index_search(matrix, queries, k, allowed=None):
    return DenseIndex(matrix, "cpu").search(queries, k, allowed=allowed)


WAYS = pytest.mark.parametrize("search", [index_search, gpu_search])


@WAYS
@given(
    data=st.data(),
    number=st.integers(1, 40),
    dim=st.integers(1, 9),
    k=st.integers(1, 45),
    seed=st.integers(0, 10_000),
)
def test_the_answer_is_brute_force_s(search, data, number, dim, k, seed):
    distinct = random_rows(number, dim, seed)
    # Few distinct rows in many places: ties across every k.
    places = data.draw(st.lists(st.integers(0, number - 1), min_size=1, max_size=60))
    matrix = distinct[places]
    allowed = None
    if data.draw(st.booleans()):
        chosen = data.draw(st.lists(st.booleans(), min_size=len(matrix), max_size=len(matrix)))
        allowed = np.array(chosen)
    queries = np.concatenate([random_rows(2, dim, seed + 1), matrix[:1]])
    scores, rows = search(matrix, queries, k, allowed)
    expected = brute_force(matrix, queries, k, allowed)
    assert [scores.tolist(), rows.tolist()] == [each.tolist() for each in expected]
    assert (scores.dtype, rows.dtype) == (np.float32, np.int64)


@given(
    number=st.integers(1, 40),
    dim=st.integers(1, 9),
    k=st.integers(1, 45),
    size=st.sampled_from([1e-4, 1.0, 37.0, 1e6]),
    seed=st.integers(0, 10_000),
)
@pytest.mark.parametrize("similarity", ["dot", "l2"])
def test_dot_products_and_distances_of_any_length(similarity, number, dim, k, size, seed):
    generator = np.random.default_rng(seed)
    lengths = size * generator.exponential(size=(number, 1))
    matrix = (lengths * generator.normal(size=(number, dim))).astype(np.float32)
    queries = np.concatenate([generator.normal(size=(2, dim)) * size, matrix[:1]])
    queries = queries.astype(np.float32)
    scores, rows = DenseIndex(matrix, "cpu", similarity).search(queries, k)
    wide, asked = matrix.astype(np.float64), queries.astype(np.float64)
    exact = asked @ wide.T
    if similarity == "l2":
        exact = -np.linalg.norm(asked[:, None] - wide[None], axis=2)
    # A distance is the root of a difference of squares, which float32 rounds.
    close = 1e-6 * np.abs(exact).max(initial=0) if similarity == "dot" else 2e-3 * lengths.max()
    for found, places, all_scores in zip(scores, rows, exact, strict=True):
        assert len(set(places.tolist())) == len(places) == min(k, number)
        assert np.allclose(found, all_scores[places], rtol=1e-5, atol=close)
        assert np.allclose(found, np.sort(all_scores)[::-1][: len(found)], rtol=1e-5, atol=close)


@WAYS
def test_alone_and_in_a_batch_the_answer_is_the_same(monkeypatch, search):
    matrix = random_rows(3_000, 65)
    queries = random_rows(33, 65, 1)
    together = search(matrix, queries, 17)
    monkeypatch.setattr(dense_index, "_SCORES_A_BLOCK", 5 * len(matrix))
    in_blocks = search(matrix, queries, 17)
    alone = [search(matrix, queries[i : i + 1], 17) for i in range(len(queries))]
    for found in (in_blocks, tuple(np.concatenate(part) for part in zip(*alone, strict=True))):
        assert np.array_equal(found[0], together[0])
        assert np.array_equal(found[1], together[1])


@WAYS
@pytest.mark.parametrize("spread", [1e-3, 3e-4])
def test_rows_closer_than_a_float32_product_can_tell_are_in_their_true_order(search, spread):
    generator = np.random.default_rng(2)
    query = random_rows(1, 256, 1)
    side = unit(generator.normal(size=(3_000, 256)))
    matrix = unit(query + spread * side)
    found, expected = (each(matrix, query, 10) for each in (search, brute_force))
    assert [part.tolist() for part in found] == [part.tolist() for part in expected]


@pytest.mark.parametrize(
    ("queries", "message"),
    [
        (np.full((1, 4), np.nan, np.float32), "query 0 holds NaN"),
        (np.zeros((2, 4), np.float32), "query 0 has length zero"),
        (np.ones((1, 5), np.float32), "the queries have 5 dimensions and the index has 4"),
        (np.ones(4, np.float32), r"queries is \[4\]; it must be \[number, dimensions\]"),
    ],
)
def test_a_query_that_cannot_be_searched_is_refused(queries, message):
    with pytest.raises(VectorError, match=message):
        DenseIndex(random_rows(10, 4), "cpu").search(queries, 2)
