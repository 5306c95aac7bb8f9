"""The BM25 index ranks as the slow reference does, and its stored form is the same index."""

from __future__ import annotations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from components.models.lexical_index import LexicalIndex
from components.statutes.lexical import MAX_QUESTION_TERMS, analyzer

WORDS = [f"w{chr(97 + i)}{chr(97 + j)}x" for i in range(6) for j in range(6)]
texts = st.lists(
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=30).map(" ".join), min_size=2, max_size=40
)
questions = st.lists(st.sampled_from(WORDS), min_size=1, max_size=8, unique=True).map(" ".join)


def built(texts: list[str], language: str | None = None, **parameters: float) -> LexicalIndex:
    numbered = [(100 + row, text, language) for row, text in enumerate(texts)]
    return LexicalIndex.build(numbered, **{"k1": 1.5, "b": 0.75, **parameters})  # type: ignore[arg-type]


@given(texts=texts, question=questions, k1=st.floats(0.2, 3), b=st.floats(0, 1))
def test_scores_and_ranks_equal_a_loop_over_lucenes_formula(texts, question, k1, b):
    analyze = analyzer(None)
    documents = [analyze(text) for text in texts]
    average = sum(map(len, documents)) / len(documents)
    expected = np.zeros(len(documents))
    for term in analyze(question):
        n = sum(term in document for document in documents)
        idf = np.log(1 + (len(documents) - n + 0.5) / (n + 0.5))
        for row, document in enumerate(documents):
            tf = document.count(term)
            expected[row] += idf * tf / (tf + k1 * (1 - b + b * len(document) / average))
    index = LexicalIndex.build(((row, text, None) for row, text in enumerate(texts)), k1=k1, b=b)
    keys, scores = index.search(question, len(texts))
    assert set(keys) == set(np.flatnonzero(expected > 1e-9))
    np.testing.assert_allclose(scores, expected[keys], rtol=1e-4)
    # The same ranks, but where float32 cannot tell two scores apart.
    assert (np.diff(expected[keys]) < 1e-4).all()


def test_equal_scores_stand_in_row_order_also_at_the_cut():
    index = built(["tax rate"] * 50 + ["tax tax rate"] + ["tax rate"] * 50)
    keys, scores = index.search("tax", 30)
    assert keys.tolist() == [150, *range(100, 129)]
    assert len(set(scores[1:].tolist())) == 1


def test_only_allowed_keys_are_found():
    index = built(["roof", "roof", "roof"])
    assert index.search("roof", 10, np.array([102, 7]))[0].tolist() == [102]


def test_a_question_costs_at_most_so_many_terms_known_or_not():
    index = built(["roof", "door"])
    unknown = [f"unknown{i}x" for i in range(MAX_QUESTION_TERMS - 1)]
    assert index.search(" ".join([*unknown, "roof", "door"]), 3)[0].tolist() == [100]


def test_each_language_keeps_its_own_rules():
    index = LexicalIndex.build(
        [
            (1, "Le salarié présente sa démission.", "fr"),
            (2, "Landlords repairing the roofs.", "en"),
            (3, "承租人应当支付租金", "zh"),
            (4, "Nothing is said of the language.", None),
        ],
        k1=1.5,
        b=0.75,
    )
    assert index.search("demissions", 5)[0].tolist() == [1]
    assert index.search("repair a roof", 5)[0].tolist() == [2]
    assert index.search("租金", 5)[0].tolist() == [3]
    assert index.search("language", 5)[0].tolist() == [4]


@settings(max_examples=25, deadline=None)
@given(texts=texts, question=questions)
def test_the_stored_form_is_the_same_index(texts, question):
    index = built(texts)
    kept = LexicalIndex.from_bytes(index.to_bytes())
    assert built(texts).to_bytes() == index.to_bytes()
    for before, after in zip(index.search(question, 10), kept.search(question, 10), strict=True):
        np.testing.assert_array_equal(before, after)
