"""A ranker's order on dev, and how its negatives score."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest
from numpy.typing import NDArray

from components.statutes.question import Question
from training.ranking.article_pairs import ArticlePairs
from training.ranking.measuring import DevLists, RankerMeasuring

QUESTIONS = [Question("q0", "first", ("a3",)), Question("q1", "second", ("a0", "a9"))]
FOUND = [["a1", "a2", "a3", "a4"], ["a5", "a0", "a6", "a7"]]
DEPTH = 3
# The logit of a passage is the number that it says.
PASSAGES = [["1"], ["-1", "0.5"], ["2", "-9"], ["0"], ["0"], ["-1"]]


def score(pairs: Sequence[tuple[str, str]]) -> NDArray[np.float32]:
    return np.array([float(passage) for _, passage in pairs], np.float32)


@pytest.fixture
def lists() -> DevLists:
    asked = [question.text for question in QUESTIONS for _ in range(DEPTH)]
    return DevLists(QUESTIONS, FOUND, ArticlePairs.of(asked, PASSAGES), DEPTH)


def test_the_first_are_re_ranked_and_the_others_stay(lists: DevLists) -> None:
    ranked = lists.re_ranked(lists.logits(score))
    assert ranked == [["a3", "a1", "a2", "a4"], ["a5", "a0", "a6", "a7"]]


def test_only_what_the_lists_are_deep_enough_for_is_measured(lists: DevLists) -> None:
    metrics = lists.metrics(lists.re_ranked(lists.logits(score)), "MRR@3")
    # The article a9 was not found: it counts as missed.
    assert metrics == {"R@1": 0.5, "MRR@3": pytest.approx((1 + 1 / 2) / 2)}


def test_what_chooses_is_measured_where_a_law_has_fewer_articles(lists: DevLists) -> None:
    metrics = lists.metrics(lists.re_ranked(lists.logits(score)), "MRR@10")
    assert metrics == {"R@1": 0.5, "MRR@10": pytest.approx((1 + 1 / 2) / 2)}


def test_before_training_after_one_epoch_and_after_two(lists: DevLists) -> None:
    negatives = ArticlePairs.of(["q", "q"], [["3", "-3"], ["-2"]])
    measuring = RankerMeasuring(
        score,
        dev=lists,
        negatives=negatives,
        cosines=[0.85, 0.4],
        select_by="MRR@3",
        start_ranks=True,
    )
    before, after_one, after_two = (measuring(None, epoch=epoch) for epoch in (0, 1.0, 2.0))
    assert before["first_stage/MRR@3"] == pytest.approx((1 / 3 + 1 / 2) / 2)
    assert before["dev/MRR@3"] == after_two["dev/MRR@3"] == pytest.approx(0.75)
    assert before["negatives/ranker/from_0.9"] == after_one["negatives/ranker/from_0.9"] == 0.5
    assert before["negatives/ranker/below_0.5"] == 0.5
    assert before["negatives/biencoder/0.8_to_0.9"] == 0.5
    assert before["negatives/biencoder/mean"] == pytest.approx(0.625)
    assert before["start_ranks"] == 1
    assert set(after_two) == {"dev/R@1", "dev/MRR@3"}
    assert measuring.dev_logits is not None
    assert measuring.dev_logits.tolist() == [[1, 0.5, 2], [0, 0, -1]]


def test_without_dev_the_negatives_alone_are_measured() -> None:
    negatives = ArticlePairs.of(["q"], [["0"]])
    measuring = RankerMeasuring(
        score, dev=None, negatives=negatives, cosines=[0.1], select_by="MRR@3", start_ranks=True
    )
    assert {name.split("/")[0] for name in measuring(None, epoch=0)} == {"negatives"}
    assert measuring(None, epoch=2.0) == {}
