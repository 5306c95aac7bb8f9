"""What a ranker learns from: each positive once, each mined negative once."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from components.statutes.article import Article
from components.statutes.question import Question
from training.negatives.gold import Gold
from training.negatives.semihard import mine_negatives
from training.ranking.examples import Examples, read_passages

ARTICLES = [Article(f"a{n}", "Code", str(n), (), f"Rule {n}.") for n in range(6)]
QUESTIONS = [Question("q0", "Who pays?", ("a1", "a2")), Question("q1", "When?", ("a0",))]


def passages(question: str, articles: Sequence[int]) -> list[list[str]]:
    return [[f"{question} {position}", "more"] for position in articles]


def test_positives_come_before_negatives_with_the_passages_that_are_read() -> None:
    gold = Gold.of(ARTICLES, QUESTIONS)
    found = np.array([[3, 1, 4], [0, 5, 2]])
    mined = mine_negatives(gold, found, strategy="hard", n=2, seed=0)
    examples = Examples.of(gold, mined)
    assert examples.n_positives == 3
    data = examples.dataset(QUESTIONS, passages)
    assert data["label"][:] == [1, 1, 1, 0, 0, 0, 0]
    assert [each[0] for each in data["passages"]] == [
        *("Who pays? 1", "Who pays? 2", "When? 0"),
        *("Who pays? 3", "Who pays? 4", "When? 5", "When? 2"),
    ]
    assert data["question"][3] == "Who pays?"


def test_each_question_is_asked_once() -> None:
    asked = []

    def counting(question: str, articles: Sequence[int]) -> list[list[str]]:
        asked.append(question)
        return passages(question, articles)

    read = read_passages(["a", "b", "a"], [0, 1, 2], counting)
    assert [each[0] for each in read] == ["a 0", "b 1", "a 2"]
    assert asked == ["a", "b"]
