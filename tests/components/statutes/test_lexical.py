"""Terms by language, Vietnamese words, term weights and the coverage of a question."""

from __future__ import annotations

import math
import unicodedata
from concurrent.futures import ThreadPoolExecutor
from importlib.metadata import PackageNotFoundError

import numpy as np
import pytest
import Stemmer
from effort import bounded_effort
from hypothesis import given
from hypothesis import strategies as st
from pyvi import ViTokenizer
from statute_tables import TABLES

from components.models.lexical_index import LexicalIndex
from components.statutes.lexical import (
    K1,
    MAX_QUESTION_TERMS,
    B,
    _loaded,
    _tells_words_apart,
    analysis_version,
    analyzer,
    coverage,
    question_numbers,
    question_terms,
    saturated,
    segmenter,
    term_counts,
    term_number,
    trust,
    words_joined,
)
from components.statutes.question import MAX_QUESTION_CHARS

LANGUAGES = ["en", "fr", "de", "nl", "es", "vi", "zh", "ko", "pt", "ru", "fi", None]


@pytest.mark.parametrize(("language", "one", "other"), TABLES["the same terms"])
def test_spellings_with_the_same_terms(language, one, other):
    assert analyzer(language)(one) == analyzer(language)(other) != []


@pytest.mark.parametrize(("language", "text", "terms"), TABLES["terms of a text"])
def test_terms_of_a_text(language, text, terms):
    assert analyzer(language)(text) == (terms.split() if isinstance(terms, str) else terms)


@pytest.mark.parametrize("language", LANGUAGES)
def test_scripts_are_understood_in_a_text_of_any_language(language):
    analyse = analyzer(language)
    for word in ("किराया", "ভাড়াটিয়া", "வாடகை", "ക്രയവിക്രയം", "العَقْد", "שָׁלוֹם"):
        assert len(analyse(word)) == 1, "vowel marks do not split a word"
    assert analyse("कि") != analyse("का")
    assert {"合同", "gdpr"} <= set(analyse("合同 GDPR"))


@given(st.text(max_size=60), st.text(max_size=60), st.sampled_from(LANGUAGES))
def test_terms_are_separable_stable_and_hold_no_space(one, other, language):
    english = analyzer("en")
    assert english(f"{one}\n.\n{other}") == english(one) + english(other)
    terms = analyzer(language)(one)
    assert all(term and not any(c.isspace() for c in term) for term in terms)
    assert analyzer(language)(one) == terms


def test_threads_may_share_an_analyser_and_a_segmenter():
    # A Snowball stemmer used by two threads at once returns other words' stems.
    letters = np.random.default_rng(0).integers(0, 26, (4000, 6))
    words = ["".join(chr(ord("a") + c) for c in row) + "nesses" for row in letters]
    texts = [" ".join(words[i : i + 40]) for i in range(0, len(words), 5)]
    vietnamese = [" ".join(LAW.split()[n % 7 :] * (1 + n % 5)) for n in range(60)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(analyzer("en"), texts))
        joined = list(pool.map(words_joined, vietnamese))
    stem = Stemmer.Stemmer("porter").stemWord
    assert together == [[stem(word) for word in text.split()] for text in texts]
    assert joined == [words_joined(text) for text in vietnamese]


# Vietnamese words

LAW = "Người sử dụng lao động phải trả lương đúng hạn theo hợp đồng lao động"


@pytest.fixture
def cold():
    """Caches as in a process that has not looked for pyvi yet."""
    cached = (segmenter, _loaded, _tells_words_apart)
    for each in cached:
        each.cache_clear()
    yield
    for each in cached:
        each.cache_clear()


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("Hợp đồng lao động là gì?", "Hợp_đồng lao_động là gì?"),
        ("Nghị định 15/2020/NĐ-CP, Điều 3.2.", "Nghị_định 15/2020/NĐ-CP, Điều 3.2."),
        ("hợp  \t đồng", "hợp_đồng"),
        ("hợp\nđồng", "hợp\nđồng"),  # the end of a line ends a word
        ("\n\n Hợp đồng \n", "\n\n Hợp_đồng \n"),
        ("a_b ___ (c) ...", "a_b ___ (c) ..."),
        (" \n ", " \n "),
        (LAW, ViTokenizer.tokenize(LAW)),
        (unicodedata.normalize("NFD", LAW), ViTokenizer.tokenize(LAW)),
    ],
)
def test_syllables_of_a_word_are_joined(text, joined):
    assert words_joined(text) == joined


@given(st.text(st.sampled_from("aàệđ Đ_.\n\t12/@-:\u0301合\u00a0"), max_size=60) | st.text())
def test_joining_never_changes_letters(text):
    def letters(of):
        return "".join(c for c in of if not c.isspace() and c != "_")

    assert letters(words_joined(text)) == letters(unicodedata.normalize("NFC", text))


