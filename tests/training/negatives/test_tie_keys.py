"""The keys that break ties."""

from __future__ import annotations

import hashlib

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.negatives.tie_keys import TieKeys, descending

CPU = torch.device("cpu")
WORD = (1 << 64) - 1


def reference(seed: int, purpose: str, question: str, article: str) -> int:
    """SplitMix64's finaliser in unbounded integers; the result as a signed one."""

    def digest(text: str) -> int:
        raw = hashlib.blake2b(text.encode(), digest_size=8).digest()
        return (int.from_bytes(raw, "little") - (1 << 63)) & WORD

    x = digest(f"{seed}/{purpose}/{question}") ^ digest(article)
    x = ((x ^ (x >> 30)) * 0xBF58476D1CE4E5B9) & WORD
    x = ((x ^ (x >> 27)) * 0x94D049BB133111EB) & WORD
    x ^= x >> 31
    return x - (1 << 64) if x >> 63 else x


@settings(deadline=None)
@given(st.integers(), st.lists(st.text(), min_size=1, max_size=3), st.lists(st.text(), min_size=1))
def test_keys_are_those_of_the_reference(seed, questions, articles):
    rows = np.arange(len(questions))
    keys = TieKeys(seed, questions, articles, CPU).of(rows, "fusion")
    expected = [[reference(seed, "fusion", q, a) for a in articles] for q in questions]
    assert keys.tolist() == expected


def test_another_question_seed_or_purpose_orders_the_articles_anew():
    articles = [f"a{n}" for n in range(100)]

    def order(seed: int, purpose: str, row: int) -> list[int]:
        keys = TieKeys(seed, ["q0", "q1"], articles, CPU).of(np.array([row]), purpose)
        return keys[0].argsort().tolist()

    orders = [order(*which) for which in ((0, "x", 0), (1, "x", 0), (0, "y", 0), (0, "x", 1))]
    assert len(set(map(tuple, orders))) == 4


def test_long_tie_groups_stay_in_the_order_of_their_keys():
    scores = torch.arange(60_000).remainder(3)[None]
    keys = torch.randperm(60_000, generator=torch.Generator().manual_seed(0))[None]
    order = descending(scores.double(), keys)
    ranked = scores.gather(1, order) * -60_000 + keys.gather(1, order)
    assert bool((ranked.diff() > 0).all())


@settings(max_examples=200, deadline=None)
@given(st.lists(st.tuples(st.integers(0, 3), st.integers(-5, 5)), min_size=1, max_size=12))
def test_descending_goes_by_score_then_by_key(cells):
    rows = [cells, cells[::-1], [(1, 0)] * len(cells)]
    scores = torch.tensor([[score / 3 for score, _ in row] for row in rows], dtype=torch.float64)
    keys = torch.tensor([[key for _, key in row] for row in rows])
    for row, order in zip(rows, descending(scores, keys).tolist(), strict=True):
        assert sorted(order) == list(range(len(row)))
        ranked = [(-row[place][0], row[place][1]) for place in order]
        assert ranked == sorted(ranked)
