"""The threshold against a slow search, decisions held out, intervals."""

import math
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.separation import Decided, Separation, best_threshold, separation
from components.statutes.significance import bootstrap_interval

Rows = list[tuple[float, bool]]

# Few different scores, so that many are equal; and any float at all.
SCORES = st.one_of(
    st.integers(-4, 4).map(float),
    st.floats(-1e300, 1e300, allow_nan=False),
)
ROWS = st.lists(st.tuples(SCORES, st.booleans()), min_size=2, max_size=30).filter(
    lambda rows: 0 < sum(kind for _, kind in rows) < len(rows)
)


def split(rows: Sequence[tuple[float, bool]]) -> tuple[list[float], list[bool]]:
    return [score for score, _ in rows], [kind for _, kind in rows]


def j(rows: Sequence[tuple[float, bool]], threshold: float) -> Fraction:
    with_answer = [score for score, kind in rows if kind]
    without = [score for score, kind in rows if not kind]
    return (
        Fraction(sum(score >= threshold for score in with_answer), len(with_answer))
        + Fraction(sum(score < threshold for score in without), len(without))
        - 1
    )


@given(ROWS)
def test_no_threshold_has_a_higher_j(rows: Rows) -> None:
    every = [*{score for score, _ in rows}, math.inf]
    assert j(rows, best_threshold(*split(rows))) == max(j(rows, each) for each in every)


@given(ROWS)
def test_a_rescaling_that_keeps_the_order_changes_no_decision(rows: Rows) -> None:
    scores, kinds = split(rows)
    places = {score: place for place, score in enumerate(sorted(set(scores)))}
    decided = np.array(scores) >= best_threshold(scores, kinds)
    for rescaled in ([2.0 ** places[score] for score in scores], [places[s] - 7 for s in scores]):
        assert (np.array(rescaled) >= best_threshold(rescaled, kinds)).tolist() == decided.tolist()


@given(ROWS, st.randoms())
def test_the_order_of_the_questions_does_not_matter(rows: Rows, random: object) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    assert best_threshold(*split(shuffled)) == best_threshold(*split(rows))


@pytest.mark.parametrize(
    ("without", "with_answer", "threshold"),
    [
        ([0.1, 0.2], [0.6, 0.8], 0.4),  # the middle of the gap
        ([0.1, 0.5], [0.5, 0.9], 0.3),  # below .5 and above it are as good: the lower
        ([1.0, 3.0, 5.0], [2.0, 4.0, 6.0], 3.5),  # 1.5, 3.5 and 5.5 are as good: the middle one
        ([0.9], [0.1], 0.1),  # the wrong way round: better to answer everything
        ([0.5, 0.5], [0.5], 0.5),  # all equal
    ],
)
def test_thresholds_by_hand(
    without: list[float], with_answer: list[float], threshold: float
) -> None:
    kinds = [False] * len(without) + [True] * len(with_answer)
    assert best_threshold([*without, *with_answer], kinds) == pytest.approx(threshold)


def test_neighbouring_floats_are_told_apart() -> None:
    low, high = 1.0, math.nextafter(1.0, 2.0)
    assert low < best_threshold([low, high], [False, True]) <= high


