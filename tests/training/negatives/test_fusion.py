"""Reciprocal rank fusion, by hand and by its properties."""

from __future__ import annotations

from fractions import Fraction
from itertools import pairwise

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.negatives.fusion import fuse

NO_TIES = torch.arange(6)[None]


def test_two_views_fused_by_hand():
    tree = torch.tensor([[1.0, 2.0, 3.0, 4.0]])
    model = torch.tensor([[4.0, 1.0, 3.0, 2.0]])
    # 1/61 + 1/64 = .032018, 1/62 + 1/61 = .032522, 1/63 + 1/63 = .031746, 1/64 + 1/62 = .031754
    assert fuse([tree, model], NO_TIES[:, :4]).tolist() == [[1, 0, 3, 2]]


def test_k_decides_how_much_a_first_rank_outweighs_two_middling_ones():
    one = torch.tensor([[1.0, 3.0, 2.0]])
    other = torch.tensor([[9.0, 3.0, 8.0]])
    assert fuse([one, other], NO_TIES[:, :3], k=1).tolist() == [[0, 1, 2]]
    assert fuse([one, other], NO_TIES[:, :3], k=60).tolist() == [[1, 0, 2]]


def test_equal_sums_go_by_key():
    ranks = torch.tensor([[2.5, 2.5, 1.0, 2.5, 2.5]])
    keys = torch.tensor([[7, -3, 0, 9, -4]])
    assert fuse([ranks, ranks], keys).tolist() == [[2, 4, 1, 0, 3]]


ROW = st.lists(st.integers(1, 12).map(lambda half: half / 2), min_size=6, max_size=6)


@settings(max_examples=300, deadline=None)
@given(st.lists(ROW, min_size=1, max_size=3), st.sets(st.integers(0, 5)), st.integers(1, 100))
def test_the_fused_order_is_a_permutation_by_exact_sums_with_the_excluded_last(views, out, k):
    ranks = torch.tensor(views)
    ranks[:, list(out)] = torch.inf
    order = fuse([view[None] for view in ranks], NO_TIES, k)[0].tolist()
    assert sorted(order) == list(range(6))
    kept = order[: 6 - len(out)]
    assert set(order[len(kept) :]) == out
    sums = [sum(1 / (Fraction(view[n]) + k) for view in views) for n in kept]
    # Exact sums may be equal where float64 ones are not: closer than its rounding is a tie.
    assert all(one - other > -1e-15 for one, other in pairwise(sums))
