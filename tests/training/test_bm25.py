"""CountedLaw: every variant of BM25 against rank-bm25 itself."""

from __future__ import annotations

import unicodedata

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi, BM25Plus

from components.statutes import Article, Question
from training.negatives.views import CountedLaw, Ranking

VARIANTS = [
    (BM25Okapi, 1.5, 0.75),
    (BM25Okapi, 2.5, 0.2),
    (BM25Plus, 1.5, 0.75),
    (BM25Plus, 0.8, 0.0),
    (BM25Plus, 2.0, 1.0),
]
WORDS = ["rent", "notice", "repair", "court", "wage", "seller", "1382"]


def law(texts: list[str], language: str = "en") -> list[Article]:
    return [Article(f"a{n}", "Code", str(n), (), text, language) for n, text in enumerate(texts)]


def asked(texts: list[str]) -> list[Question]:
    return [Question(f"q{n}", text, ("a0",)) for n, text in enumerate(texts)]


def rankings(
    articles: list[Article], questions: list[str], variant: tuple[type, float, float], depth: int
) -> list[Ranking]:
    counted = CountedLaw(articles, asked(questions), terms="lower_cased", text_rule="text")
    return counted.rankings(counted.weights(*variant), depth)


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@given(
    st.lists(texts, min_size=1, max_size=9),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from(VARIANTS),
    st.sampled_from([1, 3, 90]),
)
def test_rankings_are_rank_bm25s(passages, sought, variant, depth):
    documents = [text.split() for text in passages]
    kind, k1, b = variant
    oracle, plain = (kind(documents, k1=k1, b=b) for _ in range(2))
    # BM25Plus lifts every article by the same; less that, only what shares a word has a score.
    plain.delta = 0
    found = rankings(law(passages), sought, variant, depth)
    for question, ranking in zip(sought, found, strict=True):
        scores = oracle.get_scores(question.split())
        known = np.flatnonzero(plain.get_scores(question.split()))
        assert set(ranking.tolist()) <= set(known.tolist())
        assert len(set(ranking.tolist())) == len(ranking) == min(depth, len(known))
        best = np.sort(scores[known])[::-1][:depth]
        np.testing.assert_allclose(scores[ranking], best, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[-1]])
def test_equal_scores_stand_in_the_order_of_the_law(variant):
    articles = law(["wage"] + ["rent"] * 60 + ["seller"] * 100)
    assert rankings(articles, ["rent wage"], variant, 40)[0].tolist() == list(range(40))


def test_words_are_lower_cased_and_stand_as_they_are():
    articles = law(["The RENTS.", "rent", unicodedata.normalize("NFD", "Má")], "en")
    found = rankings(articles, ["rents", "Rent", "má", "ma"], VARIANTS[-1], 90)
    assert [ranking.tolist() for ranking in found] == [[0], [1], [2], []]


def test_articles_without_any_word_are_refused():
    with pytest.raises(ValueError):
        rankings(law(["§ --"]), ["rent"], VARIANTS[0], 90)


def test_vietnamese_words_are_whole():
    pytest.importorskip("pyvi", reason="pyvi is in the extra `vi`")
    articles = law(["Hợp đồng lao động", "đồng hồ", "lao xuống"], "vi-VN")
    found = rankings(articles, ["hợp đồng", "lao động"], VARIANTS[2], 90)
    assert [ranking.tolist() for ranking in found] == [[0], [0]]
