"""Whether a question is in another language than the law it is asked of."""

from __future__ import annotations

import re
from collections.abc import Collection

from components.statutes.lexical import folded, known_language
from components.statutes.stop_words import STOP_WORDS

_WORD = re.compile(r"[^\W\d_]+")
_CHINESE = re.compile(r"[\u4e00-\u9fff]")

# Function words of another language that a question has at least.
_ENOUGH = 2


def in_another_language(question: str, tags: Collection[str | None]) -> bool:
    """Whether a question is in none of some languages, as far as its function words tell.

    It must have two or more that are of another language and not of these, and none that are of
    these and not of that one. What is short, or asked of law in a language that is not known here,
    is never said to be in another.

    Args:
        question: The question.
        tags: BCP 47 tags of the law's languages.
    """
    spoken = {known_language(tag) for tag in tags}
    if not spoken or None in spoken:
        return False
    if _CHINESE.search(question):
        return "zh" not in spoken
    # Vietnamese words keep their accents in the list.
    words = [{word, folded(word)} for word in _WORD.findall(question.casefold())]
    own = frozenset().union(*(STOP_WORDS[language] for language in spoken if language))
    return any(
        sum(not word.isdisjoint(others - own) for word in words) >= _ENOUGH
        and all(word.isdisjoint(own - others) for word in words)
        for language, others in STOP_WORDS.items()
        if language not in spoken
    )
