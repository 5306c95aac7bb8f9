"""What an epoch's statistics say, by hand."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from torch.nn.functional import normalize

from components.statutes import Article, Question
from training.negatives.drawn import DrawnNegatives
from training.negatives.sampling import CurriculumNegatives
from training.negatives.statistics import statistics

# Two chapters of one law, three articles each, and a law of one article.
ARTICLES = [
    *(Article(f"a{n}", "Code", str(n), (f"Chapter {n // 3}",), f"words {n}") for n in range(6)),
    Article("a6", "Act", "1", (), "words 6"),
]
QUESTIONS = [Question("q0", "one?", ("a0",)), Question("q1", "two?", ("a3", "a6"))]


def negatives(**options: object) -> CurriculumNegatives:
    options = {"views": ("tree", "sequence"), "negatives_per_question": 2, "buckets": 2} | options
    return CurriculumNegatives(ARTICLES, QUESTIONS, **options)  # type: ignore[arg-type]


def drawn(*articles: int, buckets: tuple[int, ...] = (0, 1, 1, 1)) -> DrawnNegatives:
    return DrawnNegatives(
        np.array(articles),
        np.array([0, 2, 4]),
        np.array(buckets, dtype=np.int8),
        np.array([0, 0, 1, 0], dtype=np.int8),
    )


def test_counts_distance_and_overlap_by_hand():
    before, now = drawn(1, 3, 4, 0), drawn(3, 6, 4, 1)
    got = statistics(now, before, negatives())
    assert got["drawn"] == 4
    assert got["buckets"] == [1, 3]
    assert got["views"] == {"tree": 3, "sequence": 1}
    # q0: another chapter 4; another law 2 + 3 + 4 on top. q1: a sibling 2, another chapter 4.
    assert got["mean_tree_distance"] == (4 + 9 + 2 + 4) / 4
    # (q0, 3) and (q1, 4) were drawn before; (q1, 1) was not, though (q0, 1) was.
    assert got["overlap"] == 0.5
    assert got["audit"] is None


def test_distance_is_that_of_the_true_tree_also_where_leaves_are_permuted():
    plain, control = (negatives(permute_tree=permuted) for permuted in (False, True))
    now = drawn(3, 6, 4, 1)
    assert statistics(now, None, control) == statistics(now, None, plain)


def test_the_first_epoch_has_no_overlap_and_in_batch_only_has_nothing():
    assert statistics(drawn(1, 3, 4, 0), None, negatives())["overlap"] is None
    alone = negatives(negatives_per_question=0)
    got = statistics(alone.draw(0, 0.0), alone.draw(1, 0.5), alone)
    assert (got["drawn"], got["overlap"], got["mean_tree_distance"]) == (0, None, None)


def test_the_audit_compares_with_the_best_and_the_worst_positive():
    def at(degrees: list[float]) -> torch.Tensor:
        angles = torch.deg2rad(torch.tensor(degrees))
        return normalize(torch.stack([angles.cos(), angles.sin()], dim=1))

    # Articles by their angle from both questions: positives are 0 at 40, 3 at 20, 6 at 60 degrees.
    articles, questions = at([40, 30, 50, 20, 10, 70, 60]), at([0, 0])
    now = drawn(1, 2, 4, 1, buckets=(0, 0, 1, 1))
    got = statistics(now, None, negatives(), questions=questions, articles=articles)
    # q0, bucket 0: 30 above 40, 50 not. q1, bucket 1: 10 above both, 30 above 60 only.
    assert got["audit"] == {"above_best_positive": [0.5, 0.5], "above_a_positive": [0.5, 1.0]}
    easy = drawn(1, 2, 4, 1, buckets=(0, 0, 0, 0))
    got = statistics(easy, None, negatives(), questions=questions, articles=articles)
    assert got["audit"]["above_best_positive"] == [0.5, None]


@pytest.mark.parametrize("views", [("tree",), ()])
def test_a_real_draw_is_written_as_json(views):
    source = negatives(views=views, buckets=1)
    now = source.draw(0, 0.0)
    got = json.loads(json.dumps(statistics(now, now, source)))
    assert got["overlap"] == 1.0
    assert got["views"] == ({"tree": 4} if views else {})
    assert set(got["ties"]) == set(views)
