"""Arms beside each other: each question counts once, and every comparison is counted."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import pytest

from components.statutes.arm_scores import compare_arms, unseen_mean
from components.statutes.significance import bootstrap_interval, holm, paired_randomisation

BASELINE = "bm25_fixed"
BASE = [0.0, 0.2, 0.1, 0.4, 0.3, 0.2, 0.1, 0.0]
BETTER = [value + 0.3 for value in BASE]
OTHER = [0.1, 0.1, 0.2, 0.3, 0.4, 0.2, 0.0, 0.1]
ROWS = list(range(8))


def values(rows: Sequence[int], values: Sequence[float], **fields: Any) -> dict[str, Any]:
    """A line with the same values in every metric."""
    return {
        "seed": 0,
        "questions": list(rows),
        "unseen": [],
        "values": {metric: list(values) for metric in ("R@5", "R@10", "MAP")},
        **fields,
    }


def test_arms_are_compared_question_by_question_and_holm_counts_the_arms() -> None:
    lines = {
        "random": [values(ROWS, OTHER)],
        "bm25_fixed": [values(ROWS, BASE)],
        "cusines": [values(ROWS, BETTER)],
    }
    random, baseline, cusines = compare_arms(lines, "R@10", BASELINE)
    assert baseline.against is None
    assert baseline.p is None
    assert random.against == paired_randomisation(OTHER, BASE)
    assert cusines.against == paired_randomisation(BETTER, BASE)
    assert [random.p, cusines.p] == holm([random.against.p, cusines.against.p])
    assert cusines.interval == bootstrap_interval(BETTER)
    assert cusines.mean == pytest.approx(sum(BETTER) / 8)


def test_holm_counts_two_arms_that_are_one_run_once() -> None:
    lines = {
        "random": [values(ROWS, OTHER)],
        "bm25_fixed": [values(ROWS, BASE)],
        "cusines": [values(ROWS, BETTER)],
    }
    *_, expected = compare_arms(lines, "R@10", BASELINE)
    both = compare_arms({**lines, "buckets_3": lines["cusines"]}, "R@10", BASELINE)
    assert [each.arm for each in both] == ["random", "bm25_fixed", "cusines", "buckets_3"]
    assert both[2].p == both[3].p == expected.p


def test_a_question_counts_once_with_its_mean_over_seeds() -> None:
    lines = {
        "bm25_fixed": [values(ROWS, BASE, seed=seed) for seed in (0, 1)],
        "cusines": [values(ROWS, BASE, seed=0), values(ROWS, BETTER, seed=1)],
    }
    _, cusines = compare_arms(lines, "MAP", BASELINE)
    assert cusines.n_questions == 8
    means = [(low + high) / 2 for low, high in zip(BASE, BETTER, strict=True)]
    assert cusines.interval == pytest.approx(bootstrap_interval(means))
    assert cusines.against is not None
    assert cusines.against.difference == pytest.approx(0.15)


def test_runs_of_two_grids_are_not_one_arm() -> None:
    short, long = (values(ROWS, BASE, settings={"epochs": n, "clip": 1.0}, folds=n) for n in (1, 5))
    with pytest.raises(ValueError, match=r"'cusines'.*seed 0.*differ in folds, settings\.epochs\."):
        compare_arms({"cusines": [short, long]}, "MAP", BASELINE)
    with pytest.raises(ValueError, match="differ in nothing"):
        compare_arms({"cusines": [short, dict(short)]}, "MAP", BASELINE)


def test_folds_make_up_the_whole_in_any_order() -> None:
    whole = compare_arms({"bm25_fixed": [values(ROWS, BASE)]}, "R@5", BASELINE)
    parts = [values(ROWS[4:], BASE[4:]), values(ROWS[:4], BASE[:4])]
    assert compare_arms({"bm25_fixed": parts}, "R@5", BASELINE) == whole


def test_only_what_both_have_is_compared() -> None:
    lines = {
        "bm25_fixed": [values(ROWS[:5], BASE[:5])],
        "cusines": [values(ROWS, BETTER), values(ROWS, BASE, seed=1)],
        "static": [values(ROWS, BASE, seed=1)],
        "random": [],
    }
    _, cusines, static = compare_arms(lines, "R@10", BASELINE)
    assert cusines.against == paired_randomisation(BETTER[:5], BASE[:5])
    assert cusines.p == cusines.against.p
    assert static.against is None


def test_unseen_are_the_questions_whose_articles_were_not_trained_on() -> None:
    lines = [
        values([0, 1, 2], [1.0, 0.5, 0.0], unseen=[1, 2]),
        values([0, 1, 2], [1.0, 1.0, 1.0], seed=1, unseen=[2]),
    ]
    assert unseen_mean(lines, "R@10") == (pytest.approx((0.5 + 0.5) / 2), 2)
    assert unseen_mean([values([0], [1.0])], "R@10") == (None, 0)


def test_one_run_against_two_baselines_is_two_tests() -> None:
    lines = {
        "first": [values(ROWS, BASE)],
        "second": [values(ROWS, OTHER)],
        "cusines": [values(ROWS, BETTER)],
        "buckets_3": [values(ROWS, BETTER)],
    }
    of = {"first": "first", "second": "second", "cusines": "first", "buckets_3": "second"}
    *_, one, other = compare_arms(lines, "R@10", of)
    assert one.against == paired_randomisation(BETTER, BASE)
    assert other.against == paired_randomisation(BETTER, OTHER)
    assert [one.p, other.p] == holm([one.against.p, other.against.p])
    # Two names of one baseline make one test.
    same = {**lines, "second": lines["first"]}
    *_, one, other = compare_arms(same, "R@10", of)
    assert one.p == other.p == paired_randomisation(BETTER, BASE).p
