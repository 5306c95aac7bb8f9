"""Curriculum negatives: what is drawn, what never is, and that a seed decides it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from types import SimpleNamespace
from typing import Any, get_args

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from repeated_law import Case, forbidden, repeated_laws
from torch.nn.functional import normalize

from components.statutes import Article, Question, StatuteCorpus, read_questions
from training.candidates import mine_negatives
from training.negatives import sampling
from training.negatives.curriculum import (
    MAX_BUCKETS,
    CurriculumSettings,
    allot,
    allot_of_buckets,
    bucket_edges,
    largest_remainder,
    phase_shares,
    shares,
)
from training.negatives.gold import Gold
from training.negatives.sampling import BucketDraws, CurriculumNegatives, statistics
from training.negatives.views import BM25View
from training.settings import Strategy

# Shares and phases

PAPER = [[Fraction(n, 100) for n in row] for row in ((70, 20, 10), (15, 70, 15), (10, 20, 70))]
bucket_counts = st.integers(1, MAX_BUCKETS)
share_rows = bucket_counts.flatmap(
    lambda n: st.integers(0, n - 1).map(lambda phase: shares(n, phase))
)


def chance(seed: int = 0) -> np.random.Generator:
    return np.random.default_rng(seed)


def test_schedules_order_the_phases():
    assert [list(row) for row in phase_shares("curriculum", 3)] == PAPER
    assert [list(row) for row in phase_shares("reversed", 3)] == PAPER[::-1]
    assert phase_shares("constant", 4) == ((Fraction(1, 4),) * 4,)
    assert phase_shares("fixed", 3) == ((),)
    assert phase_shares("curriculum", 1) == ((1,),)


@given(st.lists(st.integers(0, 100), min_size=1, max_size=4), bucket_counts)
def test_buckets_cut_the_list_into_equal_parts_the_easiest_last(lengths, n):
    starts, ends = bucket_edges(np.array(lengths), n)
    for length, row_starts, row_ends in zip(lengths, starts.tolist(), ends.tolist(), strict=True):
        pieces = list(zip(row_starts, row_ends, strict=True))[::-1]
        assert [place for piece in pieces for place in range(*piece)] == list(range(length))
        sizes = [end - start for start, end in pieces]
        assert max(sizes) - min(sizes) <= 1


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


@given(st.integers(1, 60), st.integers(0, 20), share_rows, st.integers(0, 99))
def test_an_epochs_shares_are_exactly_those_of_the_largest_remainder(n_questions, n, row, seed):
    counts = allot(n_questions, n, row, chance(seed))
    assert (counts.sum(axis=1) == n).all()
    assert counts.sum(axis=0).tolist() == apportioned([n_questions * n * each for each in row])
    for bucket, each in enumerate(row):
        low, high = math.floor(n * each), math.ceil(n * each)
        assert set(counts[:, bucket].tolist()) <= {low, high}


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


# Places in the buckets

SETTINGS = CurriculumSettings(views=("tree",))


def gold(n_questions: int = 50) -> Gold:
    ids = tuple(f"q{n}" for n in range(n_questions))
    own = tuple(np.arange(1 + n % 3) for n in range(n_questions))
    return Gold(ids, tuple(f"a{n}" for n in range(101)), own, own)


def test_places_lie_in_their_buckets_and_come_once():
    draws = BucketDraws(SETTINGS, gold())
    phases = draws.phases(np.linspace(0, 0.999, 50))
    counts = draws.counts(4, phases)
    for row, places in enumerate(draws.places(4, phases)):
        assert len(set(places.tolist())) == 8
        buckets = draws.buckets_at(np.full(8, row), places)
        assert np.bincount(buckets, minlength=3).tolist() == counts[row].tolist()


def test_an_epoch_in_which_a_phase_ends_has_the_right_shares_on_both_sides():
    draws = BucketDraws(SETTINGS, gold())
    # The first 20 questions are met in the first phase, 30 in the second.
    progress = np.where(np.arange(50) < 20, 0.33, 0.34)
    counts = draws.counts(0, draws.phases(progress))
    assert counts[:20].sum(axis=0).tolist() == [112, 32, 16]
    assert counts[20:].sum(axis=0).tolist() == [36, 168, 36]


def test_a_questions_places_depend_on_seed_epoch_and_question_alone():
    options = replace(SETTINGS, buckets=1)

    def places(seed: int, epoch: int, n_questions: int, row: int) -> list[int]:
        draws = BucketDraws(replace(options, seed=seed), gold(n_questions))
        return draws.places(epoch, draws.phases(0.0))[row].tolist()

    assert places(0, 0, 50, 7) == places(0, 0, 8, 7)
    others = [places(1, 0, 50, 7), places(0, 1, 50, 7), places(0, 0, 50, 10)]
    assert places(0, 0, 50, 7) not in others


# Positives and their twins


@given(repeated_laws())
def test_what_is_excluded_and_where_the_others_stand_is_what_plain_loops_find(case):
    gold = Gold.of(*case)
    for row, (question, excluded) in enumerate(zip(case[1], gold.excluded, strict=True)):
        assert excluded.tolist() == forbidden(case, question)
        left = [n for n in range(gold.n_articles) if n not in excluded]
        places = np.arange(len(left))[::-1]
        assert gold.negatives_at(row, places).tolist() == left[::-1]


# CurriculumNegatives

STATIC = ("tree", "sequence", "bm25")


@pytest.fixture(scope="module")
def aldermere() -> tuple[StatuteCorpus, list[Question]]:
    questions = [each for each in read_questions("aldermere", split="train") if each.answerable]
    return StatuteCorpus.read("aldermere"), questions[:85]


def vectors(n_questions: int, n_articles: int) -> dict[str, torch.Tensor]:
    chance = torch.Generator().manual_seed(0)
    return {
        "questions": normalize(torch.randn(n_questions, 24, generator=chance), dim=1),
        "articles": normalize(torch.randn(n_articles, 24, generator=chance), dim=1),
    }


@given(
    repeated_laws(),
    st.sampled_from([("tree", "sequence", "semantic"), ("semantic",), STATIC, ()]),
    st.sampled_from(["curriculum", "constant", "reversed", "fixed"]),
    st.sampled_from(["mid_rank", "permutation"]),
    st.integers(1, 6),
    st.integers(0, 5),
    st.floats(0, 0.999),
)
def test_no_positive_nor_its_twin_is_ever_drawn(case, views, schedule, ties, buckets, n, progress):
    articles, questions = case
    options: dict[str, Any] = {"views": views, "negatives_per_question": n, "ties": ties}
    options |= {"schedule": schedule, "buckets": buckets} if views else {"buckets": 1}
    try:
        negatives = CurriculumNegatives(articles, questions, **options)
    except ValueError as error:
        # What is not refused here must work.
        refused = ("Ask for fewer", "answers every question", "no pair has a negative")
        assert any(each in str(error) for each in refused)
        return
    given = vectors(len(questions), len(articles)) if negatives.needs_vectors else {}
    drawn = negatives.draw(1, progress, **given)
    for row, question in enumerate(questions):
        chosen = drawn.of(row).tolist()
        assert len(set(chosen)) == len(chosen) == n
        assert not set(chosen) & set(forbidden(case, question))


@pytest.mark.parametrize(
    ("views", "ties"), [(("tree", "sequence", "semantic"), "mid_rank"), (STATIC, "permutation")]
)
def test_neither_block_nor_threads_change_what_is_drawn(aldermere, monkeypatch, views, ties):
    corpus, questions = aldermere
    given = vectors(len(questions), len(corpus)) if "semantic" in views else {}

    def drawn(cells: int, n_threads: int) -> list[list[int]]:
        monkeypatch.setattr(sampling, "BLOCK_CELLS", cells)
        torch.set_num_threads(n_threads)
        negatives = CurriculumNegatives(corpus, questions, views=views, ties=ties)
        arrays = vars(negatives.draw(2, 0.4, **given))
        return [arrays[name].tolist() for name in ("articles", "buckets", "views")]

    whole = drawn(1 << 30, 1)
    try:
        assert drawn(1, 1) == drawn(len(corpus) * 7, 2) == whole
    finally:
        torch.set_num_threads(1)


def test_bm25_fixed_takes_the_best_scored_negatives_in_every_epoch(aldermere):
    corpus, questions = aldermere
    negatives = CurriculumNegatives(corpus, questions, views=("bm25",), schedule="fixed")
    first, last = negatives.draw(0, 0.0), negatives.draw(9, 0.9)
    assert first.articles.tolist() == last.articles.tolist()
    inputs: Any = SimpleNamespace(
        articles=corpus,
        questions=questions,
        settings=CurriculumSettings(),
        device=torch.device("cpu"),
    )
    scores = BM25View(inputs).difficulty(np.arange(len(questions)))
    for row, excluded in enumerate(negatives.gold.excluded):
        scores[row, excluded] = -1
        best = scores[row].sort(descending=True).values[:8]
        assert scores[row, first.of(row)].tolist() == best.tolist()


def test_the_view_of_a_negative_is_the_one_that_ranks_it_hardest():
    # a0 is the positive; a1 stands next to it, a5 is its only sibling.
    parts = ("A", "B", "B", "C", "C", "A")
    articles = [Article(f"a{n}", "Law", str(n), (p,), f"words {n}") for n, p in enumerate(parts)]
    negatives = CurriculumNegatives(
        articles,
        [Question("q0", "?", ("a0",))],
        views=("tree", "sequence"),
        negatives_per_question=5,
        buckets=1,
    )
    drawn = negatives.draw(0, 0.0)
    assert statistics(drawn, negatives)["views"] == {"tree": 2, "sequence": 3}
    view_of = dict(zip(drawn.articles.tolist(), drawn.views.tolist(), strict=True))
    # Tree ranks: a5 1, the rest 3.5. Sequence ranks: a1 to a5 are 1 to 5.
    assert view_of == {5: 0, 1: 1, 2: 1, 3: 1, 4: 0}


def test_every_option_reaches_the_ranking(aldermere):
    def drawn(**option: Any) -> list[int]:
        # No chance in what "fixed" takes: other articles come from another ranking alone.
        fixed = CurriculumNegatives(
            *aldermere, views=STATIC, schedule="fixed", negatives_per_question=40, **option
        )
        return fixed.draw(0, 0.0).articles.tolist()

    by_default = drawn()
    for option in (
        {"cross_law": "path"},
        {"k": 1},
        {"ties": "permutation"},
        {"bm25_k1": 0.1},
        {"bm25_b": 0.0},
        {"text_rule": "text"},
        {"seed": 1},
        {"permute_tree": True},
    ):
        assert drawn(**option) != by_default, option


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"views": ("tree", "moon")}, "views"),
        ({"buckets": 7}, "buckets"),
        ({"bm25_b": 1.5}, "bm25_b"),
        ({"views": ()}, "buckets"),
        ({"views": ("run",)}, "run_file"),
        ({"share_of": "bucket", "schedule": "fixed"}, "share_of"),
        ({"candidates": 5, "schedule": "fixed"}, "candidates"),
        ({"candidates": 5, "negatives_per_question": 2}, "question 'q1' holds 1"),
        ({"share_of": "bucket"}, "share_of"),
        ({"negatives_per_question": 9}, "negatives_per_question is 9, but question 'q1'"),
        ({"negatives_per_question": 4}, "one of the 3 buckets of question 'q1' holds 2"),
    ],
)
def test_wrong_options_are_refused_when_it_is_made(options, message):
    articles = [Article(f"a{n}", "Law", str(n), (), f"words {n}") for n in range(10)]
    questions = [Question("q0", "?", ("a0",)), Question("q1", "!", ("a1", "a2"))]
    with pytest.raises(ValueError, match=message):
        CurriculumNegatives(articles, questions, **options)


# Negatives of a ranker

STRATEGIES = get_args(Strategy)


@st.composite
def mining_problems(
    draw: st.DrawFn,
) -> tuple[Case, np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """Articles, questions, and what a first stage found for each."""
    case = draw(repeated_laws())
    articles, questions = case
    m = draw(st.integers(0, len(articles)))
    rows = [draw(st.permutations(range(len(articles))))[:m] for _ in questions]
    return case, np.array(rows, np.int64).reshape(len(questions), m)


@given(mining_problems(), st.sampled_from(STRATEGIES), st.integers(1, 12), st.integers(0, 3))
def test_no_positive_and_no_twin_ever_and_as_many_as_there_are(problem, strategy, n, seed):
    (articles, questions), found = problem
    mined = mine_negatives(Gold.of(articles, questions), found, strategy=strategy, n=n, seed=seed)
    short = []
    for row, question in enumerate(questions):
        drawn = mined.of(row).tolist()
        pool = range(len(articles)) if strategy == "easy" else found[row].tolist()
        allowed = [each for each in pool if each not in forbidden(problem[0], question)]
        assert set(drawn) <= set(allowed)
        assert len(set(drawn)) == len(drawn) == min(n, len(allowed))
        if strategy == "hard":
            assert drawn == allowed[:n]
        if len(allowed) < n:
            short.append(question.id)
    assert mined.short == tuple(short)
    assert mined.articles.dtype == mined.starts.dtype == np.int64


@given(mining_problems(), st.integers(1, 6), st.integers(0, 6))
def test_fewer_semi_hard_negatives_are_the_first_of_more(problem, n, more):
    (articles, questions), found = problem
    gold = Gold.of(articles, questions)
    few, many = (
        mine_negatives(gold, found, strategy="semi_hard", n=size, seed=0) for size in (n, n + more)
    )
    for row in range(len(questions)):
        assert few.of(row).tolist() == many.of(row)[:n].tolist()
