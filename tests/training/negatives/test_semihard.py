"""Negatives mined for a re-ranker: never a positive, reproducible, as hard as asked for."""

from __future__ import annotations

from random import Random
from typing import get_args

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from components.statutes.article import Article
from components.statutes.question import Question
from components.statutes.twins import normalised
from training.negatives.gold import Gold
from training.negatives.semihard import (
    MinedNegatives,
    Strategy,
    mine_negatives,
    score_statistics,
)

STRATEGIES = get_args(Strategy)
# So few texts that articles are twins, and questions are asked twice.
TEXTS = ("Rent is due.", "rent  is DUE.", "Notice is given.", "Repairs are made.", "Wages.")
WORDS = ("Who pays?", "who PAYS?", "When is notice due?", "What now?")


def article(position: int, text: str) -> Article:
    return Article(f"a{position}", "Code", str(position), (), text)


@st.composite
def mining_problems(
    draw: st.DrawFn,
) -> tuple[list[Article], list[Question], np.ndarray[tuple[int, int], np.dtype[np.int64]]]:
    """Articles, questions, and what a first stage found for each."""
    n_articles = draw(st.integers(1, 12))
    unique = st.sampled_from([f"Rule {n}." for n in range(6)])
    articles = [
        article(n, draw(st.one_of(st.sampled_from(TEXTS), unique))) for n in range(n_articles)
    ]
    questions = [
        Question(
            f"q{n}",
            draw(st.sampled_from(WORDS)),
            tuple(
                f"a{p}"
                for p in draw(
                    st.lists(st.integers(0, n_articles - 1), min_size=1, max_size=3, unique=True)
                )
            ),
        )
        for n in range(draw(st.integers(1, 6)))
    ]
    m = draw(st.integers(0, n_articles))
    rows = [draw(st.permutations(range(n_articles)))[:m] for _ in questions]
    return articles, questions, np.array(rows, np.int64).reshape(len(questions), m)


def forbidden(articles: list[Article], questions: list[Question], question: Question) -> set[int]:
    """Positions that may never be negatives of a question, from their definition."""
    answers = {
        article_id
        for other in questions
        if normalised(other.text) == normalised(question.text)
        for article_id in other.relevant
    }
    texts = {normalised(each.text) for each in articles if each.id in answers}
    return {place for place, each in enumerate(articles) if normalised(each.text) in texts}


@given(mining_problems(), st.sampled_from(STRATEGIES), st.integers(1, 12), st.integers(0, 3))
def test_no_positive_and_no_twin_ever_and_as_many_as_there_are(
    problem: tuple[list[Article], list[Question], np.ndarray], strategy: Strategy, n: int, seed: int
) -> None:
    articles, questions, found = problem
    mined = mine_negatives(Gold.of(articles, questions), found, strategy=strategy, n=n, seed=seed)
    short = []
    for row, question in enumerate(questions):
        drawn = mined.of(row).tolist()
        pool = range(len(articles)) if strategy == "easy" else found[row].tolist()
        allowed = [each for each in pool if each not in forbidden(articles, questions, question)]
        assert set(drawn) <= set(allowed)
        assert len(set(drawn)) == len(drawn) == min(n, len(allowed))
        if strategy == "hard":
            assert drawn == allowed[:n]
        if len(allowed) < n:
            short.append(question.id)
    assert mined.short == tuple(short)
    assert mined.articles.dtype == mined.starts.dtype == np.int64


@given(mining_problems(), st.sampled_from(STRATEGIES), st.integers(1, 4), st.randoms())
def test_the_same_negatives_in_whatever_order_the_questions_come(
    problem: tuple[list[Article], list[Question], np.ndarray],
    strategy: Strategy,
    n: int,
    rng: Random,
) -> None:
    articles, questions, found = problem
    order = list(range(len(questions)))
    rng.shuffle(order)

    def mined(rows: list[int]) -> dict[str, list[int]]:
        asked = [questions[row] for row in rows]
        of = mine_negatives(Gold.of(articles, asked), found[rows], strategy=strategy, n=n, seed=3)
        return {question.id: of.of(row).tolist() for row, question in enumerate(asked)}

    assert mined(order) == mined(list(range(len(questions))))


