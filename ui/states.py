"""An article's state (in force since when, repealed, not yet in force) and its other wordings."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import date
from typing import Any

from components.retrievers.validity import is_earlier
from ui.article_text import words
from ui.language import Language, day
from ui.law.links import article_link
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


def wordings_list(article: Mapping[str, Any], language: Language, on: date | None) -> str:
    """HTML of an article's other wordings, a link each; empty where there are none.

    Args:
        article: as `pipelines.asking.found_article` makes it.
        language: of the interface.
        on: the day on which they are shown; None for today.
    """
    items = "".join(
        f'<li><a href="{words(article_link(str(each["id"]), language, on))}">'
        f"{words(_wording_said(each, article, language))}</a></li>"
        for each in article.get("wordings", [])
    )
    return f'<ul class="wordings">{items}</ul>' if items else ""


def _wording_said(
    wording: Mapping[str, Any], article: Mapping[str, Any], language: Language
) -> str:
    texts = TEXTS[language]
    start, end = (day(wording[name], language) for name in ("valid_from", "valid_to"))
    if not start and not end:
        return texts.other
    if is_earlier(wording, article):
        return texts.earlier.format(end=end)
    return texts.later.format(start=start)


def state_said(article: Mapping[str, Any], language: Language) -> str:
    """The state in words, without a full stop.

    Args:
        article: `state`, `valid_from`, `valid_to` and `wordings`, as in
            `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = TEXTS[language]
    said = state_named(article, language)
    alone = article["state"] == "not yet in force" and not article.get("wordings")
    return f"{said}. {texts.no_earlier}" if alone else said


def state_named(article: Mapping[str, Any], language: Language) -> str:
    """The state in words alone; see `state_said`."""
    texts = TEXTS[language]
    start, end = (day(article.get(name), language) for name in ("valid_from", "valid_to"))
    in_force = texts.in_force_since.format(start=start) if start else texts.in_force
    return {
        "in force": in_force + (texts.until.format(end=end) if end else ""),
        "repealed": texts.repealed.format(end=end),
        "not yet in force": texts.coming.format(start=start),
    }.get(str(article["state"]), texts.unknown)
