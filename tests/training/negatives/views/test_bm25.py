"""BM25 as a sparse product against rank-bm25 itself."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi

from components.statutes import Article, Question, StatuteCorpus, indexed_text, read_questions
from components.statutes.lexical import analyzer
from training.negatives.views.bm25 import BM25View

CPU = torch.device("cpu")
WORDS = ["rent", "notice", "repair", "court", "wage", "seller", "1382-1"]


def law(texts: list[str]) -> list[Article]:
    return [Article(f"a{n}", "Code", str(n), ("Dues",), t, "en") for n, t in enumerate(texts)]


def asked(texts: list[str]) -> list[Question]:
    return [Question(f"q{n}", text, ("a0",)) for n, text in enumerate(texts)]


def oracle(
    articles: list[Article], questions: list[Question], k1: float, b: float
) -> list[list[float]]:
    analyse = analyzer("en")
    corpus = [analyse(indexed_text(each.headings, each.text)) for each in articles]
    okapi = BM25Okapi(corpus, k1=k1, b=b)
    return [okapi.get_scores(analyse(each.text)).tolist() for each in questions]


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(texts, min_size=1, max_size=8),
    st.lists(texts, min_size=1, max_size=4),
    st.sampled_from([(1.5, 0.75), (2.5, 0.2), (0.9, 0.0), (1.2, 1.0)]),
)
def test_scores_are_rank_bm25s(passages, sought, parameters):
    # Few words in few articles: most stand in more than half, where idf is floored.
    k1, b = parameters
    articles, questions = law(passages), asked(sought)
    view = BM25View(articles, questions, CPU, k1=k1, b=b)
    got = view.difficulty(np.arange(len(questions)))
    torch.testing.assert_close(
        got, torch.tensor(oracle(articles, questions, k1, b)), rtol=1e-6, atol=1e-6
    )


def test_real_law_has_rank_bm25s_scores(real_data: Callable[[str], Path]):
    folder = real_data("pdpa_en")
    articles = StatuteCorpus.read(folder).articles
    questions = [each for each in read_questions(folder) if each.answerable][:12]
    assert all((each.language or "").startswith("en") for each in articles)
    got = BM25View(articles, questions, CPU).difficulty(np.arange(12)[::-1].copy())
    expected = torch.tensor(oracle(articles, questions, 1.5, 0.75))
    torch.testing.assert_close(got, expected.flip(0), rtol=1e-5, atol=1e-5)
    # Difficulty goes up with the score.
    assert torch.equal(got.argmax(1), expected.flip(0).argmax(1))


def test_rows_do_not_depend_on_the_block():
    articles = law(["rent notice", "rent repair court", "wage", "seller rent rent"])
    view = BM25View(articles, asked(["rent", "court wage", "notice rent wage"]), CPU)
    whole = view.difficulty(np.arange(3))
    for row in range(3):
        assert torch.equal(view.difficulty(np.array([row])), whole[row : row + 1])


def test_headings_count_or_not_as_the_rule_says():
    articles, questions = law(["rent", "notice"]), asked(["dues"])
    with_headings = BM25View(articles, questions, CPU).difficulty(np.array([0]))
    without = BM25View(articles, questions, CPU, text_rule="text").difficulty(np.array([0]))
    assert with_headings.count_nonzero() == 2
    assert without.count_nonzero() == 0


def test_articles_without_any_word_are_refused():
    articles = [Article("a0", "Code", "1", (), "§ --", "en")]
    with pytest.raises(ValueError, match="no article of the corpus has a word"):
        BM25View(articles, asked(["rent"]), CPU)
