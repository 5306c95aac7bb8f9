from __future__ import annotations

import numpy as np
import pytest

from components.statutes.question import Question
from training.ranking.article_pairs import ArticlePairs
from training.ranking.fusion_weight import WEIGHTS, FusionWeight
from training.ranking.measuring import DevLists


def test_the_smallest_of_the_best_weights_is_chosen() -> None:
    questions = [Question("q0", "first", ("a0",)), Question("q1", "second", ("a1",))]
    lists = DevLists(questions, [["a0", "a1", "a2"]] * 2, ArticlePairs.of([], []), 3)
    # The ranker puts the first question's answer second, the second's first.
    logits = np.array([[1.0, 2.0, 0.0], [0.0, 2.0, 1.0]], np.float32)
    weight = FusionWeight.choose(lists, logits, "MRR@3")
    assert set(weight.tried) == {str(each) for each in WEIGHTS}
    assert weight.tried["0.0"] == pytest.approx(0.75)
    best = max(weight.tried.values())
    assert weight.tried[str(weight.chosen)] == best
    assert all(weight.tried[str(each)] < best for each in WEIGHTS if each < weight.chosen)


def test_a_question_does_not_choose_the_weight_that_it_is_measured_with() -> None:
    # The first fold alone (questions 0, 5 and 10) needs the order before the ranker, which is right
    # there; two others need the ranker's own; of the rest both orders are right.
    by_first, by_ranker = {0, 5, 10}, {2, 3}
    questions = [Question(f"q{n}", f"case {n}", ("a1",)) for n in range(12)]
    orders = [["a0", "a1"] if n in by_ranker else ["a1", "a0"] for n in range(12)]
    lists = DevLists(questions, orders, ArticlePairs.of([], []), 2)
    logits = np.array(
        [[0.0, 1.0] if n in by_first | by_ranker else [1.0, 0.0] for n in range(12)], np.float32
    )
    weight = FusionWeight.choose(lists, logits, "MRR@2")
    assert weight.chosen > 0
    chosen = lists.values(lists.re_ranked(logits, weight.chosen), "MRR@2")
    assert chosen == [0.5 if n in by_ranker else 1.0 for n in range(12)]
    # The other folds choose 0 for the first one, which has nothing of what it needs.
    assert weight.held_out == [0.5 if n in by_first | by_ranker else 1.0 for n in range(12)]
