"""Vietnamese words: joined where pyvi joins them, and nothing else touched."""

from __future__ import annotations

import builtins
import unicodedata
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from effort import bounded_effort
from hypothesis import given
from hypothesis import strategies as st
from pyvi import ViTokenizer

from components.statutes import word_segmentation
from components.statutes.word_segmentation import segmenter, words_joined

LAW = "Người sử dụng lao động phải trả lương đúng hạn theo hợp đồng lao động"


@pytest.fixture
def cold() -> Iterator[None]:
    """As in a process that has not asked yet."""
    for each in (segmenter, word_segmentation._loaded):
        each.cache_clear()
    yield
    for each in (segmenter, word_segmentation._loaded):
        each.cache_clear()


@pytest.mark.parametrize(
    ("text", "joined"),
    [
        ("Hợp đồng lao động là gì?", "Hợp_đồng lao_động là gì?"),
        ("Nghị định 15/2020/NĐ-CP, Điều 3.2.", "Nghị_định 15/2020/NĐ-CP, Điều 3.2."),
        ("hợp  \t đồng", "hợp_đồng"),
        # A line's end is a word's end.
        ("hợp\nđồng", "hợp\nđồng"),
        ("\n\n Hợp đồng \n", "\n\n Hợp_đồng \n"),
        ("a_b ___ (c) ...", "a_b ___ (c) ..."),
        ("", ""),
        (" \n ", " \n "),
    ],
)
def test_syllables_of_a_word_are_joined_and_all_else_stays(text: str, joined: str) -> None:
    assert words_joined(text) == joined


def test_words_are_those_of_pyvi() -> None:
    assert words_joined(LAW) == ViTokenizer.tokenize(LAW)
    assert words_joined(LAW).count("_") >= 4


@given(st.text(st.sampled_from("aàệđ Đ_.\n\t12/@-:\u0301合\u00a0"), max_size=60) | st.text())
def test_letters_never_change(text: str) -> None:
    def letters(of: str) -> str:
        return "".join(c for c in of if not c.isspace() and c != "_")

    assert letters(words_joined(text)) == letters(unicodedata.normalize("NFC", text))


def test_letters_and_marks_that_stand_apart_are_the_same_word() -> None:
    assert words_joined(unicodedata.normalize("NFD", LAW)) == words_joined(LAW)


def test_threads_may_ask_at_once() -> None:
    texts = [" ".join(LAW.split()[n % 7 :] * (1 + n % 5)) for n in range(60)]
    alone = [words_joined(text) for text in texts]
    with ThreadPoolExecutor(8) as pool:
        assert list(pool.map(words_joined, texts)) == alone


@pytest.mark.parametrize("part", ["a.", "-+", "a@", "://", "_", "x@a."])
def test_a_long_text_without_a_space_costs_no_time(part: str) -> None:
    words_joined("hợp đồng")
    with bounded_effort():
        assert words_joined(part * 100_000) == part * 100_000


def test_without_pyvi_it_is_said_what_to_install(
    cold: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    def missing(_: str) -> str:
        raise word_segmentation.PackageNotFoundError

    monkeypatch.setattr(word_segmentation, "version", missing)
    assert segmenter() is None
    with pytest.raises(ImportError, match=r"pip install 'lexarbor\[vi\]'"):
        words_joined(LAW)


def test_a_pyvi_that_cannot_be_loaded_is_named(cold: None, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def broken(name: str, *arguments: Any, **named: Any) -> Any:
        if name.startswith("pyvi"):
            raise AttributeError("an unpickled model that does not fit")
        return real(name, *arguments, **named)

    monkeypatch.setattr(builtins, "__import__", broken)
    with pytest.raises(ImportError, match=r"pyvi .* cannot be loaded .*does not fit"):
        words_joined(LAW)


def test_the_installed_version_is_named() -> None:
    name, version = str(segmenter()).split()
    assert name == "pyvi" and version[0].isdigit()