def test_long_texts_without_spaces_are_joined_fast():
    words_joined("hợp đồng")
    with bounded_effort():
        for part in ("a.", "-+", "a@", "://", "_", "x@a."):
            assert words_joined(part * 50_000) == part * 50_000


def test_without_pyvi_vietnamese_gives_syllables_and_warns_once(cold, monkeypatch, caplog):
    versions = {analysis_version()}

    def missing(_):
        raise PackageNotFoundError

    monkeypatch.setattr("components.statutes.lexical.version", missing)
    segmenter.cache_clear()
    for _ in range(2):
        assert analyzer("vi")("hợp đồng") == ["hợp", "đồng"]
    (record,) = caplog.records
    assert "lexarbor[vi]" in record.getMessage()
    with pytest.raises(ImportError, match=r"lexarbor\[vi\]"):
        words_joined(LAW)
    # An index kept without pyvi is out of date with it, and one of another pyvi too.
    versions.add(analysis_version())
    monkeypatch.setattr("components.statutes.lexical.segmenter", lambda: "pyvi 0.2")
    assert len(versions | {analysis_version()}) == 3


# Term weights and coverage

TEXTS = [
    "The landlord mends the roof, and the roof alone.",
    "The tenant pays the rent for the roof above.",
    "Parents keep their children; children keep silent.",
    "Section 14(2) governs the rent.",
]


def test_term_numbers_and_counts():
    # An index written by another machine or release has these numbers.
    assert term_number("roof") == 0x8D69E0A5
    counts = term_counts(TEXTS[0], "en")
    assert counts[term_number("roof")] == 2
    assert term_number("the") not in counts
    assert list(counts) == sorted(counts)


def test_terms_of_a_question_by_the_rules_of_each_language():
    assert question_terms("Roof, roof: ROOF", ["en", "en-GB"]) == ["roof"]
    both = question_terms("the roofs", ["en", None])
    assert both == question_terms("the roofs", [None, "en"]) == ["the", "roofs", "roof"]
    assert question_numbers("the roofs", ["en", None]) == sorted(map(term_number, both))
    chinese = "".join(chr(0x4E00 + n) for n in range(MAX_QUESTION_CHARS))
    terms = question_terms(chinese, ["zh"])
    assert {chinese[-2:], chinese[-1]} <= set(terms), "the longest question is read to its end"
    pasted = " ".join(f"word{n}x" for n in range(2 * MAX_QUESTION_TERMS))
    assert question_terms(pasted, [None]) == pasted.split()[:MAX_QUESTION_TERMS]


@pytest.mark.parametrize("question", ["Who mends the roof?", "rent of the roof", "children"])
def test_weights_times_idf_are_the_scores_of_the_bm25_index(question):
    counts = [term_counts(text, "en") for text in TEXTS]
    average = sum(sum(each.values()) for each in counts) / len(counts)
    weights = [saturated(each, average) for each in counts]

    def idf(term):
        n = sum(term in each for each in counts)
        return math.log(1 + (len(counts) - n + 0.5) / (n + 0.5))

    terms = question_numbers(question, ["en"])
    ours = [sum(idf(t) * each.get(t, 0.0) for t in terms) for each in weights]
    index = LexicalIndex.build(((n, text, "en") for n, text in enumerate(TEXTS)), k1=K1, b=B)
    keys, scores = index.search(question, 10)
    found = dict(zip(keys.tolist(), scores.tolist(), strict=True))
    assert [found.get(n, 0.0) for n in range(len(TEXTS))] == pytest.approx(ours, abs=1e-5)
    assert any(ours)


@pytest.mark.parametrize(
    ("question", "text", "language", "share"),
    [
        # deposit and landlord of landlord, keep and deposit; stems, without stop words
        ("My landlord keeps my deposit", "Landlords return deposits.", "en", 2 / 3),
        ("the deposit deposit DEPOSIT", "Deposits.", "en", 1.0),
        ("Le dépôt de garantie", "depot", "fr", 1 / 2),
        ("article 1382-1", "Voyez l'article 1382.", "fr", 1 / 2),
        ("deposit", "", "en", 0.0),
        ("of the and", "of the and", "en", 0.0),
        ("deposits", "deposit", None, 0.0),  # not stemmed
    ],
)
def test_the_share_of_a_questions_terms_by_hand(question, text, language, share):
    assert coverage(question, text, language) == pytest.approx(share)
    assert [trust(each, 0.6) for each in (0.0, 0.3, 0.6, 0.9)] == [0.0, 0.5, 1.0, 1.0]
