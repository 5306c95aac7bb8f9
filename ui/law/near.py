"""What may be meant by a name that is not there."""

from __future__ import annotations

import difflib
from bisect import bisect_left
from collections.abc import Sequence

_MOST = 5
_LONGEST = 200  # characters; what is longer is compared with nothing
_COMPARED = 2_000  # names; comparing takes its time


def near_names(word: str, names: Sequence[str]) -> list[str]:
    """The names that are most like a word, best first.

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
    return difflib.get_close_matches(word, known, n=_MOST)
