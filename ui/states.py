"""An article's state: in force since when, repealed, not yet in force, not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ui.article_text import words
from ui.language import Language, day
from ui.texts import answers
from ui.texts.states import TEXTS

_CLASSES = {"in force": "in-force", "repealed": "repealed", "not yet in force": "coming"}
_NOT_BINDING = ("repealed", "not yet in force")


def state_line(article: Mapping[str, Any], language: Language) -> str:
    """HTML of the state, one paragraph on one line; see `state_said`."""
    kind = _CLASSES.get(str(article["state"]), "unknown")
    return f'<p class="state {kind}">{words(state_said(article, language))}</p>'


def state_mark(state: object, language: Language) -> str:
    """HTML of what stands behind an article's name in a list; empty where it may bind.

    Args:
        state: on the day of the list.
        language: of the interface.
    """
    if state not in _NOT_BINDING:
        return ""
    said = answers.TEXTS[language].states[str(state)]
    return f' <span class="not-binding">({words(said)})</span>'


def state_said(article: Mapping[str, Any], language: Language) -> str:
    """The state in words, without a full stop.

    Args:
        article: `state`, `valid_from` and `valid_to`, as in `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = TEXTS[language]
    start, end = (day(article.get(name), language) for name in ("valid_from", "valid_to"))
    in_force = texts.in_force_since.format(start=start) if start else texts.in_force
    return {
        "in force": in_force + (texts.until.format(end=end) if end else ""),
        "repealed": texts.repealed.format(end=end),
        "not yet in force": texts.coming.format(start=start),
    }.get(str(article["state"]), texts.unknown)
