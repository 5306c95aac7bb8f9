"""Terms by language: what folds together, what stays whole, what is left out."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import bm25s
import numpy as np
import pytest
import Stemmer
from hypothesis import given
from hypothesis import strategies as st

from components.statutes import lexical
from components.statutes.lexical import analysis_version, analyzer

ROOT = Path(__file__).resolve().parents[3]
LANGUAGES = ["en", "fr", "de", "nl", "es", "vi", "zh", None]


@pytest.mark.parametrize(
    ("language", "one", "other"),
    [
        ("fr", "démission", "demission"),
        ("fr", "l'employeur", "employeurs"),
        ("fr", "qu’un licenciement", "licenciements"),
        ("fr", "cœur", "coeur"),
        ("fr", "article L. 1221-1", "article l1221-1"),
        ("fr", "R. * 3231-1", "R3231-1"),
        ("en", "The tenant's deposits", "tenant deposit"),
        ("en", "HOUSING", "housing"),
        ("de", "Mietverträge", "Mietvertrag"),
        ("de", "Straße", "Strasse"),
        ("es", "arrendamientos", "arrendamiento"),
        ("nl", "huurovereenkomsten", "huurovereenkomst"),
        (None, "Étage", "etage"),
        ("en", "ten\u00adant", "tenant"),
        ("zh", "合同Ａ", "合同A"),
        (None, "الْعَقْدُ", "العقد"),
        (None, "İSTANBUL IŞIK", "istanbul ışık"),
        (None, "İstanbul", "istanbul"),
    ],
)
def test_two_ways_of_writing_give_the_same_terms(
    language: str | None, one: str, other: str
) -> None:
    assert analyzer(language)(one) == analyzer(language)(other) != []


@pytest.mark.parametrize(
    ("language", "text", "terms"),
    [
        ("en", "1382-1, 6.1.3.(a) and s.48F(2)", ["1382-1", "6.1.3", "48f", "2"]),
        ("fr", "article 203quater ou 492/1", ["articl", "203quater", "492/1"]),
        ("en", "Rule A4.12.8; EUR 1,000.50", ["rule", "a4.12.8", "eur", "1,000.50"]),
        ("fr", "de 5 à 12 ans", ["5", "12", "an"]),
    ],
)
def test_numbers_stay_whole(language: str, text: str, terms: list[str]) -> None:
    assert analyzer(language)(text) == terms


def test_stop_words_go_but_what_decides_cases_stays() -> None:
    assert analyzer("en")("What must I do if he is not at home before or after the notice?") == [
        *("must", "not", "home", "befor", "after", "notic")
    ]
    assert analyzer("fr")("Est-ce que je peux partir sans préavis ?") == ["part", "san", "preav"]


def test_vietnamese_keeps_its_tone_marks() -> None:
    ma = analyzer("vi")("má mà mả")
    assert len(set(ma)) == len(ma) == 2  # "mà" (but) is a stop word


@pytest.fixture
def without_pyvi(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    monkeypatch.setattr(lexical, "segmenter", lambda: None)
    lexical._tells_words_apart.cache_clear()
    yield
    lexical._tells_words_apart.cache_clear()


def test_a_vietnamese_word_gives_itself_and_its_syllables() -> None:
    assert analyzer("vi")("Hợp đồng lao động, Điều 12") == [
        *("hợp_đồng", "hợp", "đồng", "lao_động", "lao", "động", "12")
    ]
    # "điều" alone is a stop word, in "điều kiện" (condition) it is part of one that is none.
    assert analyzer("vi")("điều kiện") == ["điều_kiện", "kiện"]
    assert analyzer("vi")("như thế nào") == []
    assert analyzer("vi")("Nghị định số 15/2020/NĐ-CP")[-3:] == ["15/2020", "nđ", "cp"]


def test_what_is_no_vietnamese_word_is_not_joined() -> None:
    assert analyzer("vi")("合同 a1_b2 ____") == ["合同", "合", "同", "a1", "b2"]


def test_without_pyvi_vietnamese_gives_syllables_and_says_so_once(
    without_pyvi: None, caplog: pytest.LogCaptureFixture
) -> None:
    for _ in range(2):
        assert analyzer("vi")("hợp đồng") == ["hợp", "đồng"]
    (record,) = caplog.records
    assert record.levelname == "WARNING"
    assert "pip install 'lexarbor[vi]'" in record.getMessage()
    assert "\n" not in record.getMessage()


def test_an_index_kept_without_pyvi_is_out_of_date_with_it(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    versions = set()
    for found in (None, "pyvi 0.1.1", "pyvi 0.2"):
        monkeypatch.setattr(lexical, "segmenter", lambda found=found: found)
        versions.add(analysis_version())
    assert len(versions) == 3


def test_law_in_another_language_does_not_load_pyvi() -> None:
    script = (
        "import sys; from components.statutes.lexical import analysis_version, analyzer\n"
        "analysis_version(); analyzer('en')('a contract'); analyzer('vi')\n"
        "assert 'pyvi' not in sys.modules\n"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


def test_chinese_gives_bigrams_and_the_characters_that_carry_meaning() -> None:
    assert analyzer("zh")("合同的解除") == [
        *("合同", "同的", "的解", "解除", "合", "同", "解", "除")
    ]
    assert analyzer("zh")("第12条") == ["第", "12", "条"]
    assert analyzer("zh")("的") == []


@pytest.mark.parametrize("word", ["किराया", "ভাড়াটিয়া", "வாடகை", "ക്രയവിക്രയം", "العَقْد", "שָׁלוֹם"])
@pytest.mark.parametrize("language", LANGUAGES)
def test_vowels_and_tones_do_not_tear_a_word(language: str | None, word: str) -> None:
    assert len(analyzer(language)(word)) == 1
    (one, *_), (other, *_) = analyzer(language)("कि"), analyzer(language)("का")
    assert one != other


def test_scripts_without_spaces_give_bigrams_of_letters_with_their_marks() -> None:
    assert analyzer("th")("ที่ดิน") == ["ที่ดิ", "ดิน", "ที่", "ดิ", "น"]


@pytest.mark.parametrize("language", LANGUAGES)
def test_chinese_characters_are_understood_in_a_text_of_any_language(language: str | None) -> None:
    assert {"合同", "gdpr"} <= set(analyzer(language)("合同 GDPR"))


@pytest.mark.parametrize("tag", ["fr", "fr-BE", "FR", "fr_CA"])
def test_the_primary_part_of_the_tag_decides(tag: str) -> None:
    assert analyzer(tag)("les licenciements") == analyzer("fr")("licenciement")


@pytest.mark.parametrize("tag", [None, "", "tlh", "x-unknown"])
def test_an_unknown_language_is_folded_but_not_stemmed(tag: str | None) -> None:
    assert analyzer(tag)("The Deposits, à payer") == ["the", "deposits", "a", "payer"]


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("text", ["", "   ", "\n\t", "…—§()", "\u200b"])
def test_text_without_words_has_no_terms(language: str | None, text: str) -> None:
    assert analyzer(language)(text) == []


@given(one=st.text(max_size=60), other=st.text(max_size=60))
def test_terms_of_two_sentences_are_those_of_each(one: str, other: str) -> None:
    analyse = analyzer("en")
    assert analyse(f"{one}\n{other}") == analyse(one) + analyse(other)


@given(text=st.text(max_size=80), language=st.sampled_from(LANGUAGES))
def test_a_term_holds_no_space_and_is_the_same_the_second_time(
    text: str, language: str | None
) -> None:
    terms = analyzer(language)(text)
    assert all(term and not any(c.isspace() for c in term) for term in terms)
    assert analyzer(language)(text) == terms


def test_threads_may_share_an_analyser() -> None:
    # A Snowball stemmer used by two threads at once returns other words' stems.
    letters = np.random.default_rng(0).integers(0, 26, (4000, 6))
    words = ["".join(chr(ord("a") + c) for c in row) + "nesses" for row in letters]
    texts = [" ".join(words[i : i + 40]) for i in range(0, len(words), 5)]
    with ThreadPoolExecutor(8) as pool:
        together = list(pool.map(analyzer("en"), texts))
    stem = Stemmer.Stemmer("porter").stemWord
    assert together == [[stem(word) for word in text.split()] for text in texts]


def read(path: Path) -> list[dict[str, Any]]:
    with gzip.open(path, "rt", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


@pytest.mark.parametrize(
    ("corpus", "language", "split", "depth", "floor"),
    [("obliqa_en", "en", "dev", 10, 0.77), ("bsard_livre1_fr", "fr", None, 100, 0.75)],
)
def test_bm25_over_these_terms_finds_the_gold_of_real_law(
    real_data: Callable[[str], Path],
    corpus: str,
    language: str,
    split: str | None,
    depth: int,
    floor: float,
) -> None:
    articles = read(real_data(corpus) / "articles.jsonl.gz")
    questions = read(real_data(corpus) / "questions.jsonl.gz")
    analyse = analyzer(language)
    vocabulary: dict[str, int] = {}
    documents = [
        [
            vocabulary.setdefault(term, len(vocabulary))
            for term in analyse(" ".join([*article["headings"], article["text"]]))
        ]
        for article in articles
    ]
    index = bm25s.BM25(k1=1.5, b=0.75)
    index.index((documents, vocabulary), show_progress=False)
    position = {article["id"]: i for i, article in enumerate(articles)}
    recalls = []
    for question in questions:
        if split and question["split"] != split:
            continue
        query = [vocabulary[t] for t in dict.fromkeys(analyse(question["text"])) if t in vocabulary]
        top = np.argsort(-index.get_scores_from_ids(query), kind="stable")[:depth]
        gold = {position[article] for article in question["relevant"]}
        recalls.append(len(gold & set(top.tolist())) / len(gold))
    assert np.mean(recalls) >= floor
