"""Desk: answers one question for the page."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Mapping
from typing import Any

from components.statutes.question import QuestionError, clean_question
from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui import render
from ui.answer import closest

Ask = Callable[[str], Mapping[str, Any]]

_logger = logging.getLogger(__name__)


class Desk:
    """Answers one question for the page, whatever an HTTP client sends in its place.

    Args:
        ask: from a clean question to its answer, as `pipelines.asking.ask` gives it.
    """

    def __init__(self, ask: Ask) -> None:
        self._ask = ask

    def search(self, question: object) -> tuple[str, str]:
        """HTML of the status line and of the results; the results are empty under a message."""
        if isinstance(question, str) and len(question.strip()) > MAX_QUESTION_CHARS:
            return self._too_long(len(question.strip())), ""
        try:
            asked = clean_question(question)
        except QuestionError:
            return self._empty(), ""
        try:
            answer = self._ask(asked)
            if not answer["documents"]:
                return self._nothing_found(answer), ""
            return render.found(len(answer["documents"])), render.results(answer)
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
            # An error's message may quote the question, which is never logged; its place may not.
            place = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("A search failed with %s:\n%s", type(error).__name__, place)
            return self._failed(), ""

    def example(self, question: str) -> tuple[str, str, str]:
        """An example question, for the question box, and its `search`."""
        return (question, *self.search(question))

    def _too_long(self, length: int) -> str:
        return render.message(
            "Your question is too long.",
            f"It has {length:,} characters; at most {MAX_QUESTION_CHARS:,} are read."
            " Ask it in fewer words.",
        )

    def _empty(self) -> str:
        return render.message(
            "There is no question yet.",
            "Write what happened, or name an article, and press Search.",
        )

    def _nothing_found(self, answer: Mapping[str, Any]) -> str:
        near = closest(answer["answer"]) if "answer" in answer else ""
        if near:
            return render.message(
                "Nothing that was found is near enough to your question.",
                f"This law may not answer it.{near} Try other words, or name an article.",
            )
        return render.message(
            "Nothing was found.",
            "No article matches your question. Try other words: those that a law might use,"
            " such as “tenant” for a person who rents.",
        )

    def _failed(self) -> str:
        return render.message(
            "Something failed on our side.",
            "Your question is not the cause. Try again; if it fails again, whoever runs this page"
            " finds the reason in the terminal.",
        )
