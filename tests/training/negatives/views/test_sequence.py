"""The sequential view against plain loops."""

from __future__ import annotations

import numpy as np
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.negatives.gold import Gold
from training.negatives.views.sequence import SequenceView

CPU = torch.device("cpu")


@st.composite
def cases(draw: st.DrawFn) -> Gold:
    n_articles = draw(st.integers(1, 15))
    positions = st.sets(st.integers(0, n_articles - 1), min_size=1, max_size=5)
    drawn = draw(st.lists(positions, min_size=1, max_size=4))
    own = tuple(np.array(sorted(each)) for each in drawn)
    ids = tuple(f"q{row}" for row in range(len(own)))
    return Gold(ids, tuple(map(str, range(n_articles))), own, own)


@settings(max_examples=200, deadline=None)
@given(cases(), st.randoms(use_true_random=False), st.booleans())
def test_difficulty_is_minus_the_steps_to_the_nearest_positive(gold, chance, permuted):
    places = list(range(gold.n_articles))
    if permuted:
        chance.shuffle(places)
    view = SequenceView(gold, CPU, permutation=np.array(places) if permuted else None)
    rows = np.arange(gold.n_questions)[::-1].copy()
    expected = [
        [-min(abs(place - places[p]) for p in gold.positives[row].tolist()) for place in places]
        for row in rows
    ]
    assert view.difficulty(rows).tolist() == expected


def test_positions_beyond_a_law_of_sixty_thousand_articles_are_exact():
    own = (np.array([0, 59_999]),)
    gold = Gold(("q",), tuple(map(str, range(60_000))), own, own)
    distance = -SequenceView(gold, CPU).difficulty(np.array([0]))[0]
    position = torch.arange(60_000)
    assert torch.equal(distance, torch.minimum(position, 59_999 - position).float())
