"""Every variant against rank-bm25 itself."""

from __future__ import annotations

import unicodedata
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from rank_bm25 import BM25Okapi, BM25Plus

from components.statutes import Article, Question, StatuteCorpus, read_questions
from training.bm25.searching import VARIANTS, CountedLaw, Variant

WORDS = ["rent", "notice", "repair", "court", "wage", "seller", "1382"]


def law(texts: list[str], language: str = "en") -> list[Article]:
    return [Article(f"a{n}", "Code", str(n), (), text, language) for n, text in enumerate(texts)]


def asked(texts: list[str]) -> list[Question]:
    return [Question(f"q{n}", text, ("a0",)) for n, text in enumerate(texts)]


def counted(articles: list[Article], questions: list[Question]) -> CountedLaw:
    return CountedLaw(articles, questions, terms="lower_cased", text_rule="text")


def check(variant: Variant, articles: list[str], questions: list[str], depth: int) -> None:
    """Rankings go down in the oracle's scores and hold the best of what it does not score 0."""
    documents = [text.split() for text in articles]
    oracle = variant.kind(documents, k1=variant.k1, b=variant.b)
    # BM25Plus lifts every article by the same; less that, only what shares a word has a score.
    plain = variant.kind(documents, k1=variant.k1, b=variant.b)
    plain.delta = 0
    found = counted(law(articles), asked(questions)).rankings(variant, depth)
    for question, ranking in zip(questions, found, strict=True):
        scores = oracle.get_scores(question.split())
        known = np.flatnonzero(plain.get_scores(question.split()))
        assert set(ranking.tolist()) <= set(known.tolist())
        assert len(set(ranking.tolist())) == len(ranking) == min(depth, len(known))
        best = np.sort(scores[known])[::-1][:depth]
        np.testing.assert_allclose(scores[ranking], best, rtol=1e-9, atol=1e-9)


texts = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8).map(" ".join)


@settings(max_examples=150, deadline=None)
@given(
    st.lists(texts, min_size=1, max_size=9),
    st.lists(texts, min_size=1, max_size=3),
    st.sampled_from(VARIANTS),
    st.sampled_from([1, 3, 90]),
)
def test_rankings_are_rank_bm25s(passages, sought, variant, depth):
    check(variant, passages, sought, depth)


@pytest.mark.parametrize("variant", [VARIANTS[0], VARIANTS[1], VARIANTS[-1]])
def test_real_law_is_ranked_as_rank_bm25_does(
    real_data: Callable[[str], Path], variant: Variant
) -> None:
    folder = real_data("pdpa_en")

    def words(text: str) -> str:
        return " ".join("".join(c if c.isalnum() else " " for c in text.lower()).split())

    articles = [words(article.text) for article in StatuteCorpus.read(folder).articles]
    questions = [words(each.text) for each in read_questions(folder)][:40]
    check(variant, articles, questions, 90)


def test_the_variants_are_those_of_the_paper() -> None:
    okapi, *plus = VARIANTS
    assert (okapi.kind, okapi.k1, okapi.b) == (BM25Okapi, 1.5, 0.75)
    defaults = BM25Okapi([["a"], ["b"], ["c"]])
    assert (defaults.k1, defaults.b) == (okapi.k1, okapi.b)
    assert {each.kind for each in plus} == {BM25Plus}
    assert {(each.k1, each.b) for each in plus} == {
        (k1, b) for k1 in (0.8, 1.2, 2) for b in (0, 0.75, 1)
    }


def test_the_order_of_variants_does_not_matter() -> None:
    found = counted(law(["rent rent", "rent notice court", "notice"]), asked(["rent notice"]))
    first = [found.rankings(variant, 3)[0].tolist() for variant in VARIANTS]
    again = [found.rankings(variant, 3)[0].tolist() for variant in reversed(VARIANTS)]
    assert again[::-1] == first


@pytest.mark.parametrize("variant", VARIANTS)
def test_equal_scores_stand_in_the_order_of_the_law(variant: Variant) -> None:
    articles = law(["wage"] + ["rent"] * 60 + ["seller"] * 100)
    ranking = counted(articles, asked(["rent wage"])).rankings(variant, 40)[0]
    assert ranking.tolist() == list(range(40))


def test_a_question_without_a_known_word_finds_nothing() -> None:
    found = counted(law(["rent", "wage", "court"]), asked(["custody", "rent"])).rankings(
        VARIANTS[0], 90
    )
    assert [ranking.tolist() for ranking in found] == [[], [0]]


def test_words_are_lower_cased_and_stand_as_they_are() -> None:
    articles = law(["The RENTS.", "rent", unicodedata.normalize("NFD", "Má")], "vi")
    found = counted(articles, asked(["rents", "Rent", "má", "ma"])).rankings(VARIANTS[-1], 90)
    assert [ranking.tolist() for ranking in found] == [[0], [1], [2], []]


def test_analysed_words_are_those_of_the_pipelines() -> None:
    articles = law(["The rents.", "wage", "court"])
    made = CountedLaw(articles, asked(["the rent"]), terms="analysed", text_rule="text")
    assert made.rankings(VARIANTS[0], 90)[0].tolist() == [0]
    assert counted(articles, asked(["rent"])).rankings(VARIANTS[0], 90)[0].tolist() == []


def test_headings_count_or_not_as_the_rule_says() -> None:
    articles = [Article("a0", "Code", "1", ("Dues",), "rent", "en")]
    for rule, expected in (("headings_text", [0]), ("text", [])):
        made = CountedLaw(articles, asked(["dues"]), terms="lower_cased", text_rule=rule)
        assert made.rankings(VARIANTS[1], 90)[0].tolist() == expected


def test_articles_without_any_word_are_refused() -> None:
    with pytest.raises(ValueError, match="no article of the corpus has a word"):
        counted(law(["§ --"]), asked(["rent"]))
