"""The languages of the articles found, where the question is in none of them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from components.statutes.lexical import in_another_language


def languages_not_asked_in(question: str, documents: Sequence[Mapping[str, Any]]) -> list[str]:
    """The languages of articles, if a question seems to be in none of them; else none.

    An article that the question names is found in whatever language it is asked for.

    Args:
        question: in plain words.
        documents: the articles, as `found_article` describes them.
    """
    if any("citation" in document["ranks"] for document in documents):
        return []
    tags = list(dict.fromkeys(document.get("language") for document in documents))
    return [tag for tag in tags if tag] if in_another_language(question, tags) else []
