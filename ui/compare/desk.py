"""ComparingDesk: compares two pipelines for the page."""

from __future__ import annotations

import logging
import traceback
from collections.abc import Callable, Container

from components.statutes.question import QuestionError, clean_question
from pipelines.comparison import Comparison
from pipelines.serving.limits import MAX_QUESTION_CHARS
from ui.compare import render
from ui.language import Language, number
from ui.results import heard_anew, message
from ui.texts import asking, compare

Compare = Callable[[str, str, str], Comparison]

_logger = logging.getLogger(__name__)


class ComparingDesk:
    """Compares two pipelines for the page, whatever an HTTP client sends as question and names.

    Args:
        compare: from a clean question and two names to the comparison.
        names: of the pipelines that can be compared.
        language: of the interface.
    """

    def __init__(self, compare: Compare, names: Container[str], language: Language) -> None:
        self._compare = compare
        self._names = names
        self._language: Language = language

    def compare(self, question: object, left: object, right: object) -> tuple[str, str]:
        """HTML of the status line and of the comparison, which is empty under a message."""
        status, shown = self._compared(question, left, right)
        return heard_anew(status), shown

    def _compared(self, question: object, left: object, right: object) -> tuple[str, str]:
        asks, texts = asking.TEXTS[self._language], compare.TEXTS[self._language]
        if isinstance(question, str) and len(question.strip()) > MAX_QUESTION_CHARS:
            return self._too_long(len(question.strip())), ""
        try:
            asked = clean_question(question)
        except QuestionError:
            return message(asks.empty[0], texts.empty_explained), ""
        if not self._is_known(left) or not self._is_known(right):
            return message(*asks.no_choice), ""
        if left == right:
            return message(*texts.twice), ""
        try:
            found = self._compare(asked, str(left), str(right))
            missing = self._missing(found)
            if not found.moved:
                return missing + message(*asks.nothing), ""
            said = render.announced(found, self._language)
            return said + missing, render.comparison(asked, found, self._language)
        except Exception as error:  # noqa: BLE001 - whatever failed, the reader gets a page
            # An error's message may quote the question, which is never logged; its place may not.
            place = "".join(traceback.format_tb(error.__traceback__))
            _logger.error("A comparison failed with %s:\n%s", type(error).__name__, place)
            return message(*asks.failed), ""

    def _missing(self, found: Comparison) -> str:
        """What the question names and the law has not; both sides search the same."""
        named = "; ".join(dict.fromkeys([*found.left.missing, *found.right.missing]))
        return message(asking.TEXTS[self._language].missing.format(articles=named)) if named else ""

    def _is_known(self, name: object) -> bool:
        return isinstance(name, str) and name in self._names

    def _too_long(self, length: int) -> str:
        title, explanation = asking.TEXTS[self._language].too_long
        counts = {"length": length, "most": MAX_QUESTION_CHARS}
        told = {name: number(count, self._language) for name, count in counts.items()}
        return message(title, explanation.format(**told))
