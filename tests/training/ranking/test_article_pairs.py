"""An article's logit is its best passage's."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from training.ranking.article_pairs import ArticlePairs, probabilities


def test_an_article_scores_as_its_best_passage() -> None:
    pairs = ArticlePairs.of(["q", "q", "r"], [["aa", "b"], ["c"], ["d", "ee", "fff"]])
    assert pairs.pairs[:3] == [("q", "aa"), ("q", "b"), ("q", "c")]
    logits = pairs.logits(lambda all_of: np.array([len(p) for _, p in all_of], np.float32))
    assert logits.tolist() == [2, 1, 3]


def test_no_pairs_have_no_logits() -> None:
    assert ArticlePairs.of([], []).logits(lambda _: np.empty(0, np.float32)).shape == (0,)


def test_probabilities_are_sigmoids_without_overflow() -> None:
    logits = np.array([-1e4, -2.0, 0.0, 3.0, 1e4], np.float32)
    expected = torch.sigmoid(torch.from_numpy(logits).double()).numpy()
    assert probabilities(logits) == pytest.approx(expected, abs=1e-12)
