"""Positives, and the textual twins that must not be drawn."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from components.statutes import Article, Question
from training.negatives.gold import Gold, flattened


def law(*texts: str) -> list[Article]:
    return [Article(f"a{n}", "Code", str(n), (f"Part {n}",), text) for n, text in enumerate(texts)]


def asked(*questions: tuple[str, tuple[int, ...]]) -> list[Question]:
    return [
        Question(f"q{n}", text, tuple(f"a{position}" for position in relevant))
        for n, (text, relevant) in enumerate(questions)
    ]


def lists(arrays):
    return [each.tolist() for each in arrays]


def test_positives_are_positions_in_ascending_order_and_counted_once():
    gold = Gold.of(law("x", "y", "z"), asked(("?", (2, 0, 2))))
    assert lists(gold.positives) == [[0, 2]]
    assert gold.n_negatives.tolist() == [1]


def test_an_article_with_a_positives_words_is_excluded_whatever_its_headings():
    gold = Gold.of(law("The fine.", "Other.", " the  ＦＩＮＥ.\n"), asked(("?", (0,))))
    assert lists(gold.positives) == [[0]]
    assert lists(gold.excluded) == [[0, 2]]


def test_positives_of_the_same_question_asked_again_are_excluded_but_are_no_positives():
    questions = asked(("Who pays?", (0,)), ("Who evicts?", (1,)), ("who  PAYS?", (2,)))
    gold = Gold.of(law("x", "y", "z", "z"), questions)
    assert lists(gold.positives) == [[0], [1], [2]]
    assert lists(gold.excluded) == [[0, 2, 3], [1], [0, 2, 3]]


@st.composite
def repeating(draw: st.DrawFn) -> tuple[list[Article], list[Question]]:
    """Few texts, in several spellings, so that articles and questions repeat."""
    text = st.sampled_from(["rent due", "Rent  due", "RENT DUE ", "notice", "Notice", "repair"])
    articles = law(*draw(st.lists(text, min_size=1, max_size=8)))
    positions = st.lists(st.integers(0, len(articles) - 1), min_size=1, max_size=3).map(tuple)
    questions = draw(st.lists(st.tuples(text, positions), min_size=1, max_size=6))
    return articles, asked(*questions)


@settings(max_examples=200, deadline=None)
@given(repeating())
def test_excluded_are_what_plain_loops_find(case):
    articles, questions = case
    gold = Gold.of(articles, questions)

    def same(one: str, other: str) -> bool:
        return one.lower().split() == other.lower().split()

    for row, question in enumerate(questions):
        expected = [
            position
            for position, article in enumerate(articles)
            if any(
                same(question.text, other.text)
                and any(same(article.text, articles[int(p[1:])].text) for p in other.relevant)
                for other in questions
            )
        ]
        assert gold.excluded[row].tolist() == expected


@settings(max_examples=100, deadline=None)
@given(repeating())
def test_negatives_stand_where_the_corpus_without_the_excluded_has_them(case):
    gold = Gold.of(*case)
    for row, excluded in enumerate(gold.excluded):
        left = [n for n in range(gold.n_articles) if n not in excluded]
        places = np.arange(len(left))[::-1]
        assert gold.negatives_at(row, places).tolist() == left[::-1]


def test_flattened_lays_some_questions_positions_end_to_end():
    gold = Gold.of(law("x", "y", "z"), asked(("1", (0, 2)), ("2", (1,)), ("3", (1, 2))))
    places, positions = flattened(gold.positives, gold.n_negatives.argsort()[:0])
    assert places.tolist() == positions.tolist() == []
    places, positions = flattened(gold.positives, gold.n_negatives * 0 + [2, 0, 2])
    assert places.tolist() == [0, 0, 1, 1, 2, 2]
    assert positions.tolist() == [1, 2, 0, 2, 1, 2]


@pytest.mark.parametrize(
    ("articles", "questions", "message"),
    [
        (law("x"), [Question("q0", "?", ())], r"1 questions have no relevant .* 'q0'"),
        (law("x"), asked(("?", (7,)), ("!", (8,))), r"2 relevant .*'q0 -> a7', 'q1 -> a8'"),
        (law("x") * 2, asked(("?", (0,))), "article ids stand twice.*'a0'"),
        (law("x"), asked(("?", (0,))) * 2, "question ids stand twice.*'q0'"),
    ],
)
def test_faulty_gold_is_refused_by_name(articles, questions, message):
    with pytest.raises(ValueError, match=message):
        Gold.of(articles, questions)


def test_of_many_faults_all_are_counted_and_few_are_named():
    questions = [Question(f"q{n}", "?", ()) for n in range(40)]
    with pytest.raises(ValueError, match=r"^40 .*'q4', \.\.\.\.$"):
        Gold.of(law("x"), questions)
