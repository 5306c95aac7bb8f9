"""What may be meant by a name that is not there."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Sequence

_MOST = 5
_LONGEST = 200  # characters; what is longer is compared with nothing
_SHORTEST = 3  # characters of a part of a name; fewer stand in almost any
_COMPARED = 2_000  # names; comparing takes its time


def near_names(word: str, names: Sequence[str]) -> list[str]:
    """The names that are most like a word, best first, then those of which it is a part.

    Args:
        word: What was asked for.
        names: What there is; of very many, those that stand near it in the alphabet are compared.
    """
    if len(word) > _LONGEST:
        return []
    known = names
    if len(names) > _COMPARED:
        ordered = sorted(names)
        place = bisect_left(ordered, word)
        known = ordered[max(0, place - _COMPARED // 2) : place + _COMPARED // 2]
    alike = difflib.get_close_matches(word, known, n=_MOST)
    return list(dict.fromkeys([*alike, *_holding(word, names)]))[:_MOST]


def _holding(word: str, names: Sequence[str]) -> list[str]:
    """The names that hold a word, in small letters or capitals; first those that begin with it."""
    part = word.strip().casefold()
    if len(part) < _SHORTEST:
        return []
    places = [(place, name) for name in names if (place := name.casefold().find(part)) >= 0]
    return [name for _, name in sorted(places)]
