"""Places whose law an article is, such as us/or/portland: each stands below those before it."""

from __future__ import annotations

import re
from itertools import accumulate

_MOST_CHARS = 200
_PLACE = re.compile(r"[^\W_]+(?:[.-][^\W_]+)*")


def checked_place(place: str) -> str:
    """A place as it was given.

    >>> checked_place("us/or/portland")
    'us/or/portland'

    Raises:
        ValueError: It is not lower-case names with a slash between two of them, or too long.
    """
    is_path = isinstance(place, str) and all(map(_PLACE.fullmatch, place.split("/")))
    if not is_path or place != place.lower() or len(place) > _MOST_CHARS:
        raise ValueError(f"{place!r:.80} is not a place in lower case, such as us/or/portland")
    return place


def place_and_above(place: str) -> list[str]:
    """A place and those that it stands below, from itself up.

    >>> place_and_above("us/or/portland")
    ['us/or/portland', 'us/or', 'us']
    """
    return list(accumulate(place.split("/"), "{}/{}".format))[::-1]