@given(mining_problems(), st.integers(1, 6), st.integers(0, 6))
def test_fewer_semi_hard_negatives_are_the_first_of_more(
    problem: tuple[list[Article], list[Question], np.ndarray], n: int, more: int
) -> None:
    articles, questions, found = problem
    gold = Gold.of(articles, questions)
    few, many = (
        mine_negatives(gold, found, strategy="semi_hard", n=size, seed=0) for size in (n, n + more)
    )
    for row in range(len(questions)):
        assert few.of(row).tolist() == many.of(row)[:n].tolist()


def many_questions(n_questions: int, n_articles: int) -> Gold:
    """One positive each, the article 3, and no twins."""
    articles = [article(n, f"Rule {n}.") for n in range(n_articles)]
    return Gold.of(articles, [Question(f"q{n}", f"Ask {n}?", ("a3",)) for n in range(n_questions)])


@pytest.mark.parametrize(
    ("strategy", "pool"),
    [
        ("semi_hard", [0, 1, 2, 4, 5, 6, 7, 8, 9]),
        ("easy", [p for p in range(20) if p != 3]),
    ],
)
def test_what_is_drawn_at_random_is_drawn_evenly(strategy: Strategy, pool: list[int]) -> None:
    n_questions, n = 4_000, 2
    gold = many_questions(n_questions, 20)
    found = np.tile(np.arange(10), (n_questions, 1))
    mined = mine_negatives(gold, found, strategy=strategy, n=n, seed=0)
    counts = np.bincount(mined.articles, minlength=20)
    assert set(np.flatnonzero(counts)) == set(pool)
    expected = n_questions * n / len(pool)
    spread = np.sqrt(expected * (1 - n / len(pool)))
    assert np.abs(counts[pool] - expected).max() < 4.5 * spread


def test_hard_takes_the_best_found() -> None:
    found = np.array([[7, 3, 1, 0], [3, 2, 9, 8]])
    mined = mine_negatives(many_questions(2, 10), found, strategy="hard", n=2, seed=0)
    assert mined.of(0).tolist() == [7, 1]
    assert mined.of(1).tolist() == [2, 9]
    assert mined.questions.tolist() == [0, 0, 1, 1]


@pytest.mark.parametrize("strategy", ["semi_hard", "easy"])
def test_the_seed_decides(strategy: Strategy) -> None:
    gold = many_questions(20, 100)
    found = np.tile(np.arange(90), (20, 1))

    def mined(seed: int) -> MinedNegatives:
        return mine_negatives(gold, found, strategy=strategy, n=5, seed=seed)

    assert mined(0).articles.tolist() == mined(0).articles.tolist()
    assert mined(0).articles.tolist() != mined(1).articles.tolist()


def test_a_question_without_any_candidate_is_reported() -> None:
    found = np.array([[3], [4]])
    mined = mine_negatives(many_questions(2, 10), found, strategy="semi_hard", n=1, seed=0)
    assert mined.of(0).tolist() == []
    assert mined.of(1).tolist() == [4]
    assert mined.short == ("q0",)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"strategy": "hardest"}, "'hardest' is none; choose among semi_hard, hard, easy"),
        ({"n": 0}, "n is 0"),
        ({"found": np.zeros((3, 2), np.int64)}, r"must be \[2, m\]"),
        ({"found": np.full((2, 2), 10)}, "corpus has 10 articles"),
    ],
)
def test_what_cannot_be_is_refused(change: dict[str, object], message: str) -> None:
    values = {"found": np.zeros((2, 1), np.int64), "strategy": "semi_hard", "n": 2, "seed": 0}
    with pytest.raises(ValueError, match=message):
        mine_negatives(many_questions(2, 10), **{**values, **change})  # type: ignore[arg-type]


def test_table_3_counts_a_bound_to_the_part_above_it() -> None:
    scores = [0.1, 0.499, 0.5, 0.8, 0.85, 0.9, 1.0, 0.6]
    assert score_statistics(scores) == {
        "n": 8,
        "below_0.5": 0.25,
        "0.5_to_0.8": 0.25,
        "0.8_to_0.9": 0.25,
        "from_0.9": 0.25,
        "mean": pytest.approx(np.mean(scores)),
    }


def test_no_scores_have_no_shares() -> None:
    assert score_statistics([]) == {
        "n": 0,
        "below_0.5": None,
        "0.5_to_0.8": None,
        "0.8_to_0.9": None,
        "from_0.9": None,
        "mean": None,
    }


def test_a_score_that_is_no_number_is_refused() -> None:
    with pytest.raises(ValueError, match="NaN"):
        score_statistics([0.5, float("nan")])
