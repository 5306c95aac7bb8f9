"""Ranks within one view, against plain loops."""

from __future__ import annotations

import math

import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from training.negatives.ranking import mid_ranks, permutation_ranks


@st.composite
def blocks(draw: st.DrawFn) -> tuple[torch.Tensor, torch.Tensor]:
    """Few values, so that ties abound; any number excluded, also all."""
    n_rows, n = draw(st.integers(1, 3)), draw(st.integers(1, 9))
    size = {"min_size": n_rows * n, "max_size": n_rows * n}
    values = draw(st.lists(st.sampled_from([-7.0, -2.0, 0.0, 0.1, 5.0]), **size))
    excluded = draw(st.lists(st.booleans(), **size))
    return torch.tensor(values).view(n_rows, n), torch.tensor(excluded).view(n_rows, n)


def looped(row: list[float], excluded: list[bool]) -> tuple[list[float], int]:
    """A negative's mid-rank: those harder, and the middle of those as hard, itself included."""
    negatives = [value for value, out in zip(row, excluded, strict=True) if not out]
    ranks, tied = [], 0
    for value, out in zip(row, excluded, strict=True):
        harder = sum(other > value for other in negatives)
        as_hard = sum(other == value for other in negatives)
        ranks.append(math.inf if out else harder + (as_hard + 1) / 2)
        tied += not out and as_hard > 1
    return ranks, tied


@settings(max_examples=300, deadline=None)
@given(blocks())
def test_mid_ranks_are_those_of_plain_loops(block):
    difficulty, excluded = block
    ranks, tied = mid_ranks(difficulty, excluded)
    expected = [looped(*row) for row in zip(difficulty.tolist(), excluded.tolist(), strict=True)]
    assert ranks.tolist() == [row for row, _ in expected]
    assert tied.tolist() == [count for _, count in expected]
    assert ranks.dtype == torch.float32


def test_a_tie_group_shares_the_middle_of_its_ranks():
    difficulty = torch.tensor([[-2.0, -4.0, -2.0, -9.0, -2.0, -4.0]])
    excluded = torch.tensor([[False, False, False, False, True, False]])
    ranks, tied = mid_ranks(difficulty, excluded)
    assert ranks.tolist() == [[1.5, 3.5, 1.5, 5.0, math.inf, 3.5]]
    assert tied.tolist() == [4]


@settings(max_examples=300, deadline=None)
@given(blocks(), st.randoms(use_true_random=False))
def test_permutation_ranks_go_by_difficulty_then_by_key(block, chance):
    difficulty, excluded = block
    keys = torch.tensor([[chance.randrange(4) for _ in row] for row in difficulty.tolist()])
    ranks, tied = permutation_ranks(difficulty, excluded, keys)
    for row in range(len(ranks)):
        negatives = (~excluded[row]).nonzero().flatten().tolist()
        by_rank = sorted(negatives, key=lambda n: ranks[row, n])
        assert [ranks[row, n] for n in by_rank] == list(range(1, len(negatives) + 1))
        order = [(-difficulty[row, n].item(), keys[row, n].item()) for n in by_rank]
        assert order == sorted(order)
        assert ranks[row][excluded[row]].tolist() == [math.inf] * int(excluded[row].sum())
    assert tied.tolist() == mid_ranks(difficulty, excluded)[1].tolist()


def test_more_articles_than_float32_could_rank_by_thousandths_still_get_exact_ranks():
    n = 100_001
    difficulty = -torch.arange(n, dtype=torch.float32)[None]
    ranks, tied = mid_ranks(difficulty, torch.zeros(1, n, dtype=torch.bool))
    assert torch.equal(ranks[0], torch.arange(1, n + 1, dtype=torch.float32))
    assert tied.tolist() == [0]
