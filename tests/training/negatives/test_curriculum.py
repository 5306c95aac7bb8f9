"""Shares, phases, buckets, and who draws how many."""

from __future__ import annotations

import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from training.negatives.curriculum import (
    MAX_BUCKETS,
    allot,
    allot_of_buckets,
    bucket_edges,
    largest_remainder,
    phase_of,
    phase_shares,
    shares,
)

TENTH = Fraction(1, 10)
PAPER = [[Fraction(n, 100) for n in row] for row in ((70, 20, 10), (15, 70, 15), (10, 20, 70))]

bucket_counts = st.integers(1, MAX_BUCKETS)
share_rows = bucket_counts.flatmap(
    lambda n: st.integers(0, n - 1).map(lambda phase: shares(n, phase))
)


def chance(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


@pytest.mark.parametrize("phase", range(3))
def test_three_buckets_have_the_papers_shares(phase):
    assert list(shares(3, phase)) == PAPER[phase]


@pytest.mark.parametrize(("n", "phase"), [(n, p) for n in range(2, 7) for p in range(n)])
def test_the_focal_bucket_takes_seven_tenths_and_others_by_nearness(n, phase):
    row = shares(n, phase)
    assert sum(row) == 1
    assert row[phase] == 7 * TENTH
    weighted = {row[b] * abs(b - phase) for b in range(n) if b != phase}
    assert len(weighted) == 1, "share x distance is the same for all others"


def test_schedules_order_the_phases():
    assert [list(row) for row in phase_shares("curriculum", 3)] == PAPER
    assert [list(row) for row in phase_shares("reversed", 3)] == PAPER[::-1]
    assert phase_shares("constant", 4) == ((Fraction(1, 4),) * 4,)
    assert phase_shares("fixed", 3) == ((),)
    assert phase_shares("curriculum", 1) == ((1,),)


@pytest.mark.parametrize("n_phases", range(1, 7))
@pytest.mark.parametrize("steps_each", [1, 7, 30, 997])
def test_phases_are_equally_long(n_phases, steps_each):
    steps = n_phases * steps_each
    phases = phase_of(np.arange(steps) / steps, n_phases)
    assert phases.tolist() == sorted(phases)
    assert Counter(phases.tolist()) == dict.fromkeys(range(n_phases), steps_each)


def test_the_phase_just_before_the_end_is_the_last():
    assert phase_of(np.array([np.nextafter(1, 0)]), 6).tolist() == [5]


@given(st.lists(st.integers(0, 100), min_size=1, max_size=4), bucket_counts)
def test_buckets_cut_the_list_into_equal_parts_the_easiest_last(lengths, n):
    starts, ends = bucket_edges(np.array(lengths), n)
    for length, row_starts, row_ends in zip(lengths, starts.tolist(), ends.tolist(), strict=True):
        pieces = list(zip(row_starts, row_ends, strict=True))[::-1]
        assert [place for piece in pieces for place in range(*piece)] == list(range(length))
        sizes = [end - start for start, end in pieces]
        assert max(sizes) - min(sizes) <= 1


def test_bucket_edges_by_hand():
    starts, ends = bucket_edges(np.array([10]), 3)
    assert starts.tolist() == [[6, 3, 0]]
    assert ends.tolist() == [[10, 6, 3]]


def test_largest_remainder_by_hand():
    # 10 questions with 8 negatives at .70/.20/.10 are 56, 16, 8; one question is 5.6, 1.6, .8.
    assert largest_remainder([Fraction(56), Fraction(16), Fraction(8)]) == [56, 16, 8]
    assert largest_remainder([56 * TENTH, 16 * TENTH, 8 * TENTH]) == [6, 1, 1]
    # Equal remainders: the first.
    assert largest_remainder([Fraction(3, 2), Fraction(3, 2)]) == [2, 1]
    # A sum that is not whole is rounded.
    assert largest_remainder([Fraction(2, 3), Fraction(1, 3), Fraction(1, 2)]) == [1, 0, 1]


def apportioned(quotas: list[Fraction]) -> list[int]:
    """The oracle: one seat after another to whoever is owed most."""
    seats = [math.floor(quota) for quota in quotas]
    while sum(seats) < sum(quotas):
        owed = [
            quota - seat if seat == math.floor(quota) else Fraction(-1)
            for quota, seat in zip(quotas, seats, strict=True)
        ]
        seats[owed.index(max(owed))] += 1
    return seats


@settings(max_examples=300, deadline=None)
@given(st.integers(1, 60), st.integers(0, 20), share_rows, st.integers(0, 99))
def test_an_epochs_shares_are_exactly_those_of_the_largest_remainder(n_questions, n, row, seed):
    counts = allot(n_questions, n, row, chance(seed))
    assert (counts.sum(axis=1) == n).all()
    assert counts.sum(axis=0).tolist() == apportioned([n_questions * n * each for each in row])
    for bucket, each in enumerate(row):
        low, high = math.floor(n * each), math.ceil(n * each)
        assert set(counts[:, bucket].tolist()) <= {low, high}


def test_ten_questions_of_eight_negatives_by_hand():
    counts = allot(10, 8, PAPER[0], chance())
    assert counts.sum(axis=0).tolist() == [56, 16, 8]
    kinds = Counter(map(tuple, counts.tolist()))
    # 5.6, 1.6 and .8 rounded: two of the three go up for every question.
    assert kinds == {(6, 2, 0): 2, (6, 1, 1): 4, (5, 2, 1): 4}


def test_who_gets_more_is_left_to_the_generator():
    def which(seed: int) -> list[list[int]]:
        return allot(30, 8, PAPER[0], chance(seed)).tolist()

    assert which(1) == which(1)
    assert which(1) != which(2)


@settings(max_examples=200, deadline=None)
@given(st.lists(st.integers(0, 2000), min_size=1, max_size=20), share_rows, st.integers(0, 99))
def test_percentages_of_buckets_are_rounded_down_or_up_and_sum_right(lengths, row, seed):
    starts, ends = bucket_edges(np.array(lengths), len(row))
    sizes = ends - starts
    counts = allot_of_buckets(sizes, row, chance(seed))
    quotas = [
        [size * each / 100 for size, each in zip(q, row, strict=True)] for q in sizes.tolist()
    ]
    for got, due in zip(counts.ravel(), [quota for q in quotas for quota in q], strict=True):
        assert got in (math.floor(due), math.ceil(due))
    columns = [sum(column) for column in zip(*quotas, strict=True)]
    assert counts.sum(axis=0).tolist() == largest_remainder(columns)


def test_percentages_of_buckets_by_hand():
    # .7%, .2% and .1% of a thousand articles a bucket
    counts = allot_of_buckets(np.full((4, 3), 1000), PAPER[0], chance())
    assert counts.tolist() == [[7, 2, 1]] * 4
