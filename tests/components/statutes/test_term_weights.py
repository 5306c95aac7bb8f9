"""Terms as numbers: the same everywhere, and BM25 when an engine adds the IDF."""

from __future__ import annotations

import math

import pytest

from components.models.lexical_index import LexicalIndex
from components.statutes.question import MAX_QUESTION_CHARS
from components.statutes.term_weights import (
    K1,
    MAX_QUESTION_TERMS,
    B,
    question_numbers,
    question_terms,
    saturated,
    spelled,
    term_counts,
    term_number,
)

TEXTS = [
    "The landlord mends the roof, and the roof alone.",
    "The tenant pays the rent for the roof above.",
    "Parents keep their children; children keep silent.",
    "Section 14(2) governs the rent.",
]


def test_a_terms_number_never_changes() -> None:
    # An index written by another machine or release has these numbers.
    assert term_number("roof") == 0x8D69E0A5
    assert spelled([0, 2**32 - 1]) == "aaaaaaaa pppppppp"


def test_counts_are_of_analysed_terms() -> None:
    counts = term_counts(TEXTS[0], "en")
    assert counts[term_number("roof")] == 2
    assert term_number("the") not in counts
    assert list(counts) == sorted(counts)


def test_a_question_counts_each_term_once_by_the_rules_of_each_language() -> None:
    assert question_terms("Roof, roof: ROOF", ["en", "en-GB"]) == ["roof"]
    both = question_terms("the roofs", ["en", None])
    assert both == question_terms("the roofs", [None, "en"]) == ["the", "roofs", "roof"]
    assert question_numbers("the roofs", ["en", None]) == sorted(map(term_number, both))


def test_the_longest_question_is_read_to_its_end() -> None:
    chinese = "".join(chr(0x4E00 + n) for n in range(MAX_QUESTION_CHARS))
    terms = question_terms(chinese, ["zh"])
    assert {chinese[-2:], chinese[-1]} <= set(terms)
    assert len(terms) > 1.9 * MAX_QUESTION_CHARS
    pasted = " ".join(f"word{n}x" for n in range(2 * MAX_QUESTION_TERMS))
    assert question_terms(pasted, [None]) == pasted.split()[:MAX_QUESTION_TERMS]


@pytest.mark.parametrize("question", ["Who mends the roof?", "rent of the roof", "children"])
def test_weights_times_idf_are_the_scores_of_the_bm25_index(question: str) -> None:
    counts = [term_counts(text, "en") for text in TEXTS]
    average = sum(sum(each.values()) for each in counts) / len(counts)
    weights = [saturated(each, average) for each in counts]

    def idf(term: int) -> float:
        n = sum(term in each for each in counts)
        return math.log(1 + (len(counts) - n + 0.5) / (n + 0.5))

    terms = question_numbers(question, ["en"])
    ours = [sum(idf(t) * each.get(t, 0.0) for t in terms) for each in weights]
    index = LexicalIndex.build(((n, text, "en") for n, text in enumerate(TEXTS)), k1=K1, b=B)
    keys, scores = index.search(question, 10)
    found = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    assert [found.get(n, 0.0) for n in range(len(TEXTS))] == pytest.approx(ours, abs=1e-5)
    assert any(ours)
