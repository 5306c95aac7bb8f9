"""Intervals, paired tests, comparisons of arms and answer thresholds, with slow oracles."""

import math
from fractions import Fraction
from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.significance import (
    bootstrap_interval,
    compare_arms,
    holm,
    paired_randomisation,
)
from pipelines.calibration import best_threshold, separation

# Intervals and tests


def test_bootstrap_intervals(monkeypatch):
    assert bootstrap_interval([0.5] * 20) == (0.5, 0.5)
    values = np.random.default_rng(0).random(1000)
    half = 1.96 * values.std() / np.sqrt(len(values))
    normal = (values.mean() - half, values.mean() + half)
    assert bootstrap_interval(values) == pytest.approx(normal, abs=0.002)
    assert bootstrap_interval(values, seed=3) == bootstrap_interval(values, seed=3)
    assert bootstrap_interval(values, seed=3) != bootstrap_interval(values, seed=4)
    monkeypatch.setattr("components.statutes.significance._BLOCK", 50)
    low, high = bootstrap_interval([0.0, 1.0] * 10, samples=1003)
    assert 0.2 < low < 0.5 < high < 0.8


# Multiples of a thousandth: a difference near the tolerance counts as none in one of the two sums.
@given(st.lists(st.integers(-1000, 1000).map(lambda n: n / 1000), min_size=2, max_size=8))
def test_p_agrees_with_all_assignments_of_signs(differences):
    observed = abs(np.mean(differences))
    means = [
        abs(np.mean(np.multiply(differences, signs)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = np.mean([mean >= observed - 1e-12 for mean in means])
    sampled = paired_randomisation(differences, [0.0] * len(differences), samples=2000).p
    assert sampled == pytest.approx(exact, abs=0.05)


def test_paired_randomisation():
    same = paired_randomisation([0.1, 0.9, 0.5], [0.1, 0.9, 0.5])
    assert (same.difference, same.p, same.interval) == (0.0, 1.0, (0.0, 0.0))
    assert paired_randomisation([0.8, 0.5], [0.5, 0.2]).detectable is None  # no spread
    one = paired_randomisation([1.0], [0.0])
    assert (one.detectable, one.p) == (None, 1.0)
    a, b = np.random.default_rng(2).random((2, 60))
    forth, back = paired_randomisation(a, b), paired_randomisation(b, a)
    assert forth == paired_randomisation(a, b)
    assert forth.difference == -back.difference
    assert (forth.p, forth.detectable) == pytest.approx((back.p, back.detectable))
    clear = paired_randomisation(a + 0.1 + np.random.default_rng(4).normal(0, 0.1, 60), a)
    assert clear.p < 0.001
    # (z_.975 + z_.8) * sd / sqrt(n)
    assert forth.detectable == pytest.approx(2.8016 * (a - b).std(ddof=1) / np.sqrt(60), rel=1e-4)
    assert clear.interval[0] < clear.difference < clear.interval[1]


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_keeps_the_order_and_never_lowers_a_value(pvalues):
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert (holm([0.9, 0.8]), holm([])) == ([1.0, 1.0], [])
    adjusted = holm(pvalues)
    assert all(p <= q <= 1 for p, q in zip(pvalues, adjusted, strict=True))
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)


# Arms: runs of several seeds compared question by question

BASE = [0.0, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.0]
BETTER = [value + 0.3 for value in BASE]
OTHER = [0.1, 0.1, 0.2, 0.3, 0.4, 0.2, 0.0, 0.1]
ROWS = list(range(8))


def scores(values, rows=ROWS, **fields):
    """A record with the same values in every metric."""
    record = {"seed": 0, "questions": list(rows), "unseen": []}
    by_metric = {metric: list(values) for metric in ("R@10", "MAP")}
    return record | {"values": by_metric} | fields


def test_arms_are_compared_by_question_and_holm_counts_distinct_runs():
    lines = {"random": [scores(OTHER)], "base": [scores(BASE)], "cusines": [scores(BETTER)]}
    random, baseline, cusines = compare_arms(lines, "R@10", "base")
    assert (baseline.against, baseline.p) == (None, None)
    assert random.against == paired_randomisation(OTHER, BASE)
    assert cusines.against == paired_randomisation(BETTER, BASE)
    assert [random.p, cusines.p] == holm([random.against.p, cusines.against.p])
    assert cusines.interval == bootstrap_interval(BETTER)
    assert cusines.mean == pytest.approx(sum(BETTER) / 8)
    # Two names of one run are one test.
    both = compare_arms({**lines, "buckets_3": lines["cusines"]}, "R@10", "base")
    assert both[2].p == both[3].p == cusines.p


def test_a_question_counts_once_with_its_mean_over_seeds_and_folds():
    lines = {
        "base": [scores(BASE, seed=seed) for seed in (0, 1)],
        "cusines": [scores(BASE), scores(BETTER, seed=1)],
    }
    _, cusines = compare_arms(lines, "MAP", "base")
    means = np.mean([BASE, BETTER], axis=0)
    assert cusines.interval == pytest.approx(bootstrap_interval(means))
    assert cusines.against.difference == pytest.approx(0.15)
    parts = [scores(BASE[4:], ROWS[4:]), scores(BASE[:4], ROWS[:4])]
    whole = compare_arms({"base": [scores(BASE)]}, "MAP", "base")
    assert compare_arms({"base": parts}, "MAP", "base") == whole


def test_only_common_questions_and_seeds_are_compared():
    lines = {
        "base": [scores(BASE[:5], ROWS[:5])],
        "cusines": [scores(BETTER), scores(BASE, seed=1)],
        "static": [scores(BASE, seed=1)],
        "random": [],
    }
    _, cusines, static = compare_arms(lines, "R@10", "base")
    assert cusines.against == paired_randomisation(BETTER[:5], BASE[:5])
    assert static.against is None


# Thresholds between questions with and without an answer

# Few different scores, so that many are equal; and any float at all.
SCORES = st.one_of(st.integers(-4, 4).map(float), st.floats(-1e300, 1e300, allow_nan=False))
LABELLED = st.lists(st.tuples(SCORES, st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: 0 < sum(kind for _, kind in rows) < len(rows)
)


def youden(rows, threshold):
    found = [score >= threshold for score, kind in rows if kind]
    refused = [score < threshold for score, kind in rows if not kind]
    return Fraction(sum(found), len(found)) + Fraction(sum(refused), len(refused)) - 1


@given(LABELLED, st.randoms())
def test_no_threshold_has_a_higher_j(rows, random):
    points, kinds = [score for score, _ in rows], [kind for _, kind in rows]
    best = best_threshold(points, kinds)
    assert youden(rows, best) == max(youden(rows, each) for each in [*points, math.inf])
    # A rescaling that keeps the order changes no decision, nor does the order of the questions.
    places = {score: place for place, score in enumerate(sorted(set(points)))}
    rescaled = [2.0 ** places[score] for score in points]
    decided = np.array(rescaled) >= best_threshold(rescaled, kinds)
    assert decided.tolist() == (np.array(points) >= best).tolist()
    random.shuffle(rows)
    assert best_threshold([score for score, _ in rows], [kind for _, kind in rows]) == best


@pytest.mark.parametrize(
    ("without", "with_answer", "threshold"),
    [
        ([0.1, 0.2], [0.6, 0.8], 0.4),  # the middle of the gap
        ([0.1, 0.5], [0.5, 0.9], 0.3),  # below .5 and above it are as good: the lower
        ([1.0, 3.0, 5.0], [2.0, 4.0, 6.0], 3.5),  # 1.5, 3.5 and 5.5 are as good: the middle one
        ([0.9], [0.1], 0.1),  # the wrong way round: better to answer everything
        ([0.5, 0.5], [0.5], 0.5),  # all equal
        ([1.0], [math.nextafter(1.0, 2.0)], math.nextafter(1.0, 2.0)),
    ],
)
def test_thresholds_by_hand(without, with_answer, threshold):
    kinds = [False] * len(without) + [True] * len(with_answer)
    assert best_threshold([*without, *with_answer], kinds) == pytest.approx(threshold)


def sample(n, gap):
    """n questions with an answer and n without, each a group, their scores `gap` apart."""
    generator = np.random.default_rng(0)
    points = np.concatenate([generator.normal(gap, 1, n), generator.normal(0, 1, n)])
    return separation(points, [True] * n + [False] * n, [str(each) for each in range(2 * n)])


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.sampled_from("abcdefgh")), min_size=4)
)
def test_each_group_is_judged_by_the_threshold_of_the_others(rows):
    points, kinds = [float(row[0]) for row in rows], [row[1] for row in rows]
    groups = [row[2] for row in rows]
    if any(len({g for _, k, g in rows if k == kind}) < 2 for kind in (False, True)):
        return
    expected = []
    for score, group in zip(points, groups, strict=True):
        others = [(s, k) for s, k, g in zip(points, kinds, groups, strict=True) if g != group]
        expected.append(score >= best_threshold(*map(list, zip(*others, strict=True))))
    found = separation(points, kinds, groups)
    assert list(found.answered) == expected
    pairs = [(a > b) + (a == b) / 2 for a, x, _ in rows for b, y, _ in rows if x and not y]
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert found.threshold == best_threshold(points, kinds)


