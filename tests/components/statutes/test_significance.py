"""Intervals and tests: exact small cases, enumeration as the oracle, and their limits."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import significance
from components.statutes.significance import bootstrap_interval, holm, paired_randomisation


def test_the_interval_of_equal_values_is_a_point() -> None:
    assert bootstrap_interval([0.5] * 20) == (0.5, 0.5)


def test_the_interval_is_near_the_normal_one_for_many_questions() -> None:
    values = np.random.default_rng(0).random(1000)
    low, high = bootstrap_interval(values)
    half = 1.96 * values.std() / np.sqrt(len(values))
    assert (low, high) == pytest.approx((values.mean() - half, values.mean() + half), abs=0.002)


def test_the_same_seed_gives_the_same_numbers_and_another_seed_others() -> None:
    a, b = np.random.default_rng(1).random((2, 40))
    assert bootstrap_interval(a, seed=3) == bootstrap_interval(a, seed=3)
    assert bootstrap_interval(a, seed=3) != bootstrap_interval(a, seed=4)
    assert paired_randomisation(a, b, seed=3) == paired_randomisation(a, b, seed=3)


def test_memory_blocks_do_not_change_how_many_samples_are_drawn(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(significance, "_BLOCK", 50)
    assert sum(significance._blocks(1003, 20)) == 1003
    assert max(significance._blocks(1003, 20)) == 2
    low, high = bootstrap_interval([0.0, 1.0] * 10, samples=1003)
    assert 0.2 < low < 0.5 < high < 0.8


def test_identical_systems_do_not_differ() -> None:
    result = paired_randomisation([0.1, 0.9, 0.5], [0.1, 0.9, 0.5])
    assert (result.difference, result.p, result.interval) == (0.0, 1.0, (0.0, 0.0))


@given(st.lists(st.floats(-1, 1), min_size=2, max_size=8))
def test_p_agrees_with_all_assignments_of_signs(differences: list[float]) -> None:
    observed = abs(np.mean(differences))
    means = [
        abs(np.mean(np.multiply(differences, signs)))
        for signs in product((1, -1), repeat=len(differences))
    ]
    exact = np.mean([mean >= observed - 1e-12 for mean in means])
    sampled = paired_randomisation(differences, [0.0] * len(differences), samples=2000).p
    assert sampled == pytest.approx(exact, abs=0.05)


def test_swapping_the_systems_turns_the_sign_and_keeps_p() -> None:
    a, b = np.random.default_rng(2).random((2, 60))
    forth, back = paired_randomisation(a, b), paired_randomisation(b, a)
    assert forth.difference == -back.difference
    assert (forth.p, forth.detectable) == pytest.approx((back.p, back.detectable))


def test_a_clear_difference_is_found_and_lies_in_its_interval() -> None:
    a = np.random.default_rng(3).random(200)
    result = paired_randomisation(a + 0.1, a + np.random.default_rng(4).normal(0, 0.1, 200))
    assert result.p < 0.001
    assert result.interval[0] < result.difference < result.interval[1]


def test_the_detectable_difference_is_found_four_times_in_five() -> None:
    generator = np.random.default_rng(5)
    noise = generator.normal(0, 1, (200, 100))
    detectable = 2.8016 / np.sqrt(100)  # sd 1
    found = [
        paired_randomisation(row + detectable, np.zeros(100), samples=400).p <= 0.05
        for row in noise
    ]
    assert np.mean(found) == pytest.approx(0.8, abs=0.08)
    one = paired_randomisation(noise[0], np.zeros(100))
    assert one.detectable == pytest.approx(2.8016 * noise[0].std(ddof=1) / 10, rel=1e-4)


@pytest.mark.parametrize("by", [0.0, 0.3])
def test_differences_all_alike_say_nothing_of_others(by: float) -> None:
    values = np.array([0.5, 0.2, 1.0])
    assert paired_randomisation(values + by, values).detectable is None


def test_one_question_shows_nothing() -> None:
    result = paired_randomisation([1.0], [0.0])
    assert result.detectable is None
    assert result.p == 1.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: bootstrap_interval([]), "values needs one number a question"),
        (lambda: bootstrap_interval([[0.1]]), r"shape \(1, 1\)"),
        (lambda: bootstrap_interval([0.1, float("nan")]), r"values\[1\] is not a finite number"),
        (lambda: bootstrap_interval([0.1], samples=0), "samples must be 1 or more"),
        (lambda: paired_randomisation([1.0], [1.0, 2.0]), "a has 1 values and b 2"),
        (lambda: holm([0.1, 1.2]), "lies between 0 and 1, not at 1.2"),
    ],
)
def test_wrong_input_is_refused(call: object, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        call()  # type: ignore[operator]


def test_holm_by_hand() -> None:
    assert holm([0.01, 0.04, 0.03, 0.005]) == pytest.approx([0.03, 0.06, 0.06, 0.02])
    assert holm([0.9, 0.8]) == [1.0, 1.0]
    assert holm([]) == []


@given(st.lists(st.floats(0, 1), min_size=1, max_size=10))
def test_holm_keeps_the_order_and_never_lowers_a_value(pvalues: list[float]) -> None:
    adjusted = holm(pvalues)
    assert all(p <= q <= 1 for p, q in zip(pvalues, adjusted, strict=True))
    order = sorted(range(len(pvalues)), key=pvalues.__getitem__)
    assert [adjusted[i] for i in order] == sorted(adjusted)
