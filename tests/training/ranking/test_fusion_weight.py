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
    # Ten questions that the ranker is right about, and two of one fold that it is wrong about.
    wrong = {2, 7}
    questions = [Question(f"q{n}", f"case {n}", ("a1",)) for n in range(12)]
    orders = [["a1", "a0"] if n in wrong else ["a0", "a1"] for n in range(12)]
    lists = DevLists(questions, orders, ArticlePairs.of([], []), 2)
    logits = np.array([[0.0, 1.0]] * 12, np.float32)
    weight = FusionWeight.choose(lists, logits, "MRR@2")
    assert weight.chosen == 0.0
    assert weight.held_out == [0.5 if n in wrong else 1.0 for n in range(12)]
    # Where they are nearly all of their fold's others' opposite, theirs is chosen by the others.
    turned = [["a1", "a0"] if n % 5 else ["a0", "a1"] for n in range(10)]
    lists = DevLists(questions[:10], turned, ArticlePairs.of([], []), 2)
    weight = FusionWeight.choose(lists, logits[:10], "MRR@2")
    assert weight.chosen > 0
    assert weight.held_out == [1.0 if n % 5 else 0.5 for n in range(10)]
