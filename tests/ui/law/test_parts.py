"""Lists and first words as the views of the law show them."""

from __future__ import annotations

import pytest
from small_law import document

from components.converters.articles import article_of
from ui.law.parts import first_words, shown_items


def beginning_of(text: str) -> str:
    return first_words(article_of(document(1, text=text)))


def test_first_words_end_between_words_where_they_can():
    assert beginning_of("A rule.") == "A rule."
    cut = beginning_of("rule " * 40)
    assert cut == "rule " * 25 + "rule…"
    # A writing without spaces is cut where the room ends.
    assert beginning_of("第" * 200) == "第" * 130 + "…"
    assert beginning_of("Art. " + "第" * 200) == "Art. " + "第" * 125 + "…"


@pytest.mark.parametrize(
    ("items", "seen", "count", "before", "folded", "unlisted"),
    [
        (3, 3, 3, 3, 0, ""),
        (4, 3, 4, 4, 0, ""),  # one alone is not folded
        (5, 3, 5, 3, 2, ""),
        (5, 3, 9, 3, 2, "4 more are not listed."),
    ],
)
def test_what_does_not_fit_is_folded(
    items: int, seen: int, count: int, before: int, folded: int, unlisted: str
):
    shown = shown_items([f"item {n}" for n in range(items)], seen, count, "en")
    first, _, fold = shown.partition("<details>")
    assert (first.count("<li>"), fold.count("<li>")) == (before, folded)
    assert (f"<summary>{count - seen} more</summary>" in fold) == bool(folded)
    assert unlisted in fold
    assert ("not listed" in fold) == bool(unlisted)
