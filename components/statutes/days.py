"""Days as people and files write them."""

from __future__ import annotations

import re
from datetime import date

_YEAR_MONTH_DAY = re.compile(r"\d{4}-\d{2}-\d{2}", re.ASCII)


def iso_day(text: str) -> date:
    """The day that a text names as YYYY-MM-DD.

    Raises:
        ValueError: It names none, or is written in any other way.
    """
    # fromisoformat alone also takes weeks and dates without dashes.
    if not _YEAR_MONTH_DAY.fullmatch(text):
        raise ValueError(f"{text!r} is not written as YYYY-MM-DD")
    return date.fromisoformat(text)
