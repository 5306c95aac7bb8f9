"""Drawn negatives as arrays."""

from __future__ import annotations

import numpy as np
import pytest

from training.negatives.drawn import DrawnNegatives

DRAWN = DrawnNegatives(
    articles=np.array([7, 2, 9]),
    starts=np.array([0, 2, 2, 3]),
    buckets=np.array([0, 2, 1], dtype=np.int8),
    views=np.array([-1, 0, 1], dtype=np.int8),
)


def test_each_question_has_its_own_part():
    assert [DRAWN.of(question).tolist() for question in range(3)] == [[7, 2], [], [9]]
    assert DRAWN.questions.tolist() == [0, 0, 2]


@pytest.mark.parametrize("question", [-1, 3])
def test_a_question_that_is_not_there_is_refused_with_their_number(question):
    with pytest.raises(IndexError, match=f"question {question} is not among the 3 questions"):
        DRAWN.of(question)


def test_arrays_give_the_same_negatives_back(tmp_path):
    np.savez(tmp_path / "drawn.npz", **DRAWN.to_arrays())
    with np.load(tmp_path / "drawn.npz") as arrays:
        again = DrawnNegatives.from_arrays(dict(arrays))
    for name, values in DRAWN.to_arrays().items():
        got = getattr(again, name)
        assert got.tolist() == values.tolist()
        assert got.dtype == values.dtype
