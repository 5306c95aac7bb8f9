"""The desk answers whatever an HTTP client sends, and repeats no question in the log."""

from __future__ import annotations

import logging
from typing import Any

import pytest

from ui.desk import MAX_QUESTION_CHARS, Desk

ARTICLE = {
    "id": "a",
    "law": "Housing Code",
    "number": "1",
    "headings": [],
    "content": "A deposit is owed.",
    "score": 1.0,
    "ranks": {"bm25": 1},
    "state": "unknown",
}


class Ask:
    def __init__(self, *documents: dict[str, Any]) -> None:
        self.asked: list[str] = []
        self.documents = documents

    def __call__(self, question: str) -> dict[str, Any]:
        self.asked.append(question)
        return {"question": question, "took_ms": 1.0, "documents": list(self.documents)}


def test_a_question_is_cleaned_asked_and_its_results_are_announced():
    ask = Ask(ARTICLE)
    status, results = Desk(ask).search("  my\x00 deposit\n ")
    assert ask.asked == ["my  deposit"]
    assert "1 article found" in status
    assert "A deposit is owed." in results


@pytest.mark.parametrize(
    "question", [None, "", " \n\t ", "\x00\x01", 1.5, ["a"], {"a": 1}, True, b"x"]
)
def test_no_question_gets_its_message_and_is_not_asked(question: object):
    ask = Ask(ARTICLE)
    status, results = Desk(ask).search(question)
    assert "There is no question yet." in status
    assert results == ""
    assert ask.asked == []


def test_a_question_is_counted_and_kept_to_its_limit():
    ask = Ask(ARTICLE)
    desk = Desk(ask)
    assert "article found" in desk.search(f"  {'x' * MAX_QUESTION_CHARS}  ")[0]
    status, results = desk.search("x" * (MAX_QUESTION_CHARS + 1))
    assert "too long" in status
    assert "2,001 characters; at most 2,000" in status
    assert results == ""
    assert len(ask.asked) == 1
    assert "20,000,000 characters" in desk.search("x" * 20_000_000)[0]


def test_nothing_found_says_so():
    status, results = Desk(Ask()).search("zebra")
    assert "Nothing was found." in status
    assert results == ""


def test_a_failure_is_a_message_and_its_place_is_logged_without_the_question(
    caplog: pytest.LogCaptureFixture,
):
    def broken(question: str) -> dict[str, Any]:
        raise RuntimeError(f"cannot answer {question}")

    with caplog.at_level(logging.DEBUG):
        status, results = Desk(broken).search("my secret trouble")
    assert "Something failed on our side." in status
    assert results == ""
    assert "RuntimeError" in caplog.text
    assert "in broken" in caplog.text
    assert "my secret trouble" not in caplog.text


def test_an_answer_that_cannot_be_shown_is_a_failure_too():
    status, results = Desk(Ask({"id": "a"})).search("deposit")
    assert "Something failed on our side." in status
    assert results == ""


def test_an_example_is_put_into_the_box_and_searched():
    question, status, results = Desk(Ask(ARTICLE)).example("my deposit")
    assert question == "my deposit"
    assert "1 article found" in status
    assert "A deposit is owed." in results