def test_precision_and_recall_by_hand():
    # 9 of 10 with an answer above 5, 3 of 5 without below it, far from the threshold.
    points = [*range(10, 19), 1, *range(2, 5), 19, 20]
    found = separation(points, [True] * 10 + [False] * 5, [str(each) for each in range(15)])
    assert 4 < found.threshold < 10
    share = found.held_out
    assert (share["precision"], share["recall"]) == pytest.approx((9 / 11, 9 / 10))
    assert (share["nothing_precision"], share["nothing_recall"]) == pytest.approx((3 / 4, 3 / 5))
    assert share["j"] == pytest.approx(9 / 10 + 3 / 5 - 1)
    # Clopper and Pearson, 1934.
    assert found.intervals["recall"] == pytest.approx((0.5550, 0.9975), abs=1e-4)


def test_the_interval_of_the_area():
    found = sample(150, 1.0)
    values = {"auc": found.auc, **found.held_out}
    for name, value in values.items():
        low, high = found.intervals[name]
        assert low < value < high
    # Hanley and McNeil, 1982: the standard error of an area A.
    a, n = found.auc, 150
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)
    error = math.sqrt((a * (1 - a) + (n - 1) * (q1 + q2 - 2 * a * a)) / n**2)
    low, high = found.intervals["auc"]
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.15)


def test_a_score_separates_when_area_and_decisions_both_beat_a_coin():
    assert [sample(60, gap).separates for gap in (2.0, 0.0, -2.0)] == [True, False, False]
