"""HTML of an article's state: in force since when, repealed, not yet in force, not known."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from ui.article_text import words
from ui.language import Language, day
from ui.texts.states import TEXTS


def state_line(article: Mapping[str, Any], language: Language) -> str:
    """One paragraph on one line.

    Args:
        article: `state`, `valid_from` and `valid_to`, as in `pipelines.asking.found_article`.
        language: of the interface.
    """
    texts = TEXTS[language]
    start, end = (day(article.get(name), language) for name in ("valid_from", "valid_to"))
    said = {
        "in force": (
            "in-force",
            (texts.in_force_since.format(start=start) if start else texts.in_force)
            + (texts.until.format(end=end) if end else ""),
        ),
        "repealed": ("repealed", texts.repealed.format(end=end)),
        "not yet in force": ("coming", texts.coming.format(start=start)),
    }.get(str(article["state"]), ("unknown", texts.unknown))
    return f'<p class="state {said[0]}">{words(said[1])}</p>'
