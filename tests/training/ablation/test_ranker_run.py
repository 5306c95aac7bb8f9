"""What a grid of rankers makes of logits."""

from __future__ import annotations

from typing import Any

import numpy as np

from components.statutes.question import Question
from training.ablation.ranker_run import Order, SharedOnDataset
from training.ranking.article_pairs import ArticlePairs
from training.ranking.fusion_weight import FusionWeight
from training.ranking.measuring import DevLists
from training.ranking.settings import RankerTrainingSettings

SETTINGS = RankerTrainingSettings(
    corpus="law", questions="law", output="out", select_by="MRR@2", dev_candidates=20
)
# As in test_fusion_weight.py: the first fold alone needs the order before the ranker.
BY_FIRST, BY_RANKER = {0, 5, 10}, {2, 3}


def lists(split: str) -> DevLists:
    questions = [Question(f"{split}{n}", f"{split} {n}", ("a1",)) for n in range(12)]
    orders = [["a0", "a1"] if n in BY_RANKER else ["a1", "a0"] for n in range(12)]
    return DevLists(questions, orders, ArticlePairs.of([], []), 2)


LOGITS = np.array(
    [[0.0, 1.0] if n in BY_FIRST | BY_RANKER else [1.0, 0.0] for n in range(12)], np.float32
)
SETUP: Any = None


def test_dev_is_fused_with_weights_that_its_questions_did_not_choose() -> None:
    dev = lists("dev")
    order = Order.of(SETTINGS, SharedOnDataset(SETUP, dev, dev), LOGITS, LOGITS)
    held_out = FusionWeight.choose(dev, LOGITS, "MRR@2").held_out
    assert dev.values(order.fused, "MRR@2") == held_out
    assert held_out != dev.values(dev.re_ranked(LOGITS, order.weight), "MRR@2")


def test_test_is_fused_with_the_weight_that_is_best_on_dev() -> None:
    dev, test = lists("dev"), lists("test")
    order = Order.of(SETTINGS, SharedOnDataset(SETUP, dev, test), LOGITS, LOGITS)
    assert order.fused == test.re_ranked(LOGITS, order.weight)
    assert order.re_ranked == test.re_ranked(LOGITS)
