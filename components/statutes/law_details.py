"""What stands beside the name of a law and tells which one it is: its year, place, other words."""

from __future__ import annotations

import re
from collections.abc import Sequence

from components.statutes.law_aliases import as_compared, initials_of, tokens_of
from components.statutes.places import is_of, is_place_of

# "Housing Act 1996" is not the Housing Act 1988.
YEAR = re.compile(r"\b(?:1[5-9]|20)\d\d\b")
# The year of the act stands behind it, not that of its edition: "(2020 Rev. Ed.)".
_YEAR_BEHIND = re.compile(
    r"(?:[^\S\n]|[,(\[])*(?:(?:of|de|von|vom)\s+)?((?:1[5-9]|20)\d\d)\b"
    r"(?!\s+(?:rev(?:ised)?|ed(?:ition|n)?|consolidat\w+|reprint)\b)",
    re.IGNORECASE,
)
_BRACKET = r"\s*\((?!(?:Part|Book|Livre|Titre|Chap)\b)(?P<words>[A-Z]\w*(?:\s+[A-Z]\w*){0,3})\)"
_BRACKET_BEHIND = re.compile(rf"(?:,?\s+(?:of\s+)?(?:1[5-9]|20)\d\d)?{_BRACKET}")
BRACKET_ENDING = re.compile(rf"{_BRACKET}$")
_OWN_BRACKET = re.compile(r"\(([A-Z][^()\d]*)\)")


def of_year(laws: tuple[str, ...], text: str, begin: int, end: int) -> tuple[str, ...]:
    """Those of some laws that can be meant where their name text[begin:end] has a year behind it.

    A name that tells no year of its own is of any, where no other law is of that year.
    """
    behind = _YEAR_BEHIND.match(text, end)
    if behind is None or YEAR.search(text, begin, end):
        return laws
    years = {law: YEAR.findall(law) for law in laws}
    of_it = tuple(law for law in laws if behind[1] in years[law])
    return of_it or tuple(law for law in laws if not years[law])


def tells_year(laws: tuple[str, ...], text: str, begin: int, end: int) -> bool:
    """Whether the year of these laws stands in or behind their name text[begin:end]."""
    behind = _YEAR_BEHIND.match(text, end)
    years = YEAR.findall(text, begin, end) + ([behind[1]] if behind else [])
    return any(set(years).intersection(YEAR.findall(law)) for law in laws)


def of_place(laws: tuple[str, ...], place: str | None) -> tuple[str, ...]:
    """Those of some laws that can be meant where a place stands beside their common name."""
    return laws if place is None else tuple(law for law in laws if is_of(law, place))


def of_bracket(laws: tuple[str, ...], text: str, end: int) -> tuple[str, ...]:
    """Those that can be meant where words in brackets stand behind their name: "(Qld)"."""
    bracket = _BRACKET_BEHIND.match(text, end)
    return with_bracket(laws, bracket["words"]) if bracket else laws


def with_bracket(laws: tuple[str, ...], words: str) -> tuple[str, ...]:
    """The same of the words. Of a law that has none in brackets they say nothing."""
    return tuple(law for law in laws if _may_have_bracket(law, words))


def with_words(laws: tuple[str, ...], words: Sequence[str]) -> tuple[str, ...]:
    """Those of some laws that tell, or are of, what stands in front of their common name."""
    return tuple(law for law in laws if not words or _tells(law, words))


def _may_have_bracket(law: str, words: str) -> bool:
    own = set(_OWN_BRACKET.findall(law)).difference(initials_of(_OWN_BRACKET.sub("", law)))
    shortened = any(each.startswith(words) for each in own)  # "(Vic)" of "(Victoria)"
    return not own or shortened or words in initials_of(law) or _tells(law, words.split())


def _tells(law: str, words: Sequence[str]) -> bool:
    """Whether a law's full name has some words, or their place: "Aldermere", "Singaporean"."""
    own = {word for word, _, _ in tokens_of(law, 0, len(law))}
    others = [word for word in words if as_compared(word) not in own]
    return not others or is_place_of(law, " ".join(others))
