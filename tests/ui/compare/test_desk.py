"""ComparingDesk: whatever HTTP sends as question and pipelines gets a page, and none is logged."""

from __future__ import annotations

import logging
from dataclasses import replace

import pytest

from pipelines.comparing import Comparison, compare
from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.compare.desk import ComparingDesk
from ui.language import Language

NAMES = ("lexical", "dense", "hybrid")
ODD = [None, "", 1.5, True, ["lexical"], {"lexical": 1}, b"lexical", "x" * 10**6, "../hybrid"]


class Compare:
    def __init__(self, comparison: Comparison) -> None:
        self.asked: list[tuple[str, str, str]] = []
        self.comparison = comparison

    def __call__(self, question: str, left: str, right: str) -> Comparison:
        self.asked.append((question, left, right))
        return self.comparison


@pytest.fixture
def asked(comparison: Comparison) -> Compare:
    return Compare(comparison)


def desk(compare: Compare, language: Language = "en") -> ComparingDesk:
    return ComparingDesk(compare, NAMES, language)


def test_the_same_words_are_announced_again(asked: Compare) -> None:
    statuses = {desk(asked).compare("deposit", "lexical", "hybrid")[0] for _ in range(2)}
    assert len(statuses) == 2


def test_a_question_is_cleaned_asked_and_its_result_announced(asked: Compare) -> None:
    status, results = desk(asked).compare("  my\x00 deposit\n ", "lexical", "hybrid")
    assert asked.asked == [("my  deposit", "lexical", "hybrid")]
    assert "3 of the first 4 in common" in status
    assert "3 of the first 4 in common" in results


@pytest.mark.parametrize("question", [None, "", " \n\t ", "\x00", 1.5, ["a"], {"a": 1}, True, b"x"])
def test_no_question_gets_its_message(asked: Compare, question: object) -> None:
    status, results = desk(asked).compare(question, "lexical", "hybrid")
    assert "There is no question yet." in status
    assert "press Compare" in status
    assert (results, asked.asked) == ("", [])


def test_a_question_is_kept_to_its_limit(asked: Compare) -> None:
    assert desk(asked).compare("x" * MAX_QUESTION_CHARS, "lexical", "dense")[1]
    status, results = desk(asked).compare("x" * 20_000_000, "lexical", "dense")
    assert "20,000,000 characters; at most 2,000" in status
    assert results == ""
    assert len(asked.asked) == 1


@pytest.mark.parametrize("name", ODD)
def test_a_pipeline_that_is_none_gets_its_message(asked: Compare, name: object) -> None:
    for sides in ((name, "hybrid"), ("hybrid", name), (name, name)):
        status, results = desk(asked).compare("deposit", *sides)
        assert "There is no such choice." in status
        assert results == ""
    assert asked.asked == []


def test_one_pipeline_on_both_sides_gets_its_message(asked: Compare) -> None:
    status, results = desk(asked).compare("deposit", "hybrid", "hybrid")
    assert "Both sides are the same." in status
    assert (results, asked.asked) == ("", [])


def test_nothing_found_on_either_side_says_so(asked: Compare) -> None:
    side = asked.comparison.left
    empty = type(side)(side.pipeline, [], None, [], [], 1.0)
    asked.comparison = compare(empty, empty)
    status, results = desk(asked).compare("zebra", "lexical", "hybrid")
    assert "Nothing was found." in status
    assert results == ""


@pytest.mark.parametrize("error", [RuntimeError, KeyError, MemoryError])
def test_a_failure_is_a_message_and_its_place_is_logged_without_the_question(
    caplog: pytest.LogCaptureFixture, error: type[Exception]
) -> None:
    def broken(question: str, left: str, right: str) -> Comparison:
        raise error(f"cannot compare {question}")

    with caplog.at_level(logging.DEBUG):
        status, results = ComparingDesk(broken, NAMES, "en").compare(
            "my secret trouble", "lexical", "hybrid"
        )
    assert "Something failed on our side." in status
    assert results == ""
    assert error.__name__ in caplog.text
    assert "in broken" in caplog.text
    assert "my secret trouble" not in caplog.text


def test_messages_are_in_the_language_of_the_page(asked: Compare) -> None:
    french = desk(asked, "fr")
    assert "appuyez sur Comparer" in french.compare("", "lexical", "hybrid")[0]
    assert "Les deux côtés" in french.compare("caution", "dense", "dense")[0]
    assert "3 des 4 premiers en commun" in french.compare("caution", "lexical", "hybrid")[0]


def test_an_article_that_is_not_there_is_told(asked: Compare) -> None:
    assert "not in the law" not in desk(asked).compare("art. 99", "lexical", "hybrid")[0].lower()
    for side in ("left", "right"):
        found = replace(getattr(asked.comparison, side), missing=["Housing Code, article 99"])
        status, results = desk(Compare(replace(asked.comparison, **{side: found}))).compare(
            "art. 99 Housing Code", "lexical", "hybrid"
        )
        assert status.count("Not in the law that is searched here: Housing Code, article 99") == 1
        assert "3 of the first 4 in common" in status
        assert results
