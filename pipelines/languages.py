"""What is said at indexing of articles in a language that the search by words does not know."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from components.statutes.lexical import KNOWN_LANGUAGES, known_language

_SHOWN = 5


def say_unknown(languages: Mapping[str | None, int], say: Callable[[str], object]) -> None:
    """Say how many articles name no language, and how many one that is not known.

    Args:
        languages: how many articles are in each.
        say: takes lines for the user.
    """
    if languages.get(None):
        say(
            f"Articles that name no language: {languages[None]:,}. Their words are matched as they "
            "stand, without stems or stop words. Give each a 'language', such as \"en\"."
        )
    unknown = {tag: n for tag, n in languages.items() if tag and not known_language(tag)}
    if unknown:
        named = ", ".join(map(repr, list(unknown)[:_SHOWN]))
        more = " ..." if len(unknown) > _SHOWN else ""
        say(
            f"Articles in a language that is not known here: {sum(unknown.values()):,} "
            f"({named}{more}). Their words are matched as they stand, without stems or stop words. "
            f'Known are {", ".join(KNOWN_LANGUAGES)}, as BCP 47 writes them, such as "en".'
        )
