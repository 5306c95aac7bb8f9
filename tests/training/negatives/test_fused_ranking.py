"""From difficulties to one order: the whole of it against plain loops."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from training.negatives.fused_ranking import FusedRanking
from training.negatives.gold import Gold
from training.negatives.tie_keys import TieKeys

CPU = torch.device("cpu")


class Given:
    """A view whose difficulties are given."""

    def __init__(self, name: str, values: list[list[float]]) -> None:
        self.name = name
        self._values = torch.tensor(values)

    def difficulty(self, rows: NDArray[np.int64]) -> torch.Tensor:
        return self._values[torch.from_numpy(rows)]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Gold, list[Given]]:
    n_questions, n_articles = draw(st.integers(1, 4)), draw(st.integers(1, 8))
    size = {"min_size": n_articles, "max_size": n_articles}
    out = st.lists(st.booleans(), **size).map(lambda row: np.flatnonzero(row))
    excluded = tuple(draw(st.lists(out, min_size=n_questions, max_size=n_questions)))
    gold = Gold(
        tuple(f"q{row}" for row in range(n_questions)),
        tuple(f"a{position}" for position in range(n_articles)),
        excluded,
        excluded,
    )
    row = st.lists(st.sampled_from([-9.0, -4.0, -2.0, 0.25, 0.5]), **size)
    table = st.lists(row, min_size=n_questions, max_size=n_questions)
    return gold, [Given(name, draw(table)) for name in ("one", "two", "three")]


def plain(gold: Gold, views: list[Given], row: int, keys: list[int], k: int) -> list[int]:
    """Negatives by summed reciprocal mid-ranks, hardest first."""
    negatives = [n for n in range(gold.n_articles) if n not in gold.excluded[row]]
    score = dict.fromkeys(negatives, 0.0)
    for view in views:
        hardness = view._values[row].tolist()
        for n in negatives:
            harder = sum(hardness[m] > hardness[n] for m in negatives)
            as_hard = sum(hardness[m] == hardness[n] for m in negatives)
            score[n] += 1 / (k + harder + (as_hard + 1) / 2)
    return sorted(negatives, key=lambda n: (-score[n], keys[n]))


@settings(max_examples=200, deadline=None)
@given(cases(), st.sampled_from([1, 60]))
def test_the_order_is_that_of_plain_loops_for_any_block(case, k):
    gold, views = case
    ranking = FusedRanking(views, gold, ties="mid_rank", k=k, seed=3, device=CPU)
    rows = np.arange(gold.n_questions)
    keys = TieKeys(3, gold.question_ids, gold.article_ids, CPU).of(rows, "fusion").tolist()
    whole = ranking.of(rows)
    for row in rows.tolist():
        expected = plain(gold, views, row, keys[row], k)
        order = whole.order[row].tolist()
        assert order[: len(expected)] == expected
        assert sorted(order) == list(range(gold.n_articles))
        alone = ranking.of(np.array([row]))
        assert alone.order[0].tolist() == order
        assert [torch.equal(a[0], w[row]) for a, w in zip(alone.ranks, whole.ranks, strict=True)]


@settings(max_examples=100, deadline=None)
@given(cases())
def test_permutation_breaks_ties_in_each_view_in_its_own_way(case):
    gold, views = case
    ranking = FusedRanking(views, gold, ties="permutation", k=60, seed=3, device=CPU)
    block = ranking.of(np.arange(gold.n_questions))
    for view, ranks in zip(views, block.ranks, strict=True):
        for row, negatives in enumerate(gold.n_negatives.tolist()):
            finite = sorted(rank for rank in ranks[row].tolist() if math.isfinite(rank))
            assert finite == list(range(1, negatives + 1))
            kept = torch.isfinite(ranks[row])
            by_rank = view._values[row][kept][ranks[row][kept].argsort()]
            assert by_rank.tolist() == sorted(by_rank.tolist(), reverse=True)


def test_two_tied_views_are_not_broken_alike_by_permutation():
    gold = Gold(("q",), tuple(f"a{n}" for n in range(50)), (np.array([0]),), (np.array([0]),))
    views = [Given(name, [[0.0] * 50]) for name in ("one", "two")]
    ranking = FusedRanking(views, gold, ties="permutation", k=60, seed=0, device=CPU)
    one, two = ranking.of(np.array([0])).ranks
    assert not torch.equal(one, two)


@pytest.mark.parametrize("ties", ["mid_rank", "permutation"])
def test_tied_negatives_are_counted(ties):
    own = np.array([1])
    gold = Gold(("q",), ("a", "b", "c", "d", "e"), (own,), (own,))
    view = Given("one", [[2.0, 2.0, 2.0, -1.0, 2.0]])
    ranking = FusedRanking([view], gold, ties=ties, k=60, seed=0, device=CPU)
    assert [each.tolist() for each in ranking.of(np.array([0])).tied] == [[3]]


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (np.zeros((2, 3), np.float32), r"view 'mine' gave ndarray. .* float32 tensor \[2, 3\]"),
        (None, "view 'mine' gave NoneType"),
        (torch.zeros(2, 3, dtype=torch.float64), r"gave float64 \[2, 3\]. It must give a float32"),
        (torch.zeros(2, 3, dtype=torch.int64), r"gave int64 \[2, 3\]"),
        (torch.zeros(2, 2), r"gave float32 \[2, 2\]. It must give a float32 tensor \[2, 3\]"),
        (torch.zeros(1, 3), r"gave float32 \[1, 3\]"),
        (torch.tensor([[0, math.nan, 0]] * 2), "gave 2 difficulties that are not finite.* nan"),
        (torch.tensor([[0, 1, 0], [0, 0, math.inf]]), "gave 1 difficulties .* such as inf"),
        (torch.full((2, 3), -math.inf), "gave 6 difficulties .* such as -inf"),
    ],
)
@pytest.mark.parametrize("ties", ["mid_rank", "permutation"])
def test_what_is_no_difficulty_is_refused_with_the_views_name(ties, given, message):
    own = (np.array([0]), np.array([1]))
    gold = Gold(("q", "r"), ("a", "b", "c"), own, own)
    views = [Given("good", [[0.0] * 3] * 2), Given("mine", [[0.0] * 3] * 2)]
    views[1].difficulty = lambda _: given
    ranking = FusedRanking(views, gold, ties=ties, k=60, seed=0, device=CPU)
    with pytest.raises(ValueError, match=message):
        ranking.of(np.arange(2))
