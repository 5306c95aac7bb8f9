"""The negatives of a few questions, as a run writes them down."""

from __future__ import annotations

import json

import numpy as np
import pytest

from components.statutes import Article, Question
from training.negatives import sampling
from training.negatives.drawn import DrawnNegatives
from training.negatives.examples import MAX_NEGATIVES, examples
from training.negatives.sampling import CurriculumNegatives

# Two chapters of one law, three articles each, and a law of one article.
ARTICLES = [
    *(Article(f"a{n}", "Code", str(n), (f"Chapter {n // 3}",), f"words {n}") for n in range(6)),
    Article("a6", "Act", "1", (), "words 6"),
]
QUESTIONS = [Question("q0", "one?", ("a0",)), Question("q1", "two?", ("a3", "a6"))]


def negatives(questions=QUESTIONS, articles=ARTICLES, **options: object) -> CurriculumNegatives:
    options = {"views": ("tree", "sequence"), "negatives_per_question": 2, "buckets": 2} | options
    return CurriculumNegatives(articles, questions, **options)  # type: ignore[arg-type]


def many(n_articles: int, n_questions: int) -> tuple[list[Article], list[Question]]:
    articles = [
        Article(f"a{n}", "Code", str(n), (f"Chapter {n // 5}",), f"words {n}")
        for n in range(n_articles)
    ]
    return articles, [Question(f"q{n}", f"what {n}?", (f"a{n}",)) for n in range(n_questions)]


def test_an_example_says_what_was_drawn_how_hard_and_how_far_by_hand():
    drawn = DrawnNegatives(
        np.array([3, 6, 4, 1]),
        np.array([0, 2, 4]),
        np.array([0, 1, 1, 1], dtype=np.int8),
        np.array([0, 1, -1, 0], dtype=np.int8),
    )
    first, second = examples(drawn, negatives(), QUESTIONS)
    assert first == {
        "question": "q0",
        "text": "one?",
        "positives": ["a0"],
        "drawn": 2,
        "negatives": [
            # Another chapter; another law, 2 + 3 and 4 on top.
            {"article": "a3", "bucket": 0, "view": "tree", "tree_distance": 4},
            {"article": "a6", "bucket": 1, "view": "sequence", "tree_distance": 9},
        ],
    }
    assert second["positives"] == ["a3", "a6"]
    found = [(each["article"], each["view"], each["tree_distance"]) for each in second["negatives"]]
    assert found == [("a4", None, 2), ("a1", "tree", 4)]


def test_distance_is_that_of_the_true_tree_also_where_leaves_are_permuted():
    drawn = negatives().draw(0, 0.0)
    plain, control = (negatives(permute_tree=permuted) for permuted in (False, True))
    assert examples(drawn, control, QUESTIONS) == examples(drawn, plain, QUESTIONS)


@pytest.mark.parametrize(
    ("n_questions", "chosen"), [(1, [0]), (2, [0, 1]), (3, [0, 1, 2]), (12, [2, 6, 10])]
)
def test_the_questions_are_spread_over_the_list_and_the_same_in_every_epoch(n_questions, chosen):
    articles, questions = many(40, n_questions)
    source = negatives(questions, articles)
    epochs = [
        examples(source.draw(epoch, progress), source, questions)
        for epoch, progress in ((0, 0.0), (1, 0.5))
    ]
    for shown in epochs:
        assert [each["question"] for each in shown] == [f"q{row}" for row in chosen]
    assert epochs[0] != epochs[1]


def test_every_example_is_what_the_question_is_trained_with():
    articles, questions = many(40, 7)
    source = negatives(questions, articles, negatives_per_question=5)
    drawn = source.draw(0, 0.0)
    for example in examples(drawn, source, questions):
        row = int(example["question"][1:])
        ids = [f"a{position}" for position in drawn.of(row)]
        assert [each["article"] for each in example["negatives"]] == ids
        assert example["drawn"] == 5


def test_they_do_not_depend_on_how_many_questions_are_ranked_at_once(monkeypatch):
    articles, questions = many(40, 7)
    source = negatives(questions, articles)
    whole = examples(source.draw(0, 0.0), source, questions)
    monkeypatch.setattr(sampling, "BLOCK_CELLS", 40)
    assert examples(source.draw(0, 0.0), source, questions) == whole


def test_of_very_many_negatives_some_of_each_bucket_stand_for_all():
    articles, questions = many(200, 4)
    source = negatives(questions, articles, negatives_per_question=100, buckets=2)
    for example in examples(source.draw(0, 0.0), source, questions):
        assert example["drawn"] == 100
        shown = [each["article"] for each in example["negatives"]]
        assert len(shown) == len(set(shown)) == MAX_NEGATIVES
        # Seven in ten of the first phase are easy.
        easy = sum(each["bucket"] == 0 for each in example["negatives"])
        assert abs(easy / MAX_NEGATIVES - 0.7) < 0.05


def test_long_questions_are_cut_and_the_whole_can_be_written_as_json():
    articles, _ = many(9, 1)
    asked = [Question("q", "x" * 301, ("a0",)), Question("r", "y", ("a1",))]
    for options in ({}, {"views": (), "buckets": 1}, {"negatives_per_question": 0}):
        source = negatives(asked, articles, **options)
        shown = examples(source.draw(0, 0.0), source, asked)
        assert json.loads(json.dumps(shown)) == shown
        assert shown[0]["text"] == "x" * 300
