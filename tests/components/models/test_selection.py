"""Masks of allowed rows, and the k-th greatest number, compared with the plain way."""

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from components.models.selection import FILTERS_KEPT, kth_greatest, remembered, row_mask

KEYS = st.lists(st.integers(-50, 50) | st.integers(10**9, 10**9 + 50), unique=True, max_size=40)


def array(keys):
    return np.array(keys, dtype=np.int64)


@given(keys=KEYS, allowed=KEYS)
def test_a_mask_is_that_of_isin(keys, allowed):
    mask = row_mask(array(keys))
    assert mask(array(allowed)).tolist() == np.isin(keys, allowed).tolist()
    assert mask(None) is None


@settings(max_examples=50)
@given(
    seed=st.integers(0, 1_000), n=st.integers(1, 3_000), share=st.floats(0, 1), ties=st.booleans()
)
def test_the_kth_greatest_is_that_of_a_sort(seed, n, share, ties):
    values = np.random.default_rng(seed).standard_normal(n).astype(np.float32)
    values = np.round(values) if ties else values
    k = 1 + int(share * (n - 1))
    assert kth_greatest(values, k) == np.sort(values)[-k]


def test_the_last_results_are_kept_by_identity():
    computed = []
    recall = remembered(lambda keys: computed.append(keys) or len(computed))
    arrays = [array([1]) for _ in range(FILTERS_KEPT)]
    first = [recall(each) for each in arrays]
    assert [recall(each) for each in arrays] == first
    recall(array([1]))  # equal, but another
    assert len(computed) == FILTERS_KEPT + 1
    assert recall(arrays[1]) == first[1]
    assert recall(arrays[0]) != first[0]  # the one that was not used for longest is gone