@pytest.mark.parametrize(
    ("scores", "kinds", "message"),
    [
        ([], [], "none with an answer"),
        ([0.1, 0.2], [True, True], "none without an answer"),
        ([0.1, 0.2], [False, False], "none with an answer"),
        ([0.1, math.nan], [True, False], r"scores\[1\] is not a finite number"),
        ([math.inf, 0.1], [True, False], r"scores\[0\] is not a finite number"),
        ([0.1], [True, False], "one value a question"),
    ],
)
def test_what_gives_no_threshold_is_refused(
    scores: list[float], kinds: list[bool], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        best_threshold(scores, kinds)


def sample(n: int, gap: float, seed: int = 0) -> Separation:
    """n questions with an answer and n without, each a group, their scores `gap` apart."""
    generator = np.random.default_rng(seed)
    scores = np.concatenate([generator.normal(gap, 1, n), generator.normal(0, 1, n)])
    return separation(scores, [True] * n + [False] * n, [str(each) for each in range(2 * n)])


@given(
    st.lists(st.tuples(st.integers(-3, 3), st.booleans(), st.sampled_from("abcdefgh")), min_size=4)
)
def test_each_group_is_judged_by_the_threshold_of_the_others(
    rows: list[tuple[int, bool, str]],
) -> None:
    scores, kinds = [float(row[0]) for row in rows], [row[1] for row in rows]
    groups = [row[2] for row in rows]
    if any(
        len({g for g, k in zip(groups, kinds, strict=True) if k == kind}) < 2 for kind in (0, 1)
    ):
        with pytest.raises(ValueError, match=r"two questions|both kinds"):
            separation(scores, kinds, groups)
        return
    expected = []
    for score, group in zip(scores, groups, strict=True):
        others = [place for place, each in enumerate(groups) if each != group]
        threshold = best_threshold(
            [scores[place] for place in others], [kinds[place] for place in others]
        )
        expected.append(score >= threshold)
    found = separation(scores, kinds, groups)
    assert list(found.answered) == expected
    pairs = [
        (a > b) + (a == b) / 2
        for a, kind_a in zip(scores, kinds, strict=True)
        for b, kind_b in zip(scores, kinds, strict=True)
        if kind_a and not kind_b
    ]
    assert found.auc == pytest.approx(sum(pairs) / len(pairs))
    assert found.threshold == best_threshold(scores, kinds)


def test_precision_and_recall_by_hand() -> None:
    # 9 of 10 with an answer above 5, 3 of 5 without below it, far from the threshold.
    scores = [*range(10, 19), 1, *range(2, 5), 19, 20]
    kinds = [True] * 10 + [False] * 5
    found = separation(scores, kinds, [str(each) for each in range(15)])
    assert 4 < found.threshold < 10
    for decided in (found.in_sample, found.held_out):
        assert decided.precision == pytest.approx(9 / 11)
        assert decided.recall == pytest.approx(9 / 10)
        assert decided.nothing_precision == pytest.approx(3 / 4)
        assert decided.nothing_recall == pytest.approx(3 / 5)
        assert decided.j == pytest.approx(9 / 10 + 3 / 5 - 1)


def test_where_everything_is_answered_the_precision_of_nothing_found_is_none() -> None:
    found = separation([0.0, 0.1, 1.0, 1.1], [True, True, False, False], list("abcd"))
    assert found.in_sample.precision == 0.5
    assert found.in_sample.nothing_precision is None
    assert not found.separates


def test_intervals_are_those_of_a_plain_bootstrap() -> None:
    found = sample(150, 1.0)
    for name, rows in (("recall", slice(0, 150)), ("nothing_recall", slice(150, 300))):
        right = [each == (name == "recall") for each in found.answered[rows]]
        plain = bootstrap_interval(np.array(right, dtype=float))
        assert found.intervals[name] == pytest.approx(plain, abs=0.011)
    for name, value in (
        ("auc", found.auc),
        ("precision", found.held_out.precision),
        ("j", found.held_out.j),
    ):
        low, high = found.intervals[name]
        assert value is not None
        assert low < value < high
    # Hanley and McNeil, 1982: the standard error of an area A.
    a, n = found.auc, 150
    q1, q2 = a / (2 - a), 2 * a * a / (1 + a)
    error = math.sqrt((a * (1 - a) + (n - 1) * (q1 + q2 - 2 * a * a)) / n**2)
    low, high = found.intervals["auc"]
    assert (high - low) / (2 * 1.96 * error) == pytest.approx(1, abs=0.15)


def test_questions_that_stand_twice_count_once_in_the_intervals() -> None:
    generator = np.random.default_rng(1)
    scores = np.concatenate([generator.normal(1, 1, 60), generator.normal(0, 1, 60)])
    kinds = np.array([True] * 60 + [False] * 60)
    names = [str(each) for each in range(120)]
    once = separation(scores, kinds, names)
    twice = separation(np.tile(scores, 4), np.tile(kinds, 4), names * 4)
    assert twice.auc == pytest.approx(once.auc)
    assert twice.intervals["auc"] == pytest.approx(once.intervals["auc"], abs=0.02)


def test_asking_in_pairs_makes_no_score_look_sure() -> None:
    # Without its articles a question scores a little less, whatever the score means.
    scores = np.random.default_rng(0).normal(0, 1, 60)
    names = [str(each) for each in range(60)]
    paired = separation([*scores, *(scores - 0.05)], [True] * 60 + [False] * 60, names * 2)
    assert paired.auc > 0.5
    low, high = paired.intervals["auc"]
    assert low < 0.45 < 0.55 < high


@pytest.mark.parametrize(("gap", "separates"), [(2.0, True), (0.0, False), (-2.0, False)])
def test_only_a_score_that_tells_them_apart_separates(gap: float, separates: bool) -> None:
    assert sample(60, gap).separates is separates


@pytest.mark.parametrize(
    ("low", "recall", "separates"), [(0.6, 0.8, True), (0.5, 0.8, False), (0.6, 0.6, False)]
)
def test_area_and_decisions_must_both_be_better_than_a_coin(
    low: float, recall: float, separates: bool
) -> None:
    decided = Decided(0.5, recall, 0.5, 0.4)
    found = Separation(0.3, decided, decided, (), 0.7, {"auc": (low, 0.8)})
    assert found.separates is separates


def test_the_same_questions_give_the_same_intervals() -> None:
    assert sample(30, 1.0) == sample(30, 1.0)


def test_groups_and_scores_belong_together() -> None:
    with pytest.raises(ValueError, match="groups has 1 values, scores 4"):
        separation([1, 2, 3, 4], [True, True, False, False], ["a"])
